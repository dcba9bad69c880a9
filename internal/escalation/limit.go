package escalation

import (
	"encoding/json"

	"baton/internal/i18n"
)

// The answers to how an agent whose limit is used up is to go on.
const (
	LimitSame   = "raise-same" // the same amount once more
	LimitHalf   = "raise-half" // half of it
	LimitFinish = "finish-now" // with what there is
	LimitStop   = "stop"
)

// Limit is one of an agent's limits, and what was used of it. Times are in
// nanoseconds, money in millionths of a US dollar, all else is counted.
type Limit struct {
	Name string `json:"name"` // as in the agent's file: steps_per_turn
	Used int64  `json:"used"`
	Max  int64  `json:"max"`  // as it stands in this session
	Base int64  `json:"base"` // as the agent's file has it
	// Tool is whose calls came in a row, of same_tool_in_a_row.
	Tool string `json:"tool,omitempty"`
}

// By is how much more an answer gives, 0 if it gives none.
func (l Limit) By(option string) int64 {
	switch option {
	case LimitSame:
		return l.Base
	case LimitHalf:
		return l.Base / 2
	}
	return 0
}

// limitWords are the sentences about a limit, by its name.
var limitWords = map[string]struct {
	title, problem, raise string
	unit                  i18n.Unit
}{
	"steps_per_turn":     {"escalation.limit.steps.title", "escalation.limit.steps.problem", "escalation.limit.steps.raise", ""},
	"calls_per_turn":     {"escalation.limit.calls.title", "escalation.limit.calls.problem", "escalation.limit.calls.raise", ""},
	"calls":              {"escalation.limit.all_calls.title", "escalation.limit.all_calls.problem", "escalation.limit.calls.raise", ""},
	"tokens":             {"escalation.limit.tokens.title", "escalation.limit.tokens.problem", "escalation.limit.tokens.raise", ""},
	"cost_usd":           {"escalation.limit.cost.title", "escalation.limit.cost.problem", "escalation.limit.cost.raise", i18n.MicroUSD},
	"working_time":       {"escalation.limit.time.title", "escalation.limit.time.problem", "escalation.limit.time.raise", i18n.Nanoseconds},
	"same_tool_in_a_row": {"escalation.limit.row.title", "escalation.limit.row.problem", "escalation.limit.row.raise", ""},
}

// LimitDraft makes the question how to go on, of an agent that has used up one
// of its limits. More is given in steps that are known beforehand; nothing of
// what a model says decides how much.
func LimitDraft(l Limit, k Known) Draft {
	w := limitWords[l.Name]
	figure := func(n int64) any {
		if w.unit == "" {
			return n
		}
		return i18n.Figure{Unit: w.unit, N: n}
	}
	q := ownQuestion(k, i18n.Say(w.title, "n", figure(l.Max), "used", figure(l.Used), "tool", l.Tool),
		i18n.Say("escalation.own.question"), i18n.Say(w.problem, "n", figure(l.Max), "used", figure(l.Used), "tool", l.Tool))
	for _, id := range []string{LimitSame, LimitHalf} {
		if by := l.By(id); by > 0 {
			q.offer(id, i18n.Say(w.raise, "n", figure(by)), i18n.Say("escalation.limit.raise_then"))
		}
	}
	q.offer(LimitFinish, i18n.Say("escalation.limit.finish"), i18n.Say("escalation.limit.finish_then"))
	q.offer(LimitStop, i18n.Say("escalation.own.stop"), i18n.Say("escalation.own.stop_then"))
	parameters, _ := json.Marshal(map[string]any{"limit": l.Name, "max": l.Max})
	return ownDraft(k, BudgetExhausted, q, Case{Tool: l.Tool, Parameters: parameters})
}
