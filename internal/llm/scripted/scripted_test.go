package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"baton/internal/llm"
	"baton/internal/tools"
)

// compile is a playbook whose reply has the given body.
func compile(t testing.TB, body string) *Playbook {
	t.Helper()
	src := "def reply(s):\n    " + strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    ") + "\n"
	p, err := Compile("case.star", src)
	if err != nil {
		t.Fatalf("compile: %v\n%s", err, src)
	}
	return p
}

func next(t testing.TB, p *Playbook, req llm.Request) llm.Reply {
	t.Helper()
	reply, err := p.Next(context.Background(), req)
	if err != nil {
		t.Fatalf("next: %v", err)
	}
	return reply
}

func succeeded(t testing.TB, data string) tools.Result {
	t.Helper()
	r, err := tools.Succeed(tools.Output{Data: json.RawMessage(data)}, tools.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// conversation is a session with every role in it: two steps, the second with
// two calls.
func conversation(t testing.TB) llm.Request {
	t.Helper()
	batch, err := tools.Succeed(tools.Output{
		Data:      json.RawMessage(`{"sent":1}`),
		Completed: []tools.Item{{Item: "a@example.org", Data: json.RawMessage(`{"id":7}`)}},
		Failed:    []tools.Item{{Item: "b@example.org", Type: tools.NotFound, Reason: "no such mailbox"}},
		Skipped:   []tools.Item{{Item: "c@example.org", Reason: "not tried"}},
	}, tools.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	return llm.Request{
		System: "contract",
		Tools:  []tools.Spec{{Name: "query_db"}, {Name: "ask_human"}},
		Messages: []llm.Message{
			{Role: llm.RoleTask, Text: "Settle the request", Inputs: json.RawMessage(`{"order":"48-2217","limit":500}`)},
			{Role: llm.RoleAssistant, Text: "Looking it up.", Calls: []tools.Call{{N: 1, Tool: "query_db", Args: json.RawMessage(`{"sql":"select 1"}`)}}},
			{Role: llm.RoleResult, Result: &llm.Result{CallID: "call_1", Tool: "query_db", Args: json.RawMessage(`{"sql":"select 1"}`), Result: succeeded(t, `{"rows":[{"id":9007199254740993,"amount":1284.50,"items":[1,2]}]}`)}},
			{Role: llm.RoleDecision, Decision: &llm.Decision{Type: "choose", Option: "B", OptionID: "refund_part", Label: "Refund in part", Message: "Only the second", Values: json.RawMessage(`{"amount":"12.50"}`), Question: "How?", DecidedBy: "Ana"}},
			{Role: llm.RolePerson, Text: "Be quick", From: "Mara"},
			{Role: llm.RoleAssistant, Calls: []tools.Call{{N: 2, Tool: "http_request"}, {N: 3, Tool: "send_email"}}},
			{Role: llm.RoleResult, Result: &llm.Result{CallID: "call_2", Tool: "http_request", Args: json.RawMessage(`{}`), Result: tools.Refuse(tools.Fail(tools.Timeout, "No answer in 30 s.", "Ask for less."), tools.Meta{})}},
			{Role: llm.RoleResult, Result: &llm.Result{CallID: "call_3", Tool: "send_email", Result: batch}},
			{Role: llm.RoleNotice, Text: "80 % of the calls are used."},
		},
	}
}

// R: M2, C (appendix): what a playbook is given.
func TestSessionFields(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`s.task`:                                   `Settle the request`,
		`s.inputs.order`:                           `48-2217`,
		`s.inputs["limit"] + 1`:                    `501`,
		`s.inputs.get("absent", "none")`:           `none`,
		`"order" in s.inputs`:                      `True`,
		`sorted(dict(s.inputs).keys())`:            `["limit", "order"]`,
		`s.step`:                                   `2`,
		`s.attempt`:                                `1`,
		`[(m.role, m.text) for m in s.messages]`:   `[("task", "Settle the request"), ("assistant", "Looking it up."), ("person", "Be quick")]`,
		`[r.call_id for r in s.results]`:           `["call_1", "call_2", "call_3"]`,
		`s.results[0].tool`:                        `query_db`,
		`s.results[0].args.sql`:                    `select 1`,
		`s.results[0].status`:                      `success`,
		`s.results[0].data.rows[0].id`:             `9007199254740993`,
		`s.results[0].data.rows[0]["amount"]`:      `1284.5`,
		`s.results[0].data.rows[0].items`:          `[1, 2]`,
		`s.results[0].error_type`:                  `None`,
		`[r.call_id for r in s.last]`:              `["call_2", "call_3"]`,
		`s.last[0].status`:                         `error`,
		`s.last[0].error_type`:                     `timeout`,
		`s.last[0].message`:                        `No answer in 30 s.`,
		`s.last[0].retryable`:                      `yes`,
		`s.last[0].hint`:                           `["Ask for less."]`,
		`s.last[0].data`:                           `None`,
		`s.last[1].status`:                         `partial`,
		`s.last[1].args`:                           `None`,
		`s.last[-1].completed[0].data.id`:          `7`,
		`s.last[1].failed[0].reason`:               `no such mailbox`,
		`s.last[1].failed[0].error_type`:           `not_found`,
		`[i.item for i in s.last[1].skipped]`:      `["c@example.org"]`,
		`len(s.decisions)`:                         `1`,
		`s.decision.type`:                          `choose`,
		`s.decision.option + s.decision.option_id`: `Brefund_part`,
		`s.decision.label`:                         `Refund in part`,
		`s.decision.message`:                       `Only the second`,
		`s.decision.values.amount`:                 `12.50`,
		`s.decision.question`:                      `How?`,
		`s.decision.decided_by`:                    `Ana`,
		`s.tools`:                                  `["query_db", "ask_human"]`,
		`s.notices`:                                `["80 % of the calls are used."]`,
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			p := compile(t, "return [say(str("+expr+"))]")
			if got := next(t, p, conversation(t)).Text; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// R: C (appendix): the first step has nothing yet.
func TestSessionAtTheFirstStep(t *testing.T) {
	t.Parallel()
	p := compile(t, `return [say(str([s.step, s.inputs, s.results, s.last, s.decisions, s.decision, s.notices]))]`)
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleTask, Text: "x"}}}
	if got := next(t, p, req).Text; got != `[0, {}, [], [], [], None, []]` {
		t.Errorf("got %s", got)
	}
}

// R: C (appendix): what a playbook may return.
func TestReplyItems(t *testing.T) {
	t.Parallel()
	type want struct {
		text, calls string // calls as tool args|raw, one a line
		stop        llm.StopReason
	}
	for name, c := range map[string]struct {
		body string
		want want
	}{
		"say":               {`return [say("One."), say("Two.")]`, want{"One.\n\nTwo.", "", llm.StopEndTurn}},
		"call":              {`return [say("Now."), call("query_db", sql="select 1", limit=10, none=None, yes=True, list=[1.5, "ä<b>"], d={"b": 1, "a": 2})]`, want{"Now.", `query_db {"sql":"select 1","limit":10,"none":null,"yes":true,"list":[1.5,"ä<b>"],"d":{"b":1,"a":2}}`, llm.StopToolUse}},
		"call without args": {`return [call("list")]`, want{"", `list {}`, llm.StopToolUse}},
		"call with an argument named tool": {`return [call("x", tool="y", **{"content-type": "z"})]`,
			want{"", `x {"tool":"y","content-type":"z"}`, llm.StopToolUse}},
		"call passes values on unchanged": {`return [call("x", row=s.results[0].data.rows[0], id=s.results[0].data.rows[0].id)]`,
			want{"", `x {"row":{"id":9007199254740993,"amount":1284.50,"items":[1,2]},"id":9007199254740993}`, llm.StopToolUse}},
		"two calls":        {`return (call("a"), call("b"))`, want{"", "a {}\nb {}", llm.StopToolUse}},
		"finish":           {`return [finish("Done.")]`, want{"", `finish {"summary":"Done.","status":"done","evidence":[]}`, llm.StopToolUse}},
		"finish with sums": {`return [finish("Half.", derived=[{"value": "3", "operation": "sum", "of": ["1", "2"]}])]`, want{"", `finish {"summary":"Half.","status":"done","evidence":[],"derived":[{"value":"3","operation":"sum","of":["1","2"]}]}`, llm.StopToolUse}},
		"finish in full": {`return [finish("Half.", evidence=[s.results[0], "call_3", {"claim": "c", "call": "call_1", "quote": "q"}], status="partly", unresolved=["mail"])]`,
			want{"", `finish {"summary":"Half.","status":"partly","evidence":["call_1","call_3",{"claim":"c","call":"call_1","quote":"q"}],"unresolved":["mail"]}`, llm.StopToolUse}},
		"ask, smallest": {`return [ask("How?", options=["Yes", "No"])]`,
			want{"", `ask_human {"question":"How?","options":["Yes","No"],"kind":"options","trigger":"ambiguous_decision","priority":"normal"}`, llm.StopToolUse}},
		"ask in full": {`return [ask("How?", options=[
    option("Refund", "Money goes back.", id="refund", action=call("pay", amount="1284.00"), recommended=True),
    option("Stop", "Nothing happens."),
], title="T", problem="P", recommended="refund", reason="R", reason_code="over_limit", parameters={"amount": {"value": "1284.00", "currency": "EUR"}},
facts=[{"label": "Paid", "value": "twice", "call_id": s.last[0].call_id}], kind="options", allow_other=True, trigger="sensitive_action", priority="high")]`,
			want{"", `ask_human {"question":"How?","options":[{"label":"Refund","consequence":"Money goes back.","id":"refund","action":{"tool":"pay","args":{"amount":"1284.00"}},"recommended":true},{"label":"Stop","consequence":"Nothing happens."}],` +
				`"title":"T","problem":"P","recommended":"refund","reason":"R","reason_code":"over_limit","parameters":{"amount":{"value":"1284.00","currency":"EUR"}},"facts":[{"label":"Paid","value":"twice","call_id":"call_2"}],` +
				`"kind":"options","allow_other":true,"trigger":"sensitive_action","priority":"high"}`, llm.StopToolUse}},
		"raw_call":        {`return [raw_call("x", "{\"a\": ")]`, want{"", `x raw {"a": `, llm.StopToolUse}},
		"empty":           {`return [empty()]`, want{"", "", llm.StopEndTurn}},
		"cut text":        {`return [say("Überall"), cut()]`, want{"Übe", "", llm.StopCut}},
		"cut call":        {`return [call("a", x=1), call("b", text="0123456789"), cut()]`, want{"", "a {\"x\":1}\nb raw {\"text\":\"0", llm.StopCut}},
		"cut by limit":    {`return [call("b", text="0123456789"), cut(limit=True)]`, want{"", "b cut raw {\"text\":\"0", llm.StopMaxTokens}},
		"cut of nothing":  {`return [cut()]`, want{"", "", llm.StopCut}},
		"slow of nothing": {`return [slow(0), say("x")]`, want{"x", "", llm.StopEndTurn}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reply := next(t, compile(t, c.body), conversation(t))
			var calls []string
			for _, call := range reply.Calls {
				text := call.Tool + " "
				if call.Cut {
					text += "cut "
				}
				if call.Args == nil {
					text += "raw " + call.Raw
				}
				calls = append(calls, text+string(call.Args))
			}
			got := want{reply.Text, strings.Join(calls, "\n"), reply.Stop}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if reply.Model != "scripted/case" {
				t.Errorf("model is %q", reply.Model)
			}
		})
	}
}

