package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"baton/internal/clean"
	"baton/internal/grounding"
	"baton/internal/sessions"
	"baton/internal/tools"
)

const finishTool = "finish"

// finishRefusals is how often a finish whose evidence does not check is given
// back; the next one is published, as unverified.
const finishRefusals = 2

// maxFinishFaults bounds how many faults a model is told at once.
const maxFinishFaults = 10

// finishArgs are what a model says at the end.
type finishArgs struct {
	Summary    string       `json:"summary" jsonschema:"What was done and found, for a business user. State nothing that no call showed."`
	Status     string       `json:"status,omitempty" jsonschema:"done, partly or unable; done by default"`
	Evidence   []evidence   `json:"evidence,omitempty" jsonschema:"The calls that the summary rests on"`
	Unresolved []unresolved `json:"unresolved,omitempty" jsonschema:"What could not be done, and why"`
	// Derived are the figures that stand nowhere as they are, and how they were
	// worked out.
	Derived []grounding.Derivation `json:"derived,omitempty"`
}

// evidence is one cited call: its id, or an object with the claim it carries
// and a quote from what it returned.
type evidence struct {
	Claim string `json:"claim,omitempty"`
	Call  string `json:"call"`
	Quote string `json:"quote,omitempty"`
}

// UnmarshalJSON takes a bare call id too.
func (e *evidence) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &e.Call) == nil {
		return nil
	}
	type plain evidence
	return json.Unmarshal(b, (*plain)(e))
}

type unresolved struct {
	Call   string `json:"call,omitempty"`
	Reason string `json:"reason"`
}

// UnmarshalJSON takes a bare reason too.
func (u *unresolved) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &u.Reason) == nil {
		return nil
	}
	type plain unresolved
	return json.Unmarshal(b, (*plain)(u))
}

const finishSchema = `{
  "type": "object",
  "properties": {
    "summary": {"type": "string", "minLength": 1, "maxLength": 8000, "description": "What was done and found, for a business user. State nothing that no call showed."},
    "status": {"enum": ["done", "partly", "unable"], "description": "How much of the task was done; done by default."},
    "evidence": {"type": "array", "maxItems": 50, "description": "The calls that the summary rests on.", "items": {"anyOf": [
      {"type": "string", "description": "a call id, for instance call_3"},
      {"type": "object", "properties": {
        "claim": {"type": "string"},
        "call": {"type": "string", "description": "a call id, for instance call_3"},
        "quote": {"type": "string", "maxLength": 200, "description": "words that stand in what the call returned"}
      }, "required": ["call"], "additionalProperties": false}]}},
    "unresolved": {"type": "array", "maxItems": 50, "description": "What could not be done, and why.", "items": {"anyOf": [
      {"type": "string"},
      {"type": "object", "properties": {"call": {"type": "string"}, "reason": {"type": "string"}}, "required": ["reason"], "additionalProperties": false}]}},
    "derived": {"type": "array", "maxItems": 50, "description": "Figures of the summary that you worked out; the harness computes them again.", "items": {"type": "object", "properties": {
      "value": {"type": "string", "maxLength": 40, "description": "the figure as the summary has it"},
      "operation": {"enum": ["sum", "difference", "product", "quotient", "percent", "average", "count", "days_between"]},
      "of": {"type": "array", "minItems": 1, "maxItems": 500, "items": {"type": "string", "maxLength": 100}, "description": "the figures that it was worked out of, as they stand in results; of a count, the things that were counted"}},
      "required": ["value", "operation", "of"], "additionalProperties": false}}
  },
  "required": ["summary"],
  "additionalProperties": false
}`

// finish is the tool with which a session ends. The loop runs it itself.
type finish struct{}

// Spec is what the model and people know of finish.
func (finish) Spec() tools.Spec {
	return tools.Spec{
		Name: finishTool,
		Words: map[string]tools.Words{
			"en":      {Title: "Finish", Sentence: "Ends the session and reports: {summary}"},
			"zh-Hans": {Title: "完成", Sentence: "结束会话并报告：{summary}"},
		},
		Description: "End the session. Every statement in the summary must rest on the calls cited as evidence; they must exist and have succeeded. " +
			"Figures, dates and ids must stand in their results, in the task or in people's words; list those that you worked out under derived. List what could not be done as unresolved.",
		Schema:  json.RawMessage(finishSchema),
		Example: json.RawMessage(`{"summary": "Order 48-2217 was delivered on 12 November.", "evidence": [{"claim": "delivered on 12 November", "call": "call_2", "quote": "2026-11-12"}]}`),
		Effect:  tools.EffectRead,
		Always:  true,
	}
}

// Run is never called: the loop ends the session itself.
func (finish) Run(context.Context, json.RawMessage) (tools.Output, error) {
	return tools.Output{}, fmt.Errorf("finish is run by the loop")
}

// isFinish says whether a reply is nothing but a finish.
func (r replied) isFinish() bool {
	return len(r.Plans) == 1 && r.Plans[0].Verdict == tools.Ready && r.Plans[0].Call.Tool == finishTool
}

// finishAlone runs a reply that is nothing but a finish. The reply and what
// becomes of it are one write.
func (s *sitting) finishAlone(ctx context.Context, record replied) (done bool, err error) {
	reply := sessions.NewEvent{Type: sessions.ModelReplied, Turn: s.st.turn, Step: s.st.steps, Data: record}
	return s.tryFinish(ctx, s.st.find(record.Plans[0].Call.N), []sessions.NewEvent{reply})
}

