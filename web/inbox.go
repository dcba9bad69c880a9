package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/escalation"
	"baton/internal/id"
	keyset "baton/internal/page"
	"baton/internal/problem"
	"baton/templates"
)

// The views of the inbox.
const (
	viewOpen     = ""
	viewGoingOut = "going-out" // answers that can still be taken back
	viewDone     = "done"
)

// inbox shows the questions that wait, those whose answers are going out, or
// those that are over.
func (s *site) inbox(c echo.Context) error {
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	view := c.QueryParam("view")
	after, err := questionCursor(view, c.QueryParam("cursor"))
	if err != nil {
		return err
	}
	var list []escalation.Escalation
	var more string
	switch view {
	case viewOpen:
		list, more, err = s.openQuestions(r, after)
	case viewGoingOut, viewDone:
		list, more, err = s.closedQuestions(r, view, after)
	default:
		return problem.New(problem.NotFound, "not_found", nil)
	}
	if err != nil {
		return err
	}
	f := s.frame(c, templates.SectionInbox, word(c, "inbox.title"))
	if f.Toasts, err = s.answered(c, r); err != nil {
		return err
	}
	p := templates.InboxPage{Frame: f, Live: view == viewOpen && after == escalation.Cursor{}, Queue: r.queue(s.counts(c), view, list, id.Escalation{}, more)}
	if p.Live && len(list) == 0 {
		if p.Day, err = s.day(r); err != nil {
			return err
		}
	}
	switch view {
	case viewGoingOut:
		p.Rest, p.RestText = r.say("inbox.going_out"), r.say("inbox.going_out_why")
	case viewDone:
		p.Rest, p.RestText = r.say("inbox.done"), r.say("inbox.done_why")
	}
	return page(c, http.StatusOK, templates.Inbox(p))
}

// day says what went on in the last 24 hours, as far as there was anything.
func (s *site) day(r reader) (sentences []string, err error) {
	since := r.now.Add(-24 * time.Hour)
	completed, started, err := s.Sessions.CountSince(r.ctx, r.actor, since)
	if err != nil {
		return nil, err
	}
	if completed > 0 {
		sentences = append(sentences, r.say("inbox.day_sessions", "done", completed, "n", started))
	}
	answered, err := s.Escalations.CountDecisions(r.ctx, r.actor, since)
	if err != nil {
		return nil, err
	}
	if answered > 0 {
		sentences = append(sentences, r.say("inbox.day_answers", "n", answered))
	}
	return sentences, nil
}

// openQuestions reads a page of the questions that wait, in the order in which
// they are due, and the address of the next page.
func (s *site) openQuestions(r reader, after escalation.Cursor) ([]escalation.Escalation, string, error) {
	list, err := s.Escalations.List(r.ctx, r.actor, escalation.Filter{Status: escalation.Pending, After: after, Limit: keyset.DefaultLimit + 1})
	if err != nil {
		return nil, "", err
	}
	return cutPage(viewOpen, list)
}

// closedQuestions reads a page of the questions of another view, newest first.
// Those of the list that belong elsewhere are few, so it reads on past them.
func (s *site) closedQuestions(r reader, view string, after escalation.Cursor) ([]escalation.Escalation, string, error) {
	f := escalation.Filter{After: after, Limit: keyset.DefaultLimit + 1}
	if view == viewGoingOut {
		f.Status = escalation.Answered
	}
	var found []escalation.Escalation
	for len(found) <= keyset.DefaultLimit {
		list, err := s.Escalations.List(r.ctx, r.actor, f)
		if err != nil {
			return nil, "", err
		}
		for _, e := range list {
			if e.Status != escalation.Pending && (view == viewGoingOut) == (r.status(e) == templates.StatusHeld) {
				found = append(found, e)
			}
		}
		if len(list) < f.Limit {
			break
		}
		f.After = list[len(list)-1].Cursor()
	}
	return cutPage(view, found)
}

func cutPage(view string, list []escalation.Escalation) ([]escalation.Escalation, string, error) {
	if len(list) <= keyset.DefaultLimit {
		return list, "", nil
	}
	list = list[:keyset.DefaultLimit]
	at := list[len(list)-1].Cursor()
	position := at.DueAt.UTC().Format(time.RFC3339Nano) + " " + at.ID.String()
	query := url.Values{"cursor": {keyset.Cursor(listName(view), position)}}
	if view != viewOpen {
		query.Set("view", view)
	}
	return list, templates.InboxURL + "?" + query.Encode(), nil
}

