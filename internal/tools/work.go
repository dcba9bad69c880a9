package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"baton/internal/clean"
	"baton/internal/redact"
)

// work is one call on its way through its attempts.
type work struct {
	Runner
	plan     Plan
	e        entry
	args     json.RawMessage
	log      callLog
	until    time.Time // the call's deadline
	run      *run
	present  presenter
	attempts []Attempt
	phases   Phases
}

// longWait is from when the model is told that the harness waited.
const longWait = 10 * time.Second

// run makes the attempts and turns how they ended into an outcome.
func (r Runner) run(ctx context.Context, plan Plan, e entry, args json.RawMessage, log callLog) Outcome {
	w := &work{Runner: r, plan: plan, e: e, args: args, log: log, run: &run{Running: r.running(plan, 1), log: log}}
	w.present = presenter{redactor: w.redactor(), spec: e.spec, pages: r.pages()}
	w.run.redactor = w.present.redactor
	w.until = time.Now().Add(e.spec.Deadline)
	deadline := w.until
	if e.spec.Fallback != nil && plan.Effect == EffectRead {
		deadline = deadline.Add(-e.spec.Deadline / 4) // the rest is for the fallback
	}
	if plan.Degraded && e.spec.Fallback != nil {
		down := Fail(Unavailable, fmt.Sprintf("%s keeps failing, so calls to it are paused.", plan.Service), "Try again some steps later.")
		down.NotSent = true
		if o, ok := w.fallback(ctx, down); ok {
			return o
		}
		return w.failed(ctx, down, ended{}, "")
	}
	var wait time.Duration
	for {
		end, f := w.once(ctx, deadline, wait)
		if f == nil {
			r.Retries.earned(plan.Service)
			return w.succeeded(end.out)
		}
		again, why := w.again(f, deadline)
		if again == 0 || !w.wait(ctx, f, again) {
			if o, ok := w.fallback(ctx, f); ok {
				return o
			}
			return w.failed(ctx, f, end, why)
		}
		wait = again
		w.phases.Wait += again
		w.run = w.run.next()
	}
}

func (w *work) redactor() *redact.Redactor {
	return w.Redactor.With(redact.Sensitive(w.args, w.e.spec.Sensitive), w.e.spec.Sensitive)
}

// once makes one attempt and classifies how it ended; nil is success.
func (w *work) once(ctx context.Context, deadline time.Time, waited time.Duration) (ended, *Failure) {
	started := time.Now()
	end := attempt(ctx, deadline, w.e.tool, w.e.spec, w.args, w.run, w.Stuck, w.log)
	w.run.close()
	took := time.Since(started)
	w.phases.Execute += took
	f := w.classify(end, took)
	a := Attempt{N: w.run.Attempt, StartedAt: started.UTC(), DurationMS: took.Milliseconds(), WaitMS: waited.Milliseconds()}
	if f != nil {
		a.ErrorType = f.full().Type
	}
	w.attempts = append(w.attempts, a)
	return end, f
}

// classify says what an attempt's end means. Nothing in it can turn a success
// into a failure but the tool's own FailedIf.
func (w *work) classify(end ended, took time.Duration) (f *Failure) {
	defer func() {
		if p := recover(); p != nil {
			w.log.named().Error("classify tool error: panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if f = nil; end.err != nil {
				f = Fail(Internal, "The tool failed with an error that can't be read.").Because(errors.New("panic in Error()"))
			}
		}
	}()
	switch {
	case end.timedOut:
		limit := min(w.e.spec.Timeout, took.Round(time.Millisecond)) // the deadline may have been nearer
		f = Fail(Timeout, fmt.Sprintf("%s did not finish within %s.", w.e.spec.Name, limit),
			"Ask for less at once.", "If it can't be made smaller, report that it takes too long.").With("timeout_ms", w.e.spec.Timeout.Milliseconds()).With("ran_ms", took.Milliseconds())
		f.Unsure = true
		if end.abandoned {
			f.With("left_behind", true)
		}
		return f
	case end.cancelled:
		f = Fail(Cancelled, fmt.Sprintf("%s was stopped while it ran.", w.e.spec.Name))
		f.Unsure = true
		return f
	case end.err != nil:
		return Classify(end.err)
	case w.e.spec.FailedIf != nil:
		if f := w.e.spec.FailedIf(w.seen(end.out)); f != nil {
			return f
		}
	}
	return nil
}

// seen is an output as FailedIf judges it: what was written is its text, if it
// has nothing else.
func (w *work) seen(out Output) Output {
	if out.Data == nil && out.Text == "" {
		got := w.wrote()
		out.Text = string(got.Head) + string(got.Tail)
	}
	return out
}

