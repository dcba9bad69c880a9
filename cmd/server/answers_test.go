package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/problem"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// askWithActions finds something out, asks, and does what was chosen.
const askWithActions = `
ARGS = {"a": {"amount": 1284, "to": "card"}, "b": {"amount": 500, "to": "card"}}
def reply(s):
    if s.step == 0:
        return [call("look", order = 48)]
    if s.step == 1:
        return [ask("Order 48 was charged twice. How shall I go on?", options = [
            option("Refund in full", "The whole second charge goes back.", id = "full", action = call("send", **ARGS["a"])),
            option("Refund a part", "The part within the limit goes back.", id = "part", action = call("send", **ARGS["b"])),
            option("Do nothing", "The case ends here.", id = "none")],
            problem = "The refund is above my limit.", recommended = "full", reason = "It is a duplicate.")]
    if s.step == 2:
        d = s.decision
        return [say("Thank you. You chose: " + d.label + "."), call("send", **ARGS["b"])]
    return [finish("Refunded a part.", evidence = [r.call_id for r in s.results if r.tool == "send"])]
`

func choose(e escalation.Escalation, option string) decide.Answer {
	return decide.Answer{Version: e.Version, Type: escalation.Choose, Option: option}
}

func (p *inProcess) answer(who string, e escalation.Escalation, a decide.Answer) escalation.Escalation {
	p.t.Helper()
	answered, err := p.desk.Answer(p.t.Context(), p.people[who], e.ID, a)
	if err != nil {
		p.t.Fatalf("answer: %v", err)
	}
	return answered
}

// R: A9, Q2, Q3, Q6, A6
func TestAQuestionIsAnsweredUndoneAnsweredAgainAndTheApprovedCallRunsOnceUnasked(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(askWithActions, "escalation: {hold: 30m}")
	q := p.questions(session, 1)[0]
	if len(q.Question.Options) != 3 || q.Question.Options[1].ID != "part" || q.Question.Options[1].Key != "B" || q.Question.Options[1].Action == nil {
		t.Fatalf("question is %+v", q.Question)
	}
	if len(q.Question.Context.Done) == 0 {
		t.Error("what was done is not derived from the record")
	}
	p.answer("responder", q, choose(q, "B"))
	if s, _ := p.sessions.Get(t.Context(), p.people["viewer"], session); s.Status != sessions.Waiting {
		t.Errorf("while the answer is held the session is %s", s.Status)
	}
	undone, err := p.desk.Undo(t.Context(), p.people["responder"], q.ID)
	if err != nil || undone.Status != escalation.Pending {
		t.Fatalf("undo: %s, %v", undone.Status, err)
	}
	now := time.Duration(0)
	again := choose(undone, "part")
	again.Hold = &now
	p.answer("responder-2", undone, again)

	s := p.untilStatus(session, sessions.Completed)
	if s.Outcome != sessions.Done || s.Turn != 3 && s.Turn != 2 {
		t.Errorf("session %s, turn %d", s.Outcome, s.Turn)
	}
	if ran := p.witness.ran("send"); len(ran) != 1 || !strings.Contains(ran[0], "500") {
		t.Errorf("send ran %v, want once with the approved arguments", ran)
	}
	d, err := p.escalations.Decisions(t.Context(), p.people["viewer"], escalation.DecisionFilter{Limit: 5})
	if err != nil || len(d) != 2 || d[0].Outcome == nil || d[0].Outcome.Status != escalation.MarkSucceeded || d[1].UndoneAt == nil || d[1].Outcome != nil {
		t.Errorf("decisions %+v (%v): want the last one to have gone well, and the first taken back", d, err)
	}
	if n := len(p.allQuestions(session)); n != 1 {
		t.Errorf("%d questions, want 1: the approved call is not asked about again", n)
	}
	if e, err := p.escalations.Get(t.Context(), p.people["viewer"], q.ID); err != nil || e.Status != escalation.Applied {
		t.Errorf("the question is %s, %v; want applied", e.Status, err)
	}
	types := p.eventTypes(session)
	for _, want := range []sessions.EventType{sessions.EscalationRaised, sessions.EscalationAnswered, sessions.EscalationUndone} {
		if !slices.Contains(types, want) {
			t.Errorf("the ledger lacks %s: %v", want, types)
		}
	}
}

