package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"baton/internal/id"
	"baton/internal/permission"
	"baton/internal/redact"
)

// runFunc is a tool's body, for tests.
type runFunc func(ctx context.Context, args json.RawMessage) (Output, error)

type bodyTool struct {
	spec Spec
	run  runFunc
}

func (b bodyTool) Spec() Spec { return b.spec }
func (b bodyTool) Run(ctx context.Context, args json.RawMessage) (Output, error) {
	return b.run(ctx, args)
}

// bench runs a tool's body as the product would.
type bench struct {
	t      testing.TB
	runner Runner
	facts  Facts
	log    *bytes.Buffer
}

func newBench(t testing.TB, effect Effect, run runFunc, change ...func(*Spec)) *bench {
	t.Helper()
	spec := Spec{Name: "x", Effect: effect, Schema: json.RawMessage(`{"type":"object"}`)}
	for _, c := range change {
		c(&spec)
	}
	reg, err := NewRegistry(bodyTool{spec, run}, bodyTool{Spec{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, run})
	if err != nil {
		t.Fatal(err)
	}
	red, err := redact.New(redact.Options{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, log: &bytes.Buffer{}}
	b.runner = Runner{Session: id.New[id.Session](), Tools: reg, Redactor: red, Retries: &RetryBudgets{}, Stuck: &atomic.Int64{}, Log: slog.New(slog.NewJSONHandler(b.log, nil))}
	b.facts = Facts{Tools: reg, Policy: permission.Policy{Mode: permission.Auto, Rules: []permission.Rule{{Tool: "x", Do: permission.Allow}}}}
	return b
}

func (b *bench) plan(args string) Plan {
	b.t.Helper()
	p := Prepare(Call{N: 1, Tool: "x", Args: json.RawMessage(args)}, b.facts)
	if p.Verdict != Ready {
		b.t.Fatalf("plan is %s: %+v", p.Verdict, p.Result)
	}
	return p
}

func (b *bench) do(ctx context.Context) Outcome {
	b.t.Helper()
	o := b.runner.Execute(ctx, b.plan(`{}`))
	if _, err := json.Marshal(o.Result); err != nil {
		b.t.Fatalf("no result: %v", err)
	}
	return o
}

func wantType(t testing.TB, o Outcome, want ErrorType) {
	t.Helper()
	if o.Result.ErrorType() != want {
		t.Fatalf("got %s %s, want %s", o.Result.Status(), o.Result.ForModel(), want)
	}
}

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

// R: L4, E4, L1
// case: fault F28
func TestToolThatIgnoresItsEndIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			fmt.Fprint(Writer(ctx), "so far")
			<-release
			fmt.Fprint(Writer(ctx), "too late")
			return Output{Text: "late"}, nil
		}, func(s *Spec) { s.Timeout, s.Deadline, s.Retry.Attempts = time.Second, 10*time.Second, 1 })
		start := time.Now()
		o := b.do(t.Context())
		wantType(t, o, Timeout)
		if took := time.Since(start); took != time.Second+DefaultGrace {
			t.Errorf("took %s", took)
		}
		if text := o.Result.ForModel(); !strings.Contains(text, `"output":"so far"`) || !strings.Contains(text, `"timeout_ms":1000`) {
			t.Errorf("lost what it said: %s", text)
		}
		if b.runner.Stuck.Load() != 1 {
			t.Errorf("%d stuck", b.runner.Stuck.Load())
		}
		close(release)
		synctest.Wait()
		if b.runner.Stuck.Load() != 0 {
			t.Error("still counted as stuck")
		}
	})
}

// R: L4
func TestDeadlineBoundsAllAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) { <-ctx.Done(); return Output{}, ctx.Err() })
		start := time.Now()
		o := b.do(t.Context())
		wantType(t, o, Timeout)
		if took := time.Since(start); took > DefaultDeadline || len(o.Attempts) < 2 {
			t.Errorf("took %s with %d attempts", took, len(o.Attempts))
		}
	})
}

