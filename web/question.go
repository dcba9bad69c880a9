package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/redact"
	"baton/internal/tools"
	"baton/templates"
)

// questionAt reads the question that the address names.
func (s *site) questionAt(c echo.Context) (escalation.Escalation, error) {
	name, err := id.Parse[id.Escalation](c.Param("id"))
	if err != nil || name.IsZero() {
		return escalation.Escalation{}, problem.New(problem.NotFound, "escalation_not_found", nil)
	}
	return s.Escalations.Get(c.Request().Context(), actorOf(c), name)
}

// showQuestion shows a question with all that deciding it takes, whatever has
// become of it.
func (s *site) showQuestion(c echo.Context) error {
	e, err := s.questionAt(c)
	if err != nil {
		return err
	}
	again, err := s.undone(c, e)
	if err != nil {
		return err
	}
	return s.questionPage(c, http.StatusOK, e, again)
}

// questionPage shows a question after change.
func (s *site) questionPage(c echo.Context, status int, e escalation.Escalation, change func(*templates.Question)) error {
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	q, err := s.question(r, e)
	if err != nil {
		return err
	}
	if change != nil {
		change(&q)
	}
	p := templates.QuestionPage{Frame: s.frame(c, templates.SectionInbox, q.Title), Question: q}
	p.Path, p.Back = templates.EscalationURL(q.ID), templates.InboxURL
	if p.Toasts, err = s.answered(c, r); err != nil {
		return err
	}
	if q.Status == templates.StatusHeld && len(p.Toasts) > 0 {
		p.Toasts[0].Key = false // Z is for the answer before the reader's eyes
	}
	open, more, err := s.openQuestions(r, escalation.Cursor{})
	if err != nil {
		return err
	}
	p.Queue = r.queue(s.counts(c), viewOpen, open, e.ID, more)
	for i, other := range open {
		if other.ID != e.ID {
			continue
		}
		p.Position, p.Of = i+1, max(s.counts(c).open(), len(open))
		if i > 0 {
			p.Previous = templates.EscalationURL(open[i-1].ID.String())
		}
		if i+1 < len(open) {
			p.Next = templates.EscalationURL(open[i+1].ID.String())
		}
	}
	return page(c, status, templates.QuestionDetail(p))
}

// question is a question as its reader sees it, with the session that asks and
// how cases like it were decided.
func (s *site) question(r reader, e escalation.Escalation) (templates.Question, error) {
	q := r.question(e, e.Question)
	q.MayAnswer = r.mayAnswer(e)
	if !q.MayAnswer {
		q.WhoMay = r.say("answer.who_may", "role", r.role(r.actor.Roles[e.Team]), "team", e.TeamSlug)
	}
	if e.Decision != nil {
		q.Decision = r.answer(*e.Decision, e.Question)
		q.Decision.MayUndo = q.MayAnswer && r.mayControl(e.Team)
		q.Decision.Renew = r.renew(e)
	}
	q.Ended = r.ended(e)
	similar, err := s.Escalations.Similar(r.ctx, r.actor, e)
	if err != nil {
		return q, err
	}
	r.like(&q, e, similar)
	return q, s.sessionBeside(r, &q, e, e.Question.Context)
}

// sessionBeside adds the session that asks, and from its record what was done.
func (s *site) sessionBeside(r reader, q *templates.Question, e escalation.Escalation, c escalation.Context) error {
	if e.Session.IsZero() {
		r.soFar(q, c, nil, r.seesExact(e.Team))
		return nil
	}
	brief, t, err := s.brief(r, e.Session)
	if err != nil {
		return err
	}
	r.soFar(q, c, t, r.seesExact(e.Team))
	q.Session, q.Lang = brief, t.lang
	return nil
}

// An answer that has gone out reaches the agent within moments: until then a
// page looks again, but not for ever.
const (
	renewAfter = 2 * time.Second
	renewFor   = 30 * time.Second
)

// renew is when the page of a question should be loaded anew; zero for never.
func (r reader) renew(e escalation.Escalation) time.Time {
	out := e.Decision.DecidedAt
	if e.HeldUntil != nil {
		out = *e.HeldUntil
	}
	if r.status(e) != templates.StatusAnswered || r.now.Sub(out) > renewFor {
		return time.Time{}
	}
	return r.now.Add(renewAfter)
}

