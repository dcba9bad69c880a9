package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/llm"
	"baton/internal/postgres"
	"baton/internal/redact"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// Deps are what a worker works with.
type Deps struct {
	DB          postgres.DB
	Store       *sessions.Store
	Definitions *definition.Store
	Inserter    *jobs.Inserter
	Replica     *sessions.Replica
	Keys        tools.Keys
	Keyring     *secrets.Keyring
	Retries     *tools.RetryBudgets // shared by the sessions of this process
	Stuck       *atomic.Int64       // tools that ignored their end and still run
	// Tools makes the registry of an agent's version, with what it may use
	// bound to it. The loop's own tools are among them (Own).
	Tools func(definition.Version) (*tools.Registry, error)
	// Model is the model of a session, by the name that the session has.
	Model func(version definition.Version, name string) (llm.Model, error)
	// Redactor is the session's: its placeholders are its own.
	Redactor func(context.Context, id.Session) (*redact.Redactor, error)
	Log      *slog.Logger
	// ModelBackoff is the base of the waits between tries at a model; 0 is a
	// second.
	ModelBackoff time.Duration
	// Slice is how long a session works before it lets others have a turn, if
	// others queue; 0 is a minute.
	Slice time.Duration
}

// Worker works the jobs session.run.
type Worker struct {
	river.WorkerDefaults[sessions.RunArgs]
	Deps

	versions sync.Map // of agents: they never change

	mu      sync.Mutex
	working map[id.Session]context.CancelCauseFunc
	drain   chan struct{}
}

// NewWorker makes the worker of this process.
func NewWorker(d Deps) *Worker {
	if d.ModelBackoff == 0 {
		d.ModelBackoff = time.Second
	}
	if d.Slice == 0 {
		d.Slice = time.Minute
	}
	return &Worker{Deps: d, working: map[id.Session]context.CancelCauseFunc{}, drain: make(chan struct{})}
}

// Drain asks every session that this worker has to be let go of at its next
// step, so that the process can end and others go on.
func (w *Worker) Drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.drain:
	default:
		close(w.drain)
	}
}

func (w *Worker) draining() bool {
	select {
	case <-w.drain:
		return true
	default:
		return false
	}
}

// errCancelled is the cause with which a session's work is cut short when a
// person cancels it.
var errCancelled = errors.New("a person cancelled the session")

// Work works on a session until it parks or ends. A job that comes for nothing
// ends quietly. A session that is lost meanwhile is somebody else's: no error
// either. What stops the work for a reason of ours has the job come again.
func (w *Worker) Work(ctx context.Context, job *river.Job[sessions.RunArgs]) error {
	session := job.Args.Session
	lease, row, err := w.Store.Claim(ctx, w.Replica, session)
	if errors.Is(err, sessions.ErrTaken) {
		return nil
	}
	if err != nil {
		return w.later(session, err)
	}
	ctx, stop := w.register(ctx, session)
	defer stop()
	err = w.run(ctx, lease, row)
	switch {
	case errors.Is(err, sessions.ErrLost):
		w.Log.Warn("session lost to another worker", "session", session, "replica", w.Replica.ID)
		return nil
	case err != nil:
		return w.giveBack(ctx, lease, err)
	}
	return nil
}

// againAfter is when a session whose work stopped for a reason of ours is looked
// at again.
const againAfter = time.Second

// later is for a session that could not even be claimed, or given back. It has
// the job come again soon. The engine's own retries grow to minutes
// and days; but what stops a worker (the database, its own beat) passes, or is
// seen in the log each time.
func (w *Worker) later(session id.Session, cause error) error {
	w.Log.Error("work on a session stopped; it is tried again", "session", session, "after", againAfter, "err", cause)
	return river.JobSnooze(againAfter)
}

