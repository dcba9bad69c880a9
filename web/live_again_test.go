package web

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"baton/internal/live"
	"baton/internal/tools"
)

// patience is how long a page waits for what has to come.
const patience = time.Minute

// frameWith reads frames of a topic until one holds a text.
func (c wire) frameWith(topic, text string) {
	c.t.Helper()
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	for {
		var s said
		if err := c.conn.ReadJSON(&s); err != nil {
			c.t.Fatalf("waiting for %q of %s: %v", text, topic, err)
		}
		if s.T == topic && strings.Contains(opsText(s.Ops), text) {
			return
		}
	}
}

func (w *worker) look(sql string) {
	w.ask("query_db", `{"sql": "`+sql+`"}`, tools.Ready)
	w.end("query_db", succeeded(w.t, `[1]`), nil, "")
}

// A page subscribes again over the same connection when it has renewed itself.
// That it is its feed's only viewer changes nothing.
// R: V1
func TestAPageThatSubscribesAgainGoesOnHearing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	worker := w.work(session)
	worker.look("select 1")
	c := w.watch("viewer")
	c.send(sub(session, 0))
	seen := w.lastSeq(session)
	c.until(0, seen)
	for range 3 {
		c.send(sub(session, seen))
		worker.look("select 2")
		last := w.lastSeq(session)
		_ = c.conn.SetReadDeadline(time.Now().Add(patience))
		c.until(seen, last)
		seen = last
	}
	ask := func() string { // and tell of it, as the loop does
		e := w.question("desk")
		w.deps.Live.Tell(live.Of(e.ID))
		return e.ID.String()
	}
	for topic, happens := range map[string]func() string{
		"inbox":    ask,
		"sessions": func() string { return w.start("desk").String() },
		"me":       func() string { ask(); return "data-waiting" },
	} {
		c := w.watch("responder")
		for range 2 {
			c.send(map[string]any{"op": "sub", "t": topic})
			c.frameWith(topic, "")
		}
		c.frameWith(topic, happens())
	}
}

// untilQuiet waits until nobody is connected and nothing is read for anybody.
func (h *liveHub) untilQuiet(t *testing.T) {
	t.Helper()
	deadline := time.After(patience)
	for {
		h.mu.Lock()
		sockets, feeds := len(h.sockets), len(h.feeds)
		h.mu.Unlock()
		if sockets+feeds == 0 {
			return
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("%d sockets and %d feeds are left", sockets, feeds)
		}
	}
}

// R: V3, V5
func TestConnectionsThatEndWhileTheySubscribeLeaveNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	w.work(session).look("select 1")
	cookie, _ := w.cookieOf("viewer")
	for range 60 {
		c := w.watchAs(cookie)
		c.send(sub(session, 0))
		for _, topic := range []string{"me", "inbox", "sessions"} {
			c.send(map[string]any{"op": "sub", "t": topic})
		}
		if conn, ok := c.conn.NetConn().(*net.TCPConn); ok {
			_ = conn.SetLinger(0) // a reset
		}
		_ = c.conn.Close()
	}
	w.site.liveHub.untilQuiet(t)
}

// A subscription that is still on its way when its connection has ended leaves
// the feed again.
// R: V3
func TestASubscriptionThatComesTooLateStaysNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	_, login := w.cookieOf("viewer")
	actor, err := w.accounts.ActorByLogin(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	c := &socket{site: w.site, ctx: t.Context(), over: true, actor: actor, views: map[string]*view{}, ended: true}
	for _, topic := range []string{"session:" + session.String(), "inbox", "me"} {
		if err := c.subscribe(pageMessage{Topic: topic}); err != nil {
			t.Fatal(err)
		}
	}
	w.site.liveHub.untilQuiet(t)
}

// A feed that ends between being found and being joined is looked for again.
// R: V1
func TestAFeedThatHasEndedTakesNobodyIn(t *testing.T) {
	t.Parallel()
	f := &feed{site: &site{liveHub: newLiveHub()}, stop: func() {}, viewers: map[*view]struct{}{}}
	v := &view{feed: f}
	if !f.join(v) {
		t.Fatal("a feed without viewers takes nobody in")
	}
	f.leave(v)
	if f.join(&view{feed: f}) || len(f.viewers) > 0 {
		t.Error("a feed that has ended took somebody in")
	}
}

// R: V5
func TestRightsAreLookedAfterOnceWhateverPagesComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie, _ := w.cookieOf("viewer")
	hub := w.site.liveHub
	for range 15 { // one person goes from page to page, faster than anybody looks
		c := w.watchAs(cookie)
		c.send(map[string]any{"op": "sub", "t": "me"})
		c.next()
		_ = c.conn.Close()
		hub.untilQuiet(t)
	}
	last := w.watchAs(cookie)
	last.send(map[string]any{"op": "sub", "t": "me"})
	last.next()
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if n := strings.Count(string(stacks), fmt.Sprintf("(*liveHub).care(%p", hub)); n != 1 {
		t.Errorf("%d look after the rights of one connection", n)
	}
}
