// Package problem is the vocabulary of errors for people and the API.
//
// A problem says what kind of thing went wrong, under a code that is stable
// for programs, and with the values that a sentence about it needs. It holds
// no prose: the catalogue (package i18n) has problem.<code>.what, .why and
// .do in each language, and the web room maps a Kind to an HTTP status, a page
// and an RFC 9457 document. What a model is told about a failed tool is another
// vocabulary (tools.Failure); the two are never mixed.
//
// It is the floor of the house: every room may import it, and it imports no
// other room.
package problem

import (
	"errors"
	"fmt"
	"strings"
)

// Kind groups problems by what the asker can do about them.
type Kind uint8

// The kinds, each with the HTTP status that the web room gives it.
const (
	Internal        Kind = iota // 500: our fault; the cause is in the log
	Malformed                   // 400: the request can't be read
	Unauthenticated             // 401: nobody is signed in
	Forbidden                   // 403: visible, but not allowed
	NotFound                    // 404: absent, or another team's
	Conflict                    // 409: somebody or something was faster
	Gone                        // 410: was here, can't be acted on any more
	TooLarge                    // 413: over a size limit
	Invalid                     // 422: readable, but wrong
	Limited                     // 429: too many, too fast
	Unavailable                 // 503: a part that is needed does not answer now
)

var kindNames = [...]string{
	"internal", "malformed", "unauthenticated", "forbidden", "not_found",
	"conflict", "gone", "too_large", "invalid", "limited", "unavailable",
}

func (k Kind) String() string { return kindNames[k] }

// Params are the values that the catalogue's sentences name. Values are shown
// to people: no secret and no raw error belongs here.
type Params map[string]any

// Error is one problem.
type Error struct {
	Kind   Kind
	Code   string // stable, snake_case; the catalogue has problem.<Code>.{what,why,do}
	Params Params
	Field  string // JSON pointer or form field that is wrong, if one is
	// Members are extension members of the RFC 9457 document (for instance the
	// decision that won). They must marshal to JSON.
	Members map[string]any

	cause error
}

// New makes a problem without a cause.
func New(kind Kind, code string, params Params) *Error {
	return &Error{Kind: kind, Code: code, Params: params}
}

// Wrap makes a problem that keeps its cause for the operator's log.
func Wrap(cause error, kind Kind, code string, params Params) *Error {
	return &Error{Kind: kind, Code: code, Params: params, cause: cause}
}

// At names the field that is wrong, and returns e.
func (e *Error) At(field string) *Error { e.Field = field; return e }

// With adds an extension member, and returns e.
func (e *Error) With(name string, value any) *Error {
	if e.Members == nil {
		e.Members = map[string]any{}
	}
	e.Members[name] = value
	return e
}

// Error is the operator's text: kind, code, field, parameters and cause. It is
// never shown to people.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	if e.Field != "" {
		fmt.Fprintf(&b, " at %s", e.Field)
	}
	if len(e.Params) > 0 {
		fmt.Fprintf(&b, " %v", map[string]any(e.Params))
	}
	if e.cause != nil {
		fmt.Fprintf(&b, ": %v", e.cause)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.cause }

// From finds the problem in err's chain. An error without one is Internal with
// the code "internal" and err as its cause, so that no raw error can reach a
// person.
func From(err error) *Error {
	if p, ok := errors.AsType[*Error](err); ok {
		return p
	}
	return Wrap(err, Internal, "internal", nil)
}

// Is says whether err's chain holds a problem with this code.
func Is(err error, code string) bool {
	p, ok := errors.AsType[*Error](err)
	return ok && p.Code == code
}
