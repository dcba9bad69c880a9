package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// R: X5, X2
func TestAFallbackAnswersForAServiceThatIsDownAndSaysSo(t *testing.T) {
	t.Parallel()
	copied := func(context.Context, json.RawMessage) (Output, error) {
		return Output{Data: json.RawMessage(`{"price":12}`), Degraded: &Degraded{Source: "last night's copy", AgeS: 7200, Missing: "articles of today"}}, nil
	}
	for name, c := range map[string]struct {
		effect   Effect
		err      error
		fallback func(context.Context, json.RawMessage) (Output, error)
		want     ErrorType // "" for a degraded success
	}{
		"down":                     {EffectRead, FromHTTP("prices", 503, nil), copied, ""},
		"too many":                 {EffectRead, FromHTTP("prices", 429, nil), copied, ""},
		"not the service's fault":  {EffectRead, Fail(NotFound, "There is no such article."), copied, NotFound},
		"an unknown failure":       {EffectRead, errors.New("odd"), copied, ExecutionError},
		"an effect":                {EffectIdempotent, FromHTTP("prices", 503, nil), copied, Unavailable},
		"both are down":            {EffectRead, FromHTTP("prices", 503, nil), func(context.Context, json.RawMessage) (Output, error) { return Output{}, errors.New("no copy") }, Unavailable},
		"the fallback panics":      {EffectRead, FromHTTP("prices", 503, nil), func(context.Context, json.RawMessage) (Output, error) { panic("no") }, Unavailable},
		"without a fallback":       {EffectRead, FromHTTP("prices", 503, nil), nil, Unavailable},
		"the fallback hangs":       {EffectRead, FromHTTP("prices", 503, nil), func(ctx context.Context, _ json.RawMessage) (Output, error) { <-ctx.Done(); return Output{}, ctx.Err() }, Unavailable},
		"the fallback's own words": {EffectRead, FromHTTP("prices", 503, nil), func(context.Context, json.RawMessage) (Output, error) { return Output{Text: "12"}, nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, c.effect, func(context.Context, json.RawMessage) (Output, error) { return Output{}, c.err },
					func(s *Spec) { s.Fallback = c.fallback })
				o := b.do(t.Context())
				wantType(t, o, c.want)
				d := o.Result.Meta().Degraded
				if (c.want == "") != (d != nil) {
					t.Fatalf("degraded is %+v: %s", d, o.Result.ForModel())
				}
				if d == nil {
					return
				}
				if d.Source == "" || d.Reason == "" || !strings.Contains(strings.Join(o.Result.Notices(), " "), "comes from a substitute") {
					t.Errorf("the model isn't told: %s", o.Result.ForModel())
				}
				if !strings.Contains(b.log.String(), `"level":"WARN"`) {
					t.Errorf("log: %s", b.log)
				}
			})
		})
	}
}

// A tool that hangs until its deadline leaves time for its fallback.
// R: X5, L4
func TestAFallbackHasTimeOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, EffectRead, func(ctx context.Context, _ json.RawMessage) (Output, error) {
			<-ctx.Done()
			return Output{}, ctx.Err()
		}, func(s *Spec) {
			s.Fallback = func(context.Context, json.RawMessage) (Output, error) { return Output{Text: "old"}, nil }
		})
		started := time.Now()
		o := b.do(t.Context())
		if o.Result.Meta().Degraded == nil || time.Since(started) > DefaultDeadline {
			t.Errorf("after %s: %s", time.Since(started), o.Result.ForModel())
		}
	})
}

// R: X5, X4
func TestWhileTheBreakerIsOpenTheFallbackAnswersAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked, up := 0, true
		b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) {
			asked++
			return Output{Text: "fresh"}, nil
		}, func(s *Spec) {
			s.Fallback = func(context.Context, json.RawMessage) (Output, error) {
				if !up {
					return Output{}, errors.New("no copy")
				}
				return Output{Text: "old"}, nil
			}
		})
		b.facts.Now = time.Now()
		b.facts.Breakers = []Breaker{{Service: "x", Until: time.Now().Add(time.Minute), Reason: "It is away."}}
		o := b.do(t.Context())
		if asked != 0 || o.Result.Meta().Degraded == nil || !strings.Contains(string(o.Result.Data()), "old") {
			t.Errorf("asked %d times: %s", asked, o.Result.ForModel())
		}
		up = false
		wantType(t, b.do(t.Context()), Unavailable)
		b.facts.Now = time.Now().Add(2 * time.Minute)
		if o := b.do(t.Context()); asked != 1 || o.Result.Meta().Degraded != nil {
			t.Errorf("after the breaker closed: asked %d times: %s", asked, o.Result.ForModel())
		}
	})
}
