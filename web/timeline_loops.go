package web

import (
	"fmt"

	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

// loop tells that the agent went round in circles, and what was done about it.
func (t *timeline) loop(e sessions.Event, n notice) {
	m := *n.Loop
	if m.Rung == tools.RungRest {
		t.rest = &m
	}
	entry := templates.Event{
		Kind: templates.EventState, Problem: m.Rule.Grave(), Tone: "warn", Icon: "repeat", Text: t.loopText(m),
		Loop: &templates.Loop{Rungs: t.rungs(m)},
	}
	if t.technical {
		entry.Exact = n.Text // it names tools
	}
	for _, call := range m.Calls {
		c := templates.Pair{Name: t.r.say("loop.call", "n", fmt.Sprint(call))}
		if t.at[call] != nil {
			c.Value = "#" + callAnchor(call)
		}
		entry.Loop.Calls = append(entry.Loop.Calls, c)
	}
	if n := len(m.Calls); n > 0 {
		if p, known := t.plans[m.Calls[n-1]]; known {
			_, entry.Detail = t.describe(p.Call)
		}
	}
	t.add(e, entry)
}

// nameOf is what people call a tool.
func (t *timeline) nameOf(tool string) string {
	title, _ := t.describe(tools.Call{Tool: tool})
	return title
}

func (t *timeline) loopText(m tools.Measure) string {
	n := len(m.Calls)
	switch m.Rule {
	case tools.RuleFailing:
		if len(m.Targets) == 1 {
			return t.r.say("loop.failing_same", "n", n)
		}
		return t.r.say("loop.failing", "n", n)
	case tools.RuleDiffering:
		return t.r.say("loop.differing", "n", n)
	case tools.RuleRepeating:
		return t.r.say("loop.repeating", "n", n)
	case tools.RuleCycle:
		return t.r.say("loop.cycle", "n", n/3)
	case tools.RulePolling:
		return t.r.say("loop.polling", "n", n)
	}
	return t.r.say("loop.rested")
}

// rungs are the measures up to the one taken, and those that come next.
func (t *timeline) rungs(m tools.Measure) []templates.Rung {
	remind := templates.Rung{Text: t.r.say("loop.remind"), Done: true}
	if !m.Rule.Grave() {
		return []templates.Rung{remind}
	}
	rest := templates.Rung{Text: t.r.say("loop.rest_next")}
	ask := templates.Rung{Text: t.r.say("loop.ask_next")}
	switch m.Rung {
	case tools.RungRest:
		rest = templates.Rung{Text: t.r.say("loop.rest_until", "step", fmt.Sprint(m.UntilStep)), Done: true}
	case tools.RungAsk:
		rest = templates.Rung{Text: t.r.say("loop.rest"), Done: true}
		ask = templates.Rung{Text: t.r.say("loop.ask"), Done: true}
	}
	return []templates.Rung{remind, rest, ask}
}

// afterLoop says how the session goes on after a loop.
func (t *timeline) afterLoop(said string) string {
	switch said {
	case escalation.LoopAgain:
		return t.r.say("loop.again")
	case escalation.LoopStop:
		return t.r.say("loop.stop")
	}
	return t.r.say("loop.without")
}

// afterAsking says how the session goes on after a limit was used up, or its
// model failed.
func (t *timeline) afterAsking(said string) string {
	switch said {
	case escalation.LimitFinish:
		return t.r.say("notice.limit_finish")
	case escalation.LimitStop:
		return t.r.say("notice.stopped")
	case escalation.TroubleAgain:
		return t.r.say("notice.model_again")
	}
	return t.r.say("notice.limit_raised")
}

// lifted is a limit as people have raised it, and the turn that began then.
type lifted struct {
	most int64
	turn int
}

// budgets are the agent's, as far as they hold for this session now.
func (t *timeline) budgets(b definition.Budgets) definition.Budgets {
	for name, limit := range t.lifted {
		switch {
		case name == "calls":
			b.Calls = limit.most
		case name == "tokens":
			b.Tokens = limit.most
		case name == "cost_usd":
			b.CostMicros = limit.most
		case name == "working_time":
			b.WorkingTime = definition.Duration(limit.most)
		case name == "steps_per_turn" && limit.turn >= t.turn:
			b.StepsPerTurn = limit.most
		}
	}
	return b
}