// R: L4
// case: harness A26
func TestTimeLimitsThatCantBeAreRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []Spec{{Timeout: -5}, {Deadline: -1}, {Timeout: 2 * time.Hour}, {Timeout: time.Minute, Deadline: time.Second}, {Grace: -1}} {
		s.Name, s.Schema = "x", json.RawMessage(`{"type":"object"}`)
		if _, err := NewRegistry(bodyTool{spec: s}); err == nil {
			t.Errorf("%v, %v was taken", s.Timeout, s.Deadline)
		}
	}
}

// A tool that finishes while it is told to stop has finished.
// R: L8
func TestResultWithinTheGraceCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, EffectSide, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return Output{Text: "done"}, nil
		})
		if o := b.do(t.Context()); o.Status != StatusSucceeded {
			t.Errorf("%s", o.Result.ForModel())
		}
	})
}

// R: L6, E7
// case: fault F31
// case: harness A12
func TestPanicsStayInside(t *testing.T) {
	t.Parallel()
	var typedNil *Failure
	for name, run := range map[string]runFunc{
		"panic": func(context.Context, json.RawMessage) (Output, error) { panic("secret plan") },
		"nil map": func(context.Context, json.RawMessage) (Output, error) {
			var m map[string]int
			m["a"] = 1
			return Output{}, nil
		},
		"goexit":       func(context.Context, json.RawMessage) (Output, error) { runtime.Goexit(); return Output{}, nil },
		"typed nil":    func(context.Context, json.RawMessage) (Output, error) { return Output{}, typedNil },
		"wrapped nil":  func(context.Context, json.RawMessage) (Output, error) { return Output{}, fmt.Errorf("x: %w", typedNil) },
		"error panics": func(context.Context, json.RawMessage) (Output, error) { return Output{}, badError{} },
		"own goroutine": func(ctx context.Context, _ json.RawMessage) (Output, error) {
			Go(ctx, func() { panic("there") })
			<-ctx.Done()
			return Output{}, ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, EffectRead, run)
			o := b.do(t.Context())
			wantType(t, o, Internal)
			if text := o.Result.ForModel(); strings.Contains(text, "goroutine") || strings.Contains(text, ".go") || strings.Contains(text, "secret plan") {
				t.Errorf("the model sees %s", text)
			}
			if strings.HasSuffix(name, "panic") && !strings.Contains(b.log.String(), "execute_test.go") {
				t.Errorf("no stack in the log: %s", b.log)
			}
		})
	}
}

type badError struct{}

func (badError) Error() string { panic("no words") }

// R: X7
func TestUnknownOutcomes(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context, _ json.RawMessage) (Output, error) { <-ctx.Done(); return Output{}, ctx.Err() }
	verify := func(l Landed, err error) func(*Spec) {
		return func(s *Spec) {
			s.Verify = func(_ context.Context, _ json.RawMessage, key string) (Landed, error) {
				if len(key) != 32 {
					return "", errors.New("no key")
				}
				return l, err
			}
		}
	}
	none := func(*Spec) {}
	for name, c := range map[string]struct {
		effect  Effect
		run     runFunc
		change  func(*Spec)
		want    ErrorType
		status  Status
		inDoubt bool
	}{
		"read":           {EffectRead, hang, none, Timeout, StatusFailed, false},
		"side effect":    {EffectSide, hang, none, OutcomeUnknown, StatusOutcomeUnknown, false},
		"unknown effect": {"", hang, none, OutcomeUnknown, StatusOutcomeUnknown, false},
		"irreversible":   {EffectIrreversible, hang, none, OutcomeUnknown, StatusStarted, true},
		"landed":         {EffectIrreversible, hang, verify(DidLand, nil), "", StatusSucceeded, false},
		"did not land":   {EffectIrreversible, hang, verify(DidNotLand, nil), ExecutionError, StatusFailed, false},
		"verify fails":   {EffectSide, hang, verify("", errors.New("down")), OutcomeUnknown, StatusOutcomeUnknown, false},
		"nothing sent": {EffectSide, func(ctx context.Context, a json.RawMessage) (Output, error) {
			NothingSent(ctx)
			return hang(ctx, a)
		}, none, Timeout, StatusFailed, false},
		"sending": {EffectSide, func(ctx context.Context, a json.RawMessage) (Output, error) {
			NothingSent(ctx)
			Sending(ctx)
			return hang(ctx, a)
		}, none, OutcomeUnknown, StatusOutcomeUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, c.effect, c.run, c.change)
				o := b.do(t.Context())
				wantType(t, o, c.want)
				if o.Status != c.status || o.InDoubt != c.inDoubt {
					t.Errorf("status %s, in doubt %v", o.Status, o.InDoubt)
				}
				if c.want == OutcomeUnknown && (len(o.Attempts) != 1 || !strings.Contains(o.Result.ForModel(), "Look whether it happened")) {
					t.Errorf("%d attempts: %s", len(o.Attempts), o.Result.ForModel())
				}
			})
		})
	}
}

