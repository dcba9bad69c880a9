package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/live"
	"baton/internal/postgres"
	"baton/internal/sessions"
	"baton/internal/tools"
)

const askTool = "ask_human"

// asksRefusedMost is how often a vague question is given back in a turn; the
// next one is asked as it is, completed from the ledger.
const asksRefusedMost = 2

// askHuman is the tool with which an agent asks a person. The loop runs it
// itself: the session parks until somebody has answered.
type askHuman struct{}

// Spec is what the model and people know of ask_human.
func (askHuman) Spec() tools.Spec {
	return tools.Spec{
		Name: askTool,
		Words: map[string]tools.Words{
			"en":      {Title: "Ask a person", Sentence: "Asks: {question}"},
			"zh-Hans": {Title: "询问人员", Sentence: "提问：{question}"},
		},
		Description: "Ask a person to decide what is not yours to decide. Give two to six options, each with what happens if it is chosen, and bind to an option the exact call that you will make (action), so that choosing it approves that call. What was done and tried is added from the record; say what the problem is.",
		Schema:      json.RawMessage(escalation.AskSchema),
		Example:     json.RawMessage(escalation.AskExample),
		Effect:      tools.EffectRead,
		Always:      true,
	}
}

// Run is never called: the loop asks itself.
func (askHuman) Run(context.Context, json.RawMessage) (tools.Output, error) {
	return tools.Output{}, errors.New("ask_human is run by the loop")
}

// ask checks a question. One with faults is given back to the model; one that
// was decided in this session already is answered from that decision; a good
// one is ready to be raised.
func (s *sitting) ask(ctx context.Context, c *call) error {
	if earlier, ok := s.st.answers[c.plan.Exact]; ok && earlier.Decision != nil {
		return s.answerFromBefore(ctx, c, earlier)
	}
	asked, faults := escalation.ParseAsk(c.plan.Call.Args, s.redactor.Words())
	var draft escalation.Draft
	if len(faults) == 0 || escalation.Vague(faults) {
		s.nameCalls(&asked)
		var more []escalation.Fault
		draft, more = escalation.Compose(asked, s.known())
		faults = append(faults, more...)
	}
	if len(faults) > 0 && !(escalation.Vague(faults) && s.st.asksRefused >= asksRefusedMost) {
		step := sessions.Step{}
		s.addEnded(&step, c, ended{Result: tools.Recorded{Result: tools.Refuse(escalation.Refusal(faults), tools.Meta{})}}, 0)
		return s.write(ctx, step)
	}
	c.draft = &draft
	return nil
}

// nameCalls gives the calls that a question cites the names that people and
// programs use.
func (s *sitting) nameCalls(a *escalation.Ask) {
	for i, f := range a.Facts {
		if n, ok := s.st.parseAlias(f.Call); ok {
			a.Facts[i].Call = id.Call{Session: s.row.ID, N: n}.String()
		}
	}
}

// answerFromBefore answers the very question that was decided before: nobody is
// asked the same twice.
func (s *sitting) answerFromBefore(ctx context.Context, c *call, earlier escalation.Event) error {
	result, err := answerResult(earlier)
	if err != nil {
		return err
	}
	step := sessions.Step{}
	s.addEnded(&step, c, ended{Result: tools.Recorded{Result: result.WithNotices("This was decided before; nobody was asked again.")}}, 0)
	s.addNotice(&step, "asked_again", "The same question was decided before in this session. The decision stands: "+earlier.Decision.Label+earlier.Decision.Message)
	return s.write(ctx, step)
}

