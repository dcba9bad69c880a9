package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// R: A3, L1
// case: harness A3
func TestACallThatTheOutputLimitCutIsNotRunAndTaught(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	write := tool("write", tools.EffectIdempotent, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		ran.Add(1)
		return tools.Output{Data: args}, nil
	})
	h := build(t, write)
	// Cut in the middle, it would be JSON again with a quote and a bracket.
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [call("write", path = "a", text = "b" * 100), cut(limit = True)]
    return finish("Nothing was written.", status = "unable", unresolved = [s.last[0].message])
`)
	r := h.results(s.ID)[1]
	if ran.Load() != 0 || s.Outcome != sessions.Unable {
		t.Errorf("it ran %d times; %s %s", ran.Load(), s.Outcome, s.Failure)
	}
	for _, want := range []string{"output limit", "characters", "Split the work"} {
		if !strings.Contains(r.ForModel(), want) {
			t.Errorf("it isn't told %q: %s", want, r.ForModel())
		}
	}
}

// R: A4, P7
// case: fault F26
func TestWhatABrokenReplyCostIsCounted(t *testing.T) {
	t.Parallel()
	s := build(t, echo).run(`
def reply(s):
    if s.attempt < 3:
        return [say("I begin"), usage(input_tokens = 90, output_tokens = 10, cost_usd = "0.10"), cut()]
    return [finish("Done.", status = "done"), usage(input_tokens = 90, output_tokens = 10, cost_usd = "0.10")]
`)
	if s.Status != sessions.Completed || s.Tokens != 300 || s.CostMicros != 300_000 {
		t.Errorf("it is %s after %d tokens and %d millionths of a dollar", s.Status, s.Tokens, s.CostMicros)
	}
}

// late is a model whose reply comes whole although its session was cancelled
// while it spoke.
type late struct {
	cancel func()
	asked  *atomic.Int32
}

func (m late) Next(_ context.Context, req llm.Request) (llm.Reply, error) {
	m.asked.Add(1)
	if req.Say != nil {
		req.Say("I send it ")
	}
	m.cancel()
	return llm.Reply{Text: "I send it now.", Stop: llm.StopToolUse, Calls: []tools.Call{{Tool: "send", Args: json.RawMessage(`{"n":1}`)}, {Tool: "echo", Args: json.RawMessage(`{}`)}}}, nil
}

// R: A7, L1
// case: harness A5
func TestACallThatArrivesAfterTheCancelNeverStarts(t *testing.T) {
	t.Parallel()
	var ran, asked atomic.Int32
	send := tool("send", tools.EffectSide, func(context.Context, json.RawMessage) (tools.Output, error) {
		ran.Add(1)
		return tools.Output{Text: "sent"}, nil
	})
	h := build(t, echo, send)
	session := h.start("def reply(s):\n    return empty()")
	deps := h.deps()
	deps.Model = func(definition.Version, string) (llm.Model, error) {
		return late{func() {
			if _, err := h.store.Cancel(t.Context(), cli, h.inserter, session); err != nil {
				t.Error(err)
			}
		}, &asked}, nil
	}
	h.use(deps)
	if err := h.work(session); err != nil {
		t.Fatal(err)
	}
	s := h.get(session)
	results := h.results(session)
	if s.Status != sessions.Cancelled || ran.Load() != 0 || asked.Load() != 1 || len(results) != 2 {
		t.Errorf("%s; ran %d times, the model was asked %d times, %d results", s.Status, ran.Load(), asked.Load(), len(results))
	}
	for n, r := range results {
		if r.ErrorType() != tools.Cancelled {
			t.Errorf("call %d ended %s", n, r.ForModel())
		}
	}
}

// What one rule lets pass and another wants asked is asked: when it is first
// planned, and when a worker comes back to it.
// R: A6
// case: harness A19
func TestTheStricterRuleWinsAlsoWhenTheSessionIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	send := tool("send", tools.EffectSide, func(context.Context, json.RawMessage) (tools.Output, error) {
		ran.Add(1)
		return tools.Output{Text: "sent"}, nil
	})
	h := build(t, echo, send)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [call("echo", n = 1), call("send", n = 2)]
    return finish("Sent.", evidence = [s.last[1].call_id])
`, "permission: {mode: auto, rules: [{tool: send, do: ask}, {tool: send, do: allow, when: {n: 2}}, {tool: \"*\", do: allow}]}")
	for range 2 {
		if kind, _, _ := h.question(s); s.Status != sessions.Waiting || s.OpenQuestions != 1 || kind != "approval" || ran.Load() != 0 {
			t.Fatalf("%s, asked %s, ran %d times", s.Status, kind, ran.Load())
		}
		if _, err := h.store.Message(t.Context(), cli, h.inserter, s.ID, "Go on."); err != nil {
			t.Fatal(err)
		}
		if err := h.work(s.ID); err != nil {
			t.Fatal(err)
		}
		s = h.get(s.ID)
	}
}
