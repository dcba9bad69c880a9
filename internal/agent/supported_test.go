package agent

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"baton/internal/llm"
	"baton/internal/tools"
)

// claimsTool is a tool that is only talked about.
type claimsTool struct{ spec tools.Spec }

func (t claimsTool) Spec() tools.Spec { return t.spec }

func (claimsTool) Run(context.Context, json.RawMessage) (tools.Output, error) {
	return tools.Output{}, nil
}

func talkedAbout(t *testing.T) *tools.Registry {
	t.Helper()
	object := json.RawMessage(`{"type":"object"}`)
	r, err := tools.NewRegistry(
		claimsTool{tools.Spec{Name: "query_db", Schema: object, Effect: tools.EffectRead}},
		claimsTool{tools.Spec{Name: "send_email", Schema: object, Effect: tools.EffectIrreversible, Claims: []string{"sent", "已发送"}}},
		claimsTool{tools.Spec{Name: "refund", Schema: object, Effect: tools.EffectSide, Claims: []string{"refunded"}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// history is a state after these calls.
type history struct {
	t *testing.T
	s *state
}

func historyOf(t *testing.T, task string) history {
	t.Helper()
	return history{t, &state{turn: 1, ended: map[int]*call{}, messages: []llm.Message{{Role: llm.RoleTask, Text: task, Inputs: json.RawMessage(`{"order":"48-2217"}`)}}}}
}

func (h history) call(tool string, effect tools.Effect, args string, r tools.Result) history {
	h.s.calls++
	h.s.ended[h.s.calls] = &call{turn: h.s.turn, written: json.RawMessage(args), plan: tools.Plan{Call: tools.Call{N: h.s.calls, Tool: tool, Args: json.RawMessage(args)}, Effect: effect}, result: &r}
	return h
}

func (h history) found(data string) history {
	return h.call("query_db", tools.EffectRead, `{}`, h.succeeded(tools.Output{Data: json.RawMessage(data)}))
}

func (h history) succeeded(out tools.Output) tools.Result {
	h.t.Helper()
	r, err := tools.Succeed(out, tools.Meta{Attempts: 1})
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h history) failed(tool string, effect tools.Effect, message string) history {
	return h.call(tool, effect, `{}`, tools.Refuse(tools.Fail(tools.ExecutionError, message), tools.Meta{Attempts: 1}))
}

// R: A5
// case: harness A25
func TestWhatAFinishSaysMustStandInTheRecord(t *testing.T) {
	t.Parallel()
	rows := `{"columns":["order","total"],"rows":[["48-2217","1284.50"],["48-2218","20.00"]]}`
	registry := talkedAbout(t)
	for _, c := range []struct {
		name   string
		h      history
		finish string
		want   []string // parts of the faults, in order; none: it is honest
	}{
		{"what the rows say", historyOf(t, "Sum up").found(rows), `{"summary":"Order 48-2217 cost 1,284.50 EUR; there are 2 orders.","evidence":["call_1"]}`, nil},
		{"a figure of nowhere", historyOf(t, "Sum up").found(rows), `{"summary":"Order 48-2217 cost 1,299.00 EUR.","evidence":["call_1"]}`, []string{"/summary 1,299.00"}},
		{"a claim of nowhere", historyOf(t, "Sum up").found(rows), `{"summary":"All is well.","evidence":[{"call":"call_1","claim":"99 orders"}]}`, []string{"/evidence/0/claim 99"}},
		{"a figure of a call that is not cited", historyOf(t, "Sum up").found(rows).found(`{"open":17}`), `{"summary":"17 are open.","evidence":["call_1"]}`, []string{"call_2 among the evidence"}},
		{"a figure of a failed call", historyOf(t, "Sum up").found(rows).failed("query_db", tools.EffectRead, "Query 4711 was stopped."), `{"summary":"Revenue was 4711.","evidence":["call_1"]}`, []string{"/summary 4711"}},
		{"a failure with its figure", historyOf(t, "Sum up").found(rows).failed("query_db", tools.EffectRead, "Query 4711 was stopped."), `{"summary":"Query 4711 failed. There are 2 orders.","evidence":["call_1"],"status":"partly","unresolved":["Query 4711 was stopped."]}`, nil},
		{"a reason of nowhere", historyOf(t, "Sum up").found(rows), `{"summary":"There are 2 orders.","evidence":["call_1"],"status":"partly","unresolved":["The other 38 orders are locked."]}`, []string{"/unresolved/0 38"}},
		{"a sum", historyOf(t, "Sum up").found(rows), `{"summary":"Both cost 1,304.50.","evidence":["call_1"],"derived":[{"value":"1,304.50","operation":"sum","of":["1284.50","20.00"]}]}`, nil},
		{"a wrong sum", historyOf(t, "Sum up").found(rows), `{"summary":"Both cost 1,306.","evidence":["call_1"],"derived":[{"value":"1,306","operation":"sum","of":["1284.50","20.00"]}]}`, []string{"/derived/0", "/summary 1,306"}},
		{"the task's own figures", historyOf(t, "Pay back 240 EUR for 48-2217").found(rows), `{"summary":"240 EUR for order 48-2217 were asked for.","evidence":["call_1"]}`, nil},
		{"a count of calls is no count of rows", historyOf(t, "How many orders has C-9?").found(`{"rows":[]}`).found(`{"rows":[]}`), `{"summary":"C-9 has two orders, 2 in all.","evidence":["call_1"]}`, []string{"/summary two", "/summary 2"}},
		{"a count of tries", historyOf(t, "Sum up").found(rows).failed("query_db", tools.EffectRead, "It is away."), `{"summary":"I asked 2 times; it failed once. There are 2 orders.","evidence":["call_1"]}`, nil},
		{"a refused finish is no source", historyOf(t, "Sum up").found(rows).call("finish", tools.EffectRead, `{"summary":"C-9 owes 77 euros, not 78."}`, tools.Refuse(tools.Fail(tools.InvalidArguments, "No."), tools.Meta{})),
			`{"summary":"C-9 does not owe 77 euros.","evidence":["call_1"]}`, []string{"/summary C-9", "/summary 77"}},
		{"a count of what is named", historyOf(t, "Sum up").found(rows), `{"summary":"Both orders, 48-2217 and 48-2218: two in all.","evidence":["call_1"]}`, nil},
		{"the name of a call", historyOf(t, "Sum up").found(rows), `{"summary":"See call_1.","evidence":["call_1"]}`, nil},
		{"nothing cited", historyOf(t, "Sum up").found(rows), `{"summary":"All is well."}`, []string{"/evidence none"}},
		{"nothing cited, and unable", historyOf(t, "Sum up").failed("query_db", tools.EffectRead, "It is away."), `{"summary":"The database is unavailable.","status":"unable","unresolved":["It is away."]}`, nil},
		{"an invented call", historyOf(t, "Sum up").found(rows), `{"summary":"All is well.","evidence":["call_9"]}`, []string{"/evidence/0 call_9"}},
		{"a failed call", historyOf(t, "Sum up").failed("query_db", tools.EffectRead, "It is away."), `{"summary":"All is well.","evidence":["call_1"]}`, []string{"/evidence/0 call_1, which ended as failed"}},

		{"a deed that nobody did", historyOf(t, "Write to Anna").found(rows), `{"summary":"I sent the mail to Anna.","evidence":["call_1"]}`, []string{"/summary I sent the mail"}},
		{"a deed that failed", historyOf(t, "Write to Anna").found(rows).failed("send_email", tools.EffectIrreversible, "No."), `{"summary":"The mail was sent.","evidence":["call_1"],"unresolved":["Something."]}`, []string{"/summary The mail was sent"}},
		{"a deed in Chinese", historyOf(t, "Write to Anna").found(rows), `{"summary":"邮件已发送。","evidence":["call_1"]}`, []string{"/summary 邮件已发送"}},
		{"a deed", historyOf(t, "Write to Anna").call("send_email", tools.EffectIrreversible, `{"to":["anna@example.org"]}`, historyOf(t, "").succeeded(tools.Output{Text: "ok"})),
			`{"summary":"The mail was sent to anna@example.org.","evidence":["call_1"]}`, nil},
		{"a deed of somebody else's", historyOf(t, "Look").found(`{"note":"The customer sent a complaint."}`), `{"summary":"The customer sent a complaint.","evidence":["call_1"]}`, nil},
		{"what was not done", historyOf(t, "Write to Anna").found(rows), `{"summary":"The mail was not sent. It will be sent once somebody agrees.","evidence":["call_1"],"status":"partly"}`, nil},

		{"done, though it failed", historyOf(t, "Pay back").found(rows).failed("refund", tools.EffectSide, "No."), `{"summary":"All is settled.","evidence":["call_1"]}`, []string{"/status done, though call_2 (refund) ended as failed"}},
		{"done, and that it failed is told", historyOf(t, "See that no second refund goes out").found(rows).failed("refund", tools.EffectSide, "It has been paid back already."), `{"summary":"The second refund was refused, as it should be.","evidence":["call_1"]}`, nil},
		{"done, though it failed, and said", historyOf(t, "Pay back").found(rows).failed("refund", tools.EffectSide, "No."), `{"summary":"All else is settled.","evidence":["call_1"],"unresolved":[{"call":"call_2","reason":"It was refused."}]}`, nil},
		{"failed, then done", historyOf(t, "Pay back").failed("refund", tools.EffectSide, "No.").call("refund", tools.EffectSide, `{}`, historyOf(t, "").succeeded(tools.Output{Text: "ok"})), `{"summary":"It was refunded.","evidence":["call_2"]}`, nil},
		{"items left", historyOf(t, "Pay back").call("refund", tools.EffectSide, `{}`, historyOf(t, "").succeeded(tools.Output{Completed: []tools.Item{{Item: "A"}}, Failed: []tools.Item{{Item: "B"}}, Skipped: []tools.Item{{Item: "C"}}})),
			`{"summary":"They were refunded.","evidence":["call_1"]}`, []string{"/status done, though call_1 (refund) left 2 of its items"}},
	} {
		var args finishArgs
		if err := json.Unmarshal([]byte(c.finish), &args); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		faults := c.h.s.checkFinish(args, registry)
		var got []string
		for _, f := range faults {
			got = append(got, f.Path+" "+f.Got+" | "+f.Expected)
		}
		ok := len(got) == len(c.want)
		for i := range c.want {
			ok = ok && strings.Contains(got[i], c.want[i])
		}
		if !ok {
			t.Errorf("%s: faults %q, want %q", c.name, got, c.want)
		}
	}
}

// What people decide after a failure is how it is resolved.
// R: A5, A9
func TestAPersonsDecisionResolvesWhatFailed(t *testing.T) {
	t.Parallel()
	h := historyOf(t, "Pay back").failed("refund", tools.EffectSide, "No.")
	args := finishArgs{Summary: "Marta Ruiz chose to leave it at 120 EUR.", Status: "done", Evidence: []evidence{{Call: "call_2"}}}
	h.s.turn++
	h.s.messages = append(h.s.messages, llm.Message{Role: llm.RoleDecision, Decision: &llm.Decision{Label: "Leave it at 120 EUR", DecidedBy: "Marta Ruiz", Question: "Refund 240 EUR?"}})
	h.found(`{}`)
	if faults := h.s.checkFinish(args, talkedAbout(t)); len(faults) > 0 {
		t.Errorf("an honest finish was refused: %+v", faults)
	}
	// What the model asked is its own word, and supports nothing.
	args.Summary = "It came to 240 EUR."
	if faults := h.s.checkFinish(args, talkedAbout(t)); len(faults) != 1 {
		t.Errorf("a figure of the model's own question was taken: %+v", faults)
	}
}