// giveBack queues a session whose work stopped for a reason of ours (the
// database, this replica's beat, a fault in this code), so that it is looked at
// again. If not even that can be written the job comes again, and should that
// be too early, the lease lapses and the sweep sees to it.
func (w *Worker) giveBack(ctx context.Context, lease *sessions.Lease, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	switch err := w.Store.Release(ctx, lease, w.Inserter, againAfter); {
	case errors.Is(err, sessions.ErrLost):
		return nil
	case err != nil:
		return w.later(lease.Session, errors.Join(cause, err))
	}
	w.Log.Error("work on a session stopped; it is tried again", "session", lease.Session, "after", againAfter, "err", cause)
	return nil
}

func (w *Worker) register(ctx context.Context, session id.Session) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.mu.Lock()
	w.working[session] = cancel
	w.mu.Unlock()
	return ctx, func() {
		w.mu.Lock()
		delete(w.working, session)
		w.mu.Unlock()
		cancel(nil)
	}
}

// watchEvery is how soon a cancellation reaches a model or a tool at work.
const watchEvery = 250 * time.Millisecond

// Watch cuts the work on sessions that people cancel, and on those that are not
// this replica's any more, until ctx ends. One query for all of them.
func (w *Worker) Watch(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.idle() {
				continue
			}
			if err := w.look(ctx); err != nil && ctx.Err() == nil {
				w.Log.Warn("could not look for cancellations; the next look tries again", "err", err)
			}
		}
	}
}

func (w *Worker) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.working) == 0
}

func (w *Worker) look(ctx context.Context) error {
	cancelled, err := w.Store.CancelledOn(ctx, w.Replica)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, session := range cancelled {
		if cut := w.working[session]; cut != nil {
			cut(errCancelled)
		}
	}
	return nil
}

// run is one worker's life with one session.
func (w *Worker) run(ctx context.Context, lease *sessions.Lease, row sessions.Session) error {
	events, err := w.Store.Ledger(ctx, row)
	if err != nil {
		return err
	}
	st, err := fold(row, events)
	if err != nil {
		return err
	}
	s := &sitting{w: w, lease: lease, row: row, st: st, began: time.Now(), base: row.WorkingMS,
		cancel: row.CancelRequested, pause: row.PauseRequested}
	if s.redactor, err = w.Redactor(ctx, row.ID); err != nil {
		return err
	}
	if s.version, err = w.version(ctx, row.Agent); err != nil {
		return err
	}
	if s.registry, err = w.Tools(s.version); err != nil {
		return s.fail(ctx, failure{Code: "agent_unusable", Params: map[string]any{"said": err.Error()}})
	}
	if s.model, err = w.Model(s.version, row.Model); err != nil {
		return s.fail(ctx, failure{Code: "agent_unusable", Params: map[string]any{"said": err.Error()}})
	}
	if err := s.unseal(ctx); err != nil {
		return err
	}
	s.runner = tools.Runner{Session: row.ID, Tools: s.registry, Redactor: s.redactor, Keys: w.Keys, Retries: w.Retries, Stuck: w.Stuck, Log: w.Log}
	for {
		done, err := s.advance(ctx)
		if err != nil && errors.Is(context.Cause(ctx), errCancelled) && errors.Is(err, context.Canceled) {
			// The cut was ours: what was cut is settled below, by a context that
			// is not cut.
			s.cancel, err = true, nil
			ctx = context.WithoutCancel(ctx) //nolint:fatcontext // once: s.cancel ends the loop
		}
		if err != nil || done {
			return err
		}
	}
}

func (w *Worker) version(ctx context.Context, agent sessions.AgentRef) (definition.Version, error) {
	if known, ok := w.versions.Load(agent); ok {
		return known.(definition.Version), nil
	}
	v, err := w.Definitions.Load(ctx, agent.ID, agent.Version)
	if err == nil {
		w.versions.Store(agent, v)
	}
	return v, err
}

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
	runner   tools.Runner

	began         time.Time
	base          int64 // working_ms before this sitting
	cancel, pause bool  // requested
	modelTries    int   // at the reply that is due
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
	case s.pause:
		return s.park(ctx, sessions.Paused)
	case s.w.draining(), s.sliceOver():
		return s.park(ctx, sessions.Queued)
	}
	if f := s.exhausted(); f != nil {
		return true, s.fail(ctx, *f)
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
