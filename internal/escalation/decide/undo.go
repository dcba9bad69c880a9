package decide

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// Reconsider is how long a question stays open at least after its answer was
// taken back, whenever it was to expire.
const Reconsider = 10 * time.Minute

// Undo takes an answer back while it is held: the question waits again, and the
// agent has heard nothing. Deciders undo their own answers, supervisors all.
// Problems: escalation_not_found, not_allowed, only_people_answer,
// nothing_to_undo, undo_too_late, and cancelled, expired, superseded.
func (d *Desk) Undo(ctx context.Context, actor auth.Actor, esc id.Escalation) (escalation.Escalation, error) {
	var reply escalation.Escalation
	err := d.lock(ctx, esc, func(e escalation.Escalation) error { return mayAnswer(actor, e) }, func(tx pgx.Tx, l locked) (err error) {
		if err := mayUndo(l, actor); err != nil {
			return err
		}
		reply, err = d.undoTx(ctx, tx, actor, l)
		return err
	})
	return reply, err
}

func mayUndo(l locked, actor auth.Actor) error {
	if err := mayAnswer(actor, l.Escalation); err != nil {
		return err
	}
	_, legal := l.Status.After(escalation.MoveUndo)
	switch {
	case l.Status == escalation.Pending:
		return problem.New(problem.Conflict, "nothing_to_undo", nil)
	case l.Decision == nil:
		return closed(l.Escalation)
	}
	if !own(l.Escalation, actor) {
		if err := auth.Can(actor, auth.ControlSession, l.Object()); err != nil {
			return hidden(err)
		}
	}
	switch {
	// It never reached the agent: the session ended while it was held.
	case l.Status == escalation.ApplyFailed && l.session.Status.Ended():
		return problem.New(problem.Gone, "cancelled", nil)
	// Before all else: an answer that went out was heard, whatever has become of
	// the session since.
	case !legal || l.HeldUntil == nil || !l.now.Before(*l.HeldUntil):
		return problem.New(problem.Conflict, "undo_too_late", nil)
	case l.session.CancelRequested || l.session.Status.Ended():
		return problem.New(problem.Gone, "cancelled", nil)
	case l.session.Status != sessions.Waiting:
		return problem.New(problem.Conflict, "undo_too_late", nil)
	}
	return nil
}

const (
	sqlUndo = `
update escalations
set status = $3, version = version + 1, decision_id = null, held_until = null, answered_at = null, expires_at = $4
where id = $1 and version = $2`

	sqlOtherHold = `
select max(held_until) from escalations
where session_id = $1 and id <> $2 and status = 'answered' and held_until > $3`
)

func (d *Desk) undoTx(ctx context.Context, tx pgx.Tx, actor auth.Actor, l locked) (escalation.Escalation, error) {
	e := l.Escalation
	undone := e.Decision
	e.Status, _ = e.Status.After(escalation.MoveUndo)
	e.Version++
	e.Decision, e.HeldUntil, e.AnsweredAt = nil, nil, nil
	// The job of the expiry may have come while the answer stood, and gone.
	if least := l.now.Add(Reconsider); e.ExpiresAt.Before(least) {
		e.ExpiresAt = least
		if err := d.inserter.InsertTx(ctx, tx, escalation.ExpireArgs{Escalation: e.ID}, &river.InsertOpts{ScheduledAt: least}); err != nil {
			return e, err
		}
	}
	if err := exactly1(tx.Exec(ctx, sqlUndo, e.ID, l.Version, e.Status, e.ExpiresAt)); err != nil {
		return e, fmt.Errorf("undo: %w", err)
	}
	if err := escalation.MarkTx(ctx, tx, undone.ID, escalation.MarkUndone, "", actor.Name); err != nil {
		return e, err
	}
	var wake *time.Time
	if err := tx.QueryRow(ctx, sqlOtherHold, e.Session, e.ID, l.now).Scan(&wake); err != nil {
		return e, fmt.Errorf("undo: %w", err)
	}
	if wake == nil {
		wake = &time.Time{}
	}
	by := sessions.AuthorOf(actor)
	event := e.Event()
	event.Decision, event.By = undone, &by
	err := sessions.OutsideTx(ctx, tx, d.inserter, l.session, sessions.Outside{
		Event:     sessions.NewEvent{Type: sessions.EscalationUndone, Call: e.Call, Data: event},
		Questions: +1, Wake: wake,
	})
	if err != nil {
		return e, err
	}
	return e, auth.AuditTx(ctx, tx, actor, auth.Entry{Verb: auth.AnswerEscalation, Kind: "escalation", ID: e.ID.String(), Team: e.Team, Note: "undo",
		Before: map[string]any{"status": l.Status, "version": l.Version, "decision": undone.ID},
		After:  map[string]any{"status": e.Status, "version": e.Version}})
}

// exactly1 says that a row which is locked must be there to be written.
func exactly1(tag interface{ RowsAffected() int64 }, err error) error {
	if err == nil && tag.RowsAffected() != 1 {
		return errors.New("the locked row has changed")
	}
	return err
}
