package escalation_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/permission"
	"baton/internal/tools"
)

func compose(t *testing.T, args string, k escalation.Known) escalation.Draft {
	t.Helper()
	ask, faults := parse(t, args)
	if !escalation.Vague(faults) {
		t.Fatal(faults)
	}
	if k.Prepare == nil {
		k.Prepare = prepare
	}
	draft, faults := escalation.Compose(ask, k)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return draft
}

var queryWords = map[string]tools.Words{"en": {Title: "Query", Sentence: "Look up {table}"}, "zh-Hans": {Title: "查询", Sentence: "查询 {table}"}}

func query(n int, table string) escalation.KnownCall {
	return escalation.KnownCall{N: n, Tool: "query_db", ToolHash: "q1", Words: queryWords, Args: json.RawMessage(`{"table":"` + table + `"}`),
		Effect: tools.EffectRead, Status: tools.StatusSucceeded, Attempts: 1, Shown: `{"rows":[["8812","240.00","9007199254740993"]]}`}
}

func failing(n int, table, message string) escalation.KnownCall {
	c := query(n, table)
	c.Status, c.ErrorType, c.Error, c.Attempts, c.Shown = tools.StatusFailed, tools.Timeout, message, 4, ""
	return c
}

func texts(lines []escalation.Line) (out []string) {
	for _, l := range lines {
		out = append(out, l.Text)
	}
	return out
}

// R: Q2
func TestWhatWasDoneAndTriedComesFromTheLog(t *testing.T) {
	t.Parallel()
	s := id.New[id.Session]()
	wrote := query(3, "notes")
	wrote.Tool, wrote.Effect, wrote.Words = "change_db", tools.EffectSide, map[string]tools.Words{"en": {Title: "Write a note"}}
	draft := compose(t, `{"question": "Shall I refund it now?", "options": ["Refund it", "Leave it"], "problem": "I did all of it already."}`, escalation.Known{
		Session: s, Task: "Settle 8812",
		Calls: []escalation.KnownCall{query(1, "orders"), query(2, "orders"), wrote, failing(4, "payments", "No answer in 30 s."), failing(5, "payments", "No answer in 30 s."), failing(6, "payments", "Connection refused.")},
	})
	c := draft.Question.Context
	if want := []string{"Write a note", "Look up orders (2 times)"}; !slices.Equal(texts(c.Done), want) {
		t.Errorf("done is %q, want %q", texts(c.Done), want)
	}
	if want := []string{"Look up payments (2 times): No answer in 30 s. (8 attempts)", "Look up payments: Connection refused. (4 attempts)"}; !slices.Equal(texts(c.Tried), want) {
		t.Errorf("tried is %q, want %q", texts(c.Tried), want)
	}
	if c.Done[1].Call != (id.Call{Session: s, N: 2}) || c.Done[1].Words["zh-Hans"] != "查询 orders" || c.Tried[0].Call.N != 5 {
		t.Errorf("lines are %+v and %+v", c.Done, c.Tried)
	}
	if c.Task != "Settle 8812" {
		t.Errorf("the task is %q", c.Task)
	}
	if cs := draft.Case; cs.Tool != "query_db" || cs.ToolHash != "q1" || cs.ErrorType != "timeout" || cs.ErrorClass != "timeout" || cs.OptionSet != "leave-it refund-it" {
		t.Errorf("the case is %+v", cs)
	}
}

// What was done in part stands under both: what was done, and what was not.
// R: Q2, X6
func TestABatchThatWasDoneInPartIsDoneAndFailed(t *testing.T) {
	t.Parallel()
	batch := query(1, "prices")
	batch.Status, batch.Done, batch.Undone = tools.StatusPartial, 35, 5
	c := compose(t, escalation.AskExample, escalation.Known{Calls: []escalation.KnownCall{batch, batch}}).Question.Context
	want := []string{"Look up prices: 35 of 40 items done", "Look up prices: 35 of 40 items done"}
	if !slices.Equal(texts(c.Done), want) || !slices.Equal(texts(c.Tried), want) {
		t.Errorf("done is %q, tried is %q", texts(c.Done), texts(c.Tried))
	}
}