func (p *inProcess) allQuestions(session sessionID) []escalation.Escalation {
	p.t.Helper()
	all, err := p.escalations.ForSession(p.t.Context(), p.people["viewer"], session)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// What was approved is what may run: other arguments are asked about anew.
// R: Q3, A6
func TestOtherArgumentsThanTheApprovedOnesAreAskedAbout(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(strings.Replace(askWithActions, `say("Thank you. You chose: " + d.label + "."), call("send", **ARGS["b"])`,
		`call("send", amount = 9999, to = "elsewhere")`, 1), "escalation: {hold: 0s}")
	q := p.questions(session, 1)[0]
	p.answer("responder", q, choose(q, "B"))
	second := p.questions(session, 1)[0]
	if second.Kind != escalation.KindApproval || second.Question.ActionRequest == nil || !strings.Contains(string(second.Question.ActionRequest.Args), "9999") {
		t.Fatalf("second question is %s %+v", second.Kind, second.Question)
	}
	p.answer("responder", second, decide.Answer{Version: second.Version, Type: escalation.Reject, Message: "Not that amount."})
	p.until(session, "ended", func(s sessions.Session) bool { return s.Status.Ended() })
	if ran := p.witness.ran("send"); len(ran) != 0 {
		t.Errorf("a rejected call ran: %v", ran)
	}
}

// R: A6, Q5
// case: harness A13, A20
func TestHeldCallsOfOneReplyAreDecidedOneByOne(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("look", n = 1), call("send", amount = 1, to = "a"), call("send", amount = 2, to = "b"), call("send", amount = 3, to = "c")]
    if [r.call_id for r in s.last] != ["call_1", "call_2", "call_3", "call_4"]:
        fail("the results come as %s" % [r.call_id for r in s.last])
    if [r.error_type for r in s.last] != [None, None, "permission_denied", None]:
        fail("they came out as %s" % [r.error_type for r in s.last])
    return [finish("Done what was allowed.", evidence = [r.call_id for r in s.results if r.status == "success"],
        unresolved = [r.message for r in s.results if r.status == "error"])]
`, "escalation: {hold: 0s}")
	open := p.questions(session, 3)
	if open[0].Group == "" || open[0].Group != open[2].Group {
		t.Errorf("the questions of one reply are not tied: %q, %q", open[0].Group, open[2].Group)
	}
	p.answer("responder", open[2], decide.Answer{Version: 1, Type: escalation.Edit, EditedArgs: []byte(`{"amount": 30, "to": "c"}`)})
	p.answer("responder", open[0], decide.Answer{Version: 1, Type: escalation.Approve})
	p.answer("responder-2", open[1], decide.Answer{Version: 1, Type: escalation.Reject, Message: "No."})
	s := p.untilStatus(session, sessions.Completed)
	ran := p.witness.ran("send")
	slices.Sort(ran)
	if len(ran) != 2 || !strings.Contains(ran[0], `"a"`) || !strings.Contains(ran[1], "30") {
		t.Errorf("ran %v, want the approved and the edited one, once each", ran)
	}
	if looked := p.witness.ran("look"); len(looked) != 1 {
		t.Errorf("look ran %d times", len(looked))
	}
	if s.Outcome != sessions.Done {
		t.Errorf("outcome %s", s.Outcome)
	}
	// A person's time to decide is no time that a call stood in line.
	var queued []int
	if err := p.pool.QueryRow(t.Context(), `select array_agg(queued_ms) from tool_calls where session_id = $1`, session).Scan(&queued); err != nil {
		t.Fatal(err)
	}
	if slices.Min(queued) < 0 || slices.Max(queued) > 600_000 {
		t.Errorf("calls were queued for %v ms", queued)
	}
}

// Two people answer the two questions of one session at the same moment: the
// session wakes.
// R: Q5, Q6
func TestTwoTiedApprovalsAnsweredAtTheSameMomentWakeTheSession(t *testing.T) {
	t.Parallel()
	p := working(t)
	for range 10 {
		session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("send", amount = 1, to = "a"), call("send", amount = 2, to = "b")]
    return [finish("Both sent.", evidence = [r.call_id for r in s.results])]
`, "escalation: {hold: 0s}")
		open := p.questions(session, 2)
		var both sync.WaitGroup
		for i, who := range []string{"responder", "responder-2"} {
			both.Go(func() {
				if _, err := p.desk.Answer(t.Context(), p.people[who], open[i].ID, decide.Answer{Version: 1, Type: escalation.Approve}); err != nil {
					t.Errorf("answer: %v", err)
				}
			})
		}
		both.Wait()
		p.untilStatus(session, sessions.Completed)
	}
	if ran := p.witness.ran("send"); len(ran) != 20 {
		t.Errorf("20 approved calls ran %d times", len(ran))
	}
}

