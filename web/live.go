package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/i18n"
	"baton/internal/problem"
)

// The push. A page holds one WebSocket; docs/live.md has the protocol. A socket
// has a goroutine which reads what the page asks for; a few writers write to all
// sockets. What a topic's frames are is the business of its feed, which all
// viewers with equal rights and language share; a socket only remembers how far
// its viewer is.

// Bounds of a connection.
const (
	liveMessageMost = 4 << 10 // bytes of one message from the page
	liveTopicsMost  = 16
	liveMessages    = 40 // messages at once,
	livePerSecond   = 10 // and by the second
	liveWriteWithin = 5 * time.Second
	liveCloseWithin = time.Second
	livePingEvery   = 15 * time.Second
	liveSilentMost  = 45 * time.Second // of a peer that answers no ping
	liveRightsEvery = time.Second      // how soon rights that ended close a connection
)

// Close codes of our own. 4401 sends the page to sign in; after 4403 it says
// that access has ended.
const (
	closeNotSignedIn = 4401
	closeNoAccess    = 4403
	closeTooMuch     = 4429
)

// liveHub are the feeds and the sockets of this process.
type liveHub struct {
	mu      sync.Mutex
	feeds   map[feedKey]*feed
	sockets map[*socket]struct{}
	caring  bool      // care is at work
	buffers sync.Pool // to write from, shared by connections that are idle
	writers writers
}

func newLiveHub() *liveHub {
	return &liveHub{feeds: map[feedKey]*feed{}, sockets: map[*socket]struct{}{}, writers: writers{write: (*socket).write}}
}

// socket is one page's connection.
type socket struct {
	site  *site
	conn  *websocket.Conn
	login string
	ctx   context.Context
	deaf  chan struct{} // closed when nothing is read any more
	stop  context.CancelCauseFunc
	turn  turn
	ended bool      // the writers' word that it is over
	alive time.Time // when it was pinged last

	mu     sync.Mutex
	over   bool // it has left all topics
	ping   bool // is due
	actor  auth.Actor
	views  map[string]*view // by topic
	tell   []any            // replies to messages, before frames
	rights string
}

// closing is why a socket is closed, as its peer is told.
type closing struct {
	code   int
	reason string
}

func (c closing) Error() string { return c.reason }

var goingAway = closing{websocket.CloseGoingAway, "going away"}

// live opens a page's connection. Whoever isn't signed in is told so by a close
// code: a script can't read the status of a refused handshake.
func (s *site) live(c echo.Context) error {
	r := c.Request()
	if !s.ownOrigin(r) {
		return problem.New(problem.Forbidden, "cross_origin", nil)
	}
	if !websocket.IsWebSocketUpgrade(r) {
		return problem.New(problem.Malformed, "websocket_expected", nil)
	}
	up := websocket.Upgrader{
		ReadBufferSize: 512, WriteBufferSize: 1 << 10, WriteBufferPool: &s.liveHub.buffers, EnableCompression: true,
		CheckOrigin: func(*http.Request) bool { return true }, // it was
	}
	conn, err := up.Upgrade(c.Response(), r, nil)
	if err != nil {
		return fmt.Errorf("shake hands: %w", err) // the reply has been written
	}
	a := about(c)
	if a.unknown != nil && !problem.Is(a.unknown, "not_signed_in") {
		tellEnd(conn, closing{websocket.CloseTryAgainLater, "try again"}) // who it is can't be read now
		return conn.Close()
	}
	if !a.actor.SignedIn() {
		tellEnd(conn, closing{closeNotSignedIn, "sign in"})
		return conn.Close()
	}
	ctx, stop := context.WithCancelCause(i18n.With(context.Background(), i18n.Of(r.Context())))
	sock := &socket{site: s, conn: conn, login: s.login(r), ctx: ctx, stop: stop, deaf: make(chan struct{}),
		alive: time.Now(), actor: a.actor, rights: rightsKey(a.actor), views: map[string]*view{}}
	s.liveHub.add(s, sock) // before it is read: once read it may end, and be dropped
	// The request ends here, and with it what the server keeps for one: most of
	// what an idle viewer would cost.
	go sock.read()
	return nil
}

// ownOrigin says whether the page that asks is this server's own. Unlike a
// request for a page, a handshake is not kept from other sites by browsers, and
// brings the cookie; so the origin has to be there and to be ours.
func (s *site) ownOrigin(r *http.Request) bool {
	origin, err := url.Parse(r.Header.Get("Origin"))
	if err != nil || origin.Host == "" || origin.Scheme != "http" && origin.Scheme != "https" {
		return false
	}
	if s.PublicURL != nil && strings.EqualFold(origin.Host, s.PublicURL.Host) {
		return origin.Scheme == s.PublicURL.Scheme
	}
	return strings.EqualFold(origin.Host, r.Host) && s.ownHost(r.Host)
}

