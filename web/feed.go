package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/websocket"

	"baton/internal/auth"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/live"
	"baton/internal/problem"
)

// Bounds of what a feed keeps for viewers who are a little behind. Who is
// further behind is brought up to date from the feed's state, by a frame of
// their own.
const (
	framesKept = 64
	bytesKept  = 1 << 20
	// coalesce is how long changes are collected after a frame; the first one
	// after a pause goes out at once.
	coalesce = 50 * time.Millisecond
	// opsMost in a frame that brings one viewer up to date; beyond it the page
	// loads anew.
	opsMost = 2000
)

// feedKey tells feeds apart: viewers with equal keys see the same.
type feedKey struct {
	topic, view, rights string
	language            i18n.Language
	after               int64
}

// op is one change to a page: its name, then what it needs.
type op []any

// frame is what a feed made of some changes, ready to be written.
type frame struct {
	to      int64 // of a log topic, the last event that it tells of
	bytes   int
	message *websocket.PreparedMessage
}

// wireFrame is a frame as it is sent.
type wireFrame struct {
	Topic string `json:"t"`
	From  int64  `json:"from,omitempty"`
	To    int64  `json:"to,omitempty"`
	Ops   []op   `json:"ops"`
}

// source reads a topic and says how a page has to change. A source belongs to
// its feed, which calls it from one goroutine at a time.
type source interface {
	// interest is whose hints it waits for.
	interest() ([]live.Object, []live.Kind)
	// advance reads what is new; no ops, nothing is.
	advance(ctx context.Context, changed []live.Object, anything bool) (wireFrame, error)
	// since is what a page lacks that has what v says.
	since(v *view) (wireFrame, error)
}

// feed makes the frames of one topic for all its viewers.
type feed struct {
	key  feedKey
	site *site
	sub  *live.Subscription
	stop context.CancelFunc

	mu      sync.Mutex // of all below, and of the source
	source  source
	viewers map[*view]struct{}
	over    bool // it has ended with its last viewer
	frames  []frame
	kept    int   // bytes in frames
	made    int64 // frames so far: the positions of viewers who are up to date
}

// view is a socket's sight of a topic: how far its page is. The feed's lock is
// its lock.
type view struct {
	socket *socket
	feed   *feed

	seq   int64
	scale time.Duration
	fresh bool  // nothing was sent yet: seq and scale are the page's word
	at    int64 // the feed's count of frames, up to which it has all
}

// rightsKey is equal for people who may see and do the same.
func rightsKey(a auth.Actor) string {
	teams := slices.SortedFunc(maps.Keys(a.Roles), func(x, y id.Team) int { return cmp.Compare(x.String(), y.String()) })
	var b strings.Builder
	for _, t := range teams {
		fmt.Fprintf(&b, "%s:%s ", t.Digits(), a.Roles[t])
	}
	fmt.Fprint(&b, a.Operator)
	return b.String()
}

// feedOf is the feed of the topic that a message names, if the actor may see
// it. Problems: those of reading it, topic_unknown.
func (s *site) feedOf(ctx context.Context, actor auth.Actor, m pageMessage) (*feed, error) {
	key := feedKey{topic: m.Topic, rights: rightsKey(actor), language: i18n.Of(ctx)}
	kind, name, _ := strings.Cut(m.Topic, ":")
	var open func(reader) (source, error)
	switch {
	case kind == "session" && name != "":
		session, err := id.Parse[id.Session](name)
		if err != nil || session.IsZero() {
			return nil, problem.New(problem.NotFound, "session_not_found", nil)
		}
		// Asked for each viewer, also where there is a feed already.
		v, err := s.Sessions.Get(ctx, actor, session)
		if err != nil {
			return nil, err
		}
		if m.View == viewTechnical {
			key.view = viewTechnical
		}
		key.after = min(max(m.After, 0), v.LastSeq)
		if window(v.LastSeq)-key.after > 2*eventsShown {
			return nil, problem.New(problem.Gone, "resync", nil) // the page is too old
		}
		open = func(r reader) (source, error) { return s.openSession(r, session, key) }
	case kind == "escalation" && name != "":
		esc, err := id.Parse[id.Escalation](name)
		if err != nil || esc.IsZero() {
			return nil, problem.New(problem.NotFound, "escalation_not_found", nil)
		}
		if _, err := s.Escalations.Get(ctx, actor, esc); err != nil {
			return nil, err
		}
		open = state([]live.Object{live.Of(esc)}, nil, func(r reader) ([]region, error) { return s.drawNews(r, esc) })
	case m.Topic == "inbox":
		open = state(nil, []live.Kind{live.Escalations}, s.drawInbox)
	case m.Topic == "sessions":
		open = state(nil, []live.Kind{live.Sessions}, s.drawSessions)
	case m.Topic == "me":
		open = state(nil, []live.Kind{live.Escalations}, s.drawCounts)
	default:
		return nil, problem.New(problem.NotFound, "topic_unknown", nil)
	}
	return s.liveHub.feed(s, key, actor, open)
}

// state opens the source of a state topic.
func state(objects []live.Object, kinds []live.Kind, draw func(reader) ([]region, error)) func(reader) (source, error) {
	return func(r reader) (source, error) {
		return &stateSource{objects: objects, kinds: kinds, r: r, draw: draw}, nil
	}
}