// R: Q13, A7
// case: fault F19
func TestCancellingWithdrawsTheQuestionsAndAnAnswerComesTooLate(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(askWithActions)
	q := p.questions(session, 1)[0]
	if _, err := p.sessions.Cancel(t.Context(), p.people["supervisor"], p.inserter, session); err != nil {
		t.Fatal(err)
	}
	p.untilStatus(session, sessions.Cancelled)
	e, err := p.escalations.Get(t.Context(), p.people["viewer"], q.ID)
	if err != nil || e.Status != escalation.Cancelled {
		t.Errorf("question is %s, %v", e.Status, err)
	}
	_, err = p.desk.Answer(t.Context(), p.people["responder"], q.ID, choose(q, "A"))
	if problem.From(err).Kind != problem.Gone {
		t.Errorf("answer after the withdrawal: %v", err)
	}
	if ran := p.witness.ran("send"); len(ran) != 0 {
		t.Errorf("ran %v", ran)
	}
}

// Silence is no consent: what nobody approved does not run, and the model is
// told that nobody answered, not that somebody chose.
// R: Q11
func TestAnUnansweredQuestionExpiresAsAResultOfItsOwn(t *testing.T) {
	t.Parallel()
	p := working(t)
	goesOn := p.start(`
def reply(s):
    if s.step == 0:
        return [ask("Nobody is here. How shall I go on?", options = ["This way", "That way"])]
    if s.decision != None:
        return [finish("Somebody decided.", status = "done")]
    return [finish("Nobody answered.", status = "unable", unresolved = [s.last[0].data["status"]])]
`, "escalation: {expires_after: 1m, on_expiry: continue}")
	fails := p.start(askWithActions, "escalation: {expires_after: 1m}")
	p.questions(goesOn, 1)
	p.questions(fails, 1)
	if _, err := p.pool.Exec(t.Context(), `update escalations set expires_at = now() - interval '1 s', created_at = now() - interval '2 m', due_at = now() - interval '1 s'`); err != nil {
		t.Fatal(err)
	}
	for _, session := range []sessionID{goesOn, fails} {
		if _, err := p.desk.Expire(t.Context(), p.allQuestions(session)[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	if s := p.untilStatus(goesOn, sessions.Completed); s.Outcome != sessions.Unable || !strings.Contains(string(s.Unresolved), "expired") {
		t.Errorf("session is %s, unresolved %s", s.Outcome, s.Unresolved)
	}
	if s := p.untilStatus(fails, sessions.Failed); !strings.Contains(string(s.Failure), "question_expired") {
		t.Errorf("failure is %s", s.Failure)
	}
	if ran := p.witness.ran("send"); len(ran) != 0 {
		t.Errorf("ran %v", ran)
	}
}

// A vague question goes back to the model twice, then is asked, completed from
// the record; a question that was decided is not asked again.
// R: Q2, A9
func TestVagueQuestionsGoBackAndDecidedOnesAreNotAskedAgain(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(`
def reply(s):
    if s.step < 3:
        return [ask("Ok?", options = ["Yes"])]
    if s.step == 3:
        return [ask("The ledger is closed. How shall I go on?", options = ["Wait", "Stop"])]
    if s.step == 4:
        return [ask("The ledger is closed. How shall I go on?", options = ["Wait", "Stop"])]
    return [finish("Decided once: " + s.last[0].data["decision"]["label"], status = "unable", unresolved = ["closed"])]
`, "escalation: {hold: 0s}")
	vague := p.questions(session, 1)[0]
	p.answer("responder", vague, decide.Answer{Version: 1, Type: escalation.Respond, Message: "Say what you mean."})
	clear := p.questions(session, 1)[0]
	if clear.ID == vague.ID {
		t.Fatal("the vague question is still open")
	}
	p.answer("responder", clear, choose(clear, "B"))
	s := p.untilStatus(session, sessions.Completed)
	if s.Summary != "Decided once: Stop" {
		t.Errorf("summary is %q", s.Summary)
	}
	if n := len(p.allQuestions(session)); n != 2 {
		t.Errorf("%d questions reached people, want 2", n)
	}
	if types := p.eventTypes(session); !slices.Contains(types, sessions.NoticeGiven) {
		t.Errorf("the timeline does not say that it was not asked again: %v", types)
	}
}

// A call that can't be taken back is cut off: a person says what became of it.
// R: X7
func TestAPersonSaysWhatBecameOfACallInDoubt(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]struct {
		runs   int
		status string
	}{escalation.DoubtHappened: {1, "success"}, escalation.DoubtAgain: {2, "success"}, escalation.DoubtSkip: {1, "error"}} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			p := working(t)
			session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("wire", amount = 1, to = "bank")]
    return [finish("The transfer: " + s.results[0].status, status = "unable", unresolved = ["see there"])]
`, "permission: {mode: auto, rules: [{tool: wire, do: allow}]}\nescalation: {hold: 0s}")
			q := p.questions(session, 1)[0]
			if q.Trigger != escalation.SensitiveAction || q.Question.Sentences["question"].Key == "" {
				t.Errorf("question is %s, %+v", q.Trigger, q.Question)
			}
			if ran := p.witness.ran("wire"); len(ran) != 1 {
				t.Fatalf("before the answer it ran %d times", len(ran))
			}
			p.answer("responder", q, choose(q, option))
			s := p.untilStatus(session, sessions.Completed)
			if ran := p.witness.ran("wire"); len(ran) != want.runs {
				t.Errorf("it ran %d times, want %d", len(ran), want.runs)
			}
			if s.Summary != "The transfer: "+want.status {
				t.Errorf("summary is %q, want %s", s.Summary, want.status)
			}
		})
	}
}

// A call that was approved with other arguments is cut off, and a person has it
// run again: what runs is what was approved, not what the model had asked for.
// R: X7, A6
func TestACallInDoubtIsRunAgainAsItWasEdited(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("wire", amount = 900, to = "bank")]
    return [finish("The transfer: " + s.results[0].status, status = "unable", unresolved = ["see there"])]
`, "permission: {mode: ask}\nescalation: {hold: 0s}")
	approval := p.questions(session, 1)[0]
	p.answer("supervisor", approval, decide.Answer{Version: 1, Type: escalation.Edit, EditedArgs: []byte(`{"amount":1,"to":"bank"}`)})
	doubt := p.questions(session, 1)[0]
	p.answer("responder", doubt, choose(doubt, escalation.DoubtAgain))
	p.untilStatus(session, sessions.Completed)
	ran := p.witness.ran("wire")
	if len(ran) != 2 {
		t.Fatalf("it ran %d times, want 2", len(ran))
	}
	for i, args := range ran {
		if strings.Contains(args, "900") {
			t.Errorf("run %d was of the model's own arguments: %s", i+1, args)
		}
	}
}

