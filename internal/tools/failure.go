package tools

import (
	"errors"
	"strings"
	"time"
)

// Failure is an error told to a model: what happened, why, and how to go on.
// Tools return it; the harness makes one of every other error. Texts are
// English, concrete (the name that exists, the limit that was hit), and never a
// bare "internal error".
type Failure struct {
	Type    ErrorType
	Message string   // what happened, one sentence
	Causes  []string // 1 to 3 likely reasons, likeliest first; may be empty in a tool's own failure
	// Retryable and Origin override what Type usually means; empty keeps it.
	Retryable    Retryable
	Origin       Origin
	Hint         []string       // 1 to 3 ways to go on
	Context      map[string]any // facts to act on: status code, path, limits; JSON-marshalable
	Errors       []FieldError   // each wrong argument
	Example      any            // a correct call's arguments, JSON-marshalable
	Alternatives []string       // tools that may do instead

	// NotSent says that the failure surely came before anything was sent, so
	// that repeating is safe even for an effect.
	NotSent bool
	// RetryAfter is how long the service asked to be left alone; 0 if it did not say.
	RetryAfter time.Duration
	// Unsure says that the other side may have acted though no answer came: a
	// timeout, a connection cut after sending, a gateway that gave up. A call
	// with effects that fails so has an unknown outcome.
	Unsure bool

	once  bool // worth one repeat, not more
	cause error
}

// FieldError is one wrong argument.
type FieldError struct {
	Path     string `json:"path"` // JSON pointer into the arguments; "" is the whole
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// Fail makes a failure with a message and ways to go on.
func Fail(t ErrorType, message string, hint ...string) *Failure {
	return &Failure{Type: t, Message: message, Hint: hint}
}

// Because keeps the technical cause, for the log alone, and returns f.
func (f *Failure) Because(err error) *Failure { f.cause = err; return f }

// With adds one fact to the context, and returns f.
func (f *Failure) With(key string, value any) *Failure {
	if f.Context == nil {
		f.Context = map[string]any{}
	}
	f.Context[key] = value
	return f
}

// Error is the log's text: type, message and cause.
func (f *Failure) Error() string {
	if f == nil {
		return "<nil failure>"
	}
	var b strings.Builder
	b.WriteString(string(f.Type))
	b.WriteString(": ")
	b.WriteString(f.Message)
	if f.cause != nil {
		b.WriteString(": ")
		b.WriteString(f.cause.Error())
	}
	return b.String()
}

func (f *Failure) Unwrap() error { return f.cause }

// AsFailure finds a failure in err's chain.
func AsFailure(err error) (*Failure, bool) {
	f, ok := errors.AsType[*Failure](err)
	return f, ok && f != nil
}

// full is f with everything a result needs: known type, message, 1 to 3 causes
// and hints. The harness calls it; no author can forget a part.
func (f *Failure) full() Failure {
	c := *f
	if !c.Type.Valid() {
		c.Type = ExecutionError
	}
	if strings.TrimSpace(c.Message) == "" {
		c.Message = defaultMessage[c.Type.Class()]
	}
	if c.Retryable == "" {
		c.Retryable = c.Type.Retryable()
	}
	if c.Origin == "" {
		c.Origin = c.Type.Origin()
	}
	if len(c.Causes) == 0 {
		c.Causes = defaultCauses[c.Type]
	}
	if len(c.Hint) == 0 {
		c.Hint = defaultHints[c.Type]
	}
	c.Causes = c.Causes[:min(len(c.Causes), 3)]
	c.Hint = c.Hint[:min(len(c.Hint), 3)]
	return c
}

var defaultMessage = map[Class]string{
	ClassNotFound:  "There is no tool of this name.",
	ClassInvalid:   "The arguments do not fit the tool's schema.",
	ClassExecution: "The tool ran and failed, and gave no reason.",
	ClassTimeout:   "The tool did not finish in time.",
	ClassDenied:    "This call is not allowed.",
	ClassRefused:   "The harness did not run this call.",
}

var defaultCauses = map[ErrorType][]string{
	ToolNotFound:     {"The name is misspelt, or this tool is not given to you."},
	InvalidArguments: {"A field is missing, of the wrong type, or invented."},
	ExecutionError:   {"The tool or the system behind it reported an error that is not known better."},
	NotFound:         {"The name or id is wrong, or the thing was removed."},
	Conflict:         {"The thing changed since it was read."},
	Unavailable:      {"The service behind the tool is down or overloaded."},
	RateLimited:      {"Too many requests in a short time."},
	OutcomeUnknown:   {"The connection or the process ended after the request may have been sent."},
	Internal:         {"A fault in the tool or in the harness, not in your arguments."},
	Timeout:          {"The work is larger than the time limit allows, or the service is slow."},
	PermissionDenied: {"The policy of this agent does not allow it."},
	CircuitOpen:      {"The same call failed the same way before."},
	ToolRested:       {"The tool kept failing in a way that repetition does not mend."},
	BudgetExceeded:   {"A limit of this session is used up."},
	Cancelled:        {"A person or the session stopped the work."},
}

var defaultHints = map[ErrorType][]string{
	ToolNotFound:     {"Use one of the tools listed."},
	InvalidArguments: {"Correct the fields listed in errors and call again."},
	ExecutionError: {
		"Read the details; change something before you try again.",
		"If it cannot be solved, report this failure and state nothing that the call was to find out.",
	},
	NotFound:         {"Look up what exists before you try again."},
	Conflict:         {"Read the current state, then decide again."},
	Unavailable:      {"The harness has already retried; go on without it or report that it is down."},
	RateLimited:      {"The harness has already waited; do something else first."},
	OutcomeUnknown:   {"Look whether it happened before you do anything again."},
	Internal:         {"Do not repeat the call; use another way or report the failure."},
	Timeout:          {"Ask for less at once, or report that it takes too long."},
	PermissionDenied: {"Do it another way that is allowed, or ask a person."},
	CircuitOpen:      {"Change something first, or take another way."},
	ToolRested:       {"Use another tool or another way for the next steps."},
	BudgetExceeded:   {"Finish with what you have, or ask a person."},
	Cancelled:        {"Do not repeat it."},
}