// known is what the harness knows of the session, for a question.
func (s *sitting) known() escalation.Known {
	facts := s.facts()
	// What is asked about runs after a person has spoken: by then what is kept
	// back for its failures is let go again.
	facts.Rested, facts.Circuit = nil, nil
	k := escalation.Known{
		Session: s.row.ID, Task: s.row.Task, ReasonCodes: s.version.Agent.Escalation.ReasonCodes, Priority: s.version.Agent.Escalation.Priority,
		Redact: s.redactor,
		Prepare: func(c tools.Call) (tools.Plan, tools.Spec) {
			_, spec, _ := s.registry.Lookup(c.Tool)
			return tools.Prepare(c, facts), spec
		},
	}
	for n := 1; n <= s.st.calls; n++ {
		c := s.st.ended[n]
		if c == nil || own(c.plan.Call.Tool) {
			continue
		}
		_, spec, _ := s.registry.Lookup(c.plan.Call.Tool)
		known := escalation.KnownCall{
			N: n, Tool: c.plan.Call.Tool, ToolHash: c.plan.ToolHash, Words: spec.Words, Args: s.redactor.JSON(c.written), Effect: c.plan.Effect,
			Status: c.result.CallStatus(), Attempts: c.tries, ErrorType: c.result.ErrorType(), Error: c.result.Message(), Shown: c.result.ForModel(),
		}
		if known.Status == tools.StatusPartial {
			known.Done, known.Undone = len(c.result.Completed()), len(c.result.Failed())+len(c.result.Skipped())
		}
		k.Calls = append(k.Calls, known)
	}
	return k
}

// toRaise are the open calls that wait for a question to be raised.
func (s *sitting) toRaise() []*call {
	var calls []*call
	for _, c := range s.st.openCalls() {
		if c.question.IsZero() && (c.draft != nil || c.plan.Verdict == tools.Awaiting) {
			calls = append(calls, c)
		}
	}
	return calls
}

// question is a question that is ready to be asked, and the call that it
// belongs to.
type question struct {
	draft            escalation.Draft
	turn, step, call int
}

// raise asks what is to be asked about calls.
func (s *sitting) raise(ctx context.Context) (done bool, err error) {
	var list []question
	for _, c := range s.toRaise() {
		list = append(list, question{s.draft(c), c.turn, c.step, c.plan.Call.N})
	}
	return s.put(ctx, list)
}

// put asks questions and parks the session, in one transaction: no session
// waits for nothing, and no question is asked for nobody.
func (s *sitting) put(ctx context.Context, list []question) (done bool, err error) {
	policy := s.version.Agent.Escalation
	group := ""
	if len(list) > 1 {
		group = fmt.Sprintf("%s/%d", s.row.ID, s.st.steps)
	}
	ctx = context.WithoutCancel(ctx)
	keep, saved := s.keepTokens(nil)
	var questions []live.Object
	err = postgres.InTx(ctx, s.w.DB, func(tx pgx.Tx) error {
		if _, err := sessions.LockTx(ctx, tx, s.row.ID); err != nil {
			return err
		}
		for _, also := range keep {
			if err := also(ctx, tx); err != nil {
				return err
			}
		}
		step := sessions.Step{Counters: s.counters()}
		for _, q := range list {
			asked, err := escalation.RaiseTx(ctx, tx, s.w.Inserter, escalation.Raise{
				Draft: q.draft, Session: s.row, Call: q.call, Group: group,
				OnExpiry: policy.OnExpiry, ExpiresAfter: policy.ExpiresAfter.Std(), Hold: policy.Hold.Std(),
			})
			if err != nil {
				return err
			}
			questions = append(questions, live.Of(asked.ID))
			step.Events = append(step.Events, sessions.NewEvent{Type: sessions.EscalationRaised, Turn: q.turn, Step: q.step, Call: q.call, Data: asked.Event()})
		}
		return sessions.ParkTx(ctx, tx, s.lease, sessions.Parking{To: sessions.Waiting, Raised: len(list), Step: step})
	})
	if errInbox(err) {
		return false, s.unread(ctx)
	}
	if err == nil {
		saved()
		s.logAsked(list)
		s.w.Live.Tell(append(questions, live.Of(s.row.ID))...)
	}
	return true, err
}