// What was done is told as it was done, with what the decider put in: to whoever
// is asked next, and to the agent.
// R: A6, Q2
func TestWhatWasDoneIsToldAsItWasEdited(t *testing.T) {
	t.Parallel()
	p := working(t, map[string]toolMaker{"repay": func(context.Context, definition.Version) (tools.Tool, error) {
		return witnessTool{tools.Spec{Name: "repay", Description: "repay", Effect: tools.EffectIrreversible, Schema: json.RawMessage(`{"type":"object"}`),
			Words: map[string]tools.Words{"en": {Title: "Repay", Sentence: "Repay {amount}"}, "zh-Hans": {Title: "退还", Sentence: "退还 {amount}"}}}, &witness{runs: map[string][]string{}}}, nil
	}})
	session := p.startOf(`
def reply(s):
    if s.step == 0:
        return [call("repay", amount = 900)]
    if s.step == 1:
        return [ask("The ledger is closed. How shall I go on?", options = ["Wait", "Stop"])]
    told = [n for n in s.results[0].notices if '{"amount":1}' in n]
    return [finish("Repaid %d%s." % (s.results[0].args["amount"], ", as I was told" if told else ""), evidence = [s.results[0].call_id])]
`, "Settle the case", "tools: [repay, ask_human]\npermission: {mode: ask}\nescalation: {hold: 0s}")
	approval := p.questions(session, 1)[0]
	p.answer("supervisor", approval, decide.Answer{Version: 1, Type: escalation.Edit, EditedArgs: []byte(`{"amount":1}`)})
	next := p.questions(session, 1)[0]
	if done := next.Question.Context.Done; len(done) != 1 || done[0].Text != "Repay 1" {
		t.Errorf("the next question says that this was done: %+v", done)
	}
	p.answer("responder", next, choose(next, "B"))
	if s := p.untilStatus(session, sessions.Completed); s.Summary != "Repaid 1, as I was told." || s.Outcome != sessions.Done {
		t.Errorf("%s: %s", s.Outcome, s.Summary)
	}
}

// R: A6, O3
func TestEditingAnApprovalLeavesTheSecretsThatWereMaskedAsTheyWere(t *testing.T) {
	t.Parallel()
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	p := working(t)
	session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("send", amount = 1, to = "a", token = "`+secret+`")]
    return [finish("Sent.", evidence = [s.results[0].call_id])]
`, "escalation: {hold: 0s}")
	q := p.questions(session, 1)[0]
	shown := string(q.Question.ActionRequest.Args)
	if strings.Contains(shown, secret) {
		t.Fatalf("the secret is shown: %s", shown)
	}
	edited := strings.Replace(shown, `"amount":1`, `"amount":2`, 1)
	p.answer("responder", q, decide.Answer{Version: 1, Type: escalation.Edit, EditedArgs: []byte(edited)})
	p.untilStatus(session, sessions.Completed)
	if ran := p.witness.ran("send"); len(ran) != 1 || !strings.Contains(ran[0], secret) || !strings.Contains(ran[0], `"amount":2`) {
		t.Errorf("ran with %v", ran)
	}
}
