package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	keyset "baton/internal/page"
	"baton/internal/problem"
	"baton/templates"
)

const decisionList = "decisions"

// decisions lists what was decided, newest first.
func (s *site) decisions(c echo.Context) error {
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	agent := c.QueryParam("agent")
	if agent != "" && !definition.ValidSlug(agent) {
		return problem.New(problem.NotFound, "agent_not_found", nil)
	}
	f := escalation.DecisionFilter{Agent: agent, Limit: keyset.DefaultLimit + 1}
	position, err := keyset.Position(decisionList, c.QueryParam("cursor"))
	if err != nil {
		return err
	}
	if position != "" {
		if f.Before, err = id.Parse[id.Decision](position); err != nil || f.Before.IsZero() {
			return keyset.Invalid()
		}
	}
	p := templates.DecisionsPage{Frame: s.frame(c, templates.SectionDecisions, word(c, "decisions.title"))}
	p.Views = []templates.View{{Label: r.say("decisions.view_all"), URL: templates.DecisionsURL, Current: f.Agent == "" && c.QueryParam("by") == ""}}
	if mine := r.actor.Person; !mine.IsZero() {
		p.Views = append(p.Views, templates.View{Label: r.say("decisions.view_mine"), URL: templates.DecisionsURL + "?by=me", Current: c.QueryParam("by") == "me"})
		if c.QueryParam("by") == "me" {
			f.By = mine.String()
		}
	}
	if f.Agent != "" {
		p.Views = append(p.Views, templates.View{Label: r.agent(f.Agent), URL: decisionsOf(f.Agent), Current: true})
	}
	p.Narrowed = f.Agent != "" || f.By != ""
	list, err := s.Escalations.Decisions(r.ctx, r.actor, f)
	if err != nil {
		return err
	}
	if len(list) > keyset.DefaultLimit {
		list = list[:keyset.DefaultLimit]
		query := c.QueryParams()
		query.Set("cursor", keyset.Cursor(decisionList, list[len(list)-1].ID.String()))
		p.More = templates.DecisionsURL + "?" + query.Encode()
	}
	for _, d := range list {
		p.Rows = append(p.Rows, r.decisionRow(d))
	}
	return page(c, http.StatusOK, templates.Decisions(p))
}

func decisionsOf(agent string) string {
	return templates.DecisionsURL + "?" + url.Values{"agent": {agent}}.Encode()
}

func (r reader) decisionRow(d escalation.Decision) templates.DecisionRow {
	who, icon := r.decider(d)
	return templates.DecisionRow{
		URL: templates.DecisionURL(d.ID.String()), Title: r.title(*d.Question), Agent: r.agent(d.Agent),
		Letter: d.Option, Label: r.decided(d, *d.Question), Who: who, Icon: icon, Message: cut(d.Message, 200),
		Outcome: r.outcome(d), At: d.DecidedAt, Took: time.Duration(d.TookMS) * time.Millisecond,
	}
}

// decider is who decided, with a picture where it was no person.
func (r reader) decider(d escalation.Decision) (who, icon string) {
	switch d.By.Kind {
	case escalation.ByExpiry:
		return r.say("decisions.nobody"), "clock"
	case escalation.ByRule:
		return d.By.Name, "repeat"
	}
	return d.By.Name, ""
}

// outcome is what came of a decision, as far as anybody knows.
func (r reader) outcome(d escalation.Decision) templates.Chip {
	switch {
	case d.UndoneAt != nil:
		return templates.Chip{Icon: "undo-2", Text: r.say("outcome.undone")}
	case d.Outcome == nil:
		return templates.Chip{}
	}
	switch d.Outcome.Status {
	case escalation.MarkSucceeded:
		return templates.Chip{Icon: "circle-check", Text: r.say("outcome.succeeded"), Tone: "ok"}
	case escalation.MarkApplied:
		return templates.Chip{Icon: "circle-check", Text: r.say("outcome.applied")}
	case escalation.MarkPartly:
		return templates.Chip{Icon: "circle-alert", Text: r.say("outcome.partly"), Tone: "warn"}
	case escalation.MarkReverted:
		return templates.Chip{Icon: "undo-2", Text: r.say("outcome.reverted"), Tone: "bad"}
	case escalation.MarkOverruled:
		return templates.Chip{Icon: "repeat", Text: r.say("outcome.overruled"), Tone: "bad"}
	}
	return templates.Chip{Icon: "circle-x", Text: r.say("outcome.failed"), Tone: "bad"}
}

// showDecision shows a decision, and the question as it was then.
func (s *site) showDecision(c echo.Context) error {
	name, err := id.Parse[id.Decision](c.Param("id"))
	if err != nil || name.IsZero() {
		return problem.New(problem.NotFound, "decision_not_found", nil)
	}
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	d, err := s.Escalations.Decision(r.ctx, r.actor, name)
	if err != nil {
		return err
	}
	e, err := s.Escalations.Get(r.ctx, r.actor, d.Escalation)
	if err != nil {
		return err
	}
	q := r.question(e, *d.Question)
	q.Decision = r.answer(d, *d.Question)
	q.Decision.URL, q.Decision.HeldUntil = "", time.Time{}
	if q.Status = templates.StatusAnswered; e.Decision != nil && e.Decision.ID == d.ID {
		if q.Status = r.status(e); q.Status == templates.StatusHeld {
			q.Status = templates.StatusAnswered
		}
	}
	if err := s.sessionBeside(r, &q, e, d.Question.Context); err != nil {
		return err
	}
	p := templates.DecisionPage{Frame: s.frame(c, templates.SectionDecisions, q.Title), Question: q, Outcome: r.outcome(d)}
	p.Back = templates.DecisionsURL
	who, _ := r.decider(d)
	p.Facts = []templates.Pair{{Name: r.say("decisions.by"), Value: who}, {Name: r.say("decisions.when"), At: d.DecidedAt}}
	p.Facts = append(p.Facts, templates.Pair{Name: r.say("decisions.through"), Value: r.via(d.Via)},
		templates.Pair{Name: r.say("decisions.took"), Value: i18n.Span(r.ctx, time.Duration(d.TookMS)*time.Millisecond)})
	if rec := d.Question.Recommended; rec != nil && d.Type == escalation.Choose {
		followed := r.say("decisions.not_followed")
		if rec.OptionID == d.OptionID {
			followed = r.say("decisions.followed")
		}
		p.Facts = append(p.Facts, templates.Pair{Name: r.say("decisions.recommendation"), Value: followed})
	}
	if d.ReasonCode != "" {
		p.Facts = append(p.Facts, templates.Pair{Name: r.say("decisions.case"), Value: strings.ReplaceAll(d.ReasonCode, "_", " ")})
	}
	return page(c, http.StatusOK, templates.DecisionDetail(p))
}

// via is the way in which something was done, in words.
func (r reader) via(via string) string {
	switch via {
	case "browser":
		return r.say("via.browser")
	case "api":
		return r.say("via.api")
	case "cli":
		return r.say("via.cli")
	}
	return r.say("via.system")
}
