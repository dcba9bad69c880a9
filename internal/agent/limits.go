package agent

import (
	"fmt"
	"time"

	"baton/internal/tools"
)

// facts are what Prepare is told about the session now.
func (s *sitting) facts() tools.Facts {
	b := s.version.Agent.Budgets
	f := tools.Facts{
		Tools: s.registry, Now: time.Now(), Step: s.st.steps + 1, Keys: s.w.Keys,
		Policy: s.version.Agent.Permission, Circuit: &s.st.circuit, Rested: s.rested(), Cancelled: s.cancel,
	}
	for _, a := range s.st.approvals {
		f.Approvals = append(f.Approvals, a.Approval)
	}
	f.Ceilings = []tools.Ceiling{
		{Name: "calls_per_turn", Used: int64(s.st.turnCalls), Max: b.CallsPerTurn, Unit: "calls"},
		{Name: "calls", Used: int64(s.st.calls), Max: b.Calls, Unit: "calls"},
	}
	return f
}

// advance makes the facts those after a call has been planned: it has used up
// what it counts against.
func advance(f *tools.Facts, p tools.Plan) {
	for i := range f.Ceilings {
		f.Ceilings[i].Used++
	}
	if p.Approval != "" {
		var left []tools.Approval
		for _, a := range f.Approvals {
			if a.ID != p.Approval {
				left = append(left, a)
			}
		}
		f.Approvals = left
	}
}

// lastSteps is how many steps beyond its limit an agent gets, to finish in.
const lastSteps = 2

// exhausted says whether a limit of the session is used up, so that the model
// is not asked any more.
func (s *sitting) exhausted() *failure {
	b := s.version.Agent.Budgets
	for _, limit := range []struct {
		name      string
		used, max int64
	}{
		{"steps_per_turn", int64(s.st.turnSteps), b.StepsPerTurn + lastSteps},
		{"tokens", s.st.usage.InputTokens + s.st.usage.OutputTokens, b.Tokens},
		{"cost_usd", s.st.usage.CostMicros, b.CostMicros},
		{"working_time", int64(s.working()), int64(b.WorkingTime.Std())},
	} {
		if limit.max > 0 && limit.used >= limit.max {
			return &failure{Code: "budget_" + limit.name, Params: map[string]any{"used": fmt.Sprint(limit.used), "max": fmt.Sprint(limit.max)}}
		}
	}
	return nil
}
