package agent

import (
	"context"

	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// settleByPerson ends a call in doubt as a person says: it happened, it is run
// again (the same call, with the same key), or it stays unknown. That nobody
// answered leaves it unknown, too.
func (s *sitting) settleByPerson(ctx context.Context, c *call) error {
	said := escalation.DoubtSkip
	if d := c.answer.Decision; d != nil {
		said = d.OptionID
	}
	switch said {
	case escalation.DoubtHappened:
		result, err := tools.Succeed(tools.Output{Data: encode(map[string]string{"confirmed_by": c.answer.Decision.By.Name}),
			Notices: []string{"The connection was lost, and a person confirmed that it happened. What it returned is not known."}}, tools.Meta{Attempts: 1})
		if err != nil {
			return err
		}
		return s.endAnswered(ctx, c, result)
	case escalation.DoubtAgain:
		return s.runAgain(ctx, c)
	}
	return s.endAnswered(ctx, c, tools.Refuse(tools.Fail(tools.OutcomeUnknown, "It is not known whether this call took effect, and nobody could say.",
		"Do not repeat it; go on without it, and say so at the end."), tools.Meta{}))
}

// runAgain makes the next attempt of a call in doubt. That it starts is on
// record again first: should this worker be lost too, it is in doubt again.
func (s *sitting) runAgain(ctx context.Context, c *call) error {
	again := tools.Prepare(c.plan.Call, s.factsFor(c))
	if again.Verdict == tools.Ended {
		return s.endAnswered(ctx, c, *again.Result)
	}
	again.Verdict = tools.Ready // a person has just said so, of this very call
	c.plan = again
	step := sessions.Step{Events: []sessions.NewEvent{{Type: sessions.CallStarted, Turn: c.turn, Step: c.step, Call: c.plan.Call.N, Data: startedAgain{By: c.answer.Decision.By.Name}}}}
	if err := s.write(ctx, step, s.applied(c)); err != nil {
		return err
	}
	c.start()
	if s.cancel {
		return nil
	}
	if !s.w.Replica.MayAct(s.lease) {
		return sessions.ErrSilent
	}
	return s.writeResult(ctx, c, s.runner.Execute(ctx, c.plan))
}

// startedAgain is call.started of a call that a person had run again.
type startedAgain struct {
	By string `json:"by"`
}