// R: A3
// case: fault F27
func TestSameIDGivesTwoCallsOneID(t *testing.T) {
	t.Parallel()
	reply := next(t, compile(t, `return [call("z"), same_id(call("a", n=1), call("b", n=2)), call("c")]`), conversation(t))
	var ids []string
	for _, c := range reply.Calls {
		ids = append(ids, c.ProviderID)
	}
	if len(ids) != 4 || ids[1] != ids[2] || ids[0] == ids[1] || ids[3] == ids[1] || ids[3] == ids[0] {
		t.Errorf("ids %q", ids)
	}
}

// R: A4
// case: fault F26
func TestProviderErrors(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]llm.Error{
		`return [provider_error(429, retry_after=2.5)]`:                {Kind: llm.RateLimited, Status: 429, RetryAfter: 2500 * time.Millisecond},
		`return [provider_error(529)]`:                                 {Kind: llm.Overloaded, Status: 529},
		`return [provider_error(0)]`:                                   {Kind: llm.Timeout},
		`return [provider_error(401)]`:                                 {Kind: llm.InvalidRequest, Status: 401},
		`return [provider_error(400, kind="context_too_long")]`:        {Kind: llm.ContextTooLong, Status: 400},
		`return [provider_error(500)] if s.attempt < 3 else [empty()]`: {Kind: llm.Overloaded, Status: 500},
	} {
		_, err := compile(t, body).Next(context.Background(), conversation(t))
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != want.Kind || e.Status != want.Status || e.RetryAfter != want.RetryAfter {
			t.Errorf("%s: got %#v", body, err)
		}
	}
}

