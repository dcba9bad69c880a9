package web

import (
	"context"
	"fmt"
	"time"

	"github.com/a-h/templ"

	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/live"
	"baton/templates"
)

// sessionSource folds a session's events as its page does, and says after each
// look which rows and parts of the page are others now. Its frames carry the
// numbers of the events that they tell of: a page that has seen them knows it.
type sessionSource struct {
	site  *site
	r     reader
	agent definition.Version
	fold  *timeline
	parts map[string]string // of the page, as they were sent last
}

// openSession begins a fold where the page's rows begin.
func (s *site) openSession(r reader, session id.Session, key feedKey) (*sessionSource, error) {
	v, err := s.Sessions.Get(r.ctx, r.actor, session)
	if err != nil {
		return nil, err
	}
	agent, err := s.version(r.ctx, v.Agent)
	if err != nil {
		return nil, err
	}
	t := s.newTimeline(r, v, agent)
	t.technical = key.view == viewTechnical && r.seesExact(v.Team)
	t.seq = key.after
	return &sessionSource{site: s, r: r, agent: agent, fold: t, parts: map[string]string{}}, nil
}

func (s *sessionSource) interest() ([]live.Object, []live.Kind) {
	return []live.Object{live.Of(s.fold.session.ID)}, nil
}

func (s *sessionSource) advance(ctx context.Context, _ []live.Object, _ bool) (wireFrame, error) {
	r := s.r
	r.ctx, r.now = ctx, time.Now()
	t := s.fold
	t.r = r
	v, err := s.site.Sessions.Get(ctx, r.actor, t.session.ID)
	if err != nil {
		return wireFrame{}, err
	}
	before, scale := t.seq, t.chart.scale
	if v.LastSeq > before {
		if err := s.site.tellFrom(t, before, v.LastSeq); err != nil {
			return wireFrame{}, err
		}
	}
	t.session = v
	t.until(r.now)
	questions, err := s.site.Escalations.ForSession(ctx, r.actor, v.ID)
	if err != nil {
		return wireFrame{}, err
	}
	w := wireFrame{From: before + 1, To: t.seq}
	if t.seq == before {
		w.From = t.seq // nothing new happened; what happened before has gone on
	}
	if w.Ops, err = s.rows(ctx, before, scale); err != nil {
		return w, err
	}
	draft, err := s.site.Sessions.Draft(ctx, r.actor, v)
	if err != nil {
		return wireFrame{}, err
	}
	part := r.sessionPart(v, s.agent, t, questions)
	part.Draft = draft.Text
	changed, err := s.changed(ctx, s.components(part))
	w.Ops = append(w.Ops, changed...)
	return w, err
}

// rows are the rows that events after seq changed, each with its place.
func (s *sessionSource) rows(ctx context.Context, seq int64, scale time.Duration) (ops []op, err error) {
	for _, c := range s.fold.rowsSince(seq, scale) {
		html, err := fragment(ctx, templates.EventRow(c.Event, s.fold.technical))
		if err != nil {
			return nil, fmt.Errorf("draw row %s: %w", c.Event.ID, err)
		}
		ops = append(ops, op{"put", "events", c.Event.ID, c.After, html})
	}
	return ops, nil
}

type component struct {
	id string
	templ.Component
}

func (s *sessionSource) components(p templates.Session) []component {
	list := []component{
		{"session-head", templates.SessionHead(p)}, {"session-controls", templates.SessionControls(p)},
		{"session-now", templates.SessionNow(p)}, {"session-draft", templates.SessionDraft(p)},
	}
	if p.Technical {
		list = append(list, component{"session-axis", templates.SessionAxis(p.Axis)})
	}
	return list
}

// changed are the parts that are others than they were.
func (s *sessionSource) changed(ctx context.Context, list []component) (ops []op, err error) {
	for _, c := range list {
		html, err := fragment(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("draw %s: %w", c.id, err)
		}
		if s.parts[c.id] != html {
			s.parts[c.id] = html
			ops = append(ops, op{"morph", "#" + c.id, html})
		}
	}
	return ops, nil
}

// since brings a page up to date: the rows that it lacks, and all parts.
func (s *sessionSource) since(v *view) (wireFrame, error) {
	w := wireFrame{From: v.seq + 1, To: s.fold.seq}
	if v.seq > s.fold.seq {
		// The page knows more than there is: the database went back in time.
		return wireFrame{Ops: []op{{"resync"}}}, nil
	}
	var err error
	if w.Ops, err = s.rows(s.fold.r.ctx, v.seq, v.scale); err != nil {
		return w, err
	}
	if v.seq == s.fold.seq {
		w.From = w.To
	}
	for name, html := range s.parts {
		w.Ops = append(w.Ops, op{"morph", "#" + name, html})
	}
	return w, nil
}
