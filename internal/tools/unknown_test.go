package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"baton/internal/id"
)

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