// R: A4: a provider that fails twice and then answers, told apart by attempt.
func TestAttemptLetsAPlaybookRecover(t *testing.T) {
	t.Parallel()
	p := compile(t, `return [provider_error(503)] if s.attempt < 3 else [say("back")]`)
	req := conversation(t)
	for req.Attempt = 1; req.Attempt < 3; req.Attempt++ {
		if _, err := p.Next(context.Background(), req); !llm.AsError(err).Retryable() {
			t.Fatalf("attempt %d: %v", req.Attempt, err)
		}
	}
	if got := next(t, p, req).Text; got != "back" {
		t.Errorf("got %q", got)
	}
}

func TestUsageIsWhatThePlaybookSays(t *testing.T) {
	t.Parallel()
	p := compile(t, `return [say("x"), usage(input_tokens=100, output_tokens=7, cost_usd="0.000123")]`)
	if got, want := next(t, p, conversation(t)).Usage, (llm.Usage{InputTokens: 100, OutputTokens: 7, CostMicros: 123}); got != want {
		t.Errorf("got %+v", got)
	}
}

// R: A3, C (appendix): a faulty playbook is a model error with its line.
func TestFaultsNameFileAndLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"raises":              {`fail("no such order")`, "case.star:2:9: fail: no such order"},
		"loops":               {"for i in range(1000000000):\n    pass\nreturn []", "case.star:2:5: no end after 2000000 steps: a loop?"},
		"index out of range":  {"x = 1\nreturn [say(s.results[9].tool)]", "case.star:3:26: list index 9 out of range"},
		"misspelt field":      {`return [say(s.lasst)]`, "case.star:2:18: session has no .lasst field or method (did you mean .last?)"},
		"misspelt data":       {`return [say(str(s.results[0].data.row))]`, "object has no .row field or method (did you mean .rows?)"},
		"returns nothing":     {`pass`, "case.star:1:1: at step 2: reply returned None, want a list"},
		"returns a string":    {`return "hello"`, "reply returned a string"},
		"returns a call":      {`return call("x")`, "reply returned a call, want a list"},
		"empty list":          {`return []`, "the reply says nothing; a model that says nothing is empty()"},
		"a string in it":      {`return [say("x"), "y"]`, "element 1 of the reply is a string"},
		"option in it":        {`return [option("a", "b")]`, "element 0 of the reply is a dict"},
		"error with a reply":  {`return [say("x"), provider_error(500)]`, "provider_error stands alone"},
		"empty with a reply":  {`return [say("x"), empty()]`, "empty() stands alone"},
		"after cut":           {`return [cut(), say("x")]`, "nothing comes after cut()"},
		"call without tool":   {`return [call(sql="x")]`, "case.star:2:17: call: got 0 positional arguments"},
		"unserialisable":      {`return [call("x", f=reply)]`, `case.star:2:17: call: arguments of x: in "f": function has no JSON form`},
		"not a number":        {`return [call("x", f=float("nan"))]`, "nan is not a JSON number"},
		"in itself":           {"x = []\nx.append(x)\nreturn [call(\"t\", x=x)]", "case.star:4:17: call: arguments of t: "},
		"too large":           {`return [call("x", f="y" * 300000)]`, "larger than 262144 bytes"},
		"too many calls":      {`return [call("x")] * 200`, "more than 128 calls"},
		"too much text":       {`return [say("x" * 2000000)]`, "the reply is larger than 1048576 bytes"},
		"option as a call":    {`return [ask("q", options=[call("x")])]`, "options[0] is a call, want option(...) or a label"},
		"action not a call":   {`return [ask("q", options=[option("l", "c", action="x")])]`, "action is a string, want call(...)"},
		"finish unverified":   {`return [finish("x", status="unverified")]`, `want "done", "partly" or "unable"`},
		"negative slow":       {`return [slow(-1), say("x")]`, "want seconds from 0"},
		"unknown kind":        {`return [provider_error(500, kind="tired")]`, `kind "tired" is not known`},
		"changes the session": {`s.results.append(1)`, "case.star:2:21: append: cannot append to frozen list"},
		"changes the data":    {`s.inputs["x"] = 1`, "case.star:2:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := compile(t, c.body).Next(context.Background(), conversation(t))
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != llm.Script || e.Retryable() {
				t.Fatalf("got %#v", err)
			}
			if !strings.Contains(e.Message, c.want) {
				t.Errorf("got  %s\nwant %s", e.Message, c.want)
			}
		})
	}
}

