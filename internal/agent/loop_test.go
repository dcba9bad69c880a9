package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"baton/internal/sessions"
	"baton/internal/tools"
)

// R: A1, A5, L1
func TestASessionWorksAndFinishesWithCitedCalls(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [say("I look."), call("echo", n = 48)]
    return finish("There are 48.", evidence = [{"claim": "48", "call": s.last[0].call_id, "quote": "48"}])
`)
	if s.Status != sessions.Completed || s.Outcome != sessions.Done || s.Summary != "There are 48." {
		t.Fatalf("session is %s %s %q, failure %s", s.Status, s.Outcome, s.Summary, s.Failure)
	}
	if s.Steps != 2 || s.Calls != 2 {
		t.Errorf("%d steps, %d calls", s.Steps, s.Calls)
	}
	results := h.results(s.ID)
	if got := string(results[1].Data()); got != `{"n":48}` {
		t.Errorf("result is %s", got)
	}
	if !strings.Contains(string(s.Evidence), "call_"+s.ID.Digits()+"_1") {
		t.Errorf("evidence is %s", s.Evidence)
	}
}

// R: A5
// case: harness A25
func TestAFinishWithoutSupportIsRefusedTwiceAndThenPublishedAsUnverified(t *testing.T) {
	t.Parallel()
	failing := tool("lookup", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{}, errors.New("the ledger is closed")
	})
	h := build(t, failing)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return call("lookup")
    return finish("Revenue was 4,711.", evidence = [s.results[0].call_id])
`)
	if s.Status != sessions.Completed || s.Outcome != sessions.Unverified {
		t.Fatalf("session is %s %s", s.Status, s.Outcome)
	}
	results := h.results(s.ID)
	for _, n := range []int{2, 3} {
		if r := results[n]; r.ErrorType() != tools.InvalidArguments || !strings.Contains(r.ForModel(), "a call that succeeded") {
			t.Errorf("finish %d: %s", n, r.ForModel())
		}
	}
	if len(results) != 4 {
		t.Errorf("%d calls, want a lookup and three finishes", len(results))
	}
	last := h.events(s.ID)
	if data := string(last[len(last)-1].Data); !strings.Contains(data, "lookup") || !strings.Contains(data, "the ledger is closed") {
		t.Errorf("what failed is not listed by the harness: %s", data)
	}
}

// R: A5
func TestAQuoteThatTheCallDidNotReturnIsRefused(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return call("echo", amount = "48.00")
    quote = "84.00" if s.step == 1 else "48.00"
    return finish("It is " + quote + ".", evidence = [{"claim": "amount", "call": s.results[0].call_id, "quote": quote}])
`)
	if s.Outcome != sessions.Done || s.Summary != "It is 48.00." {
		t.Errorf("session is %s %q", s.Outcome, s.Summary)
	}
	if r := h.results(s.ID)[2]; r.OK() || !strings.Contains(r.ForModel(), "/evidence/0/quote") {
		t.Errorf("first finish: %s", r.ForModel())
	}
}

// Each way in which a call can go wrong gives the model a result, and the
// session goes on.
// R: L1, L6, E1, E2, E5, S1
// case: fault F31
// case: harness A2, A11, A12
func TestEveryWayInWhichACallFailsGivesTheModelAResult(t *testing.T) {
	t.Parallel()
	panics := tool("panics", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) { panic("secret stack") })
	hangs := tool("hangs", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		select {} // ignores its context for ever
	})
	strict := testTool{tools.Spec{Name: "strict", Description: "strict", Effect: tools.EffectRead,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"who":{"type":"string"}},"required":["n","who"],"additionalProperties":false}`)},
		func(context.Context, json.RawMessage) (tools.Output, error) { return tools.Output{Text: "ran"}, nil }}
	denied := tool("denied", tools.EffectSide, func(context.Context, json.RawMessage) (tools.Output, error) {
		t.Error("a denied call ran")
		return tools.Output{}, nil
	})
	large := tool("large", tools.EffectRead, func(ctx context.Context, _ json.RawMessage) (tools.Output, error) {
		line := []byte(strings.Repeat("x", 99) + "\n")
		for range 100_000 {
			_, _ = tools.Writer(ctx).Write(line)
		}
		return tools.Output{}, nil
	})
	short := hangs.(testTool)
	short.spec.Timeout, short.spec.Deadline, short.spec.Retry = 50e6, 50e6, tools.RetryPolicy{Attempts: 1}
	h := build(t, echo, panics, short, strict, denied, large)
	s := h.run(`
CALLS = [
    call("no_such_tool"), call("strict", n = "one", extra = 1), raw_call("echo", "{not json"),
    call("denied"), call("panics"), call("hangs"), call("large"), call("echo", ok = True),
]
def reply(s):
    if s.step < len(CALLS):
        return CALLS[s.step]
    return finish("Tried everything.", evidence = [s.last[0].call_id], status = "partly", unresolved = ["denied may not be used"])
`, "permission: {mode: auto, rules: [{tool: denied, do: deny}]}")
	if s.Status != sessions.Completed || s.Outcome != sessions.Partly {
		t.Fatalf("session is %s %s %s", s.Status, s.Outcome, s.Failure)
	}
	results := h.results(s.ID)
	for n, want := range map[int]tools.ErrorType{
		1: tools.ToolNotFound, 2: tools.InvalidArguments, 3: tools.InvalidArguments, 4: tools.PermissionDenied, 5: tools.Internal, 6: tools.Timeout,
	} {
		r := results[n]
		if r.ErrorType() != want || r.Message() == "" || len(r.Hint()) == 0 || len(r.Causes()) == 0 || r.Retryable() == "" {
			t.Errorf("call %d: %s, want %s with message, causes, hint and retryable", n, r.ForModel(), want)
		}
	}
	if text := results[1].ForModel(); !strings.Contains(text, "echo") || !strings.Contains(text, "finish") {
		t.Errorf("an unknown tool is not taught what there is: %s", text)
	}
	if got := len(results[2].Errors()); got != 3 {
		t.Errorf("%d wrong fields named, want 3: %s", got, results[2].ForModel())
	}
	if strings.Contains(results[5].ForModel(), "goroutine") || strings.Contains(results[5].ForModel(), "secret stack") {
		t.Errorf("a panic's stack reached the model: %s", results[5].ForModel())
	}
	if cut := results[7].Meta().Truncated; cut == nil || cut.TotalBytes != 10_000_000 || len(results[7].ForModel()) > 40_000 {
		t.Errorf("10 MB: %d characters shown, %+v", len(results[7].ForModel()), cut)
	}
}