// R: Q2
func TestALongLogIsCutToItsLatest(t *testing.T) {
	t.Parallel()
	var calls []escalation.KnownCall
	for i := range 30 {
		calls = append(calls, failing(i+1, "t"+string(rune('a'+i%26)), "no"), query(i+101, "q"+string(rune('a'+i%26))))
	}
	c := compose(t, escalation.AskExample, escalation.Known{Calls: calls}).Question.Context
	if len(c.Done) != 8 || len(c.Tried) != 8 || c.Tried[7].Call.N != 30 || c.Done[7].Call.N != 130 {
		t.Errorf("done ends with %+v, tried with %+v", c.Done, c.Tried)
	}
}

// R: Q3
// case: abuse A29
func TestWhatAnOptionWouldDoIsTheServersWord(t *testing.T) {
	t.Parallel()
	draft := compose(t, `{"question": "Shall I cancel the order now?", "options": [
		{"label": "Cancel", "consequence": "Nothing happens, and it can be undone.", "action": {"tool": "refund", "args": {"amount": "9999.00", "customer": {"name": "Mallory"}}}},
		"Leave it"]}`, escalation.Known{})
	o := draft.Question.Options[0]
	a := o.Action
	if a == nil || a.Sentences["en"] != "Refund 9999.00 to Mallory" || a.Sentences["zh-Hans"] != "向 Mallory 退款 9999.00" || a.Titles["zh-Hans"] != "退款" ||
		a.Reversals["en"] != "For 30 days." || !strings.Contains(string(a.Args), "9999.00") || !strings.HasPrefix(a.Digest, "digest of") {
		t.Errorf("the action is %+v", a)
	}
	if o.Reversible == nil || !*o.Reversible {
		t.Errorf("reversible: %v", o.Reversible)
	}
	if other := draft.Question.Options[1]; other.Action != nil || other.Reversible != nil {
		t.Errorf("the option without an action is %+v", other)
	}
	if draft.Case.OptionSet != "cancel! leave-it" || draft.Case.Tool != "refund" {
		t.Errorf("the case is %+v", draft.Case)
	}
}

// R: Q3
func TestReversibleIsOnlyWhatTheToolDeclares(t *testing.T) {
	t.Parallel()
	words := map[string]tools.Words{"en": {Reversal: "For 30 days."}}
	undo := func(json.RawMessage, tools.Result) (string, json.RawMessage, bool) { return "", nil, false }
	yes, no := true, false
	for name, c := range map[string]struct {
		effect tools.Effect
		spec   tools.Spec
		want   *bool
	}{
		"nothing declared":            {tools.EffectSide, tools.Spec{}, nil},
		"an unknown effect":           {"", tools.Spec{}, nil},
		"a reversal":                  {tools.EffectSide, tools.Spec{Words: words}, &yes},
		"an undo":                     {tools.EffectSide, tools.Spec{Undo: undo}, &yes},
		"irreversible, whatever said": {tools.EffectIrreversible, tools.Spec{Words: words, Undo: undo}, &no},
		"a look":                      {tools.EffectRead, tools.Spec{}, &yes},
	} {
		draft := compose(t, `{"question": "Shall I do this now?", "options": [{"label": "Do it", "action": {"tool": "x", "args": {}}}, "Leave it"]}`,
			escalation.Known{Prepare: func(call tools.Call) (tools.Plan, tools.Spec) {
				return tools.Plan{Call: call, Verdict: tools.Ready, Effect: c.effect, Digest: "d"}, c.spec
			}})
		got := draft.Question.Options[0].Reversible
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: reversible is %v", name, got)
		}
	}
}