// R: D (appendix): refused with line and reason.
func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, want string }{
		"syntax":            {"def reply(s):\n    return [", "x.star:2:13: got newline, want primary expression"},
		"unknown names":     {"def reply(s):\n    return [sya(1), cal(2)]", "x.star:2:13: undefined: sya\nx.star:2:21: undefined: cal"},
		"no reply":          {"x = 1", "x.star: no function reply(s) is defined"},
		"reply is no def":   {"reply = 1", "x.star: no function reply(s)"},
		"two parameters":    {"\ndef reply(s, t):\n    return []", "x.star:2:1: reply must take one parameter"},
		"variadic":          {"def reply(*s):\n    return []", "reply must take one parameter"},
		"load":              {"load('a.star', 'b')\ndef reply(s):\n    return []", "x.star:1:6: load is not available"},
		"raises at the top": {"x = 1 // 0\ndef reply(s):\n    return []", "x.star:1:7: floored division by zero"},
		"loops at the top":  {"for i in range(1000000000):\n    pass\ndef reply(s):\n    return []", "x.star:1:1: no end after"},
		"while":             {"def reply(s):\n    while True:\n        pass", "x.star:2:5: "},
		"recursion":         {"def f():\n    return f()\nx = f()\ndef reply(s):\n    return []", "called recursively"},
		"too large":         {strings.Repeat("#", MaxSourceBytes+1), "more than 262144"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile("x.star", c.source)
			var list SourceErrors
			if !errors.As(err, &list) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// R: C (appendix), A1: a pure function, so that a crash changes nothing.
func TestSameRequestSameReply(t *testing.T) {
	t.Parallel()
	const source = `
seen = []
names = {"b": 1, "a": 2}
def reply(s):
    bag = set([r.tool for r in s.results])
    for k in names:
        bag.add(k)
    return [say(str(bag)), say(str(s)), call("x", d=names, l=list(bag), h=hash("order"))]
`
	req := conversation(t)
	var first llm.Reply
	for i := range 20 {
		p, err := Compile("pure.star", source) // as after a restart
		if err != nil {
			t.Fatal(err)
		}
		reply := next(t, p, req)
		again := next(t, p, req)
		if i == 0 {
			first = reply
		}
		if !reflect.DeepEqual(reply, first) || !reflect.DeepEqual(again, first) {
			t.Fatalf("run %d: %+v\nfirst: %+v", i, reply, first)
		}
	}
	if keeps, err := Compile("keeps.star", "seen = []\ndef reply(s):\n    seen.append(1)\n    return [say('x')]"); err != nil {
		t.Fatal(err)
	} else if _, err := keeps.Next(context.Background(), req); err == nil {
		t.Error("a playbook kept something between replies")
	}
}

// R: V6: what a slow model will have said, it says while it takes its time.
func TestSlowSpeaksMeanwhile(t *testing.T) {
	t.Parallel()
	p := compile(t, `return [say("One word after another."), slow(8)]`)
	req := conversation(t)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var said []string
		req.Say = func(piece string) {
			said = append(said, piece)
			if want := time.Duration(len(said)) * 2 * time.Second; time.Since(start) != want {
				t.Errorf("%q came after %s, want %s", piece, time.Since(start), want)
			}
		}
		reply, err := p.Next(context.Background(), req)
		if err != nil || strings.Join(said, "") != reply.Text || len(said) != 4 {
			t.Errorf("said %q, replied %q, %v", said, reply.Text, err)
		}
	})
}

