package main

import (
	"strings"
	"testing"
	"time"

	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// stubborn looks for the same again and again, until a person has spoken.
const stubborn = `
def reply(s):
    if not s.decision:
        return [call("look", order = 48)]
    AFTER
`

// R: P6, A8, A9
// case: harness A16
func TestAPersonSaysHowToGoOnAfterALoop(t *testing.T) {
	t.Parallel()
	p := working(t)
	for name, c := range map[string]struct {
		after, yaml string
		answer      func(q escalation.Escalation) decide.Answer
		status      sessions.Status
		looked      int // how often the tool ran in the end
	}{
		"once more, with a note": {
			`if len(s.last) == 0 or s.last[0].tool == "look" and s.last[0].status == "error":
        return [say(s.decision.message), call("look", order = 48)]
    return [finish("I looked.", evidence = [s.last[0].call_id])]`,
			"", func(q escalation.Escalation) decide.Answer {
				return decide.Answer{Version: q.Version, Type: escalation.Choose, Option: escalation.LoopAgain, Message: "It is open now."}
			}, sessions.Completed, 5,
		},
		"without it": {
			`if s.step < 7:
        return [call("look", order = 48)]
    return [finish("I did not look.", status = "partly", evidence = [s.results[0].call_id], unresolved = [s.last[0].message])]`,
			"", func(q escalation.Escalation) decide.Answer { return choose(q, escalation.LoopWithout) }, sessions.Completed, 4,
		},
		"no further": {
			`return [finish("never")]`,
			"", func(q escalation.Escalation) decide.Answer { return choose(q, escalation.LoopStop) }, sessions.Failed, 4,
		},
	} {
		session := p.start(strings.Replace(stubborn, "AFTER", c.after, 1), "escalation: {hold: 0s}")
		q := p.questions(session, 1)[0]
		if q.Trigger != escalation.PoisonLoop || q.Kind != escalation.KindFailed || q.Call != 5 || len(q.Question.Options) != 3 {
			t.Errorf("%s: asked %s %s about call %d: %+v", name, q.Kind, q.Trigger, q.Call, q.Question)
		}
		before := len(p.witness.ran("look"))
		p.answer("responder", q, c.answer(q))
		s := p.until(session, "ended", func(s sessions.Session) bool { return s.Status.Ended() })
		if s.Status != c.status {
			t.Errorf("%s: the session is %s, %s", name, s.Status, s.Failure)
		}
		if more := len(p.witness.ran("look")) - before; more != c.looked-4 {
			t.Errorf("%s: after the answer it ran %d times, want %d", name, more, c.looked-4)
		}
		if q = p.allQuestions(session)[0]; q.Status != escalation.Applied || len(p.allQuestions(session)) != 1 {
			t.Errorf("%s: the question is %s, of %d", name, q.Status, len(p.allQuestions(session)))
		}
		if c.status == sessions.Failed && !strings.Contains(string(s.Failure), "loop_stopped") {
			t.Errorf("%s: it failed with %s", name, s.Failure)
		}
	}
}

// R: P6, Q6
func TestAnAnswerAboutALoopCanBeTakenBackWhileItIsHeld(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(strings.Replace(stubborn, "AFTER", `return [finish("I did not look.", status = "partly", evidence = [s.results[0].call_id], unresolved = ["x"])]`, 1), "escalation: {hold: 30m}")
	q := p.questions(session, 1)[0]
	p.answer("responder", q, choose(q, escalation.LoopStop))
	undone, err := p.desk.Undo(t.Context(), p.people["responder"], q.ID)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	again := choose(undone, escalation.LoopWithout)
	again.Hold = &now
	p.answer("responder", undone, again)
	if s := p.untilStatus(session, sessions.Completed); s.Outcome != sessions.Partly {
		t.Errorf("the session ended %s", s.Outcome)
	}
}

// Nobody answers: the session goes on without, or fails, as its agent says.
// R: P6, Q11
func TestNobodyAnswersAboutALoop(t *testing.T) {
	t.Parallel()
	p := working(t)
	const playbook = `
def reply(s):
    if s.step < 6:
        return [call("look", order = 48)]
    if s.last[0].error_type != "TYPE":
        fail("it ended %s" % s.last[0].error_type)
    return [finish("I did not look.", status = "partly", evidence = [s.results[0].call_id], unresolved = ["x"])]
`
	for expiry, want := range map[string]sessions.Status{"continue": sessions.Completed, "fail": sessions.Failed} {
		session := p.start(strings.Replace(playbook, "TYPE", string(tools.ToolRested), 1), "escalation: {on_expiry: "+expiry+", expires_after: 1s}")
		s := p.until(session, "ended", func(s sessions.Session) bool { return s.Status.Ended() })
		if s.Status != want {
			t.Errorf("%s: the session is %s, %s", expiry, s.Status, s.Failure)
		}
	}
}

// R: P6, Q13
func TestCancellingASessionWithdrawsTheQuestionAboutItsLoop(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(strings.Replace(stubborn, "AFTER", `return [finish("never")]`, 1))
	p.questions(session, 1)
	if _, err := p.sessions.Cancel(t.Context(), p.people["supervisor"], p.inserter, session); err != nil {
		t.Fatal(err)
	}
	p.untilStatus(session, sessions.Cancelled)
	if q := p.allQuestions(session)[0]; q.Status != escalation.Cancelled {
		t.Errorf("the question is %s", q.Status)
	}
}

// Once more is exactly once, however it is asked for, and whoever asks for more
// is asked about again.
// R: P6, X4, A8
func TestOnceMoreAfterALoopIsExactlyOnce(t *testing.T) {
	t.Parallel()
	p := working(t)
	for name, after := range map[string]string{
		"again and again": `return [call("look", order = 48)]`,
		"twice at once":   `return [call("look", order = 48), call("look", order = 48)]`,
	} {
		before := len(p.witness.ran("look"))
		session := p.start(strings.Replace(stubborn, "AFTER", after, 1), "escalation: {hold: 0s}")
		for ran := 4; ran < 6; ran++ {
			q := p.questions(session, 1)[0]
			if got := len(p.witness.ran("look")) - before; got != ran || q.Trigger != escalation.PoisonLoop {
				t.Fatalf("%s: it ran %d times when %s was asked, want %d", name, got, q.Trigger, ran)
			}
			p.answer("responder", q, choose(q, escalation.LoopAgain))
			p.until(session, "asked anew", func(s sessions.Session) bool { return s.OpenQuestions == 1 && len(p.allQuestions(session)) == ran-2 })
		}
		q := p.questions(session, 1)[0]
		p.answer("responder", q, choose(q, escalation.LoopStop))
		p.untilStatus(session, sessions.Failed)
		if got := len(p.witness.ran("look")) - before; got != 6 {
			t.Errorf("%s: it ran %d times, want 6", name, got)
		}
	}
}

// What brings something new at last is free again.
// R: P6
func TestOnceMoreThatHelpsFreesTheTool(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(strings.Replace(stubborn, "AFTER", `n = len(s.results)
    if n < 8:
        return [call("look", order = 48, note = s.decision.message + str(n))]
    return [finish("I looked.", evidence = [s.last[0].call_id])]`, 1), "escalation: {hold: 0s}")
	q := p.questions(session, 1)[0]
	p.answer("responder", q, decide.Answer{Version: q.Version, Type: escalation.Choose, Option: escalation.LoopAgain, Message: "Look in the other drawer."})
	if s := p.untilStatus(session, sessions.Completed); s.Outcome != sessions.Done || len(p.witness.ran("look")) != 7 {
		t.Errorf("the session ended %s after %d looks", s.Outcome, len(p.witness.ran("look")))
	}
}
