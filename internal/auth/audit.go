package auth

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// Entry is one line of the audit trail: what was done to what. Before and
// After are marshalled to JSON; nil is left out. No secret belongs in them.
type Entry struct {
	Verb          Verb
	Kind, ID      string // of the object
	Team          id.Team
	Before, After any
	Note          string
}

const sqlAudit = `
insert into audit (actor_kind, actor_id, actor_name, via, verb, object_kind, object_id, team_id, before, after, note)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

// AuditTx writes the entry in the verb's own transaction: what is done and what
// is on record can't differ.
func AuditTx(ctx context.Context, tx pgx.Tx, actor Actor, e Entry) error {
	return audit(ctx, tx, actor, e)
}

func audit(ctx context.Context, db postgres.DB, actor Actor, e Entry) error {
	before, err := optionalJSON(e.Before)
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Verb, err)
	}
	after, err := optionalJSON(e.After)
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Verb, err)
	}
	_, err = db.Exec(ctx, sqlAudit, actor.Kind, actor.ID, actor.Name, actor.Via, e.Verb, e.Kind, e.ID, e.Team, before, after, e.Note)
	if err != nil {
		return fmt.Errorf("audit %s: %w", e.Verb, err)
	}
	return nil
}

func optionalJSON(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}

// NoteRefusal puts a refused verb on record, from the problem that Can made.
// The web room calls it where it turns problems into replies: by then the
// verb's own transaction has been rolled back.
func (a *Accounts) NoteRefusal(ctx context.Context, actor Actor, refusal *problem.Error) error {
	text := func(name string) string { s, _ := refusal.Params[name].(string); return s }
	team, err := id.Parse[id.Team](text("team"))
	if err != nil {
		return fmt.Errorf("note refusal: %w", err)
	}
	return audit(ctx, a.db, actor, Entry{Verb: Verb(text("verb")), Kind: text("kind"), ID: text("id"), Team: team, Note: "refused"})
}