// R: Q3, E2
func TestAnActionThatCouldNotRunIsAFault(t *testing.T) {
	t.Parallel()
	type in struct {
		Amount string `json:"amount"`
	}
	refund, err := tools.Func(tools.Spec{Name: "refund"}, func(context.Context, in) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(refund)
	if err != nil {
		t.Fatal(err)
	}
	known := escalation.Known{Prepare: func(call tools.Call) (tools.Plan, tools.Spec) {
		_, spec, _ := registry.Lookup(call.Tool)
		return tools.Prepare(call, tools.Facts{Tools: registry, Policy: permission.Policy{Mode: permission.AskFirst}}), spec
	}}
	for action, path := range map[string]string{
		`{"tool": "refund", "args": {"amount": "1"}}`: "",
		`{"tool": "refund", "args": {"amount": 1}}`:   "/options/0/action/args/amount",
		`{"tool": "refund", "args": {}}`:              "/options/0/action/args/amount",
		`{"tool": "refund", "args": {"amont": "1"}}`:  "/options/0/action/args/amont",
		`{"tool": "transfer", "args": {"amount": 1}}`: "/options/0/action",
		`{"tool": "refund"}`:                          "/options/0/action/args/amount",
	} {
		ask, faults := parse(t, `{"question": "Shall I do this now?", "options": [{"label": "Do it", "action": `+action+`}, "Leave it"]}`)
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		draft, faults := escalation.Compose(ask, known)
		if path == "" {
			if len(faults) > 0 || draft.Question.Options[0].Action.Digest == "" {
				t.Errorf("%s: faults are %+v, the action %+v", action, faults, draft.Question.Options[0].Action)
			}
		} else if !slices.ContainsFunc(faults, func(f escalation.Fault) bool { return f.Path == path && !f.Vague }) {
			t.Errorf("%s: faults are %+v, want one at %s", action, faults, path)
		}
	}
}

// R: Q2
func TestFactsAreLookedUpInWhatTheyCite(t *testing.T) {
	t.Parallel()
	s := id.New[id.Session]()
	call := func(n int) string { return id.Call{Session: s, N: n}.String() }
	known := escalation.Known{Session: s, Prepare: prepare, Calls: []escalation.KnownCall{query(1, "orders"), failing(2, "payments", "no")}}
	fact := func(value, call string) string {
		return `{"question": "Shall I refund it now?", "options": ["Yes, do", "No, don't"], "facts": [{"label": "Amount", "value": ` + value + `, "call_id": "` + call + `"}]}`
	}
	for value, confirmed := range map[string]bool{
		`"240.00"`: true, `240.00`: true, `9007199254740993`: true, `"8812"`: true,
		`"240"`: false, `"40.00"`: false, `9007199254740992`: false, `"900"`: false, `"881"`: false, `true`: false,
	} {
		f := compose(t, fact(value, call(1)), known).Question.Facts[0]
		if f.Confirmed != confirmed || f.Call == nil || f.Call.N != 1 {
			t.Errorf("%s: %+v, want confirmed: %v", value, f, confirmed)
		}
	}
	if f := compose(t, fact(`"240.00"`, ""), known).Question.Facts[0]; f.Confirmed || f.Call != nil {
		t.Errorf("a fact that cites nothing: %+v", f)
	}
	for _, cited := range []string{call(2), call(3), "call_1", id.Call{Session: id.New[id.Session](), N: 1}.String()} {
		ask, _ := parse(t, fact(`"240.00"`, cited))
		if _, faults := escalation.Compose(ask, known); len(faults) != 1 || faults[0].Path != "/facts/0/call_id" || faults[0].Vague {
			t.Errorf("%s: faults are %+v", cited, faults)
		}
	}
}

// R: Q2
func TestAVagueQuestionIsCompletedFromTheLog(t *testing.T) {
	t.Parallel()
	draft := compose(t, `{"options": ["Retry it"]}`, escalation.Known{Calls: []escalation.KnownCall{failing(1, "payments", "No answer in 30 s.")}})
	q := draft.Question
	if q.Question != "How shall I go on?" || q.Title != "How shall I go on?" || q.Sentences["question"].IsZero() || q.Sentences["title"].IsZero() {
		t.Errorf("the question is %+v", q)
	}
	if q.Context.Problem != "No answer in 30 s." {
		t.Errorf("the problem is %q", q.Context.Problem)
	}
	if !q.AllowOther || !q.Allows(escalation.Respond) {
		t.Errorf("a person can answer by %v", q.Allowed)
	}
}

// R: C2
func TestUnregisteredReasonCodesAreRefused(t *testing.T) {
	t.Parallel()
	ask, _ := parse(t, escalation.AskExample)
	k := escalation.Known{Prepare: prepare, ReasonCodes: []string{"over_limit"}}
	if _, faults := escalation.Compose(ask, k); len(faults) != 1 || faults[0].Path != "/reason_code" || !strings.Contains(faults[0].Expected, "over_limit") {
		t.Errorf("faults are %+v", faults)
	}
}

// R: A6, P6
func TestAQuestionAboutALoopIsInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	plan, spec := prepare(tools.Call{N: 4, Tool: "refund", Args: json.RawMessage(`{"amount":"240.00","customer":{"name":"Ana"}}`)})
	e := escalation.Escalation{Question: escalation.LoopDraft(plan, spec, escalation.Known{Task: "Settle it"}).Question}
	if e.Question.Title != "The agent keeps trying and gets nowhere: Refund 240.00 to Ana" {
		t.Errorf("the title is %q", e.Question.Title)
	}
	if zh := e.Event().Titles["zh-Hans"]; !strings.Contains(zh, "向 Ana 退款 240.00") {
		t.Errorf("in Chinese the title is %q", zh)
	}
	e.Decision = &escalation.Decision{Type: escalation.Choose, OptionID: escalation.LoopStop}
	if zh := e.Event().Labels["zh-Hans"]; zh != i18n.T(i18n.With(t.Context(), i18n.Chinese), "escalation.own.stop") {
		t.Errorf("in Chinese the choice is %q", zh)
	}
	e.Decision = &escalation.Decision{Type: escalation.Approve}
	if labels := e.Event().Labels; labels != nil {
		t.Errorf("an answer that is no option has the labels %v", labels)
	}
}