// question is what was asked.
func (r reader) question(e escalation.Escalation, asked escalation.Question) templates.Question {
	q := templates.Question{
		ID: e.ID.String(), Number: int(e.Number), Version: e.Version, Stored: string(e.Status), Kind: templates.Kind(e.Kind), Status: r.status(e),
		Title: r.title(asked), Agent: r.agent(e.Agent), Due: e.DueAt,
		Problem: r.text(asked, "context.problem", asked.Context.Problem), Ask: r.text(asked, "question", asked.Question),
		Other: asked.Allows(escalation.Respond) && e.Kind != escalation.KindInput,
	}
	_, q.ProblemOurs = asked.Sentences["context.problem"]
	for _, f := range asked.Facts {
		fact := templates.Fact{Label: f.Label, Value: f.Value, Confirmed: f.Confirmed}
		if f.Call != nil {
			fact.URL = callURL(*f.Call)
		}
		q.Facts = append(q.Facts, fact)
	}
	for _, t := range asked.Tables {
		q.Tables = append(q.Tables, table(t))
	}
	switch e.Kind {
	case escalation.KindApproval:
		q.Options = r.approval(asked)
	case escalation.KindInput:
		q.Form = r.fields(asked.ResponseSchema, nil, valuePrefix)
	default:
		q.Options = r.options(asked)
	}
	return q
}

// soFar is what was done and what failed before the question, from the log. The
// tool is named in the server's words, what it was for in the agent's.
func (r reader) soFar(q *templates.Question, c escalation.Context, t *timeline, exact bool) {
	step := func(l escalation.Line) templates.Step {
		s := templates.Step{Text: r.line(l), URL: callURL(l.Call)}
		if t == nil {
			return s
		}
		p, known := t.plans[l.Call.N]
		if !known {
			return s
		}
		if title, sentence := t.describe(p.Call); title != sentence {
			s.Text, s.Detail = title, cut(sentence, 100)
		}
		if p.Call.Reason != "" {
			s.Said, s.Detail = cut(p.Call.Reason, 160), ""
		}
		return s
	}
	for _, l := range c.Done {
		s := step(l)
		s.Text = r.times("line.done", l.Times, s.Text)
		if l.Undone > 0 {
			s.Said, s.Detail = "", r.say("line.items_done", "n", l.Done, "of", l.Done+l.Undone)
		}
		q.Done = append(q.Done, s)
	}
	for _, l := range c.Tried {
		s := step(l)
		if n := max(l.Attempts, l.Times); n > 1 {
			q.Tried = append(q.Tried, templates.Step{Text: r.times("line.tried", n, s.Text), URL: s.URL})
		}
		s.Said, s.Detail = "", r.failing(l)
		if exact {
			s.Exact = l.Error
		}
		q.Failed = append(q.Failed, s)
	}
}

// failing is what became of a line that failed, as a whole or in part.
func (r reader) failing(l escalation.Line) string {
	if l.Undone > 0 {
		return r.say("line.items_undone", "n", l.Undone, "of", l.Done+l.Undone)
	}
	return errorWords(r.ctx, l.ErrorType).What
}

// status is how far a question is for people: an answer that is held has not
// gone out yet.
func (r reader) status(e escalation.Escalation) templates.Status {
	if e.Status == escalation.Answered && e.HeldUntil != nil && r.now.Before(*e.HeldUntil) {
		return templates.StatusHeld
	}
	return templates.Status(e.Status)
}

// text is a field of a question: the server's own sentence in the reader's
// language where it wrote it, else the agent's words as they are.
func (r reader) text(q escalation.Question, path, text string) string {
	if m, ours := q.Sentences[path]; ours {
		return m.In(r.ctx)
	}
	return text
}

// title of an approval is what would be done, in the reader's language, and what
// may have been done is a part of the server's own sentence.
func (r reader) title(q escalation.Question) string {
	a := q.ActionRequest
	if a == nil {
		return redact.Brief(r.text(q, "title", q.Title))
	}
	what := redact.Brief(r.action(*a).Sentence)
	if m, ours := q.Sentences["title"]; ours {
		return r.say(m.Key, "what", what)
	}
	return what
}

// line is what a call did, in words.
func (r reader) line(l escalation.Line) string {
	if words := r.in(l.Words); words != "" {
		return words
	}
	return l.Tool
}

// times adds how often it was, where that is worth a word.
func (r reader) times(key string, n int, text string) string {
	if n <= 1 && key == "line.done" {
		return text
	}
	return r.say(key, "text", text, "n", n)
}

