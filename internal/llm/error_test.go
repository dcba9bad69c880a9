package llm

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// R: A4, E6
// case: fault F26
func TestStatusesAreClassified(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		kind      ErrorKind
		retryable bool
	}{
		0: {Timeout, true}, 408: {Timeout, true}, 429: {RateLimited, true},
		500: {Overloaded, true}, 502: {Overloaded, true}, 503: {Overloaded, true}, 504: {Overloaded, true}, 529: {Overloaded, true},
		501: {InvalidRequest, false}, 505: {InvalidRequest, false},
		400: {InvalidRequest, false}, 401: {InvalidRequest, false}, 404: {InvalidRequest, false},
		413: {ContextTooLong, false}, 200: {InvalidReply, true},
	} {
		kind := KindOfStatus(status)
		if kind != want.kind || (&Error{Kind: kind}).Retryable() != want.retryable {
			t.Errorf("%d: got %s", status, kind)
		}
	}
}

// R: A4: whatever a model returns as its error, the loop has one type to handle.
func TestEveryErrorHasAKind(t *testing.T) {
	t.Parallel()
	own := &Error{Kind: Refused, Status: 400, Message: "no"}
	for _, c := range []struct {
		err  error
		want ErrorKind
	}{
		{fmt.Errorf("ask: %w", own), Refused},
		{fmt.Errorf("ask: %w", context.Canceled), Cancelled},
		{context.DeadlineExceeded, Timeout},
		{errors.New("EOF"), InvalidReply},
	} {
		got := AsError(c.err)
		if got.Kind != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got.Kind, c.want)
		}
		if got != own && !errors.Is(got, c.err) {
			t.Errorf("%v: the cause is lost", c.err)
		}
	}
	if AsError(nil) != nil {
		t.Error("no error became one")
	}
	if got, want := own.Error(), "model refused (status 400): no"; got != want {
		t.Errorf("got %q", got)
	}
}
