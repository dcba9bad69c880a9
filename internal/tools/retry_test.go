package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"baton/internal/id"
)

// R: X1, S1, X2
func TestTransientFailuresAreRepeatedWithJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) {
			if n++; n < 4 {
				return Output{}, FromHTTP("shop", 503, nil)
			}
			return Output{Text: "fine"}, nil
		})
		o := b.do(t.Context())
		if o.Status != StatusSucceeded || len(o.Attempts) != 4 || o.Result.Meta().Attempts != 4 {
			t.Fatalf("%s after %d attempts", o.Result.ForModel(), len(o.Attempts))
		}
		for i, a := range o.Attempts {
			most := int64(0)
			if i > 0 {
				most = 1000 << (i - 1)
			}
			if a.N != i+1 || a.WaitMS > most || (a.ErrorType == Unavailable) != (i < 3) {
				t.Errorf("attempt %+v, at most %d ms", a, most)
			}
		}
		if !strings.Contains(b.log.String(), `"level":"WARN"`) || !strings.Contains(b.log.String(), "execute_ms") {
			t.Errorf("log: %s", b.log)
		}
	})
}

// R: X1
// case: harness A24
func TestRetryStopsAtItsBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect   Effect
		err      func() error
		attempts int
		want     ErrorType
		change   func(*Spec)
	}{
		"503 for ever":          {EffectRead, func() error { return FromHTTP("s", 503, nil) }, 4, Unavailable, nil},
		"502 on a read":         {EffectRead, func() error { return FromHTTP("s", 502, nil) }, 4, Unavailable, nil},
		"500 once more":         {EffectRead, func() error { return FromHTTP("s", 500, nil) }, 2, Unavailable, nil},
		"404":                   {EffectRead, func() error { return FromHTTP("s", 404, nil) }, 1, NotFound, nil},
		"501":                   {EffectRead, func() error { return FromHTTP("s", 501, nil) }, 1, ExecutionError, nil},
		"unknown error":         {EffectRead, func() error { return errors.New("odd") }, 1, ExecutionError, nil},
		"idempotent":            {EffectIdempotent, func() error { return FromHTTP("s", 503, nil) }, 4, Unavailable, nil},
		"effect, answered 503":  {EffectSide, func() error { return FromHTTP("s", 503, nil) }, 1, Unavailable, nil},
		"effect, 429":           {EffectSide, func() error { return FromHTTP("s", 429, nil) }, 4, RateLimited, nil},
		"effect, not connected": {EffectSide, func() error { return fmt.Errorf("dial: %w", syscall.ECONNREFUSED) }, 4, Unavailable, nil},
		"effect, cut":           {EffectSide, func() error { return syscall.ECONNRESET }, 1, OutcomeUnknown, nil},
		"effect, gateway":       {EffectSide, func() error { return FromHTTP("s", 504, nil) }, 1, OutcomeUnknown, nil},
		"idempotent, cut":       {EffectIdempotent, func() error { return syscall.ECONNRESET }, 4, OutcomeUnknown, nil},
		"turned off":            {EffectRead, func() error { return FromHTTP("s", 503, nil) }, 1, Unavailable, func(s *Spec) { s.Retry.Attempts = 1 }},
		"wait beyond deadline":  {EffectRead, func() error { return FromHTTP("s", 429, http.Header{"Retry-After": {"198300"}}) }, 1, RateLimited, nil},
		"retry-after obeyed":    {EffectRead, func() error { return FromHTTP("s", 429, http.Header{"Retry-After": {"35"}}) }, 4, RateLimited, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 0
				b := newBench(t, c.effect, func(context.Context, json.RawMessage) (Output, error) { n++; return Output{}, c.err() }, func(s *Spec) {
					if c.change != nil {
						c.change(s)
					}
				})
				start := time.Now()
				o := b.do(t.Context())
				wantType(t, o, c.want)
				if n != c.attempts || len(o.Attempts) != n {
					t.Errorf("%d attempts, want %d", n, c.attempts)
				}
				if took := time.Since(start); took > DefaultDeadline {
					t.Errorf("took %s", took)
				}
				text := o.Result.ForModel()
				if name == "wait beyond deadline" && (!strings.Contains(text, `"retry_after_seconds":198300`) || time.Since(start) > 0) {
					t.Errorf("slept %s: %s", time.Since(start), text)
				}
				if name == "retry-after obeyed" {
					if o.Attempts[1].WaitMS < 35000 {
						t.Errorf("waited %d ms", o.Attempts[1].WaitMS)
					}
				}
			})
		})
	}
}

