package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"baton/internal/sessions"
	"baton/internal/tools"
)

// refuses is a tool that fails for a reason of its own, unless it is asked for
// something else.
var refuses = tool("login", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
	if strings.Contains(string(args), `"as":"a"`) {
		return tools.Output{}, tools.Fail(tools.PermissionDenied, "The password has expired.")
	}
	return tools.Output{Data: args}, nil
})

// measures reads what was done against loops: "failing/remind call 3".
func (h *house) measures(s sessions.Session) (list []string) {
	h.t.Helper()
	for _, e := range h.events(s.ID) {
		var d struct {
			Loop *tools.Measure `json:"loop"`
		}
		if e.Type != sessions.NoticeGiven {
			continue
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			h.t.Fatal(err)
		}
		if d.Loop != nil {
			list = append(list, fmt.Sprintf("%s/%s call %d", d.Loop.Rule, d.Loop.Rung, d.Loop.Calls[len(d.Loop.Calls)-1]))
		}
	}
	return list
}

// A session whose agent doesn't give in: it fails twice, is refused, reminded,
// rested, and a person is asked.
// R: P1, P6, X2, X4, A8
func TestAnAgentThatDoesNotGiveInIsRemindedRestedAndAskedAbout(t *testing.T) {
	t.Parallel()
	h := build(t, refuses)
	s := h.run(`
def reply(s):
    want = 0
    if s.step >= 3:
        want = min(s.step - 2, 2)
    if len(s.notices) != want:
        fail("at step %d it was told %s" % (s.step, s.notices))
    return call("login", **{"as": "a"})
`)
	if s.Status != sessions.Waiting || s.OpenQuestions != 1 {
		t.Fatalf("the session is %s with %d questions: %s", s.Status, s.OpenQuestions, s.Failure)
	}
	var ended []string
	for n, results := 1, h.results(s.ID); n <= len(results); n++ {
		ended = append(ended, string(results[n].ErrorType()))
	}
	if got, want := fmt.Sprint(ended), "[permission_denied permission_denied circuit_open circuit_open tool_rested]"; got != want {
		t.Errorf("its calls ended %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(h.measures(s)), "[failing/remind call 3 failing/rest call 4 rested/ask call 5]"; got != want {
		t.Errorf("done against it: %s, want %s", got, want)
	}
	events := h.events(s.ID)
	last := events[len(events)-1]
	var raised struct {
		Kind, Trigger string
		Call          int
	}
	if err := json.Unmarshal(last.Data, &raised); err != nil || last.Type != sessions.EscalationRaised || raised.Trigger != "poison_loop" || raised.Kind != "failed" || raised.Call != 5 {
		t.Errorf("the last event is %s %s", last.Type, last.Data)
	}
	var question string
	if err := h.pool.QueryRow(t.Context(), `select question::text from escalations`).Scan(&question); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"try-again", "go-without", "stop", "The password has expired.", "gets nowhere"} {
		if !strings.Contains(question, want) {
			t.Errorf("the question lacks %q: %s", want, question)
		}
	}
}

// R: P6
func TestOnlyTheTargetIsRestedAndOthersGoOn(t *testing.T) {
	t.Parallel()
	h := build(t, refuses, echo)
	s := h.run(`
def reply(s):
    if s.step < 4:
        return call("login", **{"as": "a"})
    if s.step == 4:
        return [call("login", **{"as": "b"}), call("echo", n = 1), call("read_output", call_id = "call_5", offset = 0, limit = 5)]
    return finish("Logged in as b.", evidence = ["call_5"])
`)
	if s.Status != sessions.Completed || s.Outcome != sessions.Done {
		t.Fatalf("the session is %s %s, %s", s.Status, s.Outcome, s.Failure)
	}
	if got, want := fmt.Sprint(h.measures(s)), "[failing/remind call 3 failing/rest call 4]"; got != want {
		t.Errorf("done against it: %s, want %s", got, want)
	}
}

// The tool that a loop was in can be asked for again after its rest.
// R: P6, X4
func TestARestedToolIsBackAfterFiveSteps(t *testing.T) {
	t.Parallel()
	h := build(t, refuses, echo)
	s := h.run(`
def reply(s):
    if s.step < 4 or s.step in (8, 9):
        return call("login", **{"as": "a"})
    if s.step < 8:
        return call("echo", n = s.step)
    return finish("It does not let us in.", status = "unable", unresolved = ["login"])
`)
	results := h.results(s.ID)
	if results[9].ErrorType() != tools.ToolRested {
		t.Errorf("in the fifth step of its rest it ended %s", results[9].ForModel())
	}
	if got := h.measures(s); len(got) != 3 || s.Status != sessions.Waiting {
		t.Errorf("%v, %s", got, s.Status)
	}
	// The same, without the call in the fifth step.
	s = h.run(`
def reply(s):
    if s.step < 4 or s.step == 9:
        return call("login", **{"as": "a"})
    if s.step < 9:
        return call("echo", n = s.step)
    return finish("It does not let us in.", status = "unable", unresolved = ["login"])
`)
	if r := h.results(s.ID)[10]; r.ErrorType() != tools.PermissionDenied || s.Status != sessions.Waiting {
		t.Errorf("after its rest it ended %s, and the session is %s", r.ForModel(), s.Status)
	}
}

