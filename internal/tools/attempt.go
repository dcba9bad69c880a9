package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// ended is how one attempt ended.
type ended struct {
	out Output
	err error // nil: the tool succeeded
	// Why the harness stopped it, if it did.
	timedOut, cancelled bool
	abandoned           bool // it did not stop when it was told to
}

// answer is what a tool's goroutine reports.
type answer struct {
	out Output
	err error
}

// attempt runs a tool once, until a deadline or its own limit. It returns when the tool does, or when the tool has
// been told to stop and had its grace; then the tool is left behind, and counted
// until it ends by itself. A tool that finishes within the grace has finished.
func attempt(ctx context.Context, deadline time.Time, tool Tool, spec Spec, args json.RawMessage, r *run, stuck *atomic.Int64, log callLog) ended {
	if limit := time.Now().Add(spec.Timeout); limit.Before(deadline) {
		deadline = limit
	}
	actx, cancel := context.WithDeadline(context.WithValue(ctx, runKey{}, r), deadline)
	defer cancel()
	r.fail = cancel
	done := make(chan answer, 1)
	go safely(actx, tool, args, log, done)
	select {
	case a := <-done:
		return endedBy(ctx, actx, r, a)
	case <-actx.Done():
	}
	grace := time.NewTimer(spec.Grace)
	defer grace.Stop()
	select {
	case a := <-done:
		return endedBy(ctx, actx, r, a)
	case <-grace.C:
	}
	stuck.Add(1)
	log.named().Warn("tool ignores its end and was left behind", "attempt", r.Attempt)
	go func() {
		<-done
		stuck.Add(-1)
		log.named().Info("tool that was left behind has ended", "attempt", r.Attempt)
	}()
	e := endedBy(ctx, actx, r, answer{err: context.Cause(actx)})
	e.abandoned = true
	return e
}

// endedBy says why an attempt ended. An error that came after the harness
// stopped the tool is the stop's, whatever its words.
func endedBy(ctx, actx context.Context, r *run, a answer) ended {
	if f := r.panicked(); f != nil {
		return ended{err: f}
	}
	e := ended{out: a.out, err: a.err}
	if a.err == nil || actx.Err() == nil {
		return e
	}
	if f, ok := AsFailure(a.err); ok && f.Type == Internal {
		return e // a panic on the way out is a panic
	}
	e.timedOut = errors.Is(actx.Err(), context.DeadlineExceeded)
	if ctx.Err() != nil {
		e.timedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
	}
	e.cancelled = !e.timedOut
	return e
}

// safely runs a tool and reports to done, come what may: a panic, or a Goexit,
// which runs deferred calls and nothing else.
func safely(ctx context.Context, tool Tool, args json.RawMessage, log callLog, done chan<- answer) {
	var a answer
	returned := false
	defer func() {
		if p := recover(); !returned {
			a = answer{err: panicFailure(ctx, log, p, debug.Stack())}
		}
		done <- a
	}()
	a.out, a.err = tool.Run(ctx, args)
	if f, ok := errors.AsType[*Failure](a.err); ok && f == nil {
		a.err = Fail(Internal, "The tool reported an error that is empty.")
	}
	returned = true
}

// panicFailure logs a panic with its stack; the model learns only that it was one.
func panicFailure(ctx context.Context, log callLog, p any, stack []byte) *Failure {
	if p == nil {
		p = "the goroutine was ended"
	}
	r := runFrom(ctx)
	log.named().Error("tool panicked", "attempt", RunningCall(ctx).Attempt, "panic", r.masked(fmt.Sprint(p)), "stack", r.masked(string(stack)))
	return Fail(Internal, "The tool crashed while it ran. This is a fault of the tool, not of the arguments.",
		"Do not repeat the call as it is.", "Use another way, or report that the tool is broken.")
}

// Go runs f in a goroutine of a tool's own. A panic in it ends the attempt as a
// panic in the tool would, instead of ending the process.
func Go(ctx context.Context, f func()) {
	r := runFrom(ctx)
	go func() {
		returned := false
		defer func() {
			p := recover()
			if returned || r == nil {
				if p != nil {
					slog.Error("goroutine of a tool panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				}
				return
			}
			r.crash(panicFailure(ctx, r.log, p, debug.Stack()))
		}()
		f()
		returned = true
	}()
}
