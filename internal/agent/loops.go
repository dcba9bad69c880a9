package agent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"baton/internal/escalation"
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

// once is what people let an agent try one more time after a loop. When that is
// used the same calls are kept back again, until they bring something new or a
// person speaks; and the next that is kept back is asked about.
type once struct {
	measure tools.Measure
	call    int // that it was used for; 0: it wasn't
}

const onceUsed = "It was repeated without getting anywhere; a person allowed one more try, and that was made."

// rested are the calls that it is about.
func (o *once) rested() []tools.Rested {
	var alone tools.Loops
	alone.Take(o.measure)
	list := alone.Rested()
	for i := range list {
		list[i].Reason = onceUsed
	}
	return list
}

// covers says whether a call is of those.
func (o *once) covers(p tools.Plan) bool {
	return slices.ContainsFunc(o.rested(), func(r tools.Rested) bool {
		return r.Tool == p.Call.Tool && (r.Loose == "" || r.Loose == p.Loose)
	})
}

// about says whether what is rested is that.
func (o *once) about(r tools.Rested) bool {
	return r.UntilStep == 0 && slices.ContainsFunc(o.rested(), func(k tools.Rested) bool {
		return k.Tool == r.Tool && (k.Loose == r.Loose || k.Loose == "")
	})
}

// usesOnce says whether a call that was just planned is the one more try.
func (s *state) usesOnce(p tools.Plan) bool {
	return s.once != nil && s.once.call == 0 && p.Verdict != tools.Ended && s.once.covers(p)
}

// onceEnded looks what came of the one more try. The calls before it are
// forgotten as far as loops go, so that it brought the same as they is seen here.
func (s *state) onceEnded(c *call) {
	if s.once == nil || s.once.call != c.plan.Call.N || !c.result.OK() {
		return
	}
	for n, before := range s.ended {
		if n < c.plan.Call.N && before.plan.Exact == c.plan.Exact && before.result.OK() && bytes.Equal(before.result.Data(), c.result.Data()) {
			s.loops.Take(s.once.measure)
			return
		}
	}
}

// loopNoted takes what was done against a loop.
func (s *state) loopNoted(n notice) {
	s.loops.Take(*n.Loop)
	if n.Said == escalation.LoopAgain {
		s.once = &once{measure: *n.Loop}
	}
	if n.Loop.Rung == tools.RungAsk {
		s.asking = &asking{loop: n.Loop, turn: s.turn, step: s.steps, call: n.Loop.Calls[len(n.Loop.Calls)-1]}
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

func (s *sitting) loopDraft(m tools.Measure) escalation.Draft {
	var plan tools.Plan
	if c := s.st.ended[m.Calls[len(m.Calls)-1]]; c != nil {
		plan = c.plan
	}
	_, spec, _ := s.registry.Lookup(plan.Call.Tool)
	return escalation.LoopDraft(plan, spec, s.known())
}

// loopAnswered is what a person said about a loop.
func loopAnswered(m tools.Measure, d *escalation.Decision) notice {
	n := notice{Code: codeLoopAnswered, Said: escalation.LoopWithout}
	if d != nil {
		n.Said = d.OptionID
	}
	switch n.Said {
	case escalation.LoopAgain:
		m.Rung, m.UntilStep = tools.RungRest, 0
		n.Loop = &m
		n.Text = "A person lets you try " + m.Tool + " exactly once more. Do as they say. If it comes out the same, such calls are refused again: take another way then."
	case escalation.LoopStop:
		n.Text, n.End = "A person stopped the session.", &failure{Code: "loop_stopped"}
	default:
		m.Rung, m.UntilStep = tools.RungWithout, 0
		n.Loop = &m
		n.Text = "Go on without " + m.Tool + ": such calls are refused from here on. Finish with what there is, and say what is missing."
		if d == nil {
			n.Text = "Nobody answered in time. " + n.Text
		}
	}
	return n
}

// rested are the tools that are to be let alone, for Prepare of the call with a
// number, 0 for one that has none yet.
func (s *sitting) rested(n int) []tools.Rested {
	list := s.st.loops.Rested()
	if o := s.st.once; o != nil {
		free := o.call == 0 || o.call == n
		list = slices.DeleteFunc(list, func(r tools.Rested) bool { return free && o.about(r) })
		for i := range list {
			if o.about(list[i]) {
				list[i].Reason = onceUsed
			}
		}
	}
	return slices.DeleteFunc(list, func(r tools.Rested) bool { return r.UntilStep > 0 && r.UntilStep <= s.st.steps+1 })
}
