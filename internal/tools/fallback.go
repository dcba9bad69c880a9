package tools

import (
	"context"
	"encoding/json"
	"time"
)

// fallback answers a read-only call whose service is down from where the tool
// says, and marks the answer. ok is false if there is no such place, if the
// failure isn't the service's, or if that place fails as well: then the first
// failure is the one to tell.
func (w *work) fallback(ctx context.Context, f *Failure) (o Outcome, ok bool) {
	spec := w.e.spec
	if spec.Fallback == nil || w.plan.Effect != EffectRead || !f.full().Type.Outage() || ctx.Err() != nil || !time.Now().Before(w.until) {
		return o, false
	}
	w.run = w.run.next() // what the tool wrote before it failed is no part of this answer
	started := time.Now()
	end := attempt(ctx, w.until, fallbackTool{w.e.tool, spec}, spec, w.args, w.run, w.Stuck, w.log)
	w.run.close()
	w.phases.Execute += time.Since(started)
	if end.err != nil || spec.FailedIf != nil && spec.FailedIf(end.out) != nil {
		w.log.named().Warn("fallback failed, too", "tool", spec.Name, "err", end.err)
		return o, false
	}
	from := Degraded{Source: "another source of " + spec.Name}
	if end.out.Degraded != nil {
		from = *end.out.Degraded
	}
	if from.Reason == "" {
		from.Reason = f.full().Message
	}
	end.out.Degraded = &from
	w.log.named().Warn("answered from a fallback", "tool", spec.Name, "source", from.Source)
	return w.succeeded(end.out), true
}

// fallbackTool runs as its tool does, with the same limits, but elsewhere.
type fallbackTool struct {
	Tool
	spec Spec
}

func (f fallbackTool) Run(ctx context.Context, args json.RawMessage) (Output, error) {
	return f.spec.Fallback(ctx, args)
}
