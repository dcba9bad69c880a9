package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"

	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/live"
	"baton/internal/llm"
	"baton/internal/postgres"
	"baton/internal/redact"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/internal/tools/breaker"
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
	Breakers    *breaker.Breakers   // shared by all replicas
	Stuck       *atomic.Int64       // tools that ignored their end and still run
	// Tools makes the registry of an agent's version, with what it may use
	// bound to it. The loop's own tools are among them (Own).
	Tools func(definition.Version) (*tools.Registry, error)
	// Model is the model of a session, by the name that the session has.
	Model func(version definition.Version, name string) (llm.Model, error)
	// Redactor is the session's: its placeholders are its own.
	Redactor func(context.Context, id.Session) (*redact.Redactor, error)
	Live     *live.Hub // is told what changes beside the sessions' own rows
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
	err = w.runSafely(ctx, lease, row)
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

// runSafely is run; a fault in the loop itself costs this try, not the process,
// and the session is looked at again.
func (w *Worker) runSafely(ctx context.Context, lease *sessions.Lease, row sessions.Session) (err error) {
	defer func() {
		if p := recover(); p != nil {
			w.Log.Error("the loop panicked", "session", row.ID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("the loop panicked: %v", p)
		}
	}()
	return w.run(ctx, lease, row)
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
	if err := s.followPolicy(ctx); err != nil {
		return err
	}
	if err := s.unseal(ctx); err != nil {
		return err
	}
	s.planAsStarted()
	s.runner = tools.Runner{Session: row.ID, Tools: s.registry, Redactor: s.redactor, Tokens: s.tokens, Keys: w.Keys, Retries: w.Retries, Stuck: w.Stuck, Log: w.Log,
		Waits: func(wait tools.Wait) bool { return s.writeWait(ctx, wait) }}
	for {
		done, err := s.advance(ctx)
		if err != nil && errors.Is(context.Cause(ctx), errCancelled) && errors.Is(err, context.Canceled) {
			// The cut was ours: what was cut is settled below, by a context that
			// is not cut.
			s.cancel, err = true, nil
			ctx = context.WithoutCancel(ctx) //nolint:fatcontext // once: s.cancel ends the loop
		}
		if err == nil && done && s.st.over {
			s.logEnded(sessions.Completed, nil)
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