// feed finds the feed of a key, or makes it and sets it going.
func (h *liveHub) feed(s *site, key feedKey, actor auth.Actor, open func(reader) (source, error)) (*feed, error) {
	h.mu.Lock()
	f := h.feeds[key]
	if f == nil {
		ctx, stop := context.WithCancel(i18n.With(context.Background(), key.language))
		f = &feed{key: key, site: s, stop: stop, viewers: map[*view]struct{}{}}
		h.feeds[key] = f
		f.mu.Lock() // until the source is there
		h.mu.Unlock()
		err := f.begin(ctx, actor, open)
		f.mu.Unlock()
		if err != nil {
			h.forget(f)
			return nil, err
		}
		return f, nil
	}
	h.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.source == nil {
		return nil, problem.New(problem.Unavailable, "unavailable", nil) // it failed, or has just ended
	}
	return f, nil
}

func (h *liveHub) forget(f *feed) {
	h.mu.Lock()
	if h.feeds[f.key] == f {
		delete(h.feeds, f.key)
	}
	h.mu.Unlock()
}

func (f *feed) begin(ctx context.Context, actor auth.Actor, open func(reader) (source, error)) error {
	r, err := f.site.readerOf(ctx, actor)
	if err != nil {
		f.stop()
		return err
	}
	src, err := open(r)
	if err != nil {
		f.stop()
		return err
	}
	objects, kinds := src.interest()
	f.sub = f.site.Live.Subscribe(objects, kinds...)
	// What changed between the page's reading and the subscription is read now.
	if _, err := src.advance(ctx, nil, true); err != nil {
		f.sub.Close()
		f.stop()
		return err
	}
	f.source = src
	go f.run(ctx)
	return nil
}

// run makes a frame whenever something has changed: at once, and then not
// before coalesce has passed.
func (f *feed) run(ctx context.Context) {
	defer f.sub.Close()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.sub.C:
		}
		if wait := coalesce - time.Since(last); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
		}
		changed, anything := f.sub.Take()
		made, err := f.advance(ctx, changed, anything)
		if err != nil && ctx.Err() == nil {
			f.site.Log.WarnContext(ctx, "a topic could not be read; it is looked at again before long", "topic", f.key.topic, "error", err)
		}
		if made {
			last = time.Now()
		}
	}
}

func (f *feed) advance(ctx context.Context, changed []live.Object, anything bool) (made bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, err := f.source.advance(ctx, changed, anything)
	if err != nil || len(w.Ops) == 0 {
		return false, err
	}
	one, err := f.frame(w)
	if err != nil {
		return false, err
	}
	f.made++
	f.frames, f.kept = append(f.frames, one), f.kept+one.bytes
	for len(f.frames) > framesKept || f.kept > bytesKept && len(f.frames) > 1 {
		f.kept -= f.frames[0].bytes
		f.frames = f.frames[1:]
	}
	sockets := make([]*socket, 0, len(f.viewers))
	for v := range f.viewers {
		sockets = append(sockets, v.socket)
	}
	f.site.liveHub.writers.add(sockets...)
	return true, nil
}

func (f *feed) frame(w wireFrame) (frame, error) {
	w.Topic = f.key.topic
	text, err := marshalFrame(w)
	if err != nil {
		return frame{}, fmt.Errorf("write frame of %s: %w", f.key.topic, err)
	}
	m, err := websocket.NewPreparedMessage(websocket.TextMessage, text)
	return frame{to: w.To, bytes: len(text), message: m}, err
}

// marshalFrame leaves < and > as they are: fragments are full of them.
func marshalFrame(w wireFrame) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(w)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// missing are the frames that a viewer has not been sent, and notes that they
// are.
func (f *feed) missing(v *view) ([]frame, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.source == nil {
		return nil, nil
	}
	oldest := f.made - int64(len(f.frames))
	if !v.fresh && v.at >= oldest {
		list := f.frames[v.at-oldest:] // frames are added and dropped, and never changed
		v.at = f.made
		if len(list) > 0 {
			v.seq = list[len(list)-1].to
		}
		return list, nil
	}
	w, err := f.source.since(v)
	if err != nil {
		return nil, err
	}
	if len(w.Ops) > opsMost {
		w.Ops = []op{{"resync"}}
	}
	v.fresh, v.at, v.seq = false, f.made, w.To
	if len(w.Ops) == 0 {
		return nil, nil
	}
	one, err := f.frame(w)
	return []frame{one}, err
}

// join takes a viewer in, unless the feed has ended since it was found.
func (f *feed) join(v *view) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.viewers[v] = struct{}{}
	}
	return !f.over
}

// leave ends the feed with its last viewer.
func (f *feed) leave(v *view) {
	f.mu.Lock()
	delete(f.viewers, v)
	over := len(f.viewers) == 0
	f.mu.Unlock()
	if !over {
		return
	}
	h := f.site.liveHub
	h.mu.Lock()
	f.mu.Lock()
	if over = len(f.viewers) == 0; over {
		if h.feeds[f.key] == f {
			delete(h.feeds, f.key)
		}
		f.over = true
		f.stop()
	}
	f.mu.Unlock()
	h.mu.Unlock()
}

// fragment renders a component for all readers of a language.
func fragment(ctx context.Context, c templ.Component) (string, error) {
	var b strings.Builder
	err := c.Render(ctx, &b)
	return b.String(), err
}
