package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/tools"
	"baton/templates"
)

// answerForm is what the form of a question sends.
type answerForm struct {
	version int    // of the question that was read
	option  string // an option's id, or what stands in its place
	other   string // the answer, in other words
	message string // a note for the agent
	confirm string // the option again, where it was asked about twice
	fields  url.Values
}

// readAnswer reads the form. A form that no page of this server sends is
// malformed, as is one that says something twice.
func readAnswer(c echo.Context) (f answerForm, err error) {
	if err := readForm(c); err != nil {
		return f, err
	}
	form := c.Request().PostForm
	for _, values := range form {
		if len(values) != 1 {
			return f, problem.New(problem.Malformed, "malformed", nil)
		}
	}
	f = answerForm{option: form.Get("option"), other: form.Get("other"), message: form.Get("message"), confirm: form.Get("confirm"), fields: form}
	if f.version, err = strconv.Atoi(form.Get("version")); err != nil || f.version < 1 {
		return f, problem.New(problem.Malformed, "malformed", nil)
	}
	return f, nil
}

// answerQuestion takes a person's answer.
func (s *site) answerQuestion(c echo.Context) error {
	e, err := s.questionAt(c)
	if err != nil {
		return err
	}
	f, err := readAnswer(c)
	if err != nil {
		return err
	}
	answer, err := f.answer(e)
	if err != nil {
		return s.notTaken(c, f, err)
	}
	if f.confirm != "" && f.confirm != f.option {
		return s.notTaken(c, f, problem.New(problem.Invalid, "confirmation_differs", nil).At("confirm"))
	}
	if e.Status == escalation.Pending && f.confirm == "" {
		if asked, err := s.askTwice(c, e, f); asked || err != nil {
			return err
		}
	}
	e, err = s.Desk.Answer(c.Request().Context(), actorOf(c), e.ID, answer)
	if err != nil {
		return s.notTaken(c, f, err)
	}
	return s.toNext(c, e)
}

// answer is the form as the verb takes it.
func (f answerForm) answer(e escalation.Escalation) (decide.Answer, error) {
	a := decide.Answer{Version: f.version, Message: f.message}
	if f.option == "" {
		return a, problem.New(problem.Invalid, "option_missing", nil).At("option")
	}
	unknown := func(known ...string) error {
		return problem.New(problem.Invalid, "option_unknown", problem.Params{"option": cut(f.option, 70), "options": strings.Join(known, ", ")}).At("option")
	}
	q := e.Question
	switch e.Kind {
	case escalation.KindApproval:
		switch f.option {
		case templates.ApproveAnswer:
			a.Type = escalation.Approve
		case templates.RejectAnswer:
			a.Type = escalation.Reject
		case templates.EditAnswer:
			if q.ActionRequest == nil || !editable(*q.ActionRequest) {
				return a, unknown(templates.ApproveAnswer, templates.RejectAnswer)
			}
			a.Type, a.EditedArgs = escalation.Edit, filled(q.ActionRequest.Schema, q.ActionRequest.Shown(), argumentPrefix, f.fields)
		default:
			return a, unknown(templates.ApproveAnswer, templates.EditAnswer, templates.RejectAnswer)
		}
	case escalation.KindInput:
		switch f.option {
		case templates.RespondAnswer:
			a.Type, a.Values = escalation.Respond, filled(q.ResponseSchema, nil, valuePrefix, f.fields)
		case templates.RejectAnswer:
			a.Type = escalation.Reject
		default:
			return a, unknown(templates.RespondAnswer, templates.RejectAnswer)
		}
	case escalation.KindCompleted:
		if a.Type = escalation.Acknowledge; f.option != templates.AcknowledgeAnswer {
			return a, unknown(templates.AcknowledgeAnswer)
		}
	default:
		if f.inOtherWords(q) {
			if !q.Allows(escalation.Respond) {
				return a, problem.New(problem.Invalid, "words_not_taken", nil).At("option")
			}
			a.Type, a.Message = escalation.Respond, strings.TrimSpace(f.other+"\n\n"+f.message)
			if strings.TrimSpace(f.other) == "" {
				a.Message = "" // a note alone is no answer
			}
		} else {
			a.Type, a.Option = escalation.Choose, f.option
		}
	}
	return a, nil
}

