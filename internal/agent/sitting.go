package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/definition"
	"baton/internal/jobs"
	"baton/internal/llm"
	"baton/internal/redact"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// sitting is a worker with a session before it.
type sitting struct {
	w        *Worker
	lease    *sessions.Lease
	row      sessions.Session
	st       *state
	version  definition.Version
	registry *tools.Registry
	model    llm.Model
	redactor *redact.Redactor
	tokens   *redact.Tokens // of an agent with a data policy; nil as a rule
	runner   tools.Runner
	logger   *slog.Logger
	view     *view // of the conversation, as the model is sent it

	began         time.Time
	base          int64 // working_ms before this sitting
	cancel, pause bool  // requested
}

// advance does the next thing: it returns done when the session has been let go
// of.
func (s *sitting) advance(ctx context.Context) (done bool, err error) {
	switch {
	case s.st.over:
		return true, nil // ended by a write whose confirmation was lost
	case s.cancel:
		return true, s.end(ctx, sessions.Cancelled, nil)
	case len(s.runnable()) > 0:
		return false, s.dispatch(ctx)
	case len(s.toRaise()) > 0:
		return s.raise(ctx)
	case len(s.st.openCalls()) > 0:
		return s.park(ctx, sessions.Waiting) // for the answers to what was raised
	case s.st.stopped != nil:
		return true, s.fail(ctx, *s.st.stopped)
	case s.st.asking != nil:
		return s.settle(ctx)
	case s.pause:
		return s.park(ctx, sessions.Paused)
	case s.w.draining(), s.sliceOver():
		return s.park(ctx, sessions.Queued)
	}
	if turned, done, err := s.atLimit(ctx); turned || err != nil {
		return done, err
	}
	return s.step(ctx)
}

func (s *sitting) sliceOver() bool {
	return time.Since(s.began) > s.w.Slice && s.w.othersWait()
}

// othersWait says whether this process has all its hands full, so that others
// may be waiting. A session that would only be queued behind itself goes on.
func (w *Worker) othersWait() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.working) >= jobs.SessionsAtOnce
}

// counters are the session's totals as of now.
func (s *sitting) counters() sessions.Counters {
	return sessions.Counters{
		Turn: s.st.turn, Steps: s.st.steps, Calls: s.st.calls,
		Tokens:     s.st.usage.InputTokens + s.st.usage.OutputTokens,
		CostMicros: s.st.usage.CostMicros, WorkingMS: s.working().Milliseconds(),
	}
}

// working is how long the session has been worked on, waiting for people not
// counted.
func (s *sitting) working() time.Duration {
	return time.Duration(s.base)*time.Millisecond + time.Since(s.began)
}

// write writes a step and takes note of what came from outside meanwhile. The
// state must have taken the step's events already (the counters are its).
//
// also is what takes place with it on other tables; with it the write is a
// transaction, without a single statement.
func (s *sitting) write(ctx context.Context, step sessions.Step, also ...func(ctx context.Context, tx pgx.Tx) error) error {
	step.Counters = s.counters()
	also, saved := s.keepTokens(also)
	// What has happened is written down, whoever cancels: the fence decides.
	ctx = context.WithoutCancel(ctx)
	var written sessions.Written
	var err error
	if len(also) == 0 {
		written, err = s.w.Store.WriteStep(ctx, s.lease, step)
	} else {
		written, err = s.w.Store.WriteStepAnd(ctx, s.lease, step, also...)
	}
	if err != nil {
		return err
	}
	saved()
	s.logEvents(ctx, step.Events)
	s.cancel, s.pause = written.CancelRequested, written.PauseRequested
	if written.Inbox > s.lease.Seen {
		return s.readInbox(ctx, written.Inbox)
	}
	return nil
}

func (s *sitting) readInbox(ctx context.Context, upTo int64) error {
	events, err := s.w.Store.Inbox(context.WithoutCancel(ctx), s.lease, upTo)
	if err != nil {
		return err
	}
	for _, e := range events {
		if err := s.st.applyOutside(e); err != nil {
			return fmt.Errorf("read event %d of %s: %w", e.Seq, s.row.ID, err)
		}
	}
	return nil
}

// unread reads an inbox that kept the session from being let go of.
func (s *sitting) unread(ctx context.Context) error {
	row, err := s.w.Store.Row(ctx, s.lease)
	if err != nil {
		return err
	}
	s.cancel, s.pause = row.CancelRequested, row.PauseRequested
	return s.readInbox(ctx, row.Inbox)
}

// park lets go of the session; if something came from outside meanwhile it is
// read instead, and the session goes on.
func (s *sitting) park(ctx context.Context, to sessions.Status) (done bool, err error) {
	var events []sessions.NewEvent
	if to == sessions.Paused {
		events = append(events, sessions.NewEvent{Type: sessions.SessionPaused, Turn: s.st.turn, Step: s.st.steps})
	}
	p := sessions.Parking{To: to, Step: sessions.Step{Events: events, Counters: s.counters()}}
	err = s.w.Store.ParkAndQueue(ctx, s.lease, s.w.Inserter, p)
	if errors.Is(err, sessions.ErrInbox) {
		return false, s.unread(ctx)
	}
	return true, err
}