func listName(view string) string { return "inbox" + view }

func questionCursor(view, cursor string) (after escalation.Cursor, err error) {
	position, err := keyset.Position(listName(view), cursor)
	if err != nil || position == "" {
		return after, err
	}
	due, name, _ := strings.Cut(position, " ")
	if after.DueAt, err = time.Parse(time.RFC3339Nano, due); err != nil {
		return after, keyset.Invalid()
	}
	if after.ID, err = id.Parse[id.Escalation](name); err != nil || after.ID.IsZero() {
		return after, keyset.Invalid()
	}
	return after, nil
}

// queue is a list of questions in groups.
func (r reader) queue(counts counted, view string, list []escalation.Escalation, current id.Escalation, more string) templates.Queue {
	q := templates.Queue{More: more, Views: []templates.View{
		{Label: r.say("inbox.view_open"), Count: counts.open(), URL: templates.InboxURL, Current: view == viewOpen},
		{Label: r.say("inbox.view_going_out"), Count: counts.GoingOut, URL: templates.InboxURL + "?view=" + viewGoingOut, Current: view == viewGoingOut},
		{Label: r.say("inbox.view_done"), URL: templates.InboxURL + "?view=" + viewDone, Current: view == viewDone},
	}}
	if view != viewOpen {
		g := templates.QueueGroup{}
		for _, e := range list {
			item := r.item(e, current)
			item.Read = true
			item.Note, item.Icon = r.note(e)
			g.Items = append(g.Items, item)
		}
		q.Groups = []templates.QueueGroup{g}
		return q
	}
	// The list comes in this order already.
	q.Groups = []templates.QueueGroup{{Title: r.say("inbox.overdue")}, {Title: r.say("inbox.soon")}, {Title: r.say("inbox.later")}}
	for _, e := range list {
		group := 2
		switch left := e.DueAt.Sub(r.now); {
		case left < 0:
			group = 0
		case left < 24*time.Hour:
			group = 1
		}
		q.Groups[group].Items = append(q.Groups[group].Items, r.item(e, current))
	}
	return q
}

func (r reader) item(e escalation.Escalation, current id.Escalation) templates.QueueItem {
	return templates.QueueItem{
		URL: templates.EscalationURL(e.ID.String()), Kind: templates.Kind(e.Kind), Title: r.title(e.Question), Agent: r.agent(e.Agent),
		Reason: r.say("inbox.team", "team", e.TeamSlug), Due: e.DueAt, Read: e.SeenAt != nil, Current: e.ID == current,
	}
}

// note says what has become of a question, with a picture.
func (r reader) note(e escalation.Escalation) (text, icon string) {
	switch {
	case e.Decision != nil && e.Decision.By.Kind == escalation.ByExpiry, e.Status == escalation.Expired:
		return r.say("question.expired"), "clock"
	case e.Decision == nil && e.Status == escalation.Superseded:
		return r.say("question.superseded"), "repeat"
	case e.Decision == nil:
		return r.say("question.withdrawn"), "ban"
	}
	icon = "circle-check"
	switch r.status(e) {
	case templates.StatusHeld:
		icon = "timer"
	case templates.StatusFailed:
		icon = "circle-x"
	}
	if e.Decision.Option == "" {
		return e.Decision.By.Name, icon
	}
	return r.say("inbox.answered", "letter", e.Decision.Option, "who", e.Decision.By.Name), icon
}

// counted are the numbers of questions that the reader can act on.
type counted struct{ escalation.Counts }

// open is how many wait, notices too.
func (c counted) open() int { return c.Waiting + c.Notices }

// counts reads them once for each request. A page is worth showing without
// them, so a fault only goes to the log.
func (s *site) counts(c echo.Context) counted {
	a := about(c)
	if a.counts == nil {
		a.counts = &counted{}
		if s.Escalations != nil && a.actor.SignedIn() {
			n, err := s.Escalations.Counts(c.Request().Context(), a.actor)
			if err != nil {
				s.Log.WarnContext(c.Request().Context(), "questions not counted", "request_id", a.id, "error", err)
			}
			a.counts.Counts = n
		}
	}
	return *a.counts
}
