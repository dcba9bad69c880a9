package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
			m["a"] = 1 //nolint:govet,staticcheck // the panic is meant
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
	w := &work{Runner: b.runner.whole(), plan: b.plan(`{}`), log: callLog{to: b.runner.Log}, run: &run{}, present: presenter{}} // a presenter without a redactor panics
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