// notSent says whether the failure surely came before any effect.
func (w *work) notSent(f *Failure) bool {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	return f.NotSent || w.run.sent == sentNot
}

// again is how long to wait before another attempt, 0 for none; why says what
// kept the harness from it when the failure is one that passes.
func (w *work) again(f *Failure, deadline time.Time) (wait time.Duration, why string) {
	full := f.full()
	n := len(w.attempts)
	switch {
	case full.Retryable != RetryYes || full.Type == Cancelled:
		return 0, ""
	case !w.plan.Effect.Repeatable() && !w.notSent(f):
		return 0, "" // it may have happened
	case n >= w.e.spec.Retry.Attempts || f.once && n >= 2:
		return 0, fmt.Sprintf("The harness tried %s.", plural(n, "time", "times"))
	}
	wait = max(backoff(w.e.spec.Retry, n, f.RetryAfter), time.Millisecond)
	if time.Until(deadline) <= wait {
		if f.RetryAfter > 0 {
			return 0, fmt.Sprintf("The service asks to wait %s, longer than this call may last; the harness did not wait.", f.RetryAfter.Round(time.Second))
		}
		return 0, fmt.Sprintf("The harness tried %s, until the call's deadline of %s.", plural(n, "time", "times"), w.e.spec.Deadline)
	}
	if !w.Retries.take(w.plan.Service) {
		return 0, fmt.Sprintf("%s has failed so often lately that the harness does not repeat calls to it now.", w.plan.Service)
	}
	return wait, ""
}

// maxWaitMessage is how much of a failure is told while it is waited for: it
// stands whole in the result.
const maxWaitMessage = 300

// wait tells that there will be another attempt, and waits for it.
func (w *work) wait(ctx context.Context, f *Failure, d time.Duration) bool {
	if w.Waits == nil || d < LongEnough {
		return sleep(ctx, d)
	}
	next := time.Now().Add(d)
	told := Wait{Call: w.plan.Call, Attempt: w.attempts[len(w.attempts)-1], Message: clip(clean.Line(w.present.text(f.full().Message)), maxWaitMessage), For: d, Next: next}
	return w.Waits(told) && sleep(ctx, time.Until(next))
}