// inOtherWords says whether the answer is none of the options.
func (f answerForm) inOtherWords(q escalation.Question) bool {
	if f.option == "."+templates.OtherAnswer {
		return true
	}
	_, isOption := q.Find(templates.OtherAnswer)
	return f.option == templates.OtherAnswer && !isOption
}

// askTwice asks a second time, by name, about what can't be undone: on a page
// of its own, for browsers that didn't ask on the question's.
func (s *site) askTwice(c echo.Context, e escalation.Escalation, f answerForm) (asked bool, err error) {
	r, err := s.reader(c)
	if err != nil {
		return false, err
	}
	q := r.question(e, e.Question)
	for _, o := range q.Options {
		if o.Confirm == "" || o.ID != f.option && !strings.EqualFold(o.Letter, f.option) {
			continue
		}
		if !r.mayAnswer(e) {
			return false, nil // the verb says so
		}
		q.Version = f.version
		p := templates.ConfirmPage{Frame: s.frame(c, templates.SectionInbox, q.Title), Question: q, Option: o, Message: f.message, Other: f.other}
		p.Path, p.Back = templates.EscalationURL(q.ID), templates.EscalationURL(q.ID)
		for _, field := range o.Fields {
			p.Fields = append(p.Fields, templates.Pair{Name: field.Name, Value: f.fields.Get(field.Name)})
		}
		return true, page(c, http.StatusOK, templates.Confirm(p))
	}
	return false, nil
}

// notTaken shows the question again, as it is now, with why the answer was not
// taken and with the answer as a draft.
func (s *site) notTaken(c echo.Context, f answerForm, cause error) error {
	p := toProblem(cause)
	if wantsDocument(c.Request()) || p.Kind != problem.Conflict && p.Kind != problem.Gone && p.Kind != problem.Invalid {
		return cause
	}
	e, err := s.questionAt(c)
	if err != nil {
		return err
	}
	r := reader{ctx: c.Request().Context(), actor: actorOf(c), now: time.Now()}
	return s.questionPage(c, statusOf(p), e, func(q *templates.Question) {
		q.Draft = templates.Draft{Option: f.option, Message: f.message, Other: f.other, Chosen: e.Version == f.version}
		q.Draft.Fields = refill(q.Form, f.fields)
		for _, o := range q.Options {
			if changed := refill(o.Fields, f.fields); o.ID == f.option {
				q.Draft.Fields = changed
			}
		}
		switch {
		case p.Code == "already_answered" && e.Decision != nil:
			a := r.answer(*e.Decision, e.Question)
			q.Conflict = &templates.Conflict{Mine: a.Mine, Who: a.Who, Letter: a.Letter, Label: a.Label, Message: a.Message, At: a.At}
		case p.Code == "stale_version" && e.Status == escalation.Pending:
			q.Conflict = &templates.Conflict{}
		default:
			if p.Code == "option_unknown" {
				// People know the options by what stands on their cards.
				p = problem.New(p.Kind, p.Code, problem.Params{"option": cut(f.option, 70), "options": lettered(q.Options)})
			}
			q.Refused = &templates.Refused{Problem: i18n.Explain(r.ctx, p), Fields: r.wrongFields(e, f, p)}
		}
	})
}

// lettered names options as their cards do: "A (Refund in full), B (Leave it)".
func lettered(options []templates.Option) string {
	list := make([]string, len(options))
	for i, o := range options {
		list[i] = fmt.Sprintf("%s (%s)", o.Letter, o.Label)
	}
	return strings.Join(list, ", ")
}

// wrongFields are those of a form that the verb refused.
func (r reader) wrongFields(e escalation.Escalation, f answerForm, p *problem.Error) []templates.Pair {
	wrong, _ := p.Members["errors"].([]tools.FieldError)
	var schema, values json.RawMessage
	switch {
	case len(wrong) == 0:
		return nil
	case e.Kind == escalation.KindInput:
		schema, values = e.Question.ResponseSchema, filled(e.Question.ResponseSchema, nil, valuePrefix, f.fields)
	case e.Question.ActionRequest != nil:
		a := e.Question.ActionRequest
		schema, values = a.Schema, filled(a.Schema, a.Shown(), argumentPrefix, f.fields)
	}
	return r.misfits(schema, values, wrong)
}