// R: X1
func TestRetryBudgetOfAService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) { return Output{}, FromHTTP("s", 503, nil) },
			func(s *Spec) { s.Retry = RetryPolicy{Base: time.Millisecond, Cap: time.Millisecond} })
		total := 0
		var last Outcome
		for range 30 {
			last = b.do(t.Context())
			total += len(last.Attempts)
		}
		if total > 30+22 || total < 30+18 {
			t.Errorf("%d attempts in all", total)
		}
		if !strings.Contains(last.Result.Message(), "failed so often") {
			t.Errorf("not told: %s", last.Result.Message())
		}
		time.Sleep(time.Minute)
		if o := b.do(t.Context()); len(o.Attempts) != 4 {
			t.Errorf("%d attempts a minute later", len(o.Attempts))
		}
	})
}

// R: X1, A1
func TestIdempotencyKeyIsTheSameForAllAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := map[string]int{}
		b := newBench(t, EffectIdempotent, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			r := RunningCall(ctx)
			seen[r.Key]++
			if r.Attempt != seen[r.Key] {
				t.Errorf("attempt %d, seen %d", r.Attempt, seen[r.Key])
			}
			return Output{}, FromHTTP("s", 503, nil)
		})
		b.do(t.Context())
		if len(seen) != 1 {
			t.Errorf("keys %v", seen)
		}
		if IdempotencyKey(id.Call{Session: b.runner.Session, N: 1}) == IdempotencyKey(id.Call{Session: b.runner.Session, N: 2}) {
			t.Error("two calls share a key")
		}
	})
}

