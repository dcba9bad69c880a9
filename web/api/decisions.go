package api

import (
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/page"
	"baton/internal/problem"
)

func (a *API) listDecisions(q Request) (Reply, error) {
	p := q.query("agent", "team", "trigger", "option_id", "decided_by", "since", "limit", "cursor")
	f := escalation.DecisionFilter{
		Agent: p.text("agent"), Team: p.text("team"), Trigger: oneOf(p, "trigger", escalation.Triggers()...),
		Option: p.text("option_id"), By: p.text("decided_by"), Since: p.time("since"),
		Before: cursor(p, "decisions", id.Parse[id.Decision]),
	}
	limit := p.limit()
	if p.err != nil {
		return Reply{}, p.err
	}
	f.Limit = limit + 1
	list, err := a.Escalations.Decisions(q.Context(), q.Actor, f)
	if err != nil {
		return Reply{}, err
	}
	return ok(page.Of("decisions", list, limit, func(d escalation.Decision) string { return d.ID.String() }))
}

func (a *API) getDecision(q Request) (Reply, error) {
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	name, err := id.Parse[id.Decision](q.PathValue("id"))
	if err != nil || name.IsZero() {
		return Reply{}, problem.New(problem.NotFound, "decision_not_found", nil)
	}
	d, err := a.Escalations.Decision(q.Context(), q.Actor, name)
	if err != nil {
		return Reply{}, err
	}
	return ok(d)
}
