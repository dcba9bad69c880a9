package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/live"
	keyset "baton/internal/page"
	"baton/internal/sessions"
	"baton/templates"
)

// region is a part of a page, by a selector, as it should look now. Regions of a
// list are its rows: a page that lacks one offers to load it.
type region struct{ selector, list, html string }

// regions are what a state topic's source knows of the pages: how each part
// looked last.
type regions struct {
	last  map[string]string
	order []region
}

// compare takes the parts as they are now, and says what has changed.
func (g *regions) compare(now []region) (ops []op) {
	next := make(map[string]string, len(now))
	for _, r := range now {
		next[r.selector] = r.html
		was, known := g.last[r.selector]
		switch {
		case !known && r.list != "" && g.last != nil:
			ops = append(ops, op{"new", r.list, r.selector})
		case was != r.html:
			ops = append(ops, op{"morph", r.selector, r.html})
		}
	}
	g.last, g.order = next, now
	return ops
}

// all is what a page lacks that comes from anywhere: everything, for where it
// is so already nothing moves.
func (g *regions) all() (ops []op) {
	for _, r := range g.order {
		if r.list != "" {
			ops = append(ops, op{"row", r.list, r.selector, r.html})
			continue
		}
		ops = append(ops, op{"morph", r.selector, r.html})
	}
	return ops
}

// inboxSource shows the list of questions that wait.
type inboxSource struct {
	regions
	site *site
	r    reader
}

func (s *inboxSource) interest() ([]live.Object, []live.Kind) {
	return nil, []live.Kind{live.Escalations}
}

func (s *inboxSource) advance(ctx context.Context, _ []live.Object, _ bool) (wireFrame, error) {
	r := s.r
	r.ctx, r.now = ctx, time.Now()
	list, more, err := s.site.openQuestions(r, escalation.Cursor{})
	if err != nil {
		return wireFrame{}, err
	}
	n, err := s.site.Escalations.Counts(ctx, r.actor)
	if err != nil {
		return wireFrame{}, err
	}
	counts := counted{n}
	f := templates.Frame{Waiting: counts.open(), Now: r.now.Truncate(time.Minute)}
	html, err := fragment(ctx, templates.QueueList(f, r.queue(counts, viewOpen, list, id.Escalation{}, more)))
	return wireFrame{Ops: s.compare([]region{{selector: "#queue", html: html}})}, err
}

func (s *inboxSource) since(*view) (wireFrame, error) { return wireFrame{Ops: s.all()}, nil }

// countsSource shows in the frame of every page how many questions wait.
type countsSource struct {
	regions
	site *site
	r    reader
}

func (s *countsSource) interest() ([]live.Object, []live.Kind) {
	return nil, []live.Kind{live.Escalations}
}

func (s *countsSource) advance(ctx context.Context, _ []live.Object, _ bool) (wireFrame, error) {
	n, err := s.site.Escalations.Counts(ctx, s.r.actor)
	if err != nil {
		return wireFrame{}, err
	}
	html, err := fragment(ctx, templates.WaitingCount(counted{n}.open()))
	return wireFrame{Ops: s.compare([]region{{selector: "[data-waiting]", html: html}})}, err
}

func (s *countsSource) since(*view) (wireFrame, error) { return wireFrame{Ops: s.all()}, nil }

// sessionsSource shows the rows of the list of sessions.
type sessionsSource struct {
	regions
	site *site
	r    reader
}

func (s *sessionsSource) interest() ([]live.Object, []live.Kind) {
	return nil, []live.Kind{live.Sessions}
}

func (s *sessionsSource) advance(ctx context.Context, _ []live.Object, _ bool) (wireFrame, error) {
	r := s.r
	r.ctx, r.now = ctx, time.Now()
	list, err := s.site.Sessions.List(ctx, r.actor, sessions.Filter{Limit: keyset.DefaultLimit})
	if err != nil {
		return wireFrame{}, err
	}
	asked, err := s.site.asked(r)
	if err != nil {
		return wireFrame{}, err
	}
	rows, err := s.site.sessionRows(r, list, asked)
	if err != nil {
		return wireFrame{}, err
	}
	now := make([]region, len(rows))
	for i, row := range rows {
		html, err := fragment(ctx, templates.SessionItem(row))
		if err != nil {
			return wireFrame{}, fmt.Errorf("draw session %s: %w", row.ID, err)
		}
		now[i] = region{selector: "#session-" + row.ID, list: "session-rows", html: html}
	}
	return wireFrame{Ops: s.compare(now)}, nil
}

func (s *sessionsSource) since(*view) (wireFrame, error) { return wireFrame{Ops: s.all()}, nil }

// questionSource says on a question's page what has become of the question. What
// the reader is writing is left alone.
type questionSource struct {
	regions
	site *site
	r    reader
	esc  id.Escalation
}

func (s *questionSource) interest() ([]live.Object, []live.Kind) {
	return []live.Object{live.Of(s.esc)}, nil
}

func (s *questionSource) advance(ctx context.Context, _ []live.Object, _ bool) (wireFrame, error) {
	r := s.r
	r.ctx, r.now = ctx, time.Now()
	e, err := s.site.Escalations.Get(ctx, r.actor, s.esc)
	if err != nil {
		return wireFrame{}, err
	}
	news := templates.News{Version: e.Version, Status: string(e.Status)}
	switch {
	case e.Decision != nil:
		a := r.answer(*e.Decision, e.Question)
		news.Text = r.say("answer.who_did", "who", a.Who, "label", a.Label)
		if a.Letter != "" {
			news.Text = r.say("answer.who", "who", a.Who, "letter", a.Letter, "label", a.Label)
		}
		news.Said = a.Message
	case e.Status == escalation.Pending:
		news.Text = r.say("news.waits_again")
	default:
		news.Text, _ = r.note(e)
	}
	news.Text = strings.TrimSpace(news.Text)
	html, err := fragment(ctx, templates.QuestionNews(news))
	return wireFrame{Ops: s.compare([]region{{selector: "#question-news", html: html}})}, err
}

func (s *questionSource) since(*view) (wireFrame, error) { return wireFrame{Ops: s.all()}, nil }