// R: E6, E7, S3
func TestClassification(t *testing.T) {
	t.Parallel()
	_, missing := os.Open("/does/not/exist")
	for name, c := range map[string]struct {
		err    error
		want   ErrorType
		retry  Retryable
		unsure bool
	}{
		"missing file":      {missing, NotFound, RetryMaybe, false},
		"connection cut":    {fmt.Errorf("read: %w", syscall.ECONNRESET), Unavailable, RetryYes, true},
		"half an answer":    {io.ErrUnexpectedEOF, Unavailable, RetryYes, true},
		"serialization":     {&pgconn.PgError{Code: "40001", Message: "m"}, Conflict, RetryYes, false},
		"deadlock":          {&pgconn.PgError{Code: "40P01", Message: "m"}, Conflict, RetryYes, false},
		"lock":              {&pgconn.PgError{Code: "55P03", Message: "m"}, Conflict, RetryYes, false},
		"statement timeout": {&pgconn.PgError{Code: "57014", Message: "m"}, Timeout, RetryMaybe, false},
		"read only":         {&pgconn.PgError{Code: "25006", Message: "m"}, PermissionDenied, RetryNo, false},
		"no privilege":      {&pgconn.PgError{Code: "42501", Message: "m"}, PermissionDenied, RetryNo, false},
		"no column":         {&pgconn.PgError{Code: "42703", Message: "m"}, NotFound, RetryMaybe, false},
		"syntax":            {&pgconn.PgError{Code: "42601", Message: "m"}, ExecutionError, RetryMaybe, false},
		"unique":            {&pgconn.PgError{Code: "23505", Message: "m"}, Conflict, RetryMaybe, false},
		"shutting down":     {&pgconn.PgError{Code: "57P01", Message: "m"}, Unavailable, RetryYes, true},
		"unknown state":     {&pgconn.PgError{Code: "ZZ999", Message: "m"}, ExecutionError, RetryMaybe, false},
		"anything":          {errors.New("odd"), ExecutionError, RetryMaybe, false},
		"deadline":          {context.DeadlineExceeded, Timeout, RetryYes, true},
	} {
		f := Classify(c.err).full()
		if f.Type != c.want || f.Retryable != c.retry || f.Unsure != c.unsure || f.Message == "" || len(f.Hint) == 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if r := Refuse(Classify(errors.New("odd thing 42")), Meta{}); !strings.Contains(r.ForModel(), "odd thing 42") || !strings.Contains(r.ForModel(), "state nothing") {
		t.Errorf("an unknown error: %s", r.ForModel())
	}
	for status := 400; status < 600; status++ {
		f := FromHTTP("s", status, nil)
		want := map[bool]Retryable{true: RetryYes}[status == 408 || status == 425 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504 || status == 529]
		if (f.full().Retryable == RetryYes) != (want == RetryYes) {
			t.Errorf("%d is %s", status, f.full().Retryable)
		}
	}
	if FromHTTP("s", 204, nil) != nil || FromHTTP("s", 304, nil) != nil {
		t.Error("a success is a failure")
	}
}

// R: X1, V6
func TestALongWaitIsToldBeforeItIsWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []Wait
		after := []time.Duration{LongEnough - 1, LongEnough, 3 * time.Second}
		n := 0
		b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) {
			if n++; n > len(after) {
				return Output{Text: "fine"}, nil
			}
			f := Fail(RateLimited, "Too many.\nKey AKIAIOSFODNN7EXAMPLE is at its limit.")
			f.RetryAfter = after[n-1]
			return Output{}, f
		}, func(s *Spec) { s.Retry.Base, s.Retry.Cap = 1, 1 })
		b.runner.Waits = func(w Wait) bool {
			if left := time.Until(w.Next); left != w.For {
				t.Errorf("told %s before the attempt, and that it is %s", left, w.For)
			}
			time.Sleep(200 * time.Millisecond) // it takes a while to write it down
			told = append(told, w)
			return true
		}
		start := time.Now()
		o := b.do(t.Context())
		if o.Status != StatusSucceeded || len(o.Attempts) != 4 {
			t.Fatalf("%s after %d attempts", o.Result.ForModel(), len(o.Attempts))
		}
		if took, want := time.Since(start), after[0]+after[1]+after[2]; took.Round(time.Millisecond) != want.Round(time.Millisecond) {
			t.Errorf("took %s, want %s: telling is a part of the wait", took, want)
		}
		if len(told) != 2 || told[0].Attempt.N != 2 || told[1].Attempt.N != 3 || told[1].For != 3*time.Second || told[1].Attempt.ErrorType != RateLimited || told[1].Call.N != 1 {
			t.Fatalf("told %+v", told)
		}
		if m := told[0].Message; strings.Contains(m, "AKIA") || strings.Contains(m, "\n") || !strings.HasPrefix(m, "Too many. Key") {
			t.Errorf("the message is %q", m)
		}
	})
}

// R: X1, A2
func TestWhoIsToldOfAWaitMayEndTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) {
			f := Fail(RateLimited, "Too many.")
			f.RetryAfter = time.Second
			return Output{}, f
		})
		b.runner.Waits = func(Wait) bool { return false }
		start := time.Now()
		if o := b.do(t.Context()); len(o.Attempts) != 1 || o.Result.ErrorType() != RateLimited || time.Since(start) != 0 {
			t.Errorf("%d attempts in %s: %s", len(o.Attempts), time.Since(start), o.Result.ForModel())
		}
	})
}
