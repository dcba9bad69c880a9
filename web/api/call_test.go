package api

import (
	"encoding/json"
	"testing"
	"time"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// ledger is a session's events, numbered as they are added.
type ledger struct {
	t       *testing.T
	session id.Session
	events  []sessions.Event
}

func newLedger(t *testing.T) *ledger { return &ledger{t: t, session: id.New[id.Session]()} }

func (l *ledger) add(kind sessions.EventType, call int, data any) {
	l.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		l.t.Fatal(err)
	}
	seq := int64(len(l.events) + 1)
	l.events = append(l.events, sessions.Event{Session: l.session, Seq: seq, Type: kind, At: time.Unix(seq, 0), Turn: 1, Step: 1, Call: call, Data: text})
}

// ask is a reply of the model with one call.
func (l *ledger) ask(plan tools.Plan) {
	l.add(sessions.ModelReplied, 0, entry{Plans: []tools.Plan{plan}})
}

func (l *ledger) fold(first, last int) []call {
	l.t.Helper()
	calls, err := foldCalls(l.events, nil, first, last)
	if err != nil {
		l.t.Fatal(err)
	}
	return calls
}

func plan(n int, effect tools.Effect, verdict tools.Verdict) tools.Plan {
	return tools.Plan{Call: tools.Call{N: n, Tool: "refund", Args: json.RawMessage(`{}`)}, Effect: effect, Verdict: verdict}
}

func decided(kind escalation.Kind, how escalation.DecisionType) escalation.Event {
	return escalation.Event{Escalation: id.New[id.Escalation](), Kind: kind, Decision: &escalation.Decision{
		ID: id.New[id.Decision](), Type: how, By: escalation.Decider{Kind: escalation.ByPerson, Name: "Mara"}}}
}

// R: X7, O1
func TestACallIsInDoubtWhileAPersonIsAskedWhetherItHappened(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ask(plan(1, tools.EffectIrreversible, tools.Held))
	e := escalation.Event{Escalation: id.New[id.Escalation](), Kind: escalation.KindOptions}
	doubt := func() bool { return l.fold(1, 1)[0].InDoubt }
	l.add(sessions.EscalationRaised, 1, e)
	if doubt() {
		t.Error("asked before it started")
	}
	l.add(sessions.CallStarted, 1, nil)
	if !doubt() {
		t.Error("not while it is asked")
	}
	l.add(sessions.EscalationAnswered, 1, e)
	if doubt() {
		t.Error("after the answer")
	}
	l.add(sessions.EscalationUndone, 1, e)
	if !doubt() || *l.fold(1, 1)[0].Escalation != e.Escalation {
		t.Error("not after the answer was taken back")
	}
	// Of what can be repeated nobody asks whether it happened.
	l = newLedger(t)
	l.ask(plan(1, tools.EffectSide, tools.Held))
	l.add(sessions.CallStarted, 1, nil)
	l.add(sessions.EscalationRaised, 1, e)
	if doubt() {
		t.Error("a call that is not irreversible")
	}
}

// R: O1, A6
func TestACallNamesTheAnswerThatLetItRun(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	l.ask(plan(1, tools.EffectSide, tools.Awaiting))
	who := func(n int) string {
		if a := l.fold(n, n)[0].Approval; a != nil && a.DecidedBy != nil {
			return a.DecidedBy.Name
		}
		return ""
	}
	approved := decided(escalation.KindApproval, escalation.Approve)
	l.add(sessions.EscalationAnswered, 1, approved)
	if who(1) != "Mara" {
		t.Error("not named")
	}
	l.add(sessions.EscalationUndone, 1, approved)
	if who(1) != "" {
		t.Error("named after it was taken back")
	}
	l.add(sessions.EscalationAnswered, 1, decided(escalation.KindApproval, escalation.Reject))
	if who(1) != "" {
		t.Error("a rejection named as an approval")
	}
	// An option with an action approves a call that the model makes later.
	chosen := decided(escalation.KindOptions, escalation.Choose)
	l.ask(plan(2, tools.EffectRead, tools.Ready))
	l.add(sessions.EscalationAnswered, 2, chosen)
	later := plan(3, tools.EffectSide, tools.Ready)
	later.Approval = chosen.Decision.ID.String()
	l.ask(later)
	if who(3) != "Mara" || who(2) != "" {
		t.Errorf("by an option: the call itself %q, the question's %q", who(3), who(2))
	}
}

// R: A3, O1
func TestArgumentsThatAreNoJSONAreShownAsTheyCame(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	p := plan(7, tools.EffectSide, tools.Ended)
	refused := tools.Refuse(tools.Fail(tools.InvalidArguments, "The arguments are not JSON."), tools.Meta{})
	p.Call.Args, p.Call.Raw, p.Result = nil, `{"amount": `, &refused
	l.ask(p)
	l.add(sessions.CallEnded, 7, entry{Result: json.RawMessage(`{"status":"error","error_type":"invalid_arguments","message":"m","notices":[],"meta":{"duration_ms":0,"attempts":0}}`)})
	c := l.fold(1, 9)[0]
	if c.Args != nil || c.RawArgs == nil || *c.RawArgs != `{"amount": ` || c.Status != tools.StatusFailed || c.ErrorType != tools.InvalidArguments || c.StartedAt != nil {
		t.Errorf("%+v", c)
	}
	if len(c.Preceding) != 5 || c.Preceding[0].N != 2 || c.Preceding[4].N != 6 {
		t.Errorf("preceding %v", c.Preceding)
	}
}

// R: X1, V6
func TestACallThatIsTriedAgainSaysWhen(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	p := plan(1, tools.EffectRead, tools.Ready)
	l.add(sessions.ModelReplied, 0, entry{Plans: []tools.Plan{p}, Start: []int{1}})
	failed := func(n int) entry {
		return entry{Attempt: tools.Attempt{N: n, ErrorType: tools.Unavailable, DurationMS: 7}, NextMS: 3000}
	}
	l.add(sessions.CallRetried, 1, failed(1))
	l.add(sessions.CallRetried, 1, failed(2))
	c := l.fold(1, 1)[0]
	if c.Status != tools.StatusStarted || c.Retries != 2 || len(c.Attempts) != 2 || c.NextAttemptAt == nil || !c.NextAttemptAt.Equal(time.Unix(3, 0).Add(3*time.Second)) {
		t.Errorf("%+v, next %v", c, c.NextAttemptAt)
	}
	l.add(sessions.CallRetried, 1, failed(1)) // of another worker
	if c := l.fold(1, 1)[0]; c.Retries != 1 || len(c.Attempts) != 1 {
		t.Errorf("begun anew: %+v", c)
	}
	result := json.RawMessage(`{"status":"success","data":1,"notices":[],"meta":{"duration_ms":1,"attempts":1,"truncated":null}}`)
	l.add(sessions.CallEnded, 1, entry{Result: result})
	if c := l.fold(1, 1)[0]; c.NextAttemptAt != nil || c.Retries != 0 || len(c.Attempts) != 0 {
		t.Errorf("ended: %+v", c)
	}
}
