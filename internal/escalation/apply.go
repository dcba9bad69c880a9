package escalation

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/sessions"
)

// author is who the harness is in marks.
const author = "Baton"

const (
	sqlApply = `
update escalations set status = $3, version = version + 1, closed_at = clock_timestamp()
where id = $1 and session_id = $2 and status = 'answered'
returning decision_id`
	sqlMark = `insert into decision_marks (decision_id, mark, note, by_name) values ($1, $2, $3, $4)`
)

// ApplyTx says that the agent has the answer. The worker calls it in the
// transaction that writes the result of the question's call. What is not
// answered (it expired, or this was done before a crash) stays as it is.
func ApplyTx(ctx context.Context, tx pgx.Tx, session id.Session, esc id.Escalation) error {
	return closeTx(ctx, tx, session, esc, MoveApply, MarkApplied, "")
}

// FailTx says that the answer could not be handed to the agent, and why.
func FailTx(ctx context.Context, tx pgx.Tx, session id.Session, esc id.Escalation, why string) error {
	return closeTx(ctx, tx, session, esc, MoveFail, MarkApplyFailed, why)
}

func closeTx(ctx context.Context, tx pgx.Tx, session id.Session, esc id.Escalation, move Move, mark Mark, note string) error {
	next, _ := Answered.After(move)
	rows, _ := tx.Query(ctx, sqlApply, esc, session, next)
	decisions, err := pgx.CollectRows(rows, pgx.RowTo[id.Decision])
	if err != nil {
		return fmt.Errorf("%s %s: %w", move, esc, err)
	}
	for _, decision := range decisions {
		if err := MarkTx(ctx, tx, decision, mark, note, author); err != nil {
			return err
		}
	}
	return nil
}

// MarkTx notes what became of a decision.
func MarkTx(ctx context.Context, tx pgx.Tx, decision id.Decision, mark Mark, note, by string) error {
	if _, err := tx.Exec(ctx, sqlMark, decision, mark, note, by); err != nil {
		return fmt.Errorf("mark %s: %w", decision, err)
	}
	return nil
}

// Withdrawn is what a session's end took back.
type Withdrawn struct {
	Pending int // for sessions.Ending.Withdrawn
	IDs     []id.Escalation
	Events  []sessions.NewEvent // for the step that ends the session, which sets their turn and step
}

const sqlOpen = sqlEscalation + `where e.session_id = $1 and e.status in ('pending', 'answered') order by e.id`

// CancelTx takes back one question that nobody need answer any more, and says
// whether it was still open. The session's row must have been locked in this
// transaction; the caller tells the session, with the event's data and one open
// question less.
func CancelTx(ctx context.Context, tx pgx.Tx, esc id.Escalation) (data Event, open bool, err error) {
	e, _, err := LockTx(ctx, tx, esc)
	if err != nil || e.Status != Pending {
		return Event{}, false, err
	}
	next, _ := e.Status.After(MoveCancel)
	if _, err := tx.Exec(ctx, sqlCancel, e.ID, next); err != nil {
		return Event{}, false, fmt.Errorf("cancel %s: %w", esc, err)
	}
	return e.Event(), true, nil
}

const sqlCancel = `
update escalations set status = $2, version = version + 1, closed_at = clock_timestamp() where id = $1`

// WithdrawTx ends the questions of a session that ends: nobody waits for them
// any more. One that was answered, but whose answer has not reached the agent
// (it may still be held), becomes apply_failed: a person did decide. The
// session's row must have been locked in this transaction.
func WithdrawTx(ctx context.Context, tx pgx.Tx, session id.Session) (Withdrawn, error) {
	var w Withdrawn
	rows, _ := tx.Query(ctx, sqlOpen, session)
	open, err := collect(rows)
	if err != nil {
		return w, fmt.Errorf("withdraw questions of %s: %w", session, err)
	}
	for _, e := range open {
		w.IDs = append(w.IDs, e.ID)
		if e.Status == Answered {
			if err := FailTx(ctx, tx, session, e.ID, "the session ended first"); err != nil {
				return w, err
			}
			continue
		}
		next, _ := e.Status.After(MoveCancel)
		if _, err := tx.Exec(ctx, sqlCancel, e.ID, next); err != nil {
			return w, fmt.Errorf("withdraw %s: %w", e.ID, err)
		}
		w.Pending++
		w.Events = append(w.Events, sessions.NewEvent{Type: sessions.EscalationWithdrawn, Call: e.Call, Data: e.Event()})
	}
	return w, nil
}