// R: P1, P6
func TestFixThenTestIsNoLoop(t *testing.T) {
	t.Parallel()
	h := build(t, refuses, tool("edit", tools.EffectIdempotent, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		return tools.Output{Data: args}, nil
	}))
	s := h.run(`
def reply(s):
    if s.step < 14:
        return call("login", **{"as": "a"}) if s.step % 2 == 0 else call("edit", n = s.step)
    return finish("It still fails.", status = "unable", unresolved = ["login"])
`, "permission: {mode: auto, rules: [{tool: edit, do: allow}]}")
	if got := h.measures(s); len(got) > 0 || s.Status != sessions.Completed {
		t.Errorf("%v, %s", got, s.Status)
	}
	for n, r := range h.results(s.ID) {
		if r.ErrorType() == tools.CircuitOpen || r.ErrorType() == tools.ToolRested {
			t.Errorf("call %d was kept back: %s", n, r.ForModel())
		}
	}
}

// R: P4
// case: harness A15
func TestPollingIsNoLoopUntilNothingChanges(t *testing.T) {
	t.Parallel()
	grows := 0
	polled := tool("progress", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		if !strings.Contains(string(args), "stuck") {
			grows++
		}
		return tools.Output{Data: json.RawMessage(fmt.Sprintf(`{"percent":%d}`, grows))}, nil
	}).(testTool)
	polled.spec.Polling = true
	h := build(t, polled)
	const playbook = `
def reply(s):
    if s.step < 10:
        return call("progress", job = "JOB")
    return finish("Looked ten times.", evidence = [s.results[0].call_id])
`
	if s := h.run(strings.Replace(playbook, "JOB", "moving", 1)); len(h.measures(s)) > 0 || s.Outcome != sessions.Done {
		t.Errorf("with progress: %v, %s", h.measures(s), s.Status)
	}
	if s := h.run(strings.Replace(playbook, "JOB", "stuck", 1)); fmt.Sprint(h.measures(s)) != "[polling/remind call 10]" || s.Outcome != sessions.Done {
		t.Errorf("without: %v, %s", h.measures(s), s.Status)
	}
}

// Three calls that can't be read climb as three that were run.
// R: P1, P6
// case: harness A4
func TestCallsThatCanNotBeReadClimbTheLadder(t *testing.T) {
	t.Parallel()
	h := build(t, refuses)
	s := h.run(`
def reply(s):
    return raw_call("login", "{ \"as\": %d, " % s.step)
`)
	if got, want := fmt.Sprint(h.measures(s)), "[failing/remind call 3 failing/rest call 4 failing/ask call 5]"; got != want || s.Status != sessions.Waiting || s.Calls != 5 {
		t.Errorf("done against it: %s, want %s; %s after %d calls", got, want, s.Status, s.Calls)
	}
}

// A person's words begin anew: what was counted is forgotten, and the tool is
// back.
// R: P6
// case: harness A16
func TestAPersonsWordsGiveARestedToolBack(t *testing.T) {
	t.Parallel()
	var h *house
	wrote := false
	listens := tool("wait", tools.EffectRead, func(ctx context.Context, args json.RawMessage) (tools.Output, error) {
		if !wrote {
			wrote = true
			if _, err := h.store.Message(ctx, cli, h.inserter, tools.RunningCall(ctx).ID.Session, "The password is renewed."); err != nil {
				return tools.Output{}, err
			}
		}
		return tools.Output{Data: args}, nil
	})
	h = build(t, refuses, listens)
	s := h.run(`
def reply(s):
    if s.step < 4 or s.step == 5:
        return call("login", **{"as": "a"})
    if s.step == 4:
        return call("wait")
    return finish("Not in.", status = "unable", unresolved = ["login"])
`)
	if got, want := fmt.Sprint(h.measures(s)), "[failing/remind call 3 failing/rest call 4]"; got != want || s.Status != sessions.Completed {
		t.Errorf("done against it: %s, want %s; %s", got, want, s.Status)
	}
	if r := h.results(s.ID)[6]; r.ErrorType() != tools.PermissionDenied {
		t.Errorf("after a person wrote, the call ended %s", r.ForModel())
	}
}

// A server that is killed anywhere on the ladder neither forgets a rung nor
// climbs one twice, and asks once.
// R: A1, P6
func TestKilledOnTheLadderNoRungIsLostOrRepeated(t *testing.T) {
	t.Parallel()
	h := build(t)
	const playbook = `
def reply(s):
    return call("look", n = 1)
`
	for at := 1; ; at++ {
		c := crash{h: h, session: h.start(playbook), dir: t.TempDir()}
		killed := c.live(strconv.Itoa(at), "")
		if killed && c.live("0", "") {
			t.Fatalf("boundary %d: killed without having been told to", at)
		}
		s := h.get(c.session)
		h.results(s.ID)
		var asked int
		if err := h.pool.QueryRow(t.Context(), `select count(*) from escalations where session_id = $1`, s.ID).Scan(&asked); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(h.measures(s)), "[repeating/remind call 3 repeating/rest call 4 rested/ask call 5]"; got != want || asked != 1 || s.Status != sessions.Waiting || s.OpenQuestions != 1 {
			t.Errorf("killed at boundary %d: %s, want %s; asked %d times, %s", at, got, want, asked, s.Status)
		}
		if !killed {
			if at < 10 {
				t.Fatalf("only %d boundaries", at)
			}
			return
		}
	}
}