// finish runs a finish among other calls, after they have ended.
func (s *sitting) finish(ctx context.Context, c *call) error {
	if len(s.st.openCalls()) > 1 {
		return s.refuseFinish(ctx, c, nil, tools.Fail(tools.Conflict, "Other calls of the same reply are still open, so the session can't end with it.",
			"Finish in a reply of its own, after their results."))
	}
	_, err := s.tryFinish(ctx, c, nil)
	return err
}

// tryFinish checks a finish against the ledger. One that checks, or has been
// refused twice, ends the session, together with the events before it; another
// gets its reasons as a result, in a write of its own if there are no events
// before it that are still to be written.
func (s *sitting) tryFinish(ctx context.Context, c *call, before []sessions.NewEvent) (done bool, err error) {
	var args finishArgs
	// As it is on record, so that it says what may be shown, also in a refusal.
	if err := json.Unmarshal(c.written, &args); err != nil {
		return false, fmt.Errorf("read a finish that fits its schema: %w", err)
	}
	faults := s.st.checkFinish(args, s.registry)
	if len(faults) > 0 && s.st.finishesRefused < finishRefusals {
		return false, s.refuseFinish(ctx, c, before, refusal(faults))
	}
	outcome := sessions.Done
	switch {
	case len(faults) > 0:
		outcome = sessions.Unverified
	case args.Status != "":
		outcome = sessions.Outcome(args.Status)
	}
	accepted, err := tools.Succeed(tools.Output{Data: encode(map[string]string{"outcome": string(outcome)})}, tools.Meta{Attempts: 1})
	if err != nil {
		return false, err
	}
	e := s.ending(args, outcome)
	e.Step.Events = before
	// The state takes the result only once the end is written: until then a
	// message may still keep the session from ending.
	e.Step.Ended = []sessions.EndedCall{{N: c.plan.Call.N, Turn: c.turn, Step: c.step, Event: len(before),
		Tool: finishTool, Status: string(tools.StatusSucceeded), Effect: string(tools.EffectRead)}}
	e.Step.Events = append(e.Step.Events,
		sessions.NewEvent{Type: sessions.CallEnded, Turn: c.turn, Step: c.step, Call: c.plan.Call.N, Data: ended{Result: tools.Recorded{Result: accepted}}},
		sessions.NewEvent{Type: sessions.SessionEnded, Turn: s.st.turn, Step: s.st.steps, Data: sessionEnded{
			Status: string(sessions.Completed), Outcome: string(outcome), Summary: e.Summary,
			Evidence: e.Evidence, Unresolved: e.Unresolved, Failed: s.st.unresolved()}})
	e.Step.Counters = s.counters()
	err = s.w.Store.End(context.WithoutCancel(ctx), s.lease, e)
	if err == nil {
		s.logEvents(ctx, e.Step.Events)
		s.st.over = true
		return true, nil
	}
	if !errInbox(err) {
		return false, err
	}
	// Somebody spoke, or stopped it, while the model was writing its end.
	f := tools.Fail(tools.Conflict, "A person wrote to this session while you were finishing.",
		"Read the new message, act on it, then finish again.")
	if err := s.refuseFinish(ctx, c, before, f); err != nil {
		return false, err
	}
	return false, s.unread(ctx)
}

func (s *sitting) refuseFinish(ctx context.Context, c *call, before []sessions.NewEvent, f *tools.Failure) error {
	step := sessions.Step{Events: before}
	s.addEnded(&step, c, ended{Result: tools.Recorded{Result: tools.Refuse(f, tools.Meta{})}}, 0)
	return s.write(ctx, step)
}

// ending is how the session ends with this finish. What failed is listed from
// the ledger, whatever the model lists.
func (s *sitting) ending(args finishArgs, outcome sessions.Outcome) sessions.Ending {
	e := sessions.Ending{Status: sessions.Completed, Outcome: outcome, Summary: s.redactor.String(clean.Text(args.Summary))}
	e.Evidence = s.redactor.Words().JSON(orEmpty(encode(s.named(args.Evidence))))
	e.Unresolved = s.redactor.Words().JSON(orEmpty(encode(args.Unresolved)))
	return e
}

// named replaces the model's names of calls by those that people and programs
// use.
func (s *sitting) named(cited []evidence) []evidence {
	out := make([]evidence, len(cited))
	for i, e := range cited {
		out[i] = e
		if n, ok := s.st.parseAlias(e.Call); ok {
			out[i].Call = tools.Call{N: n}.ID(s.row.ID).String()
		}
	}
	return out
}

func refusal(faults []tools.FieldError) *tools.Failure {
	f := tools.Fail(tools.InvalidArguments, "The finish was not accepted: not all of it stands in the record of this session.",
		"Mend every entry of errors: cite the calls that show it, list worked-out figures under derived, or leave it out.",
		"What can't be shown belongs under unresolved, with status partly or unable; that is a good end, too.")
	f.Errors = faults[:min(len(faults), maxFinishFaults)]
	f.Causes = []string{"A finish may only say what its calls, its task and people have said."}
	if more := len(faults) - len(f.Errors); more > 0 {
		f.With("more_errors", more)
	}
	return f
}