// table marks the cells that differ from the others of their row.
func table(t escalation.Table) templates.Table {
	out := templates.Table{Title: t.Title, Columns: t.Columns}
	for _, row := range t.Rows {
		cells := make([]templates.Cell, len(row))
		differ := false
		for i, text := range row {
			cells[i].Text = text
			differ = differ || i > 1 && text != row[1]
		}
		for i := 1; i < len(cells) && differ; i++ {
			cells[i].Differs = true
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// ended is how a question ended without an answer; nil if it didn't.
func (r reader) ended(e escalation.Escalation) *templates.Ended {
	if !e.Status.Final() || e.Decision != nil || e.ClosedAt == nil {
		return nil
	}
	ended := &templates.Ended{At: *e.ClosedAt}
	switch e.Status {
	case escalation.Expired:
		ended.Why = r.say("ended.expired_fail")
		if e.OnExpiry == escalation.OnExpiryContinue {
			ended.Why = r.say("ended.expired_continue")
		}
	case escalation.Superseded:
		ended.Why = r.say("ended.superseded")
	default:
		ended.Why = r.say("ended.cancelled")
	}
	return ended
}

// answer is what was decided.
func (r reader) answer(d escalation.Decision, q escalation.Question) *templates.Answer {
	a := &templates.Answer{
		Letter: d.Option, OptionID: d.OptionID, Label: r.decided(d, q), Message: d.Message,
		Who: d.By.Name, Mine: r.own(d), At: d.DecidedAt, URL: templates.DecisionURL(d.ID.String()),
	}
	switch {
	case d.By.Kind == escalation.ByExpiry:
		a.Did = r.say("answer.by_default", "label", a.Label)
	case d.Type == escalation.Choose:
	case a.Mine:
		a.Did = r.say("answer.you_did", "label", a.Label)
	default:
		a.Did = r.say("answer.who_did", "who", a.Who, "label", a.Label)
	}
	if a.OptionID == "" {
		a.OptionID = string(d.Type)
	}
	if d.HeldUntil != nil {
		a.HeldUntil = *d.HeldUntil
	}
	if d.UndoneAt != nil {
		a.Undone = *d.UndoneAt
	}
	for _, filled := range []json.RawMessage{d.Values, d.EditedArgs} {
		for _, argument := range arguments(filled) {
			a.Values = append(a.Values, templates.Pair{Name: argument.Name, Value: argument.Value})
		}
	}
	return a
}

// decided is what was decided, in a few words: the chosen option's label, or
// what was done instead of choosing.
func (r reader) decided(d escalation.Decision, q escalation.Question) string {
	switch d.Type {
	case escalation.Approve:
		return r.say("decided.approve")
	case escalation.Edit:
		return r.say("decided.edit")
	case escalation.Reject:
		return r.say("decided.reject")
	case escalation.Acknowledge:
		return r.say("decided.acknowledge")
	case escalation.Respond:
		if len(d.Values) > 0 {
			return r.say("decided.values")
		}
		return r.say("decided.words")
	}
	return r.text(q, "options."+d.OptionID+".label", d.Label)
}

// role is a role in words.
func (r reader) role(role auth.Role) string {
	switch role {
	case auth.Responder:
		return r.say("role.responder")
	case auth.Supervisor:
		return r.say("role.supervisor")
	case auth.Admin:
		return r.say("role.admin")
	}
	return r.say("role.viewer")
}

// like adds how cases like this one were decided, and to each option how often
// it was chosen and, of those whose outcome is known, how often that went well:
// to be chosen often is no merit of itself.
func (r reader) like(q *templates.Question, e escalation.Escalation, similar []escalation.Decision) {
	chosen, ended, well := map[string]int{}, map[string]int{}, map[string]int{}
	for _, d := range similar {
		option, known := e.Question.Find(d.OptionID)
		letter := d.Option
		if known && d.OptionID != "" {
			chosen[option.ID]++
			if d.Outcome != nil && d.Outcome.Status != escalation.MarkApplied {
				ended[option.ID]++
				if d.Outcome.Status == escalation.MarkSucceeded {
					well[option.ID]++
				}
			}
			letter = option.Key // letters are only the order of display
		}
		q.Similar.Cases = append(q.Similar.Cases, templates.SimilarCase{
			URL: templates.DecisionURL(d.ID.String()), Letter: letter, Label: r.decided(d, *d.Question), Title: r.title(*d.Question),
			Quote: cut(d.Message, 200), Who: d.By.Name, At: d.DecidedAt,
		})
	}
	if len(similar) > 1 {
		best := ""
		for _, o := range e.Question.Options {
			if chosen[o.ID] > chosen[best] {
				best = o.ID
			}
		}
		if o, ok := e.Question.Find(best); ok && best != "" {
			q.Similar.Summary = r.say("similar.summary", "times", chosen[best], "n", len(similar), "letter", o.Key,
				"label", r.text(e.Question, "options."+o.ID+".label", o.Label))
		}
	}
	for i, o := range q.Options {
		if n := chosen[o.ID]; n > 0 && e.Kind != escalation.KindApproval {
			text := r.say("option.chosen_before", "times", n, "n", len(similar))
			if ended[o.ID] > 0 {
				text = r.say("option.chosen_outcome", "chosen", text, "well", well[o.ID], "n", ended[o.ID])
			}
			chip := templates.Chip{Icon: "history", Text: text, Tone: "human"}
			q.Options[i].Chips = append([]templates.Chip{chip}, o.Chips...)
		}
	}
}

// errorWords are the plain sentences for an error type.
func errorWords(ctx context.Context, t tools.ErrorType) i18n.Problem {
	if !t.Valid() {
		t = tools.ExecutionError
	}
	key := "error_type." + string(t)
	return i18n.Problem{What: i18n.T(ctx, key+".what"), Why: i18n.T(ctx, key+".why"), Do: i18n.T(ctx, key+".do")}
}
