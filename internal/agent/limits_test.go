package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// notices reads what the harness said of limits and models, in order:
// "limit_near calls 4/5".
func (h *house) notices(s sessions.Session) (list []string) {
	h.t.Helper()
	for _, e := range h.events(s.ID) {
		var d struct {
			Code, Text string
			Limit      *escalation.Limit
		}
		if e.Type != sessions.NoticeGiven {
			continue
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			h.t.Fatal(err)
		}
		if d.Limit != nil {
			if l := d.Limit; l.Used > l.Max && strings.Contains(d.Text, fmt.Sprintf("%d of %d", l.Used, l.Max)) {
				h.t.Errorf("nobody can use so much: %s", d.Text)
			}
			d.Code += fmt.Sprintf(" %s %d/%d", d.Limit.Name, d.Limit.Used, d.Limit.Max)
		}
		list = append(list, d.Code)
	}
	return list
}

// question is the last question of a session as it was asked.
func (h *house) question(s sessions.Session) (kind, trigger, text string) {
	h.t.Helper()
	err := h.pool.QueryRow(h.t.Context(), `select kind, trigger, question::text from escalations where session_id = $1 order by id desc limit 1`, s.ID).Scan(&kind, &trigger, &text)
	if err != nil {
		h.t.Fatal(err)
	}
	return kind, trigger, text
}

// Each limit: the model is told at four fifths, once, and at the whole people
// are asked, with nothing lost.
// R: P7, A8
func TestEachLimitIsToldAtFourFifthsAndAskedAboutWhenItIsUsedUp(t *testing.T) {
	t.Parallel()
	const spends = `
def reply(s):
    if len(s.notices) > 1:
        fail("told %s" % s.notices)
    return [call("echo", n = s.step), usage(input_tokens = 90, output_tokens = 10, cost_usd = "0.10")]
`
	for limit, c := range map[string]struct {
		yaml, told, words string
		steps             int
	}{
		"steps_per_turn": {"5", "[limit_near steps_per_turn 4/5 limit steps_per_turn 5/5]", "used up its 5 steps", 5},
		// A model that finishes with the last call needs no more: it is asked once
		// a call was refused.
		"calls_per_turn": {"5", "[limit_near calls_per_turn 4/5 limit calls_per_turn 6/5]", "used up its 5 tool calls", 6},
		"calls":          {"5", "[limit_near calls 4/5 limit calls 6/5]", "session has used up its 5 tool calls", 6},
		"tokens":         {"500", "[limit_near tokens 400/500 limit tokens 500/500]", "used up its 500 tokens", 5},
		"cost_usd":       {"0.50", "[limit_near cost_usd 400000/500000 limit cost_usd 500000/500000]", "cost the $0.50", 5},
	} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			h := build(t, echo)
			s := h.run(spends, "budgets: {"+limit+": "+c.yaml+"}")
			if s.Status != sessions.Waiting || s.OpenQuestions != 1 || s.Steps != c.steps {
				t.Fatalf("the session is %s with %d questions after %d steps: %s", s.Status, s.OpenQuestions, s.Steps, s.Failure)
			}
			if got := fmt.Sprint(h.notices(s)); got != c.told {
				t.Errorf("told %s, want %s", got, c.told)
			}
			kind, trigger, text := h.question(s)
			if kind != string(escalation.KindFailed) || trigger != string(escalation.BudgetExhausted) {
				t.Errorf("asked %s %s", kind, trigger)
			}
			for _, want := range []string{c.words, escalation.LimitSame, escalation.LimitHalf, escalation.LimitFinish, escalation.LimitStop, `"done"`, "echo"} {
				if !strings.Contains(text, want) {
					t.Errorf("the question lacks %q: %s", want, text)
				}
			}
			if len(h.results(s.ID)) != c.steps {
				t.Errorf("%d results of %d steps", len(h.results(s.ID)), c.steps)
			}
		})
	}
}

// The time that people take is not the agent's.
// R: P7
func TestWorkingTimeIsToldAndAskedAbout(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	for worked, want := range map[int]string{0: "", 49_000: "limit_near working_time", 61_000: "limit working_time"} {
		session := h.start("def reply(s):\n    return finish('Done.')", "budgets: {working_time: 1m}")
		if _, err := h.pool.Exec(t.Context(), `update sessions set working_ms = $2, created_at = now() - interval '3 days' where id = $1`, session, worked); err != nil {
			t.Fatal(err)
		}
		if err := h.work(session); err != nil {
			t.Fatal(err)
		}
		s := h.get(session)
		told := strings.Join(h.notices(s), " ")
		if want == "" && told != "" || !strings.HasPrefix(told, want) || (s.Status == sessions.Waiting) != strings.HasPrefix(want, "limit ") {
			t.Errorf("after %d ms: told %q, %s", worked, told, s.Status)
		}
	}
}

