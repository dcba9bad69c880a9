package web

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/a-h/templ"

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

// stateSource draws a topic as it is now, and sends what looks different from
// the last time.
type stateSource struct {
	objects []live.Object
	kinds   []live.Kind
	r       reader
	draw    func(reader) ([]region, error)

	last  map[string]string // how each region looked, by its selector, clocks left out
	order []region
}

func (s *stateSource) interest() ([]live.Object, []live.Kind) { return s.objects, s.kinds }

func (s *stateSource) advance(ctx context.Context, _ []live.Object, _ bool) (wireFrame, error) {
	r := s.r
	r.ctx, r.now = ctx, time.Now()
	now, err := s.draw(r)
	if err != nil {
		return wireFrame{}, err
	}
	return wireFrame{Ops: s.compare(now)}, nil
}

func (s *stateSource) since(*view) (wireFrame, error) { return wireFrame{Ops: s.all()}, nil }

// counting is the text of a clock that a page moves on by itself.
var counting = regexp.MustCompile(`(data-show="(?:since|left)">)[^<]*`)

// compare takes the parts as they are now, and says what has changed. That time
// has passed is no change.
func (s *stateSource) compare(now []region) (ops []op) {
	next := make(map[string]string, len(now))
	for _, r := range now {
		looks := counting.ReplaceAllString(r.html, "$1")
		next[r.selector] = looks
		was, known := s.last[r.selector]
		switch {
		case !known && r.list != "" && s.last != nil:
			ops = append(ops, op{"new", r.list, r.selector})
		case was != looks:
			ops = append(ops, op{"morph", r.selector, r.html})
		}
	}
	s.last, s.order = next, now
	return ops
}

// all is what a page lacks that comes from anywhere: everything, for where it
// is so already nothing moves.
func (s *stateSource) all() (ops []op) {
	for _, r := range s.order {
		if r.list != "" {
			ops = append(ops, op{"row", r.list, r.selector, r.html})
			continue
		}
		ops = append(ops, op{"morph", r.selector, r.html})
	}
	return ops
}

// drawInbox is the list of questions that wait.
func (s *site) drawInbox(r reader) ([]region, error) {
	list, more, err := s.openQuestions(r, escalation.Cursor{})
	if err != nil {
		return nil, err
	}
	n, err := s.Escalations.Counts(r.ctx, r.actor)
	if err != nil {
		return nil, err
	}
	counts := counted{n}
	f := templates.Frame{Waiting: counts.open(), Now: r.now.Truncate(time.Minute)}
	p := templates.InboxPage{Frame: f, Live: true, Queue: r.queue(counts, viewOpen, list, id.Escalation{}, more)}
	if len(list) == 0 {
		if p.Day, err = s.day(r); err != nil {
			return nil, err
		}
	}
	return drawn(r.ctx, []part{
		{"#queue", templates.QueueList(p.Frame, p.Queue)},
		{"#queue-rest", templates.QueueRest(p)},
		{"#inbox-rest", templates.InboxRest(p)},
	})
}

// part is a region of a page before it is drawn.
type part struct {
	selector string
	content  templ.Component
}

func drawn(ctx context.Context, parts []part) ([]region, error) {
	regions := make([]region, len(parts))
	for i, p := range parts {
		html, err := fragment(ctx, p.content)
		if err != nil {
			return nil, err
		}
		regions[i] = region{selector: p.selector, html: html}
	}
	return regions, nil
}

// drawCounts is how many questions wait, in the frame of every page.
func (s *site) drawCounts(r reader) ([]region, error) {
	n, err := s.Escalations.Counts(r.ctx, r.actor)
	if err != nil {
		return nil, err
	}
	html, err := fragment(r.ctx, templates.WaitingCount(counted{n}.open()))
	return []region{{selector: "[data-waiting]", html: html}}, err
}

// drawSessions are the rows of the newest sessions.
func (s *site) drawSessions(r reader) ([]region, error) {
	list, err := s.Sessions.List(r.ctx, r.actor, sessions.Filter{Limit: keyset.DefaultLimit})
	if err != nil {
		return nil, err
	}
	asked, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	rows, err := s.sessionRows(r, list, asked)
	if err != nil {
		return nil, err
	}
	now := make([]region, len(rows))
	for i, row := range rows {
		html, err := fragment(r.ctx, templates.SessionItem(row))
		if err != nil {
			return nil, fmt.Errorf("draw session %s: %w", row.ID, err)
		}
		now[i] = region{selector: "#session-" + row.ID, list: "session-rows", html: html}
	}
	return now, nil
}

// drawNews is what has become of a question, for who has it open. What they are
// writing is left alone.
func (s *site) drawNews(r reader, esc id.Escalation) ([]region, error) {
	e, err := s.Escalations.Get(r.ctx, r.actor, esc)
	if err != nil {
		return nil, err
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
	html, err := fragment(r.ctx, templates.QuestionNews(news))
	return []region{{selector: "#question-news", html: html}}, err
}