// answeredParameter names the question that was answered just now, on the page
// that comes after.
const answeredParameter = "answered"

// toNext leads to the next question that waits; where there is none, to the
// answered one, which shows what becomes of the answer.
func (s *site) toNext(c echo.Context, e escalation.Escalation) error {
	r := reader{ctx: c.Request().Context(), actor: actorOf(c), now: time.Now()}
	next, _, err := s.openQuestions(r, e.Cursor())
	if err == nil && len(next) == 0 {
		next, _, err = s.openQuestions(r, escalation.Cursor{})
	}
	if err != nil {
		return err // the answer is taken; whoever sends it again gets the same reply
	}
	to := templates.EscalationURL(e.ID.String())
	for _, other := range next {
		if other.ID != e.ID && r.mayAnswer(other) {
			to = templates.EscalationURL(other.ID.String()) + "?" + url.Values{answeredParameter: {e.ID.String()}}.Encode()
			break
		}
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// answered says what the reader has just answered, and what else of theirs is
// still on hold: several answers in a row must not hide each other's way back.
func (s *site) answered(c echo.Context, r reader) ([]templates.Toast, error) {
	name, err := id.Parse[id.Escalation](c.QueryParam(answeredParameter))
	if err != nil || name.IsZero() {
		return nil, nil //nolint:nilerr // nothing was answered
	}
	e, err := s.Escalations.Get(r.ctx, r.actor, name)
	if problem.Is(err, "escalation_not_found") {
		return nil, nil // nor does it exist
	}
	if err != nil {
		return nil, err
	}
	var toasts []templates.Toast
	if e.Decision != nil && r.own(*e.Decision) { // else somebody has taken it back
		toasts = append(toasts, r.toast(e))
	}
	others, err := s.Escalations.List(r.ctx, r.actor, escalation.Filter{Status: escalation.Answered, Limit: 4 * templates.ToastsMost})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(others, func(a, b escalation.Escalation) int { return b.Decision.DecidedAt.Compare(a.Decision.DecidedAt) })
	for _, other := range others {
		here := other.ID == e.ID || other.ID.String() == c.Param("id")
		if len(toasts) < templates.ToastsMost && !here && r.own(*other.Decision) && r.status(other) == templates.StatusHeld {
			toasts = append(toasts, r.toast(other))
		}
	}
	if len(toasts) > 0 {
		toasts[0].Key = toasts[0].UndoURL != ""
	}
	return toasts, nil
}

// toast says what was answered, with the way back while there is one.
func (r reader) toast(e escalation.Escalation) templates.Toast {
	toast := templates.Toast{Number: e.DisplayNumber(), Answers: e.ID.String(), URL: templates.EscalationURL(e.ID.String())}
	what := r.decided(*e.Decision, e.Question)
	if e.Decision.Option != "" {
		what = e.Decision.Option + ", " + what
	}
	switch r.status(e) {
	case templates.StatusHeld:
		toast.Text = r.say("toast.held", "what", what, "number", toast.Number, "s", templates.SecondsLeft())
		toast.UndoURL, toast.Until = templates.UndoURL(e.ID.String()), *e.HeldUntil
	case templates.StatusFailed:
		toast.Text = toast.Number + ": " + r.say("answer.apply_failed")
	default:
		toast.Text = r.say("toast.answered", "what", what, "number", toast.Number)
	}
	return toast
}

// seeQuestion takes note that somebody who may answer has a question before
// their eyes. Opening its address is not enough: mail scanners do that, and a
// safe method changes nothing.
func (s *site) seeQuestion(c echo.Context) error {
	e, err := s.questionAt(c)
	if err != nil {
		return err
	}
	if err := s.Escalations.MarkSeen(c.Request().Context(), actorOf(c), e.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