// R: P7
func TestAtAHundredPercentASessionCanStillEnd(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	s := h.run(`
def reply(s):
    if s.step < 3:
        return call("echo", n = s.step)
    if s.step == 3:
        return call("read_output", call_id = s.results[0].call_id)
    return finish("Three are there.", evidence = [s.results[2].call_id])
`, "budgets: {calls_per_turn: 3, calls: 3}")
	if s.Status != sessions.Completed || s.Outcome != sessions.Done {
		t.Errorf("%s, %s: %v", s.Status, s.Failure, h.notices(s))
	}
	s = h.run(`
def reply(s):
    if s.step < 3:
        return call("echo", n = s.step)
    return ask("Which of them?", options = [option("The first", "It is taken."), option("The last", "It is taken.")], problem = "There are three.")
`, "budgets: {calls_per_turn: 3, calls: 3}")
	if _, trigger, _ := h.question(s); s.Status != sessions.Waiting || trigger != string(escalation.AmbiguousDecision) {
		t.Errorf("%s, asked for %s", s.Status, trigger)
	}
}

// A call is looked at once more before an effect happens: it doesn't stand in
// its own way.
// R: P7, E5
func TestTheLastCallOfALimitMayHaveAnEffect(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	effect := tool("effect", tools.EffectIdempotent, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		ran.Add(1)
		return tools.Output{Data: args}, nil
	})
	h := build(t, echo, effect)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [call("echo", n = 1), call("effect", n = 2), call("effect", n = 3)]
    return finish("Two.", evidence = [s.results[1].call_id, s.results[2].call_id])
`, "budgets: {calls_per_turn: 3, calls: 3}")
	if ran.Load() != 2 || s.Status != sessions.Completed {
		t.Errorf("it ran %d times; %s %s", ran.Load(), s.Status, s.Failure)
	}
}

// R: P7
func TestCallsOfOneToolThatBringNothingNewAreRemindedOfAndThenAskedAbout(t *testing.T) {
	t.Parallel()
	// Each fails or finds nothing, each for another customer: no loop sees that.
	find := tool("find", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		if strings.Contains(string(args), "news") {
			return tools.Output{Data: args}, nil
		}
		return tools.Output{Data: json.RawMessage(`[]`)}, nil
	})
	polled := find.(testTool)
	polled.spec.Name, polled.spec.Polling = "poll", true
	send := tool("send", tools.EffectIdempotent, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{Data: json.RawMessage(`{"ok":true}`)}, nil
	})
	h := build(t, find, polled, send, echo)
	const playbook = `
def reply(s):
    if s.step < 13:
        return CALL
    return finish("Looked.", evidence = [s.results[0].call_id])
`
	const yaml = "budgets: {same_tool_in_a_row: 6}"
	for name, c := range map[string]struct {
		call, told string
		status     sessions.Status
	}{
		"nobody of that name":   {`call("find", who = s.step)`, "[limit_near same_tool_in_a_row 3/6 limit same_tool_in_a_row 6/6]", sessions.Waiting},
		"the second is news":    {`call("find", who = "news" if s.step % 3 == 1 else "", n = s.step)`, "[]", sessions.Completed},
		"other tools between":   {`call("find", who = s.step) if s.step % 3 else call("echo", n = s.step)`, "[]", sessions.Completed},
		"the loop's own are no": {`call("find", who = s.step) if s.step % 2 else call("read_output", call_id = "call_1")`, "[limit_near same_tool_in_a_row 3/6]", sessions.Completed},
		"asked again by design": {`call("poll", who = s.step)`, "[]", sessions.Completed},
		"letters to many":       {`call("send", to = s.step)`, "[]", sessions.Completed},
	} {
		s := h.run(strings.Replace(playbook, "CALL", c.call, 1), yaml, "permission: {mode: auto, rules: [{tool: send, do: allow}]}")
		got := h.notices(s)
		if s.Status != c.status || fmt.Sprint(got) != c.told {
			t.Errorf("%s: %s, told %v", name, s.Status, got)
		}
	}
}

// R: A1, P7
func TestKilledAtALimitItIsToldOnceAndAskedOnce(t *testing.T) {
	t.Parallel()
	h := build(t)
	const playbook = `
def reply(s):
    return call("look", n = s.step)
`
	for at := 1; ; at++ {
		c := crash{h: h, session: h.start(playbook, "budgets: {steps_per_turn: 5}"), dir: t.TempDir()}
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
		if got := fmt.Sprint(h.notices(s)); got != "[limit_near steps_per_turn 4/5 limit steps_per_turn 5/5]" || asked != 1 || s.Status != sessions.Waiting || s.OpenQuestions != 1 {
			t.Errorf("killed at boundary %d: told %s, asked %d times, %s", at, got, asked, s.Status)
		}
		if !killed {
			if at < 10 {
				t.Fatalf("only %d boundaries", at)
			}
			return
		}
	}
}
