package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"baton/internal/id"
	"baton/internal/redact"
)

// Runner runs the ready calls of one session. It holds no state of its own and
// is safe for concurrent use. Retries and Stuck are shared by all runners of a
// process.
type Runner struct {
	Session  id.Session
	Tools    *Registry
	Redactor *redact.Redactor
	Tokens   *redact.Tokens // put back into arguments; nil is none
	Keys     Keys           // those that Prepare was given; a plan whose digest is another's is not run
	Retries  *RetryBudgets
	Stuck    *atomic.Int64 // tools that were left behind and still run
	Log      *slog.Logger
	// Waits, if set, is told before the runner waits for LongEnough or more to
	// make another attempt. It is called from the goroutine of Execute, and what
	// it takes is taken off the wait. If it says no, the call ends as it stands.
	Waits func(Wait) (goOn bool)
}

// LongEnough is from when a wait between two attempts is worth telling while it
// lasts. All of them stand in the outcome.
const LongEnough = 500 * time.Millisecond

// Wait is what a runner tells of an attempt that failed and will be repeated.
type Wait struct {
	Call    Call
	Attempt Attempt // that failed
	Message string  // of its failure: one line, clean and redacted
	For     time.Duration
	Next    time.Time // when the next attempt is due
}

// Outcome is what came of running a call.
type Outcome struct {
	Result Result
	Status Status // ended, or started if InDoubt
	// InDoubt says that an irreversible effect may have happened and that a
	// person must say whether it did. Result then is what to store if nobody does.
	InDoubt  bool
	Attempts []Attempt
	// Kept is the whole output, clean and redacted, if the result shows only a
	// part of it: store it for read_output (PageText).
	Kept string
	// OriginalBytes and OriginalLines count what the tool wrote, before any cut.
	OriginalBytes, OriginalLines int64
	Phases                       Phases
}

// Phases are the times of a call, for the log.
type Phases struct {
	Execute time.Duration // in the tool, over all attempts
	Wait    time.Duration // between attempts
	Format  time.Duration // clean, redact, cut
}

// Execute runs a ready plan until it has its one result. It never panics and
// always returns within the tool's deadline and grace, whatever the tool does.
// ctx ends when the session must stop; a call that is stopped is cancelled, or,
// if its effect may have happened, of unknown outcome.
func (r Runner) Execute(ctx context.Context, plan Plan) (o Outcome) {
	r = r.whole()
	log := callLog{r.Log, r.Session, plan.Call}
	defer func() {
		if p := recover(); p != nil {
			log.named().Error("execute tool call: panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			o = settled(Refuse(Fail(Internal, "The harness failed around the call; whether the tool did its work is not known.",
				"Look whether it happened before you repeat it."), Meta{Attempts: len(o.Attempts)}))
		}
		log.outcome(ctx, o)
	}()
	if plan.Verdict == Ended && plan.Result != nil {
		return settled(plan.Result.scrubbed(presenter{redactor: r.Redactor, spec: Spec{Format: Format{}.withDefaults()}}))
	}
	e, args, no := r.dispatchable(plan)
	if no != nil {
		return settled(Refuse(no, Meta{}).scrubbed(presenter{redactor: r.Redactor}))
	}
	return r.run(ctx, plan, e, args, log)
}

// Resume settles a call that was running when its process died: it runs again if
// that is harmless; else Verify is asked; else its outcome is unknown.
func (r Runner) Resume(ctx context.Context, plan Plan) Outcome {
	if plan.Effect.Repeatable() {
		return r.Execute(ctx, plan)
	}
	r = r.whole()
	e, args, no := r.dispatchable(plan)
	if no != nil { // the tool is gone or changed: nothing can be looked up
		e = entry{spec: Spec{Name: plan.Call.Tool, Format: Format{}.withDefaults()}}
	}
	f := Fail(OutcomeUnknown, fmt.Sprintf("The server stopped while %s was running; whether it happened is not known.", plan.Call.Tool))
	f.Causes = []string{"The process ended between the start of the call and its answer."}
	w := &work{Runner: r, plan: plan, e: e, args: args, log: callLog{r.Log, r.Session, plan.Call}}
	w.run = &run{Running: r.running(plan, 1), log: w.log}
	w.present = presenter{redactor: w.redactor(), spec: e.spec, pages: r.pages()}
	return w.unknown(ctx, f)
}

func (r Runner) whole() Runner {
	if r.Log == nil {
		r.Log = slog.Default()
	}
	if r.Stuck == nil {
		r.Stuck = new(atomic.Int64)
	}
	if r.Redactor == nil {
		r.Redactor, _ = redact.New(redact.Options{}) // can't fail without patterns
	}
	return r
}

func (r Runner) pages() bool { _, ok := r.Tools.tools["read_output"]; return ok }

func (r Runner) running(plan Plan, attempt int) Running {
	call := plan.Call.ID(r.Session)
	return Running{ID: call, Key: IdempotencyKey(call), Attempt: attempt}
}

// dispatchable is the last look before a tool runs: what was decided is what
// runs. The digest is of the tool's schema as well as of the arguments, so that
// they fit it still.
func (r Runner) dispatchable(plan Plan) (entry, json.RawMessage, *Failure) {
	e, ok := r.Tools.tools[plan.Call.Tool]
	switch {
	case !ok:
		return e, nil, Fail(ToolNotFound, fmt.Sprintf("The tool %q is not there any more.", plan.Call.Tool))
	case plan.Verdict != Ready:
		return e, nil, Fail(PermissionDenied, "The call was not cleared to run.", "Ask for it again.")
	}
	args, wrong := read(plan.Call, formOf(plan.Call.text()), e, r.Tokens)
	if wrong != nil {
		return e, nil, wrong
	}
	if plan.ToolHash != e.hash || plan.Digest != approvalDigest(r.Keys, plan.Call.Tool, e.hash, plan.PolicyVersion, args.clear) {
		f := Fail(PermissionDenied, "The tool or the arguments are not those that were cleared to run; nothing was done.", "Make the call again.")
		f.Causes = []string{"The tool changed between the decision and the dispatch."}
		return e, nil, f
	}
	return e, args.clear, nil
}

// settled is the outcome of a call that has its result.
func settled(res Result) Outcome { return Outcome{Result: res, Status: res.CallStatus()} }