// R: F9
func TestWhatWasCutCanBeReadOn(t *testing.T) {
	t.Parallel()
	large := tool("report", tools.EffectRead, func(ctx context.Context, _ json.RawMessage) (tools.Output, error) {
		for i := range 5000 {
			_, _ = tools.Writer(ctx).Write([]byte("line " + strings.Repeat("0", 1+i%7) + " number " + json.Number(itoa(i)).String() + "\n"))
		}
		return tools.Output{}, nil
	})
	h := build(t, large)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return call("report")
    if s.step == 1:
        return call("read_output", call_id = s.results[0].call_id, offset = 2500, limit = 2)
    if s.step == 2:
        return call("read_output", call_id = s.results[0].call_id, offset = 9999)
    return finish("Line 2500 is there.", evidence = [{"claim": "2500", "call": s.results[1].call_id, "quote": "number 2500"}])
`)
	if s.Outcome != sessions.Done {
		t.Fatalf("session is %s %s", s.Status, s.Outcome)
	}
	results := h.results(s.ID)
	var page string
	if err := json.Unmarshal(results[2].Data(), &page); err != nil || !strings.Contains(page, "number 2500\n") || !strings.Contains(page, "number 2501") || strings.Contains(page, "number 2502") {
		t.Errorf("page is %q, %v", page, err)
	}
	if results[3].ErrorType() != tools.NotFound || !strings.Contains(results[3].Message(), "5000 lines") {
		t.Errorf("past the end: %s", results[3].ForModel())
	}
}

// R: X4
// case: harness A6
func TestTheThirdEqualFailingCallIsRefusedWithoutRunning(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	failing := tool("lookup", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		ran.Add(1)
		return tools.Output{}, tools.Fail(tools.NotFound, "There is no customer 7.")
	})
	h := build(t, failing)
	s := h.run(`
def reply(s):
    if s.step < 3:
        return call("lookup", customer = 7)
    return finish("Could not.", status = "unable", unresolved = ["no such customer"])
`)
	if ran.Load() != 2 {
		t.Errorf("ran %d times, want 2", ran.Load())
	}
	r := h.results(s.ID)[3]
	if r.ErrorType() != tools.CircuitOpen || !strings.Contains(r.ForModel(), `"earlier_calls":[1,2]`) {
		t.Errorf("third call: %s", r.ForModel())
	}
	if s.Outcome != sessions.Unable {
		t.Errorf("outcome %s", s.Outcome)
	}
}

// A model that doesn't go on is asked again a bounded number of times; then
// people are asked, in words for who knows no models.
// R: A3, A4, A8
// case: fault F26, F27
// case: harness A24
func TestAModelsFaultsAreBoundedAndThenAskedAbout(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	for name, c := range map[string]struct {
		playbook, words string
		tries           int
	}{
		"overloaded twice, then well": {`
def reply(s):
    if s.attempt < 3:
        return provider_error(529)
    return finish("Done.", status = "done")`, "", 2},
		"a stream cut once": {`
def reply(s):
    if s.attempt == 1:
        return [call("echo", n = 1), cut()]
    return finish("Done.", status = "done")`, "", 1},
		"overloaded for ever": {`
def reply(s):
    return provider_error(503)`, "can’t be reached", 5},
		"told to wait for two days": {`
def reply(s):
    return provider_error(429, retry_after = 198300)`, "2d 7h", 1},
		"a wrong key": {`
def reply(s):
    return provider_error(401)`, "doesn’t let us in", 1},
		"a wrong name": {`
def reply(s):
    return provider_error(404)`, "doesn’t take what it is asked", 1},
		"cut for ever": {`
def reply(s):
    return [call("echo", n = 1), cut()]`, "can’t be read", 5},
		"empty for ever": {`
def reply(s):
    return empty()`, "3 answers in a row held nothing to do", 0},
		"text where a call was due": {`
def reply(s):
    return say("I am done, trust me.")`, "doesn’t go on", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := h.run(c.playbook)
			tries := 0
			for _, e := range h.events(s.ID) {
				if e.Type == sessions.ModelFailed {
					tries++
				}
			}
			if tries != c.tries {
				t.Errorf("%d tries failed, want %d", tries, c.tries)
			}
			if c.words == "" {
				if s.Status != sessions.Completed {
					t.Errorf("session is %s, %s", s.Status, s.Failure)
				}
				return
			}
			if s.Status != sessions.Waiting || s.OpenQuestions != 1 {
				t.Fatalf("session is %s, %s; want it to wait for a person", s.Status, s.Failure)
			}
			kind, trigger, text := h.question(s)
			if kind != "failed" || trigger != "repeated_failure" || !strings.Contains(text, c.words) || !strings.Contains(text, `"try-again"`) || !strings.Contains(text, `"stop"`) {
				t.Errorf("asked %s %s %s", kind, trigger, text)
			}
		})
	}
}

// A fault in the agent itself is mended by nobody's answer.
// R: A3
func TestAPlaybookThatRaisesFailsItsSession(t *testing.T) {
	t.Parallel()
	s := build(t).run(`
def reply(s):
    return 1 // 0`)
	if s.Status != sessions.Failed || failureOf(s) != "script_failed" {
		t.Errorf("session is %s, %s", s.Status, s.Failure)
	}
}