// pageMessage is what a page says.
type pageMessage struct {
	Op    string `json:"op"` // sub, unsub, pong
	Topic string `json:"t"`
	// What the page has of a session: the last event, the event after which its
	// rows begin, the chart's scale in ms and the view.
	Seq   int64  `json:"seq"`
	After int64  `json:"after"`
	Scale int64  `json:"scale"`
	View  string `json:"view"`
}

// read takes the page's messages, until one of them can't be taken; what comes
// after that is thrown away, until the peer has heard why.
func (c *socket) read() {
	defer close(c.deaf)
	c.close(c.listen())
	for {
		if _, _, err := c.conn.NextReader(); err != nil {
			return
		}
	}
}

// listen returns why the connection should end.
func (c *socket) listen() error {
	c.conn.SetReadLimit(liveMessageMost)
	extend := func() { _ = c.conn.SetReadDeadline(time.Now().Add(liveSilentMost)) }
	extend()
	c.conn.SetPongHandler(func(string) error { extend(); return nil })
	budget, at := float64(liveMessages), time.Now()
	for {
		kind, text, err := c.conn.ReadMessage()
		if err != nil {
			return closing{websocket.CloseNormalClosure, "bye"}
		}
		extend()
		now := time.Now()
		budget, at = min(liveMessages, budget+now.Sub(at).Seconds()*livePerSecond)-1, now
		if budget < 0 {
			return closing{closeTooMuch, "too many messages"}
		}
		var m pageMessage
		if kind != websocket.TextMessage || json.Unmarshal(text, &m) != nil {
			return closing{websocket.ClosePolicyViolation, "not a message"}
		}
		// Reading a topic goes deep, and a stack stays as big as it once was.
		taken := make(chan error, 1)
		go func() { taken <- c.take(m) }()
		if err := <-taken; err != nil {
			return err
		}
	}
}

// take does what a message asks for.
func (c *socket) take(m pageMessage) error {
	switch m.Op {
	case "pong":
		return nil
	case "unsub":
		c.mu.Lock()
		v := c.views[m.Topic]
		delete(c.views, m.Topic)
		c.mu.Unlock()
		if v != nil {
			v.feed.leave(v)
		}
		return nil
	case "sub":
		return c.subscribe(m)
	}
	return closing{websocket.ClosePolicyViolation, "not a message"}
}

func (c *socket) subscribe(m pageMessage) error {
	c.mu.Lock()
	actor, full := c.actor, len(c.views) >= liveTopicsMost
	old := c.views[m.Topic]
	c.mu.Unlock()
	if full && old == nil {
		return closing{closeTooMuch, "too many topics"}
	}
	v := &view{socket: c, seq: m.Seq, scale: time.Duration(m.Scale) * time.Millisecond, fresh: true}
	for joined := false; !joined; joined = v.feed.join(v) {
		f, err := c.site.feedOf(c.ctx, actor, m)
		if err != nil {
			// What isn't there and what isn't theirs look the same.
			p := problem.From(err)
			c.site.Log.DebugContext(c.ctx, "topic refused", "topic", m.Topic, "code", p.Code)
			c.say(map[string]any{"t": m.Topic, "refused": p.Code})
			return nil
		}
		v.feed = f
	}
	c.mu.Lock()
	over := c.over
	if !over {
		c.views[m.Topic] = v
	}
	c.mu.Unlock()
	if over { // nobody else would leave for it
		old = v
	}
	// The new view first: a feed ends with its last viewer.
	if old != nil {
		old.feed.leave(old)
	}
	c.rouse()
	return nil
}

// say queues a message to the page.
func (c *socket) say(what any) {
	c.mu.Lock()
	if len(c.tell) < liveTopicsMost {
		c.tell = append(c.tell, what)
	}
	c.mu.Unlock()
	c.rouse()
}

// rouse has it written what there is to be written.
func (c *socket) rouse() { c.site.liveHub.writers.add(c) }

// close ends the connection, for a reason that its peer is told.
func (c *socket) close(why error) {
	c.stop(why)
	c.rouse()
}

// write writes what there is, or ends the connection. The writers call it, one
// at a time.
func (c *socket) write() {
	if c.ended {
		return
	}
	if c.ctx.Err() == nil && c.flush() == nil {
		return
	}
	c.ended = true
	go c.end(context.Cause(c.ctx)) // nil, if it is the connection that failed
}