// R: A7: a cancelled session doesn't wait for its model.
func TestSlowHonoursItsContext(t *testing.T) {
	t.Parallel()
	p := compile(t, `return [slow(3600), say("late")]`)
	req := conversation(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := p.Next(ctx, req)
		if e := llm.AsError(err); e.Kind != llm.Timeout || time.Since(start) != time.Minute {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
		ctx, cancel = context.WithCancel(context.Background())
		cancel()
		if _, err := p.Next(ctx, req); llm.AsError(err).Kind != llm.Cancelled {
			t.Errorf("cancelled: %v", err)
		}
		start = time.Now()
		if reply, err := p.Next(context.Background(), req); err != nil || reply.Text != "late" || time.Since(start) != time.Hour {
			t.Errorf("after %s: %v %v", time.Since(start), reply, err)
		}
	})
}

func TestCacheCompilesOnce(t *testing.T) {
	t.Parallel()
	var c Cache
	source := func(i int) string { return fmt.Sprintf("def reply(s):\n    return [say(%q)]", fmt.Sprint(i)) }
	first, err := c.Load("a.star", source(0))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := c.Load("a.star", source(0)); again != first {
		t.Error("compiled twice")
	}
	if other, _ := c.Load("b.star", source(0)); other == first {
		t.Error("another name gave the same playbook")
	}
	for i := range 2 * cacheSize {
		if _, err := c.Load("a.star", source(i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(c.books) > cacheSize {
		t.Errorf("%d playbooks kept", len(c.books))
	}
	if _, err := c.Load("a.star", "nonsense ("); err == nil {
		t.Error("a faulty playbook was loaded")
	}
}

// R: Z1: what the model costs beside everything else in the workload.
func BenchmarkNext(b *testing.B) {
	for _, calls := range []int{20, 200} {
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			p := compile(b, `
if s.step >= 200:
    return [finish("Done.", evidence=[s.last[0].call_id])]
if s.step and s.last[0].status == "error":
    return [finish("Failed.", status="unable")]
return [call("work", n=s.step)]`)
			data := succeeded(b, `{"text":"`+strings.Repeat("x", 1000)+`"}`)
			req := llm.Request{Messages: []llm.Message{{Role: llm.RoleTask, Text: "work"}}}
			for i := range calls {
				req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Calls: []tools.Call{{N: i + 1, Tool: "work"}}},
					llm.Message{Role: llm.RoleResult, Result: &llm.Result{CallID: fmt.Sprint("call_", i), Tool: "work", Result: data}})
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Next(context.Background(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
