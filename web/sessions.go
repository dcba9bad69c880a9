package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/jobs"
	keyset "baton/internal/page"
	"baton/internal/problem"
	"baton/internal/sessions"
	"baton/templates"
)

const (
	sessionList = "sessions"
	titleMost   = 120 // characters of a task that stand as a title
	// manyWaiting is how many questions are looked at for what sessions wait for.
	manyWaiting = 200
)

// listSessions lists what agents work on and have worked on, newest first.
func (s *site) listSessions(c echo.Context) error {
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	f := sessions.Filter{Status: sessions.Status(c.QueryParam("status")), Limit: keyset.DefaultLimit + 1}
	views, known := r.sessionViews(f.Status)
	if !known {
		return problem.New(problem.NotFound, "not_found", nil)
	}
	position, err := keyset.Position(sessionList, c.QueryParam("cursor"))
	if err != nil {
		return err
	}
	if position != "" {
		if f.Before, err = id.Parse[id.Session](position); err != nil || f.Before.IsZero() {
			return keyset.Invalid()
		}
	}
	list, err := s.Sessions.List(r.ctx, r.actor, f)
	if err != nil {
		return err
	}
	p := templates.SessionsPage{Frame: s.frame(c, templates.SectionSessions, word(c, "sessions.title")), Views: views}
	if len(list) > keyset.DefaultLimit {
		list = list[:keyset.DefaultLimit]
		query := url.Values{"cursor": {keyset.Cursor(sessionList, list[len(list)-1].ID.String())}}
		if f.Status != "" {
			query.Set("status", string(f.Status))
		}
		p.More = templates.SessionsURL + "?" + query.Encode()
	}
	asked, err := s.asked(r)
	if err != nil {
		return err
	}
	if p.Rows, err = s.sessionRows(r, list, asked); err != nil {
		return err
	}
	running, err := s.Sessions.CountRunning(r.ctx, r.actor)
	if err != nil {
		return err
	}
	for i := range p.Views {
		switch p.Views[i].URL {
		case statusURL(sessions.Running):
			p.Views[i].Count, p.Views[i].AndMore = running, running == sessions.RunningMost
		case statusURL(sessions.Waiting):
			p.Views[i].Count, p.Views[i].AndMore = len(asked.titles), asked.all == manyWaiting
		}
	}
	p.Live = position == "" && f.Status == ""
	return page(c, http.StatusOK, templates.Sessions(p))
}

// sessionRows are the rows of sessions in a list.
func (s *site) sessionRows(r reader, list []sessions.Session, asked askedBy) (rows []templates.SessionRow, err error) {
	ids := make([]id.Session, len(list))
	for i, v := range list {
		ids[i] = v.ID
	}
	glances, err := s.Sessions.Glances(r.ctx, r.actor, ids)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		agent, err := s.version(r.ctx, v.Agent)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r.sessionRow(v, agent, asked.titles[v.ID], glances[v.ID]))
	}
	return rows, nil
}

// sessionViews are the tabs over the list, and whether a status is one of them.
func (r reader) sessionViews(status sessions.Status) (views []templates.View, known bool) {
	for _, v := range []struct {
		status sessions.Status
		label  string
	}{
		{"", r.say("sessions.view_all")}, {sessions.Running, r.say("status.running")}, {sessions.Waiting, r.say("status.waiting")},
		{sessions.Paused, r.say("status.paused")}, {sessions.Failed, r.say("status.failed")}, {sessions.Completed, r.say("status.completed")},
	} {
		view := templates.View{Label: v.label, URL: statusURL(v.status), Current: v.status == status}
		known = known || view.Current
		views = append(views, view)
	}
	return views, known || status == sessions.Queued || status == sessions.Cancelled
}

// statusURL is the list of the sessions with a status; empty for all.
func statusURL(status sessions.Status) string {
	if status == "" {
		return templates.SessionsURL
	}
	return templates.SessionsURL + "?" + url.Values{"status": {string(status)}}.Encode()
}

// askedBy is what sessions wait for.
type askedBy struct {
	titles map[id.Session]string // of their first open question
	all    int                   // open questions that were looked at
}

// asked are the questions that sessions wait for.
func (s *site) asked(r reader) (askedBy, error) {
	by := askedBy{titles: map[id.Session]string{}}
	open, err := s.Escalations.List(r.ctx, r.actor, escalation.Filter{Status: escalation.Pending, Limit: manyWaiting})
	if err != nil {
		return by, err
	}
	by.all = len(open)
	for _, e := range open {
		if !e.Session.IsZero() && by.titles[e.Session] == "" {
			by.titles[e.Session] = r.title(e.Question)
		}
	}
	return by, nil
}

