package escalation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"baton/internal/escalation"
	"baton/internal/redact"
	"baton/internal/tools"
)

func parse(t *testing.T, args string) (escalation.Ask, []escalation.Fault) {
	t.Helper()
	return escalation.ParseAsk(json.RawMessage(args), nil)
}

// R: Q1, C2
func TestOptionsGetTheirIdsFromTheirLabels(t *testing.T) {
	t.Parallel()
	ask, faults := parse(t, `{"question": "What shall I do with it?", "recommended": "b",
		"options": ["Refund in full!", {"label": "全额退款"}, {"label": "Refund in full?"}, {"label": "B"}, {"label": "…"}, {"label": "Wait", "id": "wait_a_week"}]}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var ids []string
	for _, o := range ask.Options {
		ids = append(ids, o.ID)
	}
	if want := []string{"refund-in-full", "全额退款", "refund-in-full-2", "option-b", "option", "wait_a_week"}; !slices.Equal(ids, want) {
		t.Errorf("ids are %v, want %v", ids, want)
	}
	if ask.Recommended != "全额退款" { // B is the second one's letter
		t.Errorf("recommended is %q", ask.Recommended)
	}
}

// R: Q1, Q2, Q4, E2
// case: abuse A29
func TestWhatIsWrongWithAQuestionIsNamed(t *testing.T) {
	t.Parallel()
	const ok = `"options": ["Refund it", "Leave it"]`
	long := strings.Repeat("a", 200)
	for name, c := range map[string]struct {
		args, path string
		vague      bool
	}{
		"no question":               {`{` + ok + `}`, "/question", true},
		"two words":                 {`{"question": "Go on?", ` + ok + `}`, "/question", true},
		"a statement":               {`{"question": "I am not sure about this.", ` + ok + `}`, "/question", true},
		"one option":                {`{"question": "Shall I refund it now?", "options": ["Yes"]}`, "/options", true},
		"no options":                {`{"question": "Shall I refund it now?"}`, "/options", true},
		"a form without fields":     {`{"question": "Which IBAN is theirs?", "kind": "input"}`, "/response_schema", true},
		"forty options":             {`{"question": "Shall I refund it now?", "options": ["a` + strings.Repeat(`", "b`, 39) + `"]}`, "/options", false},
		"equal labels":              {`{"question": "Shall I refund it now?", "options": ["Refund it", " refund  it"]}`, "/options/1/label", false},
		"labels equal when cleaned": {`{"question": "Shall I refund it now?", "options": ["Refund it", "Re\u001b[31mfund it"]}`, "/options/1/label", false},
		"an empty label":            {`{"question": "Shall I refund it now?", "options": ["", "Leave it"]}`, "/options/0/label", false},
		"a label that hides":        {`{"question": "Shall I refund it now?", "options": ["` + long + `", "Leave it"]}`, "/options/0/label", false},
		"ids twice":                 {`{"question": "Shall I refund it now?", "options": [{"label": "x", "id": "r"}, {"label": "y", "id": "r"}]}`, "/options/1/id", false},
		"another one's letter":      {`{"question": "Shall I refund it now?", "options": [{"label": "x", "id": "b"}, {"label": "y", "id": "z"}]}`, "/options/0/id", false},
		"an id with spaces":         {`{"question": "Shall I refund it now?", "options": [{"label": "x", "id": "a b"}, "y"]}`, "/options/0/id", false},
		"an unknown recommendation": {`{"question": "Shall I refund it now?", "recommended": "C", ` + ok + `}`, "/recommended", false},
		"two recommendations":       {`{"question": "Shall I refund it now?", "recommended": "A", "options": ["x", {"label": "y", "recommended": true}]}`, "/options/1/recommended", false},
		"two marks":                 {`{"question": "Shall I refund it now?", "options": [{"label": "x", "recommended": true}, {"label": "y", "recommended": true}]}`, "/options/1/recommended", false},
		"options to a form":         {`{"question": "Which IBAN is theirs?", "kind": "input", "response_schema": {"type": "object", "properties": {"iban": {"type": "string"}}}, ` + ok + `}`, "/options", false},
		"a form within a form":      {`{"question": "Which IBAN is theirs?", "kind": "input", "response_schema": {"type": "object", "properties": {"a": {"type": "object"}}}}`, "/response_schema/properties/a/type", false},
		"a schema from elsewhere":   {`{"question": "Which IBAN is theirs?", "kind": "input", "response_schema": {"type": "object", "$ref": "https://example.org/x", "properties": {"a": {"type": "string"}}}}`, "/response_schema", false},
		"an unknown kind":           {`{"question": "Shall I refund it now?", "kind": "approval", ` + ok + `}`, "/kind", false},
		"the trigger of others":     {`{"question": "Shall I refund it now?", "trigger": "external", ` + ok + `}`, "/trigger", false},
		"an unknown priority":       {`{"question": "Shall I refund it now?", "priority": "urgent", ` + ok + `}`, "/priority", false},
		"a reason that is no code":  {`{"question": "Shall I refund it now?", "reason_code": "Over the limit", ` + ok + `}`, "/reason_code", false},
		"a list of parameters":      {`{"question": "Shall I refund it now?", "parameters": [1], ` + ok + `}`, "/parameters", false},
		"a fact without a value":    {`{"question": "Shall I refund it now?", "facts": [{"label": "Paid", "value": null}], ` + ok + `}`, "/facts/0", false},
		"no arguments":              {`[]`, "", false},
	} {
		_, faults := parse(t, c.args)
		if len(faults) != 1 || faults[0].Path != c.path || faults[0].Vague != c.vague || escalation.Vague(faults) != c.vague {
			t.Errorf("%s: faults are %+v, want one at %s (vague: %v)", name, faults, c.path, c.vague)
			continue
		}
		f := escalation.Refusal(faults)
		if f.Type != tools.InvalidArguments || len(f.Errors) != 1 || f.Errors[0].Expected == "" || f.Errors[0].Got == "" || f.Example == nil {
			t.Errorf("%s: the model is told %+v", name, f)
		}
	}
}

// R: E2, Y1
func TestTheExampleIsAGoodQuestion(t *testing.T) {
	t.Parallel()
	if misfits := escalation.Misfits(json.RawMessage(escalation.AskSchema), json.RawMessage(escalation.AskExample)); len(misfits) > 0 {
		t.Errorf("the example doesn't fit the schema: %v", misfits)
	}
	if _, faults := parse(t, escalation.AskExample); len(faults) > 0 {
		t.Errorf("the example has faults: %v", faults)
	}
	var schema struct {
		Properties map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal([]byte(escalation.AskSchema), &schema); err != nil {
		t.Fatal(err)
	}
	var triggers []string
	for _, trigger := range escalation.Triggers() {
		if trigger != escalation.External {
			triggers = append(triggers, string(trigger))
		}
	}
	if !slices.Equal(schema.Properties["trigger"].Enum, triggers) {
		t.Errorf("the schema has the triggers %v", schema.Properties["trigger"].Enum)
	}
}

// R: Q1
func TestAFailureWithoutOptionsOffersTheUsualWays(t *testing.T) {
	t.Parallel()
	ask, faults := parse(t, `{"question": "The payment desk does not answer.", "kind": "failed", "trigger": "repeated_failure"}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	draft, faults := escalation.Compose(ask, escalation.Known{Task: "x"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	q := draft.Question
	if len(q.Options) != 3 || q.Options[0].ID != "retry" || q.Options[0].Label != "Try again" || q.Sentences["options.retry.label"].IsZero() {
		t.Errorf("options are %+v with sentences %v", q.Options, q.Sentences)
	}
}

// R: Q4, F10
// case: abuse A29
func TestWhatCantBeSeenIsWrittenOut(t *testing.T) {
	t.Parallel()
	ask, faults := parse(t, `{"question": "Refund\u202e it\u0000 to Ana\u200b?", "title": "a\nb", "problem": "p\u2066q", "reason": "r\u200e",
		"options": [{"label": "No\u200b", "consequence": "c\u202d", "action": {"tool": "refund", "args": {"amount": "1\u200b0"}}}, "Leave it"],
		"facts": [{"label": "L\u200b", "value": "v\u202e"}], "parameters": {"k\u202e": "v\u200b"}}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	draft, faults := escalation.Compose(ask, escalation.Known{Task: "t\u202e", Prepare: prepare})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	b, err := json.Marshal(draft.Question)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range string(b) {
		if strings.ContainsRune("\u202e\u202d\u2066\u200b\u200e\u0000", r) {
			t.Errorf("%U stands in %s", r, b)
		}
	}
	for _, want := range []string{"Refund[U+202E] it", "No[U+200B]", "1[U+200B]0", "v[U+202E]", "c[U+202D]"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s isn't in %s", want, b)
		}
	}
}

// R: L6, Q1, Y1
func FuzzParseAsk(f *testing.F) {
	f.Add(escalation.AskExample)
	f.Add(`{"question": "?", "options": [{"label": "a", "id": "B"}, "b", {"label": "A", "action": {"tool": "refund", "args": {}}}], "recommended": "A"}`)
	f.Add(`{"question": "谁？", "kind": "input", "response_schema": {"type": "object", "properties": {"a": {"type": "string"}}}}`)
	f.Add(`{"kind": "failed", "facts": [{"label": "x", "value": 9007199254740993, "call_id": "call_1"}]}`)
	f.Add(`{"question": null, "options": null, "parameters": null, "response_schema": null}`)
	f.Fuzz(func(t *testing.T, args string) {
		ask, faults := escalation.ParseAsk(json.RawMessage(args), nil)
		if !escalation.Vague(faults) {
			return
		}
		draft, faults := escalation.Compose(ask, escalation.Known{Task: "t", Prepare: prepare})
		if len(faults) > 0 {
			return
		}
		q := draft.Question
		if q.Title == "" || q.Question == "" || len(q.Options) > escalation.MaxOptions || len(q.Allowed) == 0 || draft.Case.OptionSet == "" {
			t.Errorf("the question is %+v", q)
		}
		seen := map[string]bool{}
		for i, o := range q.Options {
			if o.ID == "" || seen[o.ID] || o.Key != escalation.Key(i) {
				t.Errorf("options are %+v", q.Options)
			}
			seen[o.ID] = true
			if found, ok := q.Find(o.ID); !ok || found.Key != o.Key {
				t.Errorf("%q finds %+v", o.ID, found)
			}
			if found, ok := q.Find(o.Key); !ok || found.ID != o.ID {
				t.Errorf("%q finds %+v", o.Key, found)
			}
		}
		if _, err := json.Marshal(draft.Question); err != nil {
			t.Error(err)
		}
	})
}

// prepare knows the tool refund, of which everything may run.
func prepare(call tools.Call) (tools.Plan, tools.Spec) {
	plan := tools.Plan{Call: call, Verdict: tools.Ready, Effect: tools.EffectSide, ToolHash: "h1", Digest: fmt.Sprintf("digest of %s", call.Args)}
	if call.Tool != "refund" {
		r := tools.Refuse(tools.Fail(tools.ToolNotFound, "There is no such tool."), tools.Meta{})
		plan.Verdict, plan.Result, plan.Digest = tools.Ended, &r, ""
		return plan, tools.Spec{}
	}
	return plan, tools.Spec{Name: "refund", Words: map[string]tools.Words{
		"en":      {Title: "Refund", Sentence: "Refund {amount} to {customer.name}", Reversal: "For 30 days."},
		"zh-Hans": {Title: "退款", Sentence: "向 {customer.name} 退款 {amount}"},
	}}
}

// R: O3, Q3
// case: abuse A30
func TestSecretsAreMaskedAndTheBoundCallStaysExact(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-correct-horse"
	r, err := redact.New(redact.Options{Known: []redact.Known{{Name: "psp", Value: secret}}})
	if err != nil {
		t.Fatal(err)
	}
	args := `{"question": "Shall I log in with ` + secret + ` now?", "title": "` + secret + `", "problem": "` + secret + `", "reason_code": "login",
		"options": [{"label": "Use ` + secret + `", "consequence": "` + secret + `", "action": {"tool": "refund", "args": {"amount": "` + secret + `", "customer": {"name": "Ana"}, "pin": "4711"}}}, "Leave it"],
		"facts": [{"label": "Key", "value": "` + secret + `"}], "parameters": {"k": "` + secret + `"}}`
	ask, faults := escalation.ParseAsk(json.RawMessage(args), r)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var exact string
	draft, faults := escalation.Compose(ask, escalation.Known{Redact: r, Prepare: func(call tools.Call) (tools.Plan, tools.Spec) {
		exact = string(call.Args)
		plan, spec := prepare(call)
		plan.Digest, spec.Sensitive = "d", []string{"/pin"}
		return plan, spec
	}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if !strings.Contains(exact, secret) || !strings.Contains(exact, "4711") {
		t.Errorf("what would run is %s", exact)
	}
	b, err := json.Marshal(draft)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{secret, "4711"} {
		if strings.Contains(string(b), s) {
			t.Errorf("%s stands in %s", s, b)
		}
	}

	form, faults := escalation.ParseAsk(json.RawMessage(`{"question": "What is the password there?", "kind": "input", "response_schema":
		{"type": "object", "required": ["password"], "properties": {"password": {"type": "string", "description": "not `+secret+`"}}}}`), r)
	if len(faults) > 0 || strings.Contains(string(form.ResponseSchema), secret) ||
		len(escalation.Misfits(form.ResponseSchema, json.RawMessage(`{"password": "x"}`))) > 0 {
		t.Errorf("faults %v, schema %s", faults, form.ResponseSchema)
	}
}