// R: X7, A7, L1
// case: harness A5
func TestCancelledCalls(t *testing.T) {
	t.Parallel()
	for effect, want := range map[Effect]ErrorType{EffectRead: Cancelled, EffectSide: OutcomeUnknown} {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(t, effect, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			cancel()
			<-ctx.Done()
			return Output{}, errors.New("interrupted")
		})
		wantType(t, b.do(ctx), want)
	}
}

// A crash between start and answer: harmless calls run again with their key, of
// others nothing is made up.
// R: A1, X7
// case: fault F02
// case: fault F04
func TestResumeAfterACrash(t *testing.T) {
	t.Parallel()
	for effect, runs := range map[Effect]int{EffectRead: 1, EffectIdempotent: 1, EffectSide: 0, EffectIrreversible: 0} {
		n, key := 0, ""
		b := newBench(t, effect, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			n++
			key = RunningCall(ctx).Key
			return Output{Text: "ok"}, nil
		})
		o := b.runner.Resume(t.Context(), b.plan(`{}`))
		if n != runs || (o.Status == StatusSucceeded) != (runs == 1) || o.InDoubt != (effect == EffectIrreversible) {
			t.Errorf("%s: ran %d times, %s", effect, n, o.Status)
		}
		if runs == 1 && key != IdempotencyKey(id.Call{Session: b.runner.Session, N: 1}) {
			t.Errorf("%s: key %q", effect, key)
		}
	}
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

// R: L8
func TestNothingAfterTheToolChangesItsStatus(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Spec){
		"checking panics": func(s *Spec) { s.FailedIf = func(Output) *Failure { panic("no") } },
	} {
		b := newBench(t, EffectSide, func(context.Context, json.RawMessage) (Output, error) { return Output{Text: "sent"}, nil }, change)
		if o := b.do(t.Context()); o.Status != StatusSucceeded {
			t.Errorf("%s: %s", name, o.Result.ForModel())
		}
	}
	b := newBench(t, EffectSide, func(context.Context, json.RawMessage) (Output, error) {
		return Output{Data: json.RawMessage(`{"cut`), Notices: []string{"\x00"}}, nil
	})
	if o := b.do(t.Context()); o.Status != StatusSucceeded || !strings.Contains(o.Result.ForModel(), `{\"cut`) {
		t.Errorf("data that is not JSON: %s", o.Result.ForModel())
	}
	b = newBench(t, EffectSide, func(context.Context, json.RawMessage) (Output, error) { return Output{Text: "sent"}, nil })
	w := &work{Runner: b.runner.whole(), plan: b.plan(`{}`), log: b.runner.Log, run: &run{}, present: presenter{}} // a presenter without a redactor panics
	if o := w.succeeded(Output{Text: "sent"}); o.Status != StatusSucceeded || !strings.Contains(o.Result.ForModel(), "has done its work") {
		t.Errorf("a fault in presenting: %s", o.Result.ForModel())
	}
}