// sessionRow is a session in the list.
func (r reader) sessionRow(v sessions.Session, agent definition.Version, asks string, glance sessions.Glance) templates.SessionRow {
	row := templates.SessionRow{
		ID: v.ID.String(), Running: !v.Status.Ended(), State: r.sessionState(v), Title: firstLine(v.Task, titleMost), Agent: r.agent(v.Agent.Slug),
		Calls: r.meter("", "", int64(v.Calls), agent.Agent.Budgets.Calls, r.number), Cost: r.money(v.CostMicros), Free: v.CostMicros == 0,
		Started: v.CreatedAt, Took: r.took(v),
	}
	switch {
	case v.Status.Ended() && v.Summary != "":
		row.Doing = firstLine(v.Summary, titleMost)
	case v.Status == sessions.Failed:
		row.Doing = r.failure(v.Failure, false).What
	case v.Status == sessions.Running:
		row.Doing = firstLine(glance.Said, titleMost)
		if row.Doing == "" {
			row.Doing = glance.Tool
		}
	case !v.Status.Ended():
		row.Doing = asks
	}
	for _, c := range []struct {
		n          int
		key        string
		icon, tone string
	}{
		{glance.Failed, "sessions.failed", "circle-x", "bad"},
		{glance.Retries, "sessions.retries", "repeat", "warn"},
		{glance.Stopped, "sessions.stopped", "octagon-alert", "warn"},
	} {
		if v.Outcome == sessions.Done {
			c.tone = "" // it got past them
		}
		if c.n > 0 {
			row.Problems = append(row.Problems, templates.Chip{Icon: c.icon, Tone: c.tone, Text: r.say(c.key, "n", c.n)})
		}
	}
	return row
}

// took is how long a session has been there, waiting for people counted.
func (r reader) took(v sessions.Session) time.Duration {
	if v.EndedAt != nil {
		return v.EndedAt.Sub(v.CreatedAt)
	}
	return max(r.now.Sub(v.CreatedAt), 0)
}

// sessionState is how a session is, in a word.
func (r reader) sessionState(v sessions.Session) templates.Chip {
	switch v.Status {
	case sessions.Queued:
		return templates.Chip{Icon: "circle-dashed", Text: r.say("status.queued")}
	case sessions.Running:
		return templates.Chip{Icon: "circle-dot", Text: r.say("status.running"), Tone: "agent"}
	case sessions.Waiting:
		if v.OpenQuestions == 0 { // all answered; the last answer is held
			return templates.Chip{Icon: "timer", Text: r.say("question.going_out"), Tone: "warn"}
		}
		return templates.Chip{Icon: "hand", Text: r.say("status.waiting"), Tone: "human"}
	case sessions.Paused:
		return templates.Chip{Icon: "circle-pause", Text: r.say("status.paused")}
	case sessions.Failed:
		return templates.Chip{Icon: "circle-x", Text: r.say("status.failed"), Tone: "bad"}
	case sessions.Cancelled:
		return templates.Chip{Icon: "ban", Text: r.say("status.cancelled")}
	}
	switch v.Outcome {
	case sessions.Partly:
		return templates.Chip{Icon: "circle-alert", Text: r.say("outcome.partly"), Tone: "warn"}
	case sessions.Unable:
		return templates.Chip{Icon: "circle-x", Text: r.say("outcome.unable"), Tone: "bad"}
	case sessions.Unverified:
		return templates.Chip{Icon: "triangle-alert", Text: r.say("outcome.unverified"), Tone: "warn"}
	}
	return templates.Chip{Icon: "circle-check", Text: r.say("status.completed"), Tone: "ok"}
}

// meter is how much of a budget is used; a limit of 0 is none.
func (r reader) meter(icon, label string, used, limit int64, write func(int64) string) templates.Meter {
	m := templates.Meter{Icon: icon, Label: label, Used: write(used)}
	if limit > 0 {
		m.Limit, m.Share = write(limit), float64(used)/float64(limit)
	}
	return m
}

func (r reader) number(n int64) string  { return i18n.Number(r.ctx, n) }
func (r reader) compact(n int64) string { return i18n.Compact(r.ctx, n) }
func (r reader) span(ns int64) string   { return i18n.Span(r.ctx, time.Duration(ns)) }

// money writes millionths of a dollar, to the cent; what is less than a cent
// and more than nothing, to the last digit.
func (r reader) money(micros int64) string {
	cents := (micros + 5_000) / 10_000
	if cents == 0 && micros > 0 {
		digits := strings.TrimRight(decimal(micros, 6), "0")
		return i18n.Money(r.ctx, digits, "USD")
	}
	return i18n.Money(r.ctx, decimal(cents, 2), "USD")
}

// control makes the handler of a verb that stops a session or lets it go on.
func (s *site) control(verb func(context.Context, auth.Actor, *jobs.Inserter, id.Session) (sessions.Session, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		session, err := sessionAt(c)
		if err != nil {
			return err
		}
		if err := readForm(c); err != nil {
			return err
		}
		if _, err := verb(c.Request().Context(), actorOf(c), s.Inserter, session); err != nil {
			return err
		}
		return c.Redirect(http.StatusSeeOther, templates.SessionURL(session.String()))
	}
}

// allow tells the agent that it may go on with what it was kept from. As any
// words of a person do, that gives its tools back.
func (s *site) allow(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, session id.Session) (sessions.Session, error) {
	return s.Sessions.Message(ctx, actor, inserter, session, i18n.T(ctx, "rest.allow_words"))
}

// sessionAt is the session that the address names.
func sessionAt(c echo.Context) (id.Session, error) {
	session, err := id.Parse[id.Session](c.Param("id"))
	if err != nil || session.IsZero() {
		return session, problem.New(problem.NotFound, "session_not_found", nil)
	}
	return session, nil
}