// R: A6, Q1, Q3
func TestAnApprovalIsInTheServersWords(t *testing.T) {
	t.Parallel()
	plan, spec := prepare(tools.Call{N: 4, Tool: "refund", Args: json.RawMessage(`{"amount":"240.00","customer":{"name":"Ana"}}`), Reason: "Approved by your boss on 2026-01-02."})
	spec.Schema, spec.ReasonCodes = json.RawMessage(`{"type":"object"}`), []string{"refund"}
	d := escalation.ApprovalDraft(plan, spec, escalation.Known{Task: "Settle it"})
	q := d.Question
	raised := escalation.Escalation{Question: q}
	if zh := raised.Event().Titles["zh-Hans"]; zh != "向 Ana 退款 240.00" {
		t.Errorf("in Chinese the title is %q", zh)
	}
	if d.Kind != escalation.KindApproval || d.Trigger != escalation.SensitiveAction || q.Title != "Refund 240.00 to Ana" || q.Sentences["question"].IsZero() {
		t.Errorf("the question is %+v", q)
	}
	if q.ActionRequest.Digest != plan.Digest || string(q.ActionRequest.Schema) != `{"type":"object"}` ||
		!slices.Equal(q.Allowed, []escalation.DecisionType{escalation.Approve, escalation.Edit, escalation.Reject}) {
		t.Errorf("the action is %+v, allowed %v", q.ActionRequest, q.Allowed)
	}
	if d.Case.OptionSet != "approve:refund" || d.Case.ReasonCode != "refund" || d.Case.Problem != "Approved by your boss on <date>." {
		t.Errorf("the case is %+v", d.Case)
	}
}

// R: C2
func TestVolatileValuesAreMasked(t *testing.T) {
	t.Parallel()
	for problem, want := range map[string]string{
		"Order 8812 was charged twice, 240.00 EUR each.":         "Order <n> was charged twice, <n> EUR each.",
		"Order 13 was charged  twice, 1,284.50 EUR each.":        "Order <n> was charged twice, <n> EUR each.",
		"On 2026-03-04 and 2026-03-05T10:00:00Z.":                "On <date> and <date>.",
		"ana.b+c@example.org wrote about ORD-1042":               "<email> wrote about <id>",
		"charge ch_3Nx9 of 7f9c24e8-3b12-4c1a-9c3e-1f2a3b4c5d6e": "charge <id> of <id>",
		"see https://desk.example.org/8812?x=1 for it":           "see <url> for it",
		"2026年3月4日的订单8812被重复扣款":                                  "<date>的订单<n>被重复扣款",
		"The customer is not known here.":                        "The customer is not known here.",
	} {
		ask, _ := parse(t, `{"question": "Shall I refund it now?", "options": ["Yes, do", "No, don't"]}`)
		ask.Problem = problem
		draft, _ := escalation.Compose(ask, escalation.Known{})
		if draft.Case.Problem != want {
			t.Errorf("%q becomes %q, want %q", problem, draft.Case.Problem, want)
		}
	}
}
