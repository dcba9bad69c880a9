package agent

import (
	"slices"

	"baton/internal/escalation"
	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// approval is a person's permission for one call, and the step after which it
// was given: it dies when the next answer comes, unless that one came at the
// same point of the session.
type approval struct {
	tools.Approval
	step int
}

// raised notes which question a call waits for.
func (s *state) raised(d escalation.Event) {
	if c := s.find(d.Call); c != nil {
		// A call that was approved may come into doubt: that is another question.
		c.question, c.draft, c.answer = d.Escalation, nil, nil
		c.doubt = d.Kind == escalation.KindFailed && c.plan.Call.Tool != askTool
	} else if s.asking != nil {
		s.asking.question, s.asking.answer = d.Escalation, nil
	}
}

// answered takes what came to a question: an answer, its undoing, that nobody
// answered in time, or that it was taken back.
func (s *state) answered(how sessions.EventType, d escalation.Event) {
	c := s.find(d.Call)
	ours := s.asking
	if ours != nil && ours.question != d.Escalation {
		ours = nil
	}
	if how == sessions.EscalationWithdrawn {
		if ours != nil {
			s.asking = nil
		}
		return
	}
	if how == sessions.EscalationUndone {
		if c != nil {
			c.answer = nil
		}
		if ours != nil {
			ours.answer = nil
		}
		s.dropApprovals(func(a approval) bool { return d.Decision != nil && a.ID == d.Decision.ID.String() })
		return
	}
	if c != nil {
		c.answer = &d
	}
	if ours != nil {
		ours.answer = &d
	}
	if d.Decision == nil {
		return // silence is no decision, and begins no turn
	}
	s.personSpoke()
	s.dropApprovals(func(a approval) bool { return a.step < s.steps })
	for _, given := range d.Approvals {
		s.approvals = append(s.approvals, approval{step: s.steps,
			Approval: tools.Approval{ID: d.Decision.ID.String(), Digest: given.Digest, ExpiresAt: given.ExpiresAt}})
	}
	if c != nil {
		s.answers[c.plan.Exact] = d
	}
}

func (s *state) dropApprovals(which func(approval) bool) {
	s.approvals = slices.DeleteFunc(s.approvals, which)
}

// useApproval uses up what a call that starts was approved by.
func (s *state) useApproval(decision string) {
	if decision == "" {
		return
	}
	s.dropApprovals(func(a approval) bool { return a.ID == decision })
}

// decisionRecord is an answer as the model is told of it: a record of the
// server's, which nothing that a model or a tool writes can imitate.
func decisionRecord(d escalation.Event) *llm.Decision {
	return &llm.Decision{
		Type: string(d.Decision.Type), Option: d.Decision.Option, OptionID: d.Decision.OptionID, Label: d.Decision.Label,
		Message: d.Decision.Message, Values: d.Decision.Values, Question: d.Title, DecidedBy: d.Decision.By.Name,
	}
}