// No call of a reply that was cut runs.
// R: A3
// case: fault F27
func TestNoCallOfABrokenStreamRuns(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	once := tool("effect", tools.EffectSide, func(context.Context, json.RawMessage) (tools.Output, error) {
		ran.Add(1)
		return tools.Output{Text: "done"}, nil
	})
	h := build(t, once)
	s := h.run(`
def reply(s):
    if s.step == 0 and s.attempt == 1:
        return [call("effect"), cut()]
    if s.step == 0:
        return call("effect")
    return finish("Done.", evidence = [s.results[0].call_id])
`)
	if ran.Load() != 1 || s.Status != sessions.Completed {
		t.Errorf("ran %d times, session %s", ran.Load(), s.Status)
	}
}

// R: A3
// case: fault F27
func TestTwoCallsWithOneProviderIdBothGetTheirResult(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return same_id(call("echo", n = 1), call("echo", n = 2))
    return finish("Both.", evidence = [r.call_id for r in s.last])
`)
	results := h.results(s.ID)
	if s.Status != sessions.Completed || string(results[1].Data()) != `{"n":1}` || string(results[2].Data()) != `{"n":2}` {
		t.Errorf("session %s, results %v", s.Status, results)
	}
}

// R: O3
func TestSecretsInArgumentsAndOutputAreNotOnRecord(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	var got atomic.Value
	leaky := tool("leaky", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		got.Store(string(args))
		return tools.Output{Text: "token " + secret}, nil
	})
	h := build(t, leaky)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [say("using ` + secret + `"), call("leaky", token = "` + secret + `")]
    return finish("Used ` + secret + `.", evidence = [s.results[0].call_id])
`)
	if !strings.Contains(got.Load().(string), secret) {
		t.Errorf("the tool was run with %s", got.Load())
	}
	var hits int
	const sql = `select count(*) from session_events where data::text like '%' || $1 || '%'`
	if err := h.pool.QueryRow(t.Context(), sql, secret).Scan(&hits); err != nil || hits != 0 {
		t.Errorf("%d events hold the secret, %v", hits, err)
	}
	if strings.Contains(h.get(s.ID).Summary, secret) {
		t.Error("the summary holds the secret")
	}
}
