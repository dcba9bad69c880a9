package tools

import (
	"regexp"
	"slices"
)

// Limits of the same-call circuit.
const (
	circuitFailures = 2 // equal failures after which a call is refused
	circuitSteps    = 5 // steps after which one more try is let through
)

// Circuit remembers how equal calls failed in one session, so that a call that
// fails for a reason of its own isn't run a third time. The worker folds it from
// the session's events, in their order; the zero value is ready.
//
// It counts results, not attempts, and only failures that the same call will
// meet again: an outage says nothing about the call and is the breaker's
// business.
type Circuit struct{ calls map[string]*circuitEntry }

type circuitEntry struct {
	masked string // the error, without what differs from time to time
	count  int
	calls  []int // numbers of the calls that failed so
	step   int   // of the last failure
}

// Observed is one ended call as the circuit and the rules against loops see it.
type Observed struct {
	N, Step int
	Tool    string
	Exact   string
	Loose   string
	Effect  Effect
	Polling bool
	Result  Result
}

// Observe takes the next ended call into account.
func (c *Circuit) Observe(o Observed) {
	if o.Result.OK() {
		done := o.Result.Status() == Success || len(o.Result.Completed()) > 0
		switch {
		case done && o.Effect.Writes():
			c.calls = nil // something was changed: what failed may work now
		case done:
			delete(c.calls, o.Exact)
		}
		return
	}
	if !countsForCircuit(o.Result) || o.Exact == "" {
		return
	}
	if c.calls == nil {
		c.calls = map[string]*circuitEntry{}
	}
	masked := maskError(o.Result)
	e := c.calls[o.Exact]
	if e == nil || e.masked != masked {
		e = &circuitEntry{masked: masked}
		c.calls[o.Exact] = e
	}
	e.count++
	e.calls = append(e.calls, o.N)
	e.step = o.Step
}

// PersonSpoke forgets everything: an answer or a message may have changed it all.
func (c *Circuit) PersonSpoke() { c.calls = nil }

// open says whether the call is refused at this step, and which calls failed.
func (c *Circuit) open(exact string, step int) (calls []int, open bool) {
	if c == nil {
		return nil, false
	}
	e := c.calls[exact]
	if e == nil || e.count < circuitFailures || step-e.step > circuitSteps {
		return nil, false
	}
	return slices.Clone(e.calls), true
}

// countsForCircuit says whether the same call would fail the same way again.
func countsForCircuit(r Result) bool {
	switch r.ErrorType() {
	case CircuitOpen, ToolRested, BudgetExceeded, Cancelled:
		return false // the harness said no; the call was never tried
	}
	return r.Status() == Error && r.Retryable() != RetryYes && !r.ErrorType().Outage()
}

var changing = regexp.MustCompile(`[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*|[0-9]+`)

// maskError is the error without ids, times and counts.
func maskError(r Result) string {
	return string(r.ErrorType()) + " " + changing.ReplaceAllString(r.Message(), "#")
}
