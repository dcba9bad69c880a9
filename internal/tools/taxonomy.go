package tools

import "fmt"

// Class is the coarse kind of an error: who learns what from it.
type Class string

// The six classes. Every ErrorType is in exactly one.
const (
	ClassNotFound  Class = "tool_not_found"    // the tool does not exist
	ClassInvalid   Class = "invalid_arguments" // the arguments do not fit its schema
	ClassExecution Class = "execution_error"   // it ran, and failed
	ClassTimeout   Class = "timeout"           // it ran out of time
	ClassDenied    Class = "permission_denied" // a policy or a person said no
	ClassRefused   Class = "refused"           // the harness did not run it
)

// ErrorType says what went wrong with a call. The set is closed: programs may
// switch over it.
type ErrorType string

// The error types.
const (
	ToolNotFound     ErrorType = "tool_not_found"
	InvalidArguments ErrorType = "invalid_arguments"
	ExecutionError   ErrorType = "execution_error" // anything not known better
	NotFound         ErrorType = "not_found"       // the thing asked for is not there
	Conflict         ErrorType = "conflict"        // the thing is in another state than assumed
	Unavailable      ErrorType = "unavailable"     // the service behind the tool does not answer well
	RateLimited      ErrorType = "rate_limited"
	OutcomeUnknown   ErrorType = "outcome_unknown" // an effect may or may not have happened
	Internal         ErrorType = "internal"        // the tool panicked, or the harness is at fault
	Timeout          ErrorType = "timeout"
	PermissionDenied ErrorType = "permission_denied"
	CircuitOpen      ErrorType = "circuit_open" // the same call failed the same way before
	ToolRested       ErrorType = "tool_rested"  // given a pause after a poison loop
	BudgetExceeded   ErrorType = "budget_exceeded"
	Cancelled        ErrorType = "cancelled"
)

// typeTraits is the one place that says what an error type implies. The
// recoverability is the usual one; a Failure may state another.
var typeTraits = map[ErrorType]struct {
	class     Class
	retryable Retryable
	origin    Origin
}{
	ToolNotFound:     {ClassNotFound, RetryNo, OriginArguments},
	InvalidArguments: {ClassInvalid, RetryMaybe, OriginArguments},
	ExecutionError:   {ClassExecution, RetryMaybe, OriginTool},
	NotFound:         {ClassExecution, RetryMaybe, OriginArguments},
	Conflict:         {ClassExecution, RetryMaybe, OriginService},
	Unavailable:      {ClassExecution, RetryYes, OriginService},
	RateLimited:      {ClassExecution, RetryYes, OriginService},
	OutcomeUnknown:   {ClassExecution, RetryNo, OriginService},
	Internal:         {ClassExecution, RetryNo, OriginHarness},
	Timeout:          {ClassTimeout, RetryYes, OriginService},
	PermissionDenied: {ClassDenied, RetryNo, OriginPolicy},
	CircuitOpen:      {ClassRefused, RetryMaybe, OriginHarness},
	ToolRested:       {ClassRefused, RetryMaybe, OriginHarness},
	BudgetExceeded:   {ClassRefused, RetryNo, OriginHarness},
	Cancelled:        {ClassRefused, RetryNo, OriginHarness},
}

// ErrorTypes are all error types, in the order of their definition.
func ErrorTypes() []ErrorType {
	return []ErrorType{
		ToolNotFound, InvalidArguments, ExecutionError, NotFound, Conflict,
		Unavailable, RateLimited, OutcomeUnknown, Internal, Timeout,
		PermissionDenied, CircuitOpen, ToolRested, BudgetExceeded, Cancelled,
	}
}

// Class is the class that t belongs to, empty if t is not in the set.
func (t ErrorType) Class() Class { return typeTraits[t].class }

// Retryable is how far repeating usually helps against t.
func (t ErrorType) Retryable() Retryable { return typeTraits[t].retryable }

// Origin is where t usually comes from.
func (t ErrorType) Origin() Origin { return typeTraits[t].origin }

// Valid says whether t is in the closed set.
func (t ErrorType) Valid() bool { _, ok := typeTraits[t]; return ok }

// Outage says whether t speaks about a service behind the tool rather than
// about this call. Outages feed the breaker of the service; they never feed the
// circuit of the call nor the rules against loops.
func (t ErrorType) Outage() bool {
	return t == Unavailable || t == RateLimited || t == Timeout
}

// Retryable says whether repeating the same call can help.
type Retryable string

// Recoverability: transient, conditional, permanent.
const (
	RetryYes   Retryable = "yes"   // as it is, a little later; the harness has tried
	RetryMaybe Retryable = "maybe" // only with something changed
	RetryNo    Retryable = "no"
)

// Origin says whose fault an error is, and so who is told.
type Origin string

// The origins.
const (
	OriginArguments Origin = "arguments" // the model's
	OriginTool      Origin = "tool"      // the tool's author's
	OriginService   Origin = "service"   // the operator's of what is behind the tool
	OriginPolicy    Origin = "policy"    // the owner's of a permission or limit
	OriginHarness   Origin = "harness"   // ours
)

// Effect says what a call does to the world, from harmless to final.
type Effect string

// The effects, weakest first. Unknown means EffectSide.
const (
	EffectRead         Effect = "read_only"    // repeat at will
	EffectIdempotent   Effect = "idempotent"   // repeat with the same key
	EffectSide         Effect = "side_effect"  // a repeat does it twice
	EffectIrreversible Effect = "irreversible" // and nothing takes it back
)

var effectRank = map[Effect]int{EffectRead: 0, EffectIdempotent: 1, EffectSide: 2, EffectIrreversible: 3}

// Or is e, or EffectSide if e is none of the known effects.
func (e Effect) Or() Effect {
	if _, ok := effectRank[e]; !ok {
		return EffectSide
	}
	return e
}

// Writes says whether a call with this effect changes anything.
func (e Effect) Writes() bool { return e.Or() != EffectRead }

// Repeatable says whether running the call again (with its key) is harmless.
func (e Effect) Repeatable() bool { return effectRank[e.Or()] <= effectRank[EffectIdempotent] }

// Stricter is the more serious of two effects.
func (e Effect) Stricter(other Effect) Effect {
	e, other = e.Or(), other.Or()
	if effectRank[other] > effectRank[e] {
		return other
	}
	return e
}

// Status is the state of one tool call. The first three are open, the others
// ended; a call ends once.
type Status string

// The statuses of a call.
const (
	StatusRequested        Status = "requested"
	StatusAwaitingApproval Status = "awaiting_approval"
	StatusStarted          Status = "started"

	StatusSucceeded      Status = "succeeded"
	StatusPartial        Status = "partial"
	StatusFailed         Status = "failed"
	StatusDenied         Status = "denied"
	StatusCancelled      Status = "cancelled"
	StatusSkipped        Status = "skipped"
	StatusOutcomeUnknown Status = "outcome_unknown"
)

// Ended says whether the call has its result.
func (s Status) Ended() bool {
	switch s {
	case StatusRequested, StatusAwaitingApproval, StatusStarted:
		return false
	}
	return true
}

// unknownValue is the error for a word outside one of the closed sets.
func unknownValue(set, got string) error { return fmt.Errorf("%s %q is not known", set, got) }
