package decide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/live"
	"baton/internal/postgres"
	"baton/internal/problem"
	"baton/internal/secrets"
	"baton/internal/sessions"
)

// Desk is where questions are decided.
type Desk struct {
	db       postgres.DB
	inserter *jobs.Inserter
	hub      *live.Hub
	ring     *secrets.Keyring // see OpenWith
}

// NewDesk works on db, and tells hub what it has changed.
func NewDesk(db postgres.DB, inserter *jobs.Inserter, hub *live.Hub) *Desk {
	return &Desk{db: db, inserter: inserter, hub: hub}
}

// OpenWith gives the desk the installation's key, so that what people write in
// clear of a session's masked data is stored masked again.
func (d *Desk) OpenWith(ring *secrets.Keyring) *Desk {
	d.ring = ring
	return d
}

// Answer decides a question and returns it with its decision. What Decide says
// holds. The session goes on when its last question is answered and no answer
// is held any more. A request that was done before (Answer.Once) changes
// nothing and has its reply already; then the zero Escalation is returned. The
// further problem is idempotency_key_reused.
func (d *Desk) Answer(ctx context.Context, actor auth.Actor, esc id.Escalation, a Answer) (escalation.Escalation, error) {
	var reply escalation.Escalation
	err := d.lock(ctx, esc, func(e escalation.Escalation) error { return mayAnswer(actor, e) }, func(tx pgx.Tx, l locked) (err error) {
		if done, err := a.Once.BeginTx(ctx, tx); done || err != nil {
			return err
		}
		if reply, err = d.answerTx(ctx, tx, actor, l, a); err != nil {
			return err
		}
		return a.Once.StoreTx(ctx, tx, reply)
	})
	return reply, err
}

func (d *Desk) answerTx(ctx context.Context, tx pgx.Tx, actor auth.Actor, l locked, a Answer) (escalation.Escalation, error) {
	row, err := d.row(ctx, tx, l, a)
	if err != nil {
		return escalation.Escalation{}, err
	}
	w, err := Decide(row, actor, a, l.now)
	if err != nil || w.Replay {
		return w.Escalation, err
	}
	if err := d.recordTx(ctx, tx, l, w, sessions.EscalationAnswered); err != nil {
		return w.Escalation, err
	}
	return w.Escalation, auth.AuditTx(ctx, tx, actor, auth.Entry{Verb: auth.AnswerEscalation, Kind: "escalation", ID: esc(w), Team: w.Escalation.Team,
		Before: map[string]any{"status": l.Status, "version": l.Version},
		After: map[string]any{"status": w.Escalation.Status, "version": w.Escalation.Version, "decision": w.Escalation.Decision.ID,
			"type": w.Escalation.Decision.Type, "option": w.Escalation.Decision.OptionID}})
}

func esc(w Writes) string { return w.Escalation.ID.String() }

// locked is a question whose row is locked, and its session's before it.
type locked struct {
	escalation.Escalation
	session sessions.Locked
	now     time.Time
}

// row is what Decide is told, for an answer with arguments also of the values
// that the session's agent knows by placeholders.
func (d *Desk) row(ctx context.Context, tx pgx.Tx, l locked, a Answer) (row Row, err error) {
	row = l.row()
	if d.ring != nil && len(a.EditedArgs) > 0 && !l.Session.IsZero() {
		row.Tokens, err = sessions.OpenTokens(ctx, tx, d.ring, l.Session)
	}
	return row, err
}

func (l locked) row() Row {
	return Row{Escalation: l.Escalation, SessionStatus: l.session.Status, CancelRequested: l.session.CancelRequested, WakeAt: l.session.WakeAt}
}

// lock runs fn in a transaction that has locked the session and then the
// question, in this order always. may is asked before anything is locked, so
// that whoever has no right can't make others wait; fn asks again.
func (d *Desk) lock(ctx context.Context, esc id.Escalation, may func(escalation.Escalation) error, fn func(pgx.Tx, locked) error) error {
	seen, err := escalation.Load(ctx, d.db, esc)
	if err != nil {
		return err
	}
	if err := may(seen); err != nil {
		return err
	}
	err = postgres.InTx(ctx, d.db, func(tx pgx.Tx) (err error) {
		var l locked
		if l.session, err = sessions.LockTx(ctx, tx, seen.Session); err != nil {
			return err
		}
		if l.Escalation, l.now, err = escalation.LockTx(ctx, tx, esc); err != nil {
			return err
		}
		return fn(tx, l)
	})
	if err != nil {
		if _, known := errors.AsType[*problem.Error](err); known {
			return err
		}
		return postgres.Problem(fmt.Errorf("decide %s: %w", esc, err), "")
	}
	d.hub.Tell(live.Of(esc), live.Of(seen.Session))
	return nil
}

const (
	sqlDecide = `
insert into decisions (id, escalation_id, version, team_id, agent_slug, session_id, kind, trigger, type, option_id, option_key, label,
                       message, rationale, edited_args, "values", decided_by_kind, decided_by_id, decided_by_name, via,
                       held_until, took_ms, decided_at, question,
                       reason_code, option_set, tool, tool_hash, error_type, error_class, parameters, problem)
select $2, e.id, $3, e.team_id, e.agent_slug, e.session_id, e.kind, e.trigger, $4, $5, $6, $7,
       $8, $9, $10, $11, $12, $13, $14, $15,
       $16, $17, $18, e.question,
       e.reason_code, e.option_set, e.tool, e.tool_hash, e.error_type, e.error_class, e.parameters, e.problem
from escalations e where e.id = $1`

	sqlAnswered = `
update escalations
set status = $3, version = version + 1, decision_id = $4, held_until = $5, answered_at = $6, closed_at = $7
where id = $1 and version = $2`
)

// recordTx writes what was decided: the decision, the question, and the event
// in the session's ledger, with the session's place in the queue if it is free
// to go on.
func (d *Desk) recordTx(ctx context.Context, tx pgx.Tx, l locked, w Writes, event sessions.EventType) error {
	e := w.Escalation
	var decision id.Decision
	if dec := e.Decision; dec != nil {
		decision = dec.ID
		_, err := tx.Exec(ctx, sqlDecide, e.ID, dec.ID, dec.Version, dec.Type, dec.OptionID, dec.Option, dec.Label,
			dec.Message, dec.Rationale, dec.EditedArgs, dec.Values, dec.By.Kind, dec.By.ID, dec.By.Name, dec.Via,
			dec.HeldUntil, dec.TookMS, dec.DecidedAt)
		if err != nil {
			return fmt.Errorf("record decision: %w", err)
		}
	}
	if err := exactly1(tx.Exec(ctx, sqlAnswered, e.ID, l.Version, e.Status, decision, e.HeldUntil, e.AnsweredAt, e.ClosedAt)); err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	return sessions.OutsideTx(ctx, tx, d.inserter, l.session, sessions.Outside{
		Event:     sessions.NewEvent{Type: event, Call: e.Call, Data: w.Event},
		Questions: -1, Wake: w.Wake,
	})
}
