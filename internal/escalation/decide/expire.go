package decide

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// Expire ends a question whose time is over. It reads the row first: one that
// is not pending any more is left alone, and wait says how long it is yet until
// the time of one that is. Nobody's silence is an answer: the result is of a
// kind of its own, and carries a decision only where the agent's definition has
// a default.
func (d *Desk) Expire(ctx context.Context, esc id.Escalation) (wait time.Duration, err error) {
	err = d.lock(ctx, esc, func(escalation.Escalation) error { return nil }, func(tx pgx.Tx, l locked) error {
		w, due := expiry(l.row(), l.now)
		if !due {
			if l.Status == escalation.Pending {
				wait = max(l.ExpiresAt.Sub(l.now), 0)
			}
			return nil
		}
		if err := d.recordTx(ctx, tx, l, w, sessions.EscalationExpired); err != nil {
			return err
		}
		return auth.AuditTx(ctx, tx, auth.System(), auth.Entry{Verb: auth.AnswerEscalation, Kind: "escalation", ID: l.ID.String(), Team: l.Team, Note: "expired",
			Before: map[string]any{"status": l.Status, "version": l.Version},
			After:  map[string]any{"status": w.Escalation.Status, "version": w.Escalation.Version, "on_expiry": w.Event.OnExpiry}})
	})
	if problem.Is(err, "escalation_not_found") {
		return 0, nil // the question is gone, and its job with it
	}
	return wait, err
}

// expiry says what the end of a question's time changes. It is pure.
func expiry(row Row, now time.Time) (w Writes, due bool) {
	next, legal := row.Status.After(escalation.MoveExpire)
	if !legal || now.Before(row.ExpiresAt) || row.CancelRequested || row.SessionStatus.Ended() {
		return w, false
	}
	answer, by := Answer{}, row.OnExpiry
	switch name, option := strings.CutPrefix(row.OnExpiry, "option:"); {
	case option:
		if _, ok := row.Question.Default(name); ok {
			answer = Answer{Type: escalation.Choose, Option: name}
		}
	case row.OnExpiry == escalation.OnExpiryReject:
		answer = Answer{Type: escalation.Reject}
	}
	if answer.Type != "" {
		if d, approvals, err := judge(row, answer); err == nil {
			d.By, d.Via = escalation.Decider{Kind: escalation.ByExpiry, ID: "expiry", Name: "Baton"}, "system"
			w = write(row, next, d, approvals, 0, now)
			w.Event.OnExpiry = by
			return w, true
		}
	}
	if by != escalation.OnExpiryContinue {
		by = escalation.OnExpiryFail
	}
	e := row.Escalation
	e.Status, e.Version, e.ClosedAt = next, e.Version+1, &now
	w.Escalation, w.Event = e, e.Event()
	w.Event.OnExpiry = by
	return w, true
}

// ExpireWorker works the jobs that RaiseTx plans.
type ExpireWorker struct {
	river.WorkerDefaults[escalation.ExpireArgs]
	desk *Desk
}

// NewExpireWorker works at the desk.
func NewExpireWorker(desk *Desk) *ExpireWorker { return &ExpireWorker{desk: desk} }

// Work expires the question. A job that comes early by the database's time
// comes again.
func (w *ExpireWorker) Work(ctx context.Context, job *river.Job[escalation.ExpireArgs]) error {
	wait, err := w.desk.Expire(ctx, job.Args.Escalation)
	if err != nil {
		return err
	}
	if wait > 0 {
		return river.JobSnooze(wait)
	}
	return nil
}
