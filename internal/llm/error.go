package llm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrorKind says what kept a reply from coming.
type ErrorKind string

// The kinds; the table in Retryable says after which asking again can help.
const (
	RateLimited    ErrorKind = "rate_limited"     // 429: too many requests or tokens
	Overloaded     ErrorKind = "overloaded"       // 500, 502, 503, 504, 529: the provider's trouble
	Timeout        ErrorKind = "timeout"          // no answer in time, or no connection
	ContextTooLong ErrorKind = "context_too_long" // the conversation must be shortened first
	Refused        ErrorKind = "refused"          // the provider won't answer this content
	InvalidRequest ErrorKind = "invalid_request"  // other 4xx: key, model name, schema
	InvalidReply   ErrorKind = "invalid_reply"    // an answer that can't be read
	Script         ErrorKind = "script"           // a playbook raised, looped or returned nonsense
	Cancelled      ErrorKind = "cancelled"        // the asker's context ended
)

// Error is a request that got no reply.
type Error struct {
	Kind   ErrorKind
	Status int // the provider's HTTP status, 0 if there was none
	// RetryAfter is how long the provider asks to wait, 0 if it doesn't say.
	RetryAfter time.Duration
	// Message is for operators and playbook authors; a playbook's begins with
	// file:line. It is untrusted text: providers quote what they were sent.
	Message string

	cause error
}

// WithCause returns e with the error that led to it.
func (e *Error) WithCause(err error) *Error { e.cause = err; return e }

// Error is the operator's text.
func (e *Error) Error() string {
	s := "model " + string(e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

func (e *Error) Unwrap() error { return e.cause }

// Retryable says whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case RateLimited, Overloaded, Timeout, InvalidReply:
		return true
	default:
		return false
	}
}

// KindOfStatus classifies a provider's HTTP status, for answers whose body says
// nothing better. 0 (no answer) is a timeout.
func KindOfStatus(status int) ErrorKind {
	switch {
	case status == 0, status == 408:
		return Timeout
	case status == 429:
		return RateLimited
	case status == 413:
		return ContextTooLong
	case status == 501, status == 505:
		return InvalidRequest
	case status >= 500:
		return Overloaded
	case status >= 400:
		return InvalidRequest
	default:
		return InvalidReply
	}
}

// AsError finds the *Error in err's chain. The end of a context is Cancelled or
// Timeout; any other error becomes an InvalidReply. So callers have one type to
// handle. A nil err gives nil.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	kind := InvalidReply
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		kind = Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		kind = Timeout
	}
	return (&Error{Kind: kind, Message: err.Error()}).WithCause(err)
}
