package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"baton/internal/permission"
)

type refundArgs struct {
	Order    int64    `json:"order" jsonschema:"the order's number"`
	Amount   float64  `json:"amount"`
	Currency string   `json:"currency,omitempty"`
	Lines    []string `json:"lines,omitempty"`
}

// testTool makes a tool that answers with its arguments.
func testTool(t testing.TB, name string, effect Effect, change ...func(*Spec)) Tool {
	t.Helper()
	spec := Spec{Name: name, Description: name, Effect: effect, Example: json.RawMessage(`{"order":7,"amount":1.5}`)}
	for _, c := range change {
		c(&spec)
	}
	tool, err := Func(spec, func(_ context.Context, a refundArgs) (refundArgs, error) { return a, nil })
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func testFacts(t testing.TB, more ...Tool) Facts {
	t.Helper()
	reg, err := NewRegistry(append(more,
		testTool(t, "query_db", EffectRead), testTool(t, "read_file", EffectRead), testTool(t, "write_file", EffectIdempotent),
		testTool(t, "send_email", EffectIrreversible), testTool(t, "refund", EffectSide, func(s *Spec) { s.Alternatives = []string{"query_db", "absent"} }),
		testTool(t, "ask_human", EffectRead, func(s *Spec) { s.Always = true }))...)
	if err != nil {
		t.Fatal(err)
	}
	return Facts{
		Tools: reg, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Step: 3,
		Keys:    Keys{Fingerprint: NewKey([]byte("f")), Approval: NewKey([]byte("a"))},
		Policy:  permission.Policy{Mode: permission.AskFirst},
		Circuit: &Circuit{},
	}
}

func call(tool, args string) Call { return Call{N: 1, Tool: tool, Args: json.RawMessage(args)} }

func wantRefused(t *testing.T, p Plan, want ErrorType) Result {
	t.Helper()
	if p.Verdict != Ended || p.Result == nil || p.Result.ErrorType() != want {
		t.Fatalf("verdict %s, result %+v, want %s", p.Verdict, p.Result, want)
	}
	if len(p.Result.Hint()) == 0 || len(p.Result.Causes()) == 0 || p.Result.Meta().Attempts != 0 {
		t.Errorf("a refusal without causes, hints, or with attempts: %s", p.Result.ForModel())
	}
	return *p.Result
}

// R: E1, S3
// case: harness A11
func TestUnknownToolIsTaught(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	for asked, near := range map[string]string{
		"query": "query_db", "sql": "query_db", "sendEmail": "send_email", "send_mail": "send_email", "readFile": "read_file",
		"files.read": "read_file", "raed_file": "read_file", "file_save": "write_file", "askHuman": "ask_human", "refnd": "refund", "bash": "",
	} {
		p := Prepare(call(asked, `{}`), f)
		text := wantRefused(t, p, ToolNotFound).ForModel()
		if near == "" && strings.Contains(text, "nearest") || near != "" && !strings.Contains(text, fmt.Sprintf("nearest is \\\"%s\\\"", near)) {
			t.Errorf("%s: want %q in %s", asked, near, text)
		}
		if !strings.Contains(text, `"tools":["ask_human","query_db"`) || !strings.Contains(text, `"example":{"args":{"order":7`) {
			t.Errorf("%s: not taught: %s", asked, text)
		}
		if p.Exact == "" || p.Loose == "" {
			t.Error("an unknown tool has no fingerprints")
		}
	}
}

// What the session may not use is not suggested; long lists are counted.
// R: S3
func TestOnlyUsableToolsAreSuggested(t *testing.T) {
	t.Parallel()
	var many []Tool
	for i := range 20 {
		many = append(many, testTool(t, fmt.Sprintf("tool_%02d", i), EffectRead))
	}
	f := testFacts(t, many...)
	f.Policy = permission.Policy{Mode: permission.ReadOnly, Rules: []permission.Rule{{Tool: "query_db", Do: permission.Deny}}}
	f.Rested = []Rested{{Tool: "read_file", UntilStep: 9}}
	text := wantRefused(t, Prepare(call("send_mail", `{}`), f), ToolNotFound).ForModel()
	for _, no := range []string{"query_db", "send_email", "read_file", "write_file"} {
		if strings.Contains(text, `"`+no+`"`) {
			t.Errorf("%s is suggested: %s", no, text)
		}
	}
	if !strings.Contains(text, `"more_tools":11`) || strings.Contains(text, "tool_10") {
		t.Errorf("not counted: %s", text)
	}
}

// R: E2
func TestEveryWrongArgumentIsListed(t *testing.T) {
	t.Parallel()
	r := wantRefused(t, Prepare(call("refund", `{"order":"7","amout":1,"lines":["a",2,false],"currency":null}`), testFacts(t)), InvalidArguments)
	got := map[string]FieldError{}
	for _, e := range r.Errors() {
		got[e.Path] = e
	}
	for path, want := range map[string][2]string{
		"/order": {"integer", `text "7"`}, "/amount": {"required number", "nothing"}, "/amout": {`the nearest is "amount"`, "number 1"},
		"/lines/1": {"string", "number 2"}, "/lines/2": {"string", "false"}, "/currency": {"string", "null"},
	} {
		if e := got[path]; !strings.Contains(e.Expected, want[0]) || e.Got != want[1] {
			t.Errorf("%s: %+v, want %v", path, e, want)
		}
	}
	if len(got) != 6 || !strings.Contains(r.ForModel(), `"example":{"order":7`) {
		t.Errorf("%d faults: %s", len(got), r.ForModel())
	}
}

// Arguments are never repaired in order to run them.
// R: E2, A3, L1
// case: harness A2
// case: harness A3
func TestArgumentsAreNeverRepaired(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	for name, c := range map[string]struct {
		call Call
		want string
	}{
		"not JSON":       {Call{Tool: "refund", Raw: `{"order":7,`}, "byte"},
		"prose":          {Call{Tool: "refund", Raw: `please refund`}, "at byte 1"},
		"cut":            {Call{Tool: "refund", Raw: `{"order":7,"amount":1`, Cut: true}, "output limit after 21 characters"},
		"cut but closed": {Call{Tool: "refund", Args: json.RawMessage(`{"order":7,"amount":1}`), Cut: true}, "output limit"},
		"twice":          {call("refund", `{"order":7,"amount":1,"order":8}`), "stands twice"},
		"twice below":    {call("refund", `{"order":7,"amount":1,"lines":[{"a":1,"\u0061":2}]}`), "/lines/0/a"},
		"list":           {call("refund", `[7]`), "a list"},
		"trailing":       {Call{Tool: "refund", Raw: `{"order":7,"amount":1} {}`}, "byte"},
		"too long":       {call("refund", `{"order":7,"amount":1,"currency":"`+strings.Repeat("x", MaxArgs)+`"}`), "limit is 262144"},
		"too deep":       {call("refund", `{"order":7,"amount":1,"lines":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}`), "deeper"},
		"far too deep":   {Call{Tool: "refund", Raw: strings.Repeat("[", 250000)}, "byte"},
		"text as number": {call("refund", `{"order":7,"amount":"1"}`), "number"},
		"null":           {call("refund", `null`), "null"},
		"nothing":        {call("refund", ``), "required"},
	} {
		if text := wantRefused(t, Prepare(c.call, f), InvalidArguments).ForModel(); !strings.Contains(text, c.want) {
			t.Errorf("%s: want %q in %s", name, c.want, text)
		}
	}
}

// R: E2, A6
func TestValuesOfSensitiveFieldsAreNotQuoted(t *testing.T) {
	t.Parallel()
	f := testFacts(t, testTool(t, "pay", EffectSide, func(s *Spec) { s.Sensitive = []string{"/currency"} }))
	if text := wantRefused(t, Prepare(call("pay", `{"order":7,"amount":1,"currency":4242}`), f), InvalidArguments).ForModel(); strings.Contains(text, "4242") {
		t.Errorf("quoted: %s", text)
	}
}

// R: A6, E5
func TestPermission(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	const good = `{"order":7,"amount":1.5}`
	if p := Prepare(call("query_db", good), f); p.Verdict != Ready || p.Effect != EffectRead || p.Policy == "" || p.Status() != StatusRequested {
		t.Errorf("a read: %+v", p)
	}
	asked := Prepare(call("refund", good), f)
	if asked.Verdict != Awaiting || asked.Digest == "" || asked.Status() != StatusAwaitingApproval {
		t.Fatalf("a write: %+v", asked)
	}

	f.Approvals = []Approval{{ID: "dec_1", Digest: asked.Digest, ExpiresAt: f.Now.Add(time.Hour)}}
	if p := Prepare(call("refund", ` {"amount" : 1.5, "order":7}`), f); p.Verdict != Ready || p.Approval != "dec_1" {
		t.Errorf("approved: %+v", p)
	}
	for name, other := range map[string]func(*Facts) Call{
		"other amount": func(*Facts) Call { return call("refund", `{"order":7,"amount":1.50}`) },
		"other order":  func(*Facts) Call { return call("refund", `{"order":8,"amount":1.5}`) },
		"other tool":   func(*Facts) Call { return call("send_email", good) },
		"used":         func(f *Facts) Call { f.Approvals = nil; return call("refund", good) },
		"expired":      func(f *Facts) Call { f.Now = f.Now.Add(2 * time.Hour); return call("refund", good) },
		"other policy": func(f *Facts) Call {
			f.Policy.Rules = []permission.Rule{{Tool: "refund", Do: permission.Ask}}
			return call("refund", good)
		},
		"changed tool": func(f *Facts) Call {
			f.Tools, _ = NewRegistry(testTool(t, "refund", EffectSide, func(s *Spec) { s.Version = "2" }))
			return call("refund", good)
		},
		"forged key": func(f *Facts) Call { f.Keys.Approval = NewKey([]byte("other")); return call("refund", good) },
	} {
		changed := f
		if p := Prepare(other(&changed), changed); p.Verdict != Awaiting || p.Approval != "" {
			t.Errorf("%s: verdict %s with approval %q", name, p.Verdict, p.Approval)
		}
	}

	f.Approvals, f.Rejected = nil, map[string]string{asked.Digest: "dec_2"}
	if r := wantRefused(t, Prepare(call("refund", good), f), PermissionDenied); !strings.Contains(r.ForModel(), "dec_2") || r.CallStatus() != StatusDenied {
		t.Errorf("rejected: %s", r.ForModel())
	}
	f.Policy.Mode = permission.ReadOnly
	if text := wantRefused(t, Prepare(call("refund", good), f), PermissionDenied).ForModel(); !strings.Contains(text, "mode read_only") || !strings.Contains(text, "ask_human") || !strings.Contains(text, `"alternatives":["query_db"]`) {
		t.Errorf("denied: %s", text)
	}
}

// Nobody is asked about a call that is wrong or would be refused.
// R: A6
func TestRefusalsComeBeforeQuestions(t *testing.T) {
	t.Parallel()
	const good = `{"order":7,"amount":1.5}`
	for want, change := range map[ErrorType]func(*Facts) Call{
		InvalidArguments: func(*Facts) Call { return call("refund", `{"order":7}`) },
		BudgetExceeded: func(f *Facts) Call {
			f.Ceilings = []Ceiling{{Name: "tokens", Used: 5, Max: 0}, {Name: "calls", Used: 200, Max: 200}}
			return call("refund", good)
		},
		ToolRested: func(f *Facts) Call { f.Rested = []Rested{{Tool: "refund", UntilStep: 4}}; return call("refund", good) },
		Unavailable: func(f *Facts) Call {
			f.Breakers = []Breaker{{Service: "refund", Until: f.Now.Add(time.Minute)}}
			return call("refund", good)
		},
		Cancelled: func(f *Facts) Call { f.Cancelled = true; return call("refund", good) },
		CircuitOpen: func(f *Facts) Call {
			exact := Prepare(call("refund", good), *f).Exact
			for n := range 2 {
				f.Circuit.Observe(Observed{N: n + 1, Step: 1, Exact: exact, Effect: EffectSide, Result: Refuse(Fail(Conflict, "already refunded"), Meta{})})
			}
			return call("refund", good)
		},
	} {
		f := testFacts(t)
		c := change(&f)
		wantRefused(t, Prepare(c, f), want)
	}
}

// The tools that the harness lives by work whatever is used up, broken or held.
// R: P6
func TestHarnessToolsAlwaysRun(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	f.Ceilings = []Ceiling{{Name: "calls", Used: 9, Max: 1}}
	f.Rested = []Rested{{Tool: "ask_human", UntilStep: 99}}
	f.Breakers = []Breaker{{Service: "ask_human", Until: f.Now.Add(time.Hour)}}
	f.Holds = []Hold{{}}
	f.Policy = permission.Policy{Mode: permission.ReadOnly, Rules: []permission.Rule{{Tool: "*", Do: permission.Deny}}}
	if p := Prepare(call("ask_human", `{"order":7,"amount":1}`), f); p.Verdict != Ready {
		t.Errorf("%+v", p)
	}
}

// R: A7
func TestHoldsKeepCallsBack(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	f.Policy.Mode = permission.Auto
	f.Holds = []Hold{{EffectsOnly: true}, {Tool: "read_file"}}
	for tool, want := range map[string]Verdict{"query_db": Ready, "read_file": Held, "refund": Held} {
		if p := Prepare(call(tool, `{"order":7,"amount":1}`), f); p.Verdict != want {
			t.Errorf("%s: %s, want %s", tool, p.Verdict, want)
		}
	}
}

// R: L6
func TestPrepareSurvivesPanics(t *testing.T) {
	t.Parallel()
	f := testFacts(t, testTool(t, "bad", EffectSide, func(s *Spec) { s.EffectOf = func(json.RawMessage) Effect { panic("no") } }))
	text := wantRefused(t, Prepare(call("bad", `{"order":7,"amount":1}`), f), Internal).ForModel()
	if strings.Contains(text, "goroutine") || strings.Contains(text, ".go:") {
		t.Errorf("a stack reached the model: %s", text)
	}
	wantRefused(t, Prepare(call("x", `{}`), Facts{}), Internal)
}

// R: X4
func TestExactFingerprintMergesOnlyKeyOrder(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	exact := func(args string) string { return Prepare(call("query_db", args), f).Exact }
	if exact(`{"a":1,"b":[1,{"c":2,"d":"x"}]}`) != exact(` { "b" : [1, {"d":"\u0078","c":2}], "a":1}`) {
		t.Error("key order, space and escapes count")
	}
	for _, pair := range [][2]string{
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`}, {`{"a":1}`, `{"a":1.0}`}, {`{"a":1e2}`, `{"a":100}`}, {`{"a":"x"}`, `{"a":"X"}`},
		{`{"a":"é"}`, "{\"a\":\"e\u0301\"}"}, {`{"a":[1,2]}`, `{"a":[2,1]}`}, {`{"a":null}`, `{}`}, {`{"a":"1"}`, `{"a":1}`}, {`{"a":"x "}`, `{"a":"x"}`},
	} {
		if exact(pair[0]) == exact(pair[1]) {
			t.Errorf("%s and %s are one", pair[0], pair[1])
		}
	}
	if exact(`{}`) == Prepare(call("read_file", `{}`), f).Exact {
		t.Error("two tools share a fingerprint")
	}
}

// R: P3
func TestLooseFingerprintFoldsLooks(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	loose := func(args string) string { return Prepare(call("query_db", args), f).Loose }
	want := loose(`{"name":"Café No. 7, Köln"}`)
	for _, same := range []string{`{"name":"cafe\u0301 no 7  köln!"}`, `{"Name":"ＣＡＦÉ　NO.７ KÖLN"}`, `{"name":"Café\u200b No. 7, Köln "}`} {
		if loose(same) != want {
			t.Errorf("%s differs", same)
		}
	}
	if loose(`{"to": ["a", "b"], "n": 1}`) != loose(`{"n":1,"to":["A","B"]}`) {
		t.Error("the space between values, or their order, counts")
	}
	for _, other := range []string{`{"name":"Café No. 8, Köln"}`, `{"name":["Café No. 7, Köln"]}`, `{"other":"Café No. 7, Köln"}`} {
		if loose(other) == want {
			t.Errorf("%s is the same", other)
		}
	}
	if loose(`{"a":9007199254740993}`) == loose(`{"a":9007199254740992}`) || loose(`{"a":-1}`) == loose(`{"a":1}`) || loose(`{"a":1.5}`) == loose(`{"a":15}`) {
		t.Error("numbers are folded")
	}
}

// R: X4, E6
// case: harness A6
// case: harness A14
func TestCircuit(t *testing.T) {
	t.Parallel()
	fails := func(et ErrorType, message string) Result { return Refuse(Fail(et, message), Meta{Attempts: 1}) }
	ok, _ := Succeed(Output{Text: "x"}, Meta{Attempts: 1})
	type ev = Observed
	twice := []ev{{N: 1, Step: 1, Exact: "a", Result: fails(NotFound, "no order 7 at 10:01")}, {N: 2, Step: 2, Exact: "a", Result: fails(NotFound, "no order 7 at 10:02")}}
	for name, c := range map[string]struct {
		events []ev
		step   int
		open   bool
	}{
		"once":                       {twice[:1], 2, false},
		"twice":                      {twice, 3, true},
		"half-open after five steps": {twice, 8, false},
		"not yet":                    {twice, 7, true},
		"open again after the try":   {append(slices.Clone(twice), ev{N: 3, Step: 8, Exact: "a", Result: fails(NotFound, "no order 9 at 11:30")}), 9, true},
		"changed error":              {[]ev{twice[0], {N: 2, Step: 2, Exact: "a", Result: fails(Conflict, "locked")}}, 3, false},
		"success of it":              {append(slices.Clone(twice), ev{N: 3, Step: 3, Exact: "a", Effect: EffectRead, Result: ok}), 4, false},
		"success of another read":    {append(slices.Clone(twice), ev{N: 3, Step: 3, Exact: "b", Effect: EffectRead, Result: ok}), 4, true},
		"success of an effect":       {append(slices.Clone(twice), ev{N: 3, Step: 3, Exact: "b", Effect: EffectSide, Result: ok}), 4, false},
		"timeouts":                   {[]ev{{N: 1, Exact: "a", Result: fails(Timeout, "x")}, {N: 2, Exact: "a", Result: fails(Timeout, "x")}}, 1, false},
		"outages":                    {[]ev{{N: 1, Exact: "a", Result: fails(Unavailable, "x")}, {N: 2, Exact: "a", Result: fails(Unavailable, "x")}}, 1, false},
		"refusals":                   {[]ev{{N: 1, Exact: "a", Result: fails(CircuitOpen, "x")}, {N: 2, Exact: "a", Result: fails(BudgetExceeded, "x")}, {N: 3, Exact: "a", Result: fails(ToolRested, "x")}}, 1, false},
		"three calls, once each":     {[]ev{{N: 1, Exact: "a", Result: fails(NotFound, "x")}, {N: 2, Exact: "b", Result: fails(NotFound, "x")}, {N: 3, Exact: "c", Result: fails(NotFound, "x")}}, 1, false},
	} {
		var circuit Circuit
		for _, e := range c.events {
			circuit.Observe(e)
		}
		calls, open := circuit.open("a", c.step)
		if open != c.open || open && calls[0] != 1 {
			t.Errorf("%s: open %v, calls %v", name, open, calls)
		}
		circuit.PersonSpoke()
		if _, open := circuit.open("a", c.step); open {
			t.Errorf("%s: open after a person spoke", name)
		}
	}
}

// Prepare is a function: same call and facts, same plan; and the plan survives
// being stored.
// R: L6
func TestPlansAreStable(t *testing.T) {
	t.Parallel()
	f := testFacts(t)
	rapid.Check(t, func(rt *rapid.T) {
		c := Call{N: rapid.IntRange(1, 999).Draw(rt, "n"), Tool: rapid.SampledFrom([]string{"refund", "query_db", "nope", ""}).Draw(rt, "tool"), Raw: rapid.String().Draw(rt, "raw"), Cut: rapid.Bool().Draw(rt, "cut")}
		if rapid.Bool().Draw(rt, "json") {
			c.Args, _ = json.Marshal(map[string]any{rapid.SampledFrom([]string{"order", "amount", "x"}).Draw(rt, "k"): rapid.OneOf(rapid.Just[any](7), rapid.Just[any]("x"), rapid.Just[any](nil)).Draw(rt, "v"), "amount": 1})
			c.Raw = ""
		}
		p, again := Prepare(c, f), Prepare(c, f)
		a, err := json.Marshal(p)
		if err != nil {
			rt.Fatal(err)
		}
		b, _ := json.Marshal(again)
		var back Plan
		if err := json.Unmarshal(a, &back); err != nil {
			rt.Fatal(err)
		}
		c2, _ := json.Marshal(back)
		if string(a) != string(b) || string(a) != string(c2) {
			rt.Fatalf("%s\n%s\n%s", a, b, c2)
		}
		if (p.Verdict == Ended) != (p.Result != nil) {
			rt.Fatalf("verdict %s, result %v", p.Verdict, p.Result)
		}
	})
}

// R: A6
func FuzzPrepare(f *testing.F) {
	for _, s := range []string{`{}`, `{"order":7,"amount":1e400}`, `[`, `{"order":1,"order":1}`, "\x00", `{"amount":-0,"order":9007199254740993}`, `{"a":"\ud800"}`} {
		f.Add("refund", s)
	}
	facts := testFacts(f)
	f.Fuzz(func(t *testing.T, tool, args string) {
		for _, c := range []Call{{Tool: tool, Raw: args}, {Tool: "refund", Args: json.RawMessage(args)}} {
			p := Prepare(c, facts)
			if p.Result != nil && p.Result.ErrorType() == Internal {
				t.Fatalf("internal on %q %q", tool, args)
			}
			if p.Result != nil && !json.Valid([]byte(p.Result.ForModel())) {
				t.Fatalf("not JSON: %s", p.Result.ForModel())
			}
		}
	})
}
