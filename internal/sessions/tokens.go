package sessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/redact"
	"baton/internal/secrets"
)

// PolicyOf is an agent's data policy as it is followed.
func PolicyOf(agent definition.Agent) redact.Policy {
	rules := map[definition.DataRule]redact.Rule{definition.DataToken: redact.Token, definition.DataDrop: redact.Drop}
	p := redact.Policy{Default: rules[agent.Data.Default], Fields: map[string]redact.Rule{}}
	for pointer, rule := range agent.Data.Fields {
		p.Fields[pointer] = rules[rule]
	}
	return p
}

// errNoKey says that a store was to seal or open something and has no key.
var errNoKey = errors.New("there is no key to seal with")

// SealWith gives the store the installation's key. Without it no session of an
// agent with a data policy can be started or worked on.
func (s *Store) SealWith(ring *secrets.Keyring) *Store {
	s.ring = ring
	return s
}

const (
	sqlTokens = `select placeholder, sealed from session_tokens where session_id = $1`
	// Two that find the same value keep it once.
	sqlKeepTokens = `
insert into session_tokens (session_id, placeholder, sealed)
select $1, * from unnest($2::text[], $3::bytea[])
on conflict do nothing`
)

// Tokens opens the values that a session's model knows by placeholders.
func (s *Store) Tokens(ctx context.Context, session id.Session) (*redact.Tokens, error) {
	if s.ring == nil {
		return nil, errNoKey
	}
	return OpenTokens(ctx, s.db, s.ring, session)
}

// OpenTokens is Tokens for other rooms.
func OpenTokens(ctx context.Context, db postgres.DB, ring *secrets.Keyring, session id.Session) (*redact.Tokens, error) {
	rows, _ := db.Query(ctx, sqlTokens, session)
	kept, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (k redact.Kept, err error) {
		var sealed []byte
		if err := row.Scan(&k.Placeholder, &sealed); err != nil {
			return k, err
		}
		k.Value, err = ring.Open(sealed, tokenContext(session, k.Placeholder))
		return k, err
	})
	if err != nil {
		return nil, fmt.Errorf("open tokens of %s: %w", session, err)
	}
	return newTokens(ring, session, kept...), nil
}

func newTokens(ring *secrets.Keyring, session id.Session, kept ...redact.Kept) *redact.Tokens {
	return redact.NewTokens(ring.Derive("tokens "+session.String()), kept...)
}

// tokenContext is what a sealed value is bound to.
func tokenContext(session id.Session, placeholder string) string {
	return "token " + session.String() + " " + placeholder
}

// KeepTokensTx seals values beside what is written with their placeholders, so
// that whoever reads the one can open the other.
func KeepTokensTx(ctx context.Context, tx pgx.Tx, ring *secrets.Keyring, session id.Session, fresh []redact.Kept) error {
	placeholders, sealed := make([]string, len(fresh)), make([][]byte, len(fresh))
	for i, k := range fresh {
		placeholders[i], sealed[i] = k.Placeholder, ring.Seal(k.Value, tokenContext(session, k.Placeholder))
	}
	if _, err := tx.Exec(ctx, sqlKeepTokens, session, placeholders, sealed); err != nil {
		return fmt.Errorf("keep tokens of %s: %w", session, err)
	}
	return nil
}

// mask follows the agent's data policy in what a session starts with: fields of
// the inputs that are named, and their values where they stand in the task.
func (n *New) mask(ring *secrets.Keyring, session id.Session) (fresh []redact.Kept, err error) {
	policy := PolicyOf(n.Agent.Agent)
	if !policy.Masks() {
		return nil, nil
	}
	if ring == nil {
		return nil, errNoKey
	}
	tokens := newTokens(ring, session)
	n.Inputs = tokens.Mask(policy, n.Inputs)
	n.Task = tokens.MaskText(n.Task)
	return tokens.Fresh(), nil
}
