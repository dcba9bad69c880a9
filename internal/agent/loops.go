package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// What is done against a loop (see tools.Loops) is on record as a notice, in the
// write that ends the step which showed it: so the model is told with its next
// input, people see it, and a crash neither loses a rung nor climbs one twice.
// The last rung is a question that belongs to no open call: the session waits
// for its answer between two steps.

// Codes of the notices about loops.
const (
	codeLoop         = "loop"
	codeLoopAnswered = "loop_answered"
)

// asking is the question how to go on after a loop, from when it is due until
// its answer has been carried out.
type asking struct {
	measure    tools.Measure
	turn, step int
	question   id.Escalation // zero until it is raised
	answer     *escalation.Event
}

// counted says whether a call of a tool can be a part of a loop. The loop's own
// tools can't: with them an agent gets out of one.
func counted(tool string) bool { return !own(tool) && tool != readOutputTool }

// addMeasures adds what is due against loops to the write that ends a step.
func (s *sitting) addMeasures(step *sessions.Step) {
	if len(s.st.current) > 0 {
		return
	}
	for _, m := range s.st.loops.Due(s.st.steps) {
		s.add(step, notice{Code: codeLoop, Text: s.measureText(m), Loop: &m})
		if s.st.asking != nil {
			return // one question at a time: another loop comes up again
		}
	}
}

// loop takes what was done against a loop, or what people said to it.
func (s *state) loop(n notice) {
	if n.Code == codeLoopAnswered && s.asking != nil {
		if a := s.asking.answer; a != nil && a.Decision != nil {
			s.say(llm.Message{Role: llm.RoleDecision, Decision: decisionRecord(*a)})
		}
		s.asking = nil
	}
	s.stopped = s.stopped || n.Said == escalation.LoopStop
	if n.Loop == nil {
		return
	}
	s.loops.Take(*n.Loop)
	if n.Loop.Rung == tools.RungAsk {
		s.asking = &asking{measure: *n.Loop, turn: s.turn, step: s.steps}
	}
}

// measureText tells the model what it repeats, and what to do instead. Nothing
// in it is a tool's word but names that the registry knows.
func (s *sitting) measureText(m tools.Measure) string {
	names := make([]string, len(m.Calls))
	for i, n := range m.Calls {
		names[i] = alias(n)
	}
	calls := strings.Join(names, ", ")
	tool := m.Tool
	_, spec, known := s.registry.Lookup(m.Tool)
	if !known {
		tool = "a tool that does not exist"
	}
	var text string
	switch m.Rule {
	case tools.RuleFailing:
		text = fmt.Sprintf("You have repeated a call of %s that fails (%s). Repeating it does not help.", tool, calls)
	case tools.RuleDiffering:
		text = fmt.Sprintf("The last calls of %s failed, each with other arguments (%s). Read why they failed before you try another.", tool, calls)
	case tools.RuleRepeating:
		text = fmt.Sprintf("The same call of %s brought the same result each time (%s). It will not bring anything else.", tool, calls)
	case tools.RuleCycle:
		text = fmt.Sprintf("You go round in a circle: the same calls, with the same results, for the third time (%s).", calls)
	case tools.RulePolling:
		text = fmt.Sprintf("%s has said the same %d times in a row (%s). Do something else first, or say that it is not ready yet.", tool, len(m.Calls), calls)
	case tools.RuleRested:
		text = fmt.Sprintf("You called %s again although it is rested (%s).", tool, calls)
	}
	switch m.Rung {
	case tools.RungRest:
		text += fmt.Sprintf(" It is rested now: such calls are refused until step %d.", m.UntilStep)
	case tools.RungAsk:
		return text + " A person is asked how to go on."
	}
	if !m.Rule.Grave() {
		return text
	}
	var others []string
	for _, alt := range spec.Alternatives {
		if _, _, ok := s.registry.Lookup(alt); ok {
			others = append(others, alt)
		}
	}
	if len(others) > 0 {
		text += " You could use " + strings.Join(others, " or ") + "."
	}
	text += " Change what makes it fail, or take another way"
	if m.Rule == tools.RuleRepeating || m.Rule == tools.RuleCycle {
		text = strings.TrimSuffix(text, "Change what makes it fail, or take another way") + "Work with what you have, or take another way"
	}
	return text + "; or ask a person with ask_human; or finish, and say what could not be done."
}

// settleLoop asks people how to go on after a loop, waits for them, and carries
// out what they say.
func (s *sitting) settleLoop(ctx context.Context) (done bool, err error) {
	a := s.st.asking
	switch {
	case a.question.IsZero():
		return s.put(ctx, []question{{s.loopDraft(a.measure), a.turn, a.step, a.measure.Calls[len(a.measure.Calls)-1]}})
	case !s.hasGoneOut(a.answer):
		return s.park(ctx, sessions.Waiting)
	}
	return s.carryOut(ctx, a)
}

func (s *sitting) loopDraft(m tools.Measure) escalation.Draft {
	var plan tools.Plan
	if c := s.st.ended[m.Calls[len(m.Calls)-1]]; c != nil {
		plan = c.plan
	}
	_, spec, _ := s.registry.Lookup(plan.Call.Tool)
	return escalation.LoopDraft(plan, spec, s.known())
}

// carryOut does as a person said about a loop. That nobody answered lets the
// session go on without, unless its agent is to fail then.
func (s *sitting) carryOut(ctx context.Context, a *asking) (done bool, err error) {
	d := a.answer.Decision
	if d == nil && a.answer.OnExpiry == escalation.OnExpiryFail {
		return true, s.fail(ctx, failure{Code: "question_expired", Params: map[string]any{"title": a.answer.Title}})
	}
	n := notice{Code: codeLoopAnswered, Said: escalation.LoopWithout}
	if d != nil {
		n.Said = d.OptionID
	}
	switch n.Said {
	case escalation.LoopAgain:
		n.Text = "A person lets you try " + a.measure.Tool + " once more. Do as they say, and don't repeat it if it fails again."
	case escalation.LoopStop:
		n.Text = "A person stopped the session."
	default:
		without := a.measure
		without.Rung, without.UntilStep = tools.RungWithout, 0
		n.Loop = &without
		n.Text = "Go on without " + a.measure.Tool + ": such calls are refused from here on. Finish with what there is, and say what is missing."
		if d == nil {
			n.Text = "Nobody answered in time. " + n.Text
		}
	}
	by := a.question
	step := sessions.Step{}
	s.add(&step, n)
	err = s.write(ctx, step, func(ctx context.Context, tx pgx.Tx) error { return escalation.ApplyTx(ctx, tx, s.row.ID, by) })
	return false, s.tell(by, err)
}

// rested are the tools that are to be let alone, for Prepare.
func (s *sitting) rested() []tools.Rested {
	list := s.st.loops.Rested()
	return slices.DeleteFunc(list, func(r tools.Rested) bool { return r.UntilStep > 0 && r.UntilStep <= s.st.steps+1 })
}
