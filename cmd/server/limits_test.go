package main

import (
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/sessions"
)

// looking looks at one order after the other, and says what it was told when it
// is done.
const looking = `
def reply(s):
    if s.step < STEPS and not (s.decision and s.decision.option_id == "finish-now"):
        return [call("look", order = s.step), usage(input_tokens = 100)]
    return [finish("I looked.", status = "STATUS", evidence = [s.results[0].call_id], unresolved = UNRESOLVED)]
`

func lookingFor(steps, status, unresolved string) string {
	return strings.NewReplacer("STEPS", steps, "STATUS", status, "UNRESOLVED", unresolved).Replace(looking)
}

// What a person says about a limit holds for their session alone, and however
// often it changes hands.
// R: P7, A8, A9
func TestAPersonSaysHowToGoOnAtALimit(t *testing.T) {
	t.Parallel()
	p := working(t)
	for name, c := range map[string]struct {
		playbook, limit string
		answers         []string // one after the other
		max             []string // the limits asked about
		status          sessions.Status
		looked          int
	}{
		"the same again":                 {lookingFor("10", "done", "[]"), "calls: 6", []string{"raise-same"}, []string{`"max":6`}, sessions.Completed, 9},
		"half, and half once more":       {lookingFor("14", "done", "[]"), "calls: 6", []string{"raise-half", "raise-half"}, []string{`"max":6`, `"max":10`}, sessions.Completed, 12},
		"half of a turn":                 {lookingFor("12", "done", "[]"), "steps_per_turn: 6", []string{"raise-half", "raise-same"}, []string{`"max":6`, `"max":3`}, sessions.Completed, 12},
		"tokens, far over":               {lookingFor("5", "done", "[]"), "tokens: 40", []string{"raise-same", "finish-now"}, []string{`"max":40`, `"max":140`}, sessions.Completed, 2},
		"finish with what there is":      {lookingFor("10", "partly", "['the rest']"), "calls: 6", []string{"finish-now"}, []string{`"max":6`}, sessions.Completed, 6},
		"no further":                     {lookingFor("10", "done", "[]"), "calls: 6", []string{"stop"}, []string{`"max":6`}, sessions.Failed, 6},
		"told to finish, and it doesn't": {"def reply(s):\n    return [call('look', order = s.step)]", "calls_per_turn: 3", []string{"finish-now"}, []string{`"max":3`}, sessions.Failed, 3},
	} {
		before := len(p.witness.ran("look"))
		session := p.start(c.playbook, "escalation: {hold: 0s}\nbudgets: {"+c.limit+"}")
		for i, answer := range c.answers {
			q := p.questions(session, 1)[0]
			if q.Trigger != escalation.BudgetExhausted || q.Call != 0 || !strings.Contains(string(q.Case.Parameters), c.max[i]) {
				t.Errorf("%s: asked %s about call %d, %s; want %s", name, q.Trigger, q.Call, q.Case.Parameters, c.max[i])
			}
			if _, err := q.MarshalJSON(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			p.answer("responder", q, choose(q, answer))
		}
		s := p.until(session, "ended", func(s sessions.Session) bool { return s.Status.Ended() })
		if s.Status != c.status {
			t.Errorf("%s: the session is %s, %s", name, s.Status, s.Failure)
		}
		if looked := len(p.witness.ran("look")) - before; looked != c.looked {
			t.Errorf("%s: it looked %d times, want %d", name, looked, c.looked)
		}
		for _, q := range p.allQuestions(session) {
			if q.Status != escalation.Applied {
				t.Errorf("%s: a question is %s", name, q.Status)
			}
		}
	}
}

// Silence gives nobody more.
// R: P7, Q11
func TestNobodyAnswersAtALimit(t *testing.T) {
	t.Parallel()
	p := working(t)
	for expiry, want := range map[string]sessions.Status{"continue": sessions.Completed, "fail": sessions.Failed, "option:raise-same": sessions.Failed} {
		before := len(p.witness.ran("look"))
		session := p.start(strings.Replace(lookingFor("10", "partly", "['the rest']"), "not (s.decision", "len(s.notices) < 3 and not (s.decision", 1), "budgets: {calls: 4}\nescalation: {on_expiry: \""+expiry+"\", expires_after: 1s}")
		s := p.until(session, "ended", func(s sessions.Session) bool { return s.Status.Ended() })
		if looked := len(p.witness.ran("look")) - before; s.Status != want || looked != 4 {
			t.Errorf("%s: the session is %s after %d calls, %s", expiry, s.Status, looked, s.Failure)
		}
	}
}

// R: A3, A4, A8
func TestAPersonSaysWhetherToAskTheModelAgain(t *testing.T) {
	t.Parallel()
	p := working(t)
	for name, c := range map[string]struct {
		playbook, answer, failure string
		outcome                   sessions.Status
	}{
		"it is back":      {"def reply(s):\n    if not s.decision:\n        return [provider_error(401)]\n    return [finish('Done: ' + s.decision.message)]", "try-again", "", sessions.Completed},
		"no further":      {"def reply(s):\n    return [provider_error(401)]", "stop", "model_failed", sessions.Failed},
		"useless, again":  {"def reply(s):\n    if not s.decision:\n        return [empty()]\n    if s.step < 5:\n        return [empty()]\n    return [finish('Done.')]", "try-again", "", sessions.Completed},
		"useless, enough": {"def reply(s):\n    return [empty()]", "stop", "model_useless", sessions.Failed},
	} {
		session := p.start(c.playbook, "escalation: {hold: 0s}")
		q := p.questions(session, 1)[0]
		if q.Trigger != escalation.RepeatedFailure || len(q.Question.Options) != 2 {
			t.Errorf("%s: asked %s %+v", name, q.Trigger, q.Question.Options)
		}
		p.answer("responder", q, decide.Answer{Version: q.Version, Type: escalation.Choose, Option: c.answer, Message: "The key is renewed."})
		s := p.until(session, "ended", func(s sessions.Session) bool { return s.Status.Ended() })
		if s.Status != c.outcome || !strings.Contains(string(s.Failure), c.failure) {
			t.Errorf("%s: the session is %s, %s", name, s.Status, s.Failure)
		}
	}
	// Again and again: each answer is worth the same number of tries.
	session := p.start("def reply(s):\n    return [provider_error(403)]", "escalation: {hold: 0s}")
	for range 3 {
		q := p.questions(session, 1)[0]
		p.answer("responder", q, choose(q, escalation.TroubleAgain))
		p.until(session, "asked anew", func(sessions.Session) bool {
			return len(p.allQuestions(session)) > 1 && p.allQuestions(session)[0].Status == escalation.Applied
		})
	}
}

// What a person writes to a session is its answer, where the question was only
// how to go on; to what it may use it is none.
// R: P6, P7, A7, Q13
// case: harness A16
func TestAMessageSettlesWhatTheHarnessAskedButGivesNoMore(t *testing.T) {
	t.Parallel()
	p := working(t)
	supervisor := p.people["supervisor"]
	for name, c := range map[string]struct {
		playbook, yaml string
		withdrawn      bool
	}{
		"a loop":            {"def reply(s):\n    if len(s.messages) < 2:\n        return [call('look', order = 48)]\n    return [finish('Done.', status = 'unable', unresolved = ['x'])]", "", true},
		"a turn's limit":    {"def reply(s):\n    if s.step < 6:\n        return [call('look', order = s.step)]\n    return [finish('Done.', evidence = [s.results[0].call_id])]", "budgets: {calls_per_turn: 4}\n", true},
		"a model":           {"def reply(s):\n    if len(s.messages) < 2:\n        return [provider_error(401)]\n    return [finish('Done.')]", "", true},
		"a session's limit": {"def reply(s):\n    if s.step < 6:\n        return [call('look', order = s.step)]\n    return [finish('Done.', evidence = [s.results[0].call_id])]", "budgets: {calls: 4}\n", false},
		"an agent's own":    {"def reply(s):\n    if not s.decision:\n        return [ask('Which?', options = [option('A', 'It is A.'), option('B', 'It is B.')], problem = 'Two.')]\n    return [finish('Done.', status = 'unable', unresolved = ['x'])]", "", false},
	} {
		session := p.start(c.playbook, c.yaml+"escalation: {hold: 0s}")
		q := p.questions(session, 1)[0]
		if _, err := p.sessions.Message(t.Context(), supervisor, p.inserter, session, "Look again now."); err != nil {
			t.Fatal(err)
		}
		if !c.withdrawn {
			q = p.questions(session, 1)[0]
			option := q.Question.Options[0].ID
			p.answer("responder", q, choose(q, option))
		}
		s := p.untilStatus(session, sessions.Completed)
		all := p.allQuestions(session)
		want := map[bool]escalation.Status{true: escalation.Cancelled, false: escalation.Applied}[c.withdrawn]
		if len(all) != 1 || all[0].Status != want || s.OpenQuestions != 0 {
			t.Errorf("%s: %d questions, the first %s, want %s; %d open", name, len(all), all[0].Status, want, s.OpenQuestions)
		}
		if c.withdrawn {
			if _, err := p.desk.Answer(t.Context(), p.people["responder"], q.ID, choose(q, "stop")); err == nil {
				t.Errorf("%s: a question that was taken back could be answered", name)
			}
		}
	}
}

// A message doesn't let an answer go out before its time, nor lose it.
// R: Q6, A7
func TestAMessageLeavesAHeldAnswerHeld(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("send", amount = 1, to = "a"), call("send", amount = 2, to = "b")]
    return [finish("Sent.", status = "partly", evidence = [s.results[1].call_id], unresolved = ["the first"])]
`, "escalation: {hold: 2s}")
	open := p.questions(session, 2)
	actor := p.people["responder"]
	actor.Via = "browser"
	if _, err := p.desk.Answer(t.Context(), actor, open[0].ID, decide.Answer{Version: open[0].Version, Type: escalation.Approve}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.sessions.Message(t.Context(), auth.CLI("t"), p.inserter, session, "Mind the second."); err != nil {
		t.Fatal(err)
	}
	open = p.questions(session, 1)
	if ran := p.witness.ran("send"); len(ran) > 0 {
		t.Errorf("an answer that was held has gone out: %v", ran)
	}
	p.answer("responder-2", open[0], decide.Answer{Version: open[0].Version, Type: escalation.Approve})
	p.untilStatus(session, sessions.Completed)
	if ran := p.witness.ran("send"); len(ran) != 2 {
		t.Errorf("sent %v", ran)
	}
}