// R: S4
func TestErrorDressedAsSuccessIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) {
		return Output{Text: "ERROR no such order"}, nil
	},
		func(s *Spec) {
			s.FailedIf = func(o Output) *Failure {
				if rest, bad := strings.CutPrefix(o.Text, "ERROR "); bad {
					return Fail(NotFound, "The shop reports: "+rest)
				}
				return nil
			}
		})
	wantType(t, b.do(t.Context()), NotFound)
}

// R: X6, L3
func TestFinishedItemsSurvive(t *testing.T) {
	t.Parallel()
	items := []string{"a", "b", "c", "d"}
	body := func(end func(ctx context.Context) error) runFunc {
		return func(ctx context.Context, _ json.RawMessage) (Output, error) {
			batch := Report(ctx, items)
			for i, item := range batch.Pending() {
				batch.Begin(item)
				if i == 2 {
					return Output{}, end(ctx)
				}
				batch.Done(item, json.RawMessage(`1`))
			}
			return Output{}, nil
		}
	}
	for name, c := range map[string]struct {
		end  func(ctx context.Context) error
		kind ErrorType
	}{
		"timeout": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, OutcomeUnknown},
		"panic":   {func(context.Context) error { panic("x") }, OutcomeUnknown},
		"hang":    {func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Minute); return nil }, OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newBench(t, EffectSide, body(c.end)).do(t.Context())
				r := o.Result
				if r.Status() != Partial || len(r.Completed()) != 2 || len(r.Failed()) != 1 || r.Failed()[0].Item != "c" || r.Failed()[0].Type != c.kind || len(r.Skipped()) != 1 || r.Skipped()[0].Item != "d" {
					t.Errorf("%s", r.ForModel())
				}
				if !strings.Contains(r.ForModel(), "2 items are completed, 1 failed, 1 not tried") || !strings.Contains(r.ForModel(), "ask a person") {
					t.Errorf("no way on: %s", r.ForModel())
				}
				time.Sleep(time.Hour) // the one that was left behind ends
			})
		})
	}
}

// R: X6, X1
func TestRepeatTakesOnlyWhatIsOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pending [][]string
		b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			batch := Report(ctx, []string{"a", "b", "c"})
			pending = append(pending, batch.Pending())
			for i, item := range batch.Pending() {
				batch.Begin(item)
				if i == 1 && len(pending) == 1 {
					return Output{}, FromHTTP("s", 503, nil)
				}
				batch.Done(item, nil)
			}
			return Output{}, nil
		})
		o := b.do(t.Context())
		if fmt.Sprint(pending) != "[[a b c] [b c]]" || o.Result.Status() != Success || len(o.Result.Completed()) != 3 {
			t.Errorf("%v, %s", pending, o.Result.ForModel())
		}
	})
}

// R: L5
// case: fault F30
func TestHugeOutputCostsOnlyItsBuffer(t *testing.T) {
	t.Parallel()
	const size = 256 << 20
	b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) {
		w := Writer(ctx)
		chunk := bytes.Repeat([]byte("x"), 64<<10) // one line without end
		for range size / len(chunk) {
			_, _ = w.Write(chunk)
		}
		_, _ = io.WriteString(w, " fatal: at the very end")
		return Output{}, nil
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	o := b.do(t.Context())
	runtime.ReadMemStats(&after)
	if o.OriginalBytes < size || len(o.Kept) > CaptureHead+CaptureTail+1000 {
		t.Errorf("%d bytes, kept %d", o.OriginalBytes, len(o.Kept))
	}
	if text := o.Result.ForModel(); !strings.Contains(text, "fatal: at the very end") || !strings.Contains(text, "not kept") || len(text) > 40000 {
		t.Errorf("%d bytes: %.300s", len(text), text)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("heap grew by %d MiB", grown>>20)
	}
}