// sleep waits unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// succeeded presents a success. From here nothing changes the status: a tool
// that has done its work must not be told to do it again.
func (w *work) succeeded(out Output) (o Outcome) {
	started := time.Now()
	defer func() {
		if p := recover(); p != nil {
			w.log.named().Error("present tool output: panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			blank := Output{Data: json.RawMessage("null"), Notices: []string{"The tool has done its work; its output could not be shown. Do not repeat the call for that reason."}}
			o = w.outcome(succeed(blank, w.meta()), "", started)
		}
	}()
	got := w.wrote()
	w.fillItems(&out)
	ready, kept := w.present.output(out, got)
	ready.Notices = append(ready.Notices, w.notices(out)...)
	o = w.outcome(succeed(ready, w.meta()), kept, started)
	if got.TotalBytes == 0 {
		o.OriginalBytes = int64(max(len(out.Text), len(out.Data)))
		o.OriginalLines = int64(countLines(out.Text))
	}
	return o
}

// notices are what the harness did that may matter.
func (w *work) notices(out Output) []string {
	var n []string
	if w.phases.Wait >= longWait {
		n = append(n, fmt.Sprintf("The harness waited %s in all and tried %s.", w.phases.Wait.Round(time.Second), plural(len(w.attempts), "time", "times")))
	}
	if d := out.Degraded; d != nil {
		s := "This answer comes from a substitute, " + w.present.text(d.Source)
		if d.AgeS > 0 {
			s += fmt.Sprintf(", and is %s old", time.Duration(d.AgeS)*time.Second)
		}
		n = append(n, s+".")
	}
	return n
}

// failed presents a failure: as partial if items were completed, as unknown if
// an effect may have happened.
func (w *work) failed(ctx context.Context, f *Failure, end ended, why string) Outcome {
	if ctx.Err() != nil && !end.cancelled && f.Type != Cancelled && f.full().Retryable == RetryYes {
		why = "The session was stopped before the harness could repeat it."
	}
	completed, failed, skipped := w.settleItems(f)
	if len(completed) > 0 {
		return w.partial(f, completed, failed, skipped)
	}
	o := w.failedWhole(ctx, f, why)
	if len(failed)+len(skipped) > 0 {
		o.Result = o.Result.WithItems(nil, w.present.items(failed), w.present.items(skipped))
	}
	return o
}

// failedWhole presents a failure of which nothing was completed.
func (w *work) failedWhole(ctx context.Context, f *Failure, why string) Outcome {
	if w.plan.Effect.Writes() && f.Unsure && !w.notSent(f) {
		u := *f
		u.Type, u.Retryable, u.Origin = OutcomeUnknown, RetryNo, ""
		u.Message = fmt.Sprintf("Whether %s did its work is not known: %s", w.e.spec.Name, f.full().Message)
		u.Causes = []string{"The call was cut off after it may have been sent."}
		u.Hint = []string{"Look whether it happened before you do anything again.", "Do not repeat it blindly: it may happen twice."}
		u.Context = map[string]any{"error_type": string(f.full().Type)}
		for k, v := range f.Context {
			u.Context[k] = v
		}
		return w.unknown(ctx, &u)
	}
	if f.full().Type == Internal && w.plan.Effect.Writes() && !w.notSent(f) {
		c := *f
		c.Hint = []string{"It may have done a part of its work: look before you do anything again.", "Use another way, or report that the tool is broken."}
		f = &c
	}
	return w.refuse(f, why)
}

// unknown settles a call whose effect may have happened: by looking, if the tool
// can; by a person, if it can't be taken back.
func (w *work) unknown(ctx context.Context, f *Failure) Outcome {
	switch w.verify(ctx) {
	case DidLand:
		return w.succeeded(Output{Data: json.RawMessage(`{"verified":true}`), Notices: []string{"The answer was lost; looking it up showed that the call did happen. Do not repeat it."}})
	case DidNotLand:
		c := *f
		c.Type, c.Retryable = ExecutionError, RetryMaybe
		c.Message = fmt.Sprintf("%s did not happen: looking it up showed no effect.", w.e.spec.Name)
		c.Hint = []string{"It is safe to call it again."}
		return w.refuse(&c, "")
	}
	o := w.refuse(f, "")
	if w.plan.Effect == EffectIrreversible {
		o.InDoubt, o.Status = true, StatusStarted
	}
	return o
}

// verify asks the tool whether the effect happened. It has a time limit of its
// own, since the call's may be over.
func (w *work) verify(ctx context.Context) (landed Landed) {
	if w.e.spec.Verify == nil {
		return LandUnknown
	}
	vctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(w.e.spec.Timeout, 10*time.Second))
	defer cancel()
	done := make(chan Landed, 1)
	go func() {
		answer := LandUnknown
		defer func() {
			if p := recover(); p != nil {
				w.log.named().Error("verify tool call: panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			}
			done <- answer
		}()
		if l, err := w.e.spec.Verify(vctx, w.args, w.run.Key); err == nil {
			answer = l
		} else {
			w.log.named().Warn("verify tool call", "error", err)
		}
	}()
	select {
	case l := <-done:
		return l
	case <-vctx.Done():
		return LandUnknown
	}
}

// refuse presents a failure with the output up to it.
func (w *work) refuse(f *Failure, why string) (o Outcome) {
	started := time.Now()
	defer func() {
		if p := recover(); p != nil {
			w.log.named().Error("present tool failure: panic", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			full := f.full()
			o = w.outcome(Refuse(&Failure{Type: full.Type, Retryable: full.Retryable, Origin: full.Origin, Message: "The tool failed; its error could not be shown."}, w.meta()), "", started)
		}
	}()
	c := *f
	if why != "" {
		c.Message += " " + why
	}
	if f.RetryAfter > 0 {
		c.Context = map[string]any{"retry_after_seconds": int64(f.RetryAfter.Seconds())}
		for k, v := range f.Context {
			c.Context[k] = v
		}
	}
	if len(c.Alternatives) == 0 {
		for _, alt := range w.e.spec.Alternatives {
			if _, ok := w.Tools.tools[alt]; ok {
				c.Alternatives = append(c.Alternatives, alt)
			}
		}
	}
	ready, kept := w.present.failure(&c, w.wrote())
	return w.outcome(Refuse(ready, w.meta()), kept, started)
}

func (w *work) meta() Meta {
	return Meta{DurationMS: (w.phases.Execute + w.phases.Wait).Milliseconds(), Attempts: len(w.attempts)}
}

func (w *work) outcome(res Result, kept string, formatting time.Time) Outcome {
	got := w.wrote()
	w.phases.Format += time.Since(formatting)
	return Outcome{
		Result: res, Status: res.CallStatus(), Attempts: w.attempts, Kept: kept,
		OriginalBytes: got.TotalBytes, OriginalLines: got.TotalLines, Phases: w.phases,
	}
}
