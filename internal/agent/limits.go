package agent

import (
	"context"
	"fmt"
	"time"

	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// A session's limits are its agent's, as people have raised them in this
// session: what they said is in the ledger, so every worker works within the
// same ones. At four fifths of a limit the model is told. What is used up is
// asked about before the model is asked again; of the limits on calls, once a
// call was refused for it, since a model that goes on to finish needs no more.

// Codes of the notices about limits.
const (
	codeNear          = "limit_near"
	codeLimit         = "limit"
	codeLimitAnswered = "limit_answered"
)

// The names of the limits, as in an agent's file.
const (
	limitSteps     = "steps_per_turn"
	limitTurnCalls = "calls_per_turn"
	limitCalls     = "calls"
	limitTokens    = "tokens"
	limitCost      = "cost_usd"
	limitTime      = "working_time"
	limitRow       = "same_tool_in_a_row"
)

// lastSteps is how many steps an agent gets that is to finish with what there
// is.
const lastSteps = 5

// allowance is how a session stands with its limits.
type allowance struct {
	raised  map[string]int64 // by people; those of a turn until its end
	told    map[string]int64 // the maximum of which the model was told that it is near
	refused bool             // a call of the last reply was refused for a limit
	// finish is the limit at which people had the agent finish with what there
	// is, steps how many it took since.
	finish *escalation.Limit
	steps  int
}

// perTurn says whether a limit counts what was done since a person last spoke.
func perTurn(limit string) bool {
	return limit == limitSteps || limit == limitTurnCalls || limit == limitRow
}

// newTurn forgets what was of the turn that has ended. That the agent is to
// finish stays for the limits of the whole session, which no answer lifts; who
// writes to it may want more, and is asked.
func (a *allowance) newTurn(message bool) {
	for name := range a.raised {
		if perTurn(name) {
			delete(a.raised, name)
		}
	}
	for name := range a.told {
		if perTurn(name) {
			delete(a.told, name)
		}
	}
	if a.finish != nil && (message || perTurn(a.finish.Name)) {
		a.finish = nil
	}
	a.refused = false
}

// limitNoted takes what is on record about a limit.
func (s *state) limitNoted(n notice) {
	switch n.Code {
	case codeNear:
		s.allowance.told[n.Limit.Name] = n.Limit.Max
	case codeLimit:
		s.asking = &asking{limit: n.Limit, turn: s.turn, step: s.steps}
	case codeLimitAnswered:
		if n.Said == escalation.LimitFinish {
			s.allowance.finish, s.allowance.steps = n.Limit, 0
		} else if n.End == nil {
			s.allowance.raised[n.Limit.Name], s.allowance.finish = n.Limit.Max, nil
		}
	}
}

// limits are the session's, those of the whole session first: who is asked
// about them is not asked about the turn's as well. One without a maximum is
// none.
func (s *sitting) limits() [7]escalation.Limit {
	b := s.version.Agent.Budgets
	list := [...]escalation.Limit{
		{Name: limitCost, Used: s.st.usage.CostMicros, Base: b.CostMicros},
		{Name: limitTokens, Used: s.st.usage.InputTokens + s.st.usage.OutputTokens, Base: b.Tokens},
		{Name: limitTime, Used: int64(s.working()), Base: int64(b.WorkingTime.Std())},
		{Name: limitCalls, Used: int64(s.st.calls), Base: b.Calls},
		{Name: limitTurnCalls, Used: int64(s.st.turnCalls), Base: b.CallsPerTurn},
		{Name: limitSteps, Used: int64(s.st.turnSteps), Base: b.StepsPerTurn},
		{Name: limitRow, Used: int64(s.st.row.stale), Base: b.SameToolInARow, Tool: s.st.row.tool},
	}
	for i := range list {
		list[i].Max = list[i].Base
		if raised, ok := s.st.allowance.raised[list[i].Name]; ok {
			list[i].Max = raised
		}
	}
	return list
}

// atLimit says what is due about the limits before the model is asked again. It
// returns true if the session goes another way than to its next step.
func (s *sitting) atLimit(ctx context.Context) (turned, done bool, err error) {
	if f := s.st.allowance.finish; f != nil {
		if s.st.allowance.steps >= lastSteps {
			return true, true, s.fail(ctx, failure{Code: "not_finished", Params: map[string]any{"n": s.st.allowance.steps}})
		}
		return false, false, nil
	}
	step := sessions.Step{}
	for _, l := range s.limits() {
		switch {
		case l.Max <= 0:
		case s.usedUp(l):
			s.add(&step, notice{Code: codeLimit, Limit: &l, Text: usedText(l)})
			return true, false, s.write(ctx, step)
		case near(l) && s.st.allowance.told[l.Name] != l.Max:
			s.add(&step, notice{Code: codeNear, Limit: &l, Text: nearText(l)})
		}
	}
	if len(step.Events) == 0 {
		return false, false, nil
	}
	return true, false, s.write(ctx, step)
}

// usedUp says whether a limit is in the way.
func (s *sitting) usedUp(l escalation.Limit) bool {
	switch l.Name {
	case limitCalls, limitTurnCalls:
		return l.Used >= l.Max && s.st.allowance.refused
	case limitRow:
		return l.Used >= l.Max && s.st.allowance.told[l.Name] == l.Max // who wasn't reminded yet is reminded first
	}
	return l.Used >= l.Max
}

// near says whether the model is to be told of a limit.
func near(l escalation.Limit) bool {
	if l.Name == limitRow {
		return l.Used >= (l.Max+1)/2
	}
	return l.Used*5 >= l.Max*4
}

func usedText(l escalation.Limit) string {
	used := fmt.Sprintf("%s of %s", amount(l.Name, l.Used), amount(l.Name, l.Max))
	if l.Used > l.Max && (l.Name == limitCalls || l.Name == limitTurnCalls) {
		used = fmt.Sprintf("%d calls were asked for, and of these %d not run", l.Used, l.Used-l.Max)
	}
	return fmt.Sprintf("The limit %s is used up: %s. A person is asked how to go on.", l.Name, used)
}

func nearText(l escalation.Limit) string {
	if l.Name == limitRow {
		return fmt.Sprintf("The last %d calls in a row were of %s, and brought nothing new: they failed, or came out like one before. Take another way, ask a person with ask_human, or finish and say what could not be done.", l.Used, l.Tool)
	}
	return fmt.Sprintf("You have used %s of %s of the limit %s. Come to an end: finish with what there is and say what is missing, or ask a person with ask_human.", amount(l.Name, l.Used), amount(l.Name, l.Max), l.Name)
}

// amount is a limit's figure for the model.
func amount(limit string, n int64) string {
	switch limit {
	case limitTime:
		return time.Duration(n).Round(time.Second).String()
	case limitCost:
		return fmt.Sprintf("USD %d.%06d", n/1_000_000, n%1_000_000)
	}
	return fmt.Sprint(n)
}

// limitAnswered is what a person said about a limit. That nobody answered gives
// no more.
func limitAnswered(l escalation.Limit, d *escalation.Decision) notice {
	n := notice{Code: codeLimitAnswered, Said: escalation.LimitFinish, Limit: &l}
	if d != nil {
		n.Said = d.OptionID
	}
	switch by := l.By(n.Said); {
	case n.Said == escalation.LimitStop:
		n.Text = "A person stopped the session."
		n.End = &failure{Code: "budget_" + l.Name, Params: map[string]any{"used": fmt.Sprint(l.Used), "max": fmt.Sprint(l.Max)}}
	case by > 0:
		if perTurn(l.Name) {
			l.Max = by // the answer began a turn
		} else {
			l.Max = max(l.Used, l.Max) + by
		}
		n.Text = fmt.Sprintf("A person gives you more: the limit %s is %s now.", l.Name, amount(l.Name, l.Max))
	default:
		n.Text = "Finish now with what there is, and say what is missing: from here on only finish, ask_human and read_output work."
		if d == nil {
			n.Text = "Nobody answered in time, so there is no more to be had. " + n.Text
		}
	}
	return n
}

// facts are what Prepare is told about the session now, for a new call.
func (s *sitting) facts() tools.Facts {
	now := time.Now()
	f := tools.Facts{
		Tools: s.registry, Now: now, Breakers: s.w.Breakers.Facts(now), Step: s.st.steps + 1, Keys: s.w.Keys, Tokens: s.tokens,
		Policy: s.version.Agent.Permission, Circuit: &s.st.circuit, Rested: s.rested(0), Cancelled: s.cancel,
	}
	for _, a := range s.st.approvals {
		f.Approvals = append(f.Approvals, a.Approval)
	}
	for _, l := range s.limits() {
		if l.Name == limitCalls || l.Name == limitTurnCalls {
			f.Ceilings = append(f.Ceilings, tools.Ceiling{Name: l.Name, Used: l.Used, Max: l.Max, Unit: "calls"})
		}
	}
	if l := s.st.allowance.finish; l != nil {
		f.Ceilings = append(f.Ceilings, tools.Ceiling{Name: l.Name, Used: l.Used, Max: min(l.Used, l.Max)})
	}
	return f
}

// factsFor are those for a call that has been counted already: it doesn't stand
// in its own way, nor do those of its reply that come after it; and if it is the
// one more try that a person allowed, it is still that.
func (s *sitting) factsFor(c *call) tools.Facts {
	f := s.facts()
	f.Rested = s.rested(c.plan.Call.N)
	for i := range f.Ceilings {
		switch f.Ceilings[i].Name {
		case limitCalls, limitTurnCalls:
			f.Ceilings[i].Used = max(0, f.Ceilings[i].Used-int64(s.st.calls-c.plan.Call.N+1))
		}
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
