package web

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/templates"
)

// undoneParameter names the decision that was taken back just now.
const undoneParameter = "undone"

// undoAnswer takes an answer back while it is held. Who does so twice, with a
// key that was pressed twice, is where they wanted to be.
func (s *site) undoAnswer(c echo.Context) error {
	e, err := s.questionAt(c)
	if err != nil {
		return err
	}
	if err := readForm(c); err != nil {
		return err
	}
	taken := e.Decision
	_, err = s.Desk.Undo(c.Request().Context(), actorOf(c), e.ID)
	if problem.Is(err, "nothing_to_undo") {
		if before, foundErr := s.undoneBefore(c, e); foundErr != nil || before != nil {
			taken, err = before, foundErr
		}
	}
	if err != nil {
		return s.notTaken(c, answerForm{fields: url.Values{}}, err)
	}
	to := templates.EscalationURL(e.ID.String())
	if taken != nil {
		to += "?" + url.Values{undoneParameter: {taken.ID.String()}}.Encode()
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// undoneBefore is the person's own last answer to the question, if it was taken
// back; else nil.
func (s *site) undoneBefore(c echo.Context, e escalation.Escalation) (*escalation.Decision, error) {
	actor := actorOf(c)
	list, err := s.Escalations.Decisions(c.Request().Context(), actor, escalation.DecisionFilter{Escalation: e.ID, By: actor.Person.String(), Limit: 1})
	if err != nil || len(list) == 0 || list[0].UndoneAt == nil {
		return nil, err
	}
	return &list[0], nil
}

// undone puts the answer that the reader has just taken back into the question
// as a draft: they should not have to write it anew. Nothing is chosen.
func (s *site) undone(c echo.Context, e escalation.Escalation) (func(*templates.Question), error) {
	name, err := id.Parse[id.Decision](c.QueryParam(undoneParameter))
	if err != nil || name.IsZero() || e.Status != escalation.Pending {
		return nil, nil //nolint:nilerr // nothing was taken back
	}
	r := reader{actor: actorOf(c)}
	d, err := s.Escalations.Decision(c.Request().Context(), r.actor, name)
	switch {
	case problem.Is(err, "decision_not_found") || err == nil && (d.Escalation != e.ID || !r.own(d)):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return func(q *templates.Question) {
		if d.Type == escalation.Respond && e.Kind != escalation.KindInput {
			q.Draft.Other = d.Message
		} else {
			q.Draft.Message = d.Message
		}
		if len(d.Values) > 0 {
			refill(q.Form, asSent(q.Form, d.Values, valuePrefix))
		}
		for _, o := range q.Options {
			if len(d.EditedArgs) > 0 {
				refill(o.Fields, asSent(o.Fields, d.EditedArgs, argumentPrefix))
			}
		}
	}, nil
}

// asSent is what a form had sent whose fields made a document.
func asSent(fields []templates.Field, doc json.RawMessage, prefix string) url.Values {
	values := map[string]json.RawMessage{}
	for _, m := range members(doc) {
		values[prefix+m.name] = m.value
	}
	form := url.Values{}
	for _, f := range fields {
		switch value := values[f.Name]; f.Kind {
		case templates.FieldFixed:
		case templates.FieldChoice:
			form.Set(f.Name, string(value))
		default:
			form.Set(f.Name, shown(value))
		}
	}
	return form
}

// refill puts back what was filled in, and returns what of it differs from what
// the fields had.
func refill(fields []templates.Field, form url.Values) (changed []templates.Pair) {
	for i, f := range fields {
		sent, was := form[f.Name]
		if !was || sameText(sent[0], f.Value) {
			continue
		}
		fields[i].Value = sent[0]
		changed = append(changed, templates.Pair{Name: f.Label, Value: sent[0]})
	}
	return changed
}