// flush writes what there is for each of the page's topics.
func (c *socket) flush() error {
	c.mu.Lock()
	say, ping := c.tell, c.ping
	c.tell, c.ping = nil, false
	var few [4]*view // as many as a page has
	views := few[:0]
	for _, v := range c.views {
		views = append(views, v)
	}
	c.mu.Unlock()
	if ping {
		// The page can't see a ping of the protocol, so it is sent one of ours too.
		say = append(say, map[string]any{"ping": time.Now().UTC().Format(time.RFC3339Nano)})
		if err := c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(liveWriteWithin)); err != nil {
			return fmt.Errorf("ping: %w", err)
		}
	}
	for _, m := range say {
		if err := c.send(m); err != nil {
			return err
		}
	}
	for _, v := range views {
		frames, err := v.feed.missing(v)
		if err != nil {
			c.site.Log.WarnContext(c.ctx, "a viewer was not brought up to date", "topic", v.feed.key.topic, "error", err)
			continue // its feed looks again before long
		}
		for _, f := range frames {
			if c.ctx.Err() != nil {
				return c.ctx.Err()
			}
			_ = c.conn.SetWriteDeadline(time.Now().Add(liveWriteWithin))
			if err := c.conn.WritePreparedMessage(f.message); err != nil {
				return fmt.Errorf("write frame: %w", err)
			}
		}
	}
	return nil
}

func (c *socket) send(what any) error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(liveWriteWithin))
	return c.conn.WriteJSON(what)
}

// end closes the connection, with the reason if there is one to tell.
func (c *socket) end(cause error) {
	defer c.site.liveHub.drop(c)
	c.mu.Lock()
	views := c.views
	c.views, c.over = map[string]*view{}, true
	c.mu.Unlock()
	for _, v := range views {
		v.feed.leave(v)
	}
	c.stop(nil)
	if why, told := cause.(closing); told { //nolint:errorlint // it is never wrapped
		if why.code == websocket.CloseGoingAway {
			_ = c.send(map[string]any{"going": true})
		}
		tellEnd(c.conn, why)
		// A connection that is cut while its peer is still speaking is reset, and
		// the reason lost.
		cut := time.AfterFunc(liveCloseWithin, func() { _ = c.conn.Close() })
		<-c.deaf
		cut.Stop()
	}
	_ = c.conn.Close()
	<-c.deaf
}

func tellEnd(conn *websocket.Conn, why closing) {
	_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(why.code, why.reason), time.Now().Add(liveWriteWithin))
}

// add takes up a socket. The first one sets off the care for them, which ends
// with the last.
func (h *liveHub) add(s *site, c *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sockets[c] = struct{}{}
	select {
	case <-s.Stopping:
		c.close(goingAway)
	default:
	}
	if !h.caring {
		h.caring = true
		go h.care(s)
	}
}

func (h *liveHub) drop(c *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sockets, c)
}

// care pings sockets, closes those of people whose rights have ended, and all of
// them when the server goes.
func (h *liveHub) care(s *site) {
	tick := time.NewTicker(liveRightsEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.Stopping:
			h.mu.Lock()
			defer h.mu.Unlock()
			for c := range h.sockets {
				c.close(goingAway)
			}
			return
		case now := <-tick.C:
			by := h.due(now)
			if by == nil {
				return
			}
			h.checkRights(s, by)
		}
	}
}

// due pings whose turn it is, and returns the sockets by login; nil if there are
// none.
func (h *liveHub) due(now time.Time) map[string][]*socket {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.sockets) == 0 {
		h.caring = false
		return nil
	}
	by := map[string][]*socket{}
	for c := range h.sockets {
		by[c.login] = append(by[c.login], c)
		if now.Sub(c.alive) < livePingEvery {
			continue
		}
		c.alive = now
		c.mu.Lock()
		c.ping = true
		c.mu.Unlock()
		c.rouse()
	}
	return by
}

// checkRights closes the sockets of people whose login has ended or whose rights
// are others now. It asks for all of them at once.
func (h *liveHub) checkRights(s *site, by map[string][]*socket) {
	logins := slices.Collect(maps.Keys(by))
	ctx, cancel := context.WithTimeout(context.Background(), liveWriteWithin)
	defer cancel()
	actors, err := s.Accounts.ActorsByLogins(ctx, logins)
	if err != nil {
		s.Log.Warn("rights of viewers were not looked at", "error", err)
		return
	}
	for login, sockets := range by {
		actor, signedIn := actors[login]
		rights := rightsKey(actor)
		for _, c := range sockets {
			switch {
			case !signedIn:
				c.close(closing{closeNotSignedIn, "sign in"})
			case rights != c.rights:
				c.close(closing{closeNoAccess, "your rights have changed"})
			}
		}
	}
}