// draft is the question of a call: what the agent asked, or whether the call
// may run.
func (s *sitting) draft(c *call) escalation.Draft {
	if c.draft != nil {
		return *c.draft
	}
	_, spec, _ := s.registry.Lookup(c.plan.Call.Tool)
	return escalation.ApprovalDraft(c.plan, spec, s.known())
}

// effective says whether an open call has an answer that has gone out. One that
// is held can still be taken back.
func (s *sitting) effective(c *call) bool { return s.hasGoneOut(c.answer) }

func (s *sitting) hasGoneOut(answer *escalation.Event) bool {
	return answer != nil && (answer.HeldUntil == nil || !answer.HeldUntil.After(s.lease.ClaimedAt))
}

// applied marks the question of a call as applied, in the transaction that
// writes the call's result.
func (s *sitting) applied(c *call) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error { return escalation.ApplyTx(ctx, tx, s.row.ID, c.question) }
}

// tellApplied says so, once that is written.
func (s *sitting) tellApplied(c *call, err error) error { return s.tell(c.question, err) }

func (s *sitting) tell(question id.Escalation, err error) error {
	if err == nil && !question.IsZero() {
		s.w.Live.Tell(live.Of(question))
	}
	return err
}

// takeAnswer goes on with a call as it was decided.
func (s *sitting) takeAnswer(ctx context.Context, c *call) error {
	d := c.answer.Decision
	switch {
	case d == nil && c.answer.OnExpiry == escalation.OnExpiryFail:
		return s.fail(ctx, failure{Code: "question_expired", Params: map[string]any{"title": c.answer.Title}})
	case c.plan.Call.Tool == askTool:
		result, err := answerResult(*c.answer)
		if err != nil {
			return err
		}
		return s.endAnswered(ctx, c, result)
	case d == nil, d.Type == escalation.Reject:
		return s.endAnswered(ctx, c, rejected(*c.answer))
	}
	return s.runApproved(ctx, c)
}

// endAnswered ends a call with a result that its answer alone makes.
func (s *sitting) endAnswered(ctx context.Context, c *call, result tools.Result) error {
	step := sessions.Step{}
	s.addEnded(&step, c, ended{Result: tools.Recorded{Result: result}}, 0)
	also := []func(context.Context, pgx.Tx) error{s.applied(c)}
	if c.sealed {
		name := c.plan.Call.ID(s.row.ID)
		also = append(also, func(ctx context.Context, tx pgx.Tx) error { return sessions.DropSealedTx(ctx, tx, name) })
	}
	return s.tellApplied(c, s.write(ctx, step, also...))
}

// runApproved runs a call that a person approved, as it was or with edited
// arguments. It is looked at once more: hours may have gone by.
func (s *sitting) runApproved(ctx context.Context, c *call) error {
	if c.started && !c.fresh {
		if c.plan.Effect.Repeatable() {
			return s.writeResult(ctx, c, s.runner.Execute(ctx, c.plan))
		}
		return s.settleDoubt(ctx, c)
	}
	facts := s.factsFor(c)
	asked := s.asEdited(c, c.answer.Decision.EditedArgs)
	if c.answer.Decision.EditedArgs != nil {
		// The decider's arguments are approved as they stand; only the worker has
		// the key to name them.
		as := tools.Prepare(asked, facts)
		granted := tools.Approval{ID: c.answer.Decision.ID.String(), Digest: as.Digest}
		if given := c.answer.Approvals; len(given) > 0 {
			granted.ExpiresAt = given[0].ExpiresAt
		}
		facts.Approvals = append(facts.Approvals, granted)
	}
	again := tools.Prepare(asked, facts)
	switch again.Verdict {
	case tools.Ended:
		return s.endAnswered(ctx, c, *again.Result)
	case tools.Awaiting:
		return s.endAnswered(ctx, c, tools.Refuse(tools.Fail(tools.PermissionDenied,
			"What was approved is not what would run now: the tool, the policy or the approval has changed since.",
			"Ask again if it is still wanted."), tools.Meta{}))
	}
	c.plan = again
	s.st.useApproval(again.Approval)
	c.start()
	c.fresh = true
	err := s.write(ctx, sessions.Step{Events: []sessions.NewEvent{{Type: sessions.CallStarted, Turn: c.turn, Step: c.step, Call: c.plan.Call.N}}})
	if err != nil || s.cancel {
		return err
	}
	if !s.w.Replica.MayAct(s.lease) {
		return sessions.ErrSilent // perhaps lost, perhaps still ours: it is given back
	}
	c.fresh = false
	return s.writeResult(ctx, c, s.runner.Execute(ctx, c.plan))
}