// R: A6
func TestOnlyWhatWasClearedRuns(t *testing.T) {
	t.Parallel()
	ran := 0
	b := newBench(t, EffectSide, func(context.Context, json.RawMessage) (Output, error) { ran++; return Output{}, nil })
	good := b.plan(`{"a":1}`)
	for name, change := range map[string]func(*Plan){
		"other arguments": func(p *Plan) { p.Call.Args = json.RawMessage(`{"a":2}`) },
		"masked":          func(p *Plan) { p.Call.Args = json.RawMessage(`{"a":"[redacted:field:000000]"}`) },
		"not approved":    func(p *Plan) { p.Verdict = Awaiting },
		"held":            func(p *Plan) { p.Verdict = Held },
		"changed tool":    func(p *Plan) { p.ToolHash = "other" },
		"gone":            func(p *Plan) { p.Call.Tool = "y" },
	} {
		p := good
		change(&p)
		if o := b.runner.Execute(t.Context(), p); o.Result.Status() != Error || ran != 0 {
			t.Errorf("%s: %s, ran %d times", name, o.Result.Status(), ran)
		}
	}
	if o := b.runner.Execute(t.Context(), good); o.Status != StatusSucceeded || ran != 1 {
		t.Errorf("the plan itself: %s", o.Result.ForModel())
	}
}

// R: O3
func TestSensitiveArgumentsDoNotComeBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, EffectRead, func(_ context.Context, args json.RawMessage) (Output, error) {
		return Output{}, Fail(ExecutionError, "refused: "+string(args)).With("sent", string(args)).With("code", "hunter-two-x")
	}, func(s *Spec) { s.Sensitive = []string{"/code"} })
	o := b.runner.Execute(t.Context(), b.plan(`{"code":"hunter-two-x","other":"fine"}`))
	if text := o.Result.ForModel(); strings.Contains(text, "hunter-two") || !strings.Contains(text, "fine") {
		t.Errorf("%s", text)
	}
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

// Whatever a tool does, there is one result.
// R: L1, L6
func TestEveryBehaviourGivesOneResult(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			effect := []Effect{EffectRead, EffectIdempotent, EffectSide, EffectIrreversible, "odd"}[rnd.IntN(5)]
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b := newBench(t, effect, func(ctx context.Context, _ json.RawMessage) (Output, error) {
				rnd := rand.New(rand.NewPCG(seed, uint64(RunningCall(ctx).Attempt)))
				time.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
				fmt.Fprint(Writer(ctx), "said \xff\x00\x1b[1m")
				switch rnd.IntN(9) {
				case 0:
					panic(rnd.IntN(9))
				case 1:
					runtime.Goexit()
				case 2:
					<-ctx.Done()
					return Output{}, ctx.Err()
				case 3:
					time.Sleep(10 * time.Minute)
				case 4:
					return Output{Data: json.RawMessage("nonsense"), Failed: []Item{{Item: "x"}}}, nil
				case 5:
					return Output{}, FromHTTP("s", 400+rnd.IntN(200), nil)
				case 6:
					cancel()
				case 7:
					return Output{}, &Failure{Type: "odd", Context: map[string]any{"f": func() {}}, Example: make(chan int)}
				}
				return Output{}, nil
			}, func(s *Spec) { s.Timeout, s.Deadline = 5*time.Second, 30*time.Second })
			start := time.Now()
			o := b.runner.Execute(ctx, b.plan(`{}`))
			if took := time.Since(start); took > 30*time.Second+DefaultGrace {
				t.Errorf("took %s", took)
			}
			raw, err := json.Marshal(o.Result)
			var back Result
			if err != nil || json.Unmarshal(raw, &back) != nil || !json.Valid([]byte(o.Result.ForModel())) || !o.InDoubt && !o.Status.Ended() {
				t.Errorf("seed %d: %s %v", seed, raw, err)
			}
			time.Sleep(time.Hour) // those that were left behind end
		})
	}
}