// planAsStarted gives the calls that a former worker started on a person's approval
// the plans that ran: the ledger has them as they waited for it, with the model's
// own arguments. The approval is used up; it cleared this very call.
func (s *sitting) planAsStarted() {
	for _, c := range s.st.openCalls() {
		if !c.started || c.plan.Verdict != tools.Awaiting {
			continue
		}
		if c.edited {
			c.plan = tools.Prepare(s.asEdited(c, c.written), s.factsFor(c))
		}
		if c.plan.Verdict == tools.Awaiting {
			c.plan.Verdict = tools.Ready
		}
	}
}

// asEdited is a call with a decider's arguments in the place of its own; nil is
// none.
func (s *sitting) asEdited(c *call, edited json.RawMessage) tools.Call {
	asked := c.plan.Call
	if edited != nil {
		asked.Args = s.restore(edited, asked.Args)
	}
	return asked
}

// restore puts back the secrets that a decider saw masked and left as they
// were: a field that equals the masked one is the clear one.
func (s *sitting) restore(edited, clear json.RawMessage) json.RawMessage {
	var now, shown, exact map[string]json.RawMessage
	if json.Unmarshal(edited, &now) != nil || json.Unmarshal(s.redactor.JSON(clear), &shown) != nil || json.Unmarshal(clear, &exact) != nil {
		return edited
	}
	changed := false
	for name, value := range now {
		if bytes.Equal(value, shown[name]) && !bytes.Equal(value, exact[name]) {
			now[name], changed = exact[name], true
		}
	}
	if !changed {
		return edited // as written, to the byte
	}
	return encode(now)
}

// answerResult is the result of ask_human: the decision as data. That nobody
// answered is said as such, and can't be read as a choice.
func answerResult(e escalation.Event) (tools.Result, error) {
	if e.Decision == nil {
		return tools.Succeed(tools.Output{Data: encode(map[string]any{"status": "expired"}),
			Notices: []string{"Nobody answered in time. This is not a decision: go on without one, or finish and say so."}}, tools.Meta{})
	}
	d := e.Decision
	return tools.Succeed(tools.Output{Data: encode(map[string]any{"status": "answered", "decision": map[string]any{
		"type": d.Type, "option": d.Option, "option_id": d.OptionID, "label": d.Label, "message": d.Message, "values": d.Values,
	}})}, tools.Meta{})
}

// rejected is the result of a call that a person refused, or that nobody
// approved in time. It was not run.
func rejected(e escalation.Event) tools.Result {
	if e.Decision == nil {
		return tools.Refuse(tools.Fail(tools.PermissionDenied, "Nobody approved this call in time; it was not run.",
			"Go on without it, or finish and say what is left."), tools.Meta{})
	}
	f := tools.Fail(tools.PermissionDenied, "A person refused this call; it was not run.",
		"Do not make the same call again; do what the person says, or go on without it.")
	f.Causes = []string{"It was decided by a person."}
	if e.Decision.Message != "" {
		f = f.With("message", e.Decision.Message)
	}
	return tools.Refuse(f, tools.Meta{})
}
