package web

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// R: V5
// case: abuse A08
func TestAHandshakeFromElsewhereIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cookie, _ := w.cookieOf("viewer")
	own, _ := url.Parse(w.server.URL)
	for name, header := range map[string]http.Header{
		"no origin":     {"Cookie": {cookie}},
		"null":          {"Cookie": {cookie}, "Origin": {"null"}},
		"another site":  {"Cookie": {cookie}, "Origin": {"https://evil.example"}},
		"another port":  {"Cookie": {cookie}, "Origin": {"http://127.0.0.1:1"}},
		"a longer name": {"Cookie": {cookie}, "Origin": {"http://" + own.Host + ".evil.example"}},
		"a file":        {"Cookie": {cookie}, "Origin": {"file://" + own.Host}},
		"another host":  {"Cookie": {cookie}, "Origin": {"http://evil.example"}, "Host": {"evil.example"}},
	} {
		conn, res, err := w.dial(header)
		if res == nil {
			t.Fatalf("%s: %v", name, err)
		}
		res.Body.Close()
		if err == nil {
			conn.Close()
		}
		if res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	if got := w.as("viewer").get("/ws"); got.status != http.StatusForbidden {
		t.Errorf("without a handshake: %d", got.status)
	}
}

// R: V5
// case: abuse A09
func TestAConnectionEndsWithTheRightsItWasOpenedWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nobody := w.watchAs("x=y")
	if code := nobody.closed(); code != closeNotSignedIn {
		t.Errorf("not signed in: %d", code)
	}
	for name, c := range map[string]struct {
		end  func(login string)
		code int
	}{
		"signed out": {func(login string) {
			if err := w.accounts.SignOut(t.Context(), login); err != nil {
				t.Error(err)
			}
		}, closeNotSignedIn},
		"disabled": {func(string) { w.exec(`update people set disabled_at = now() where name = 'responder'`) }, closeNotSignedIn},
		"another role": {func(string) {
			w.exec(`update memberships set role = 'viewer' where person_id = (select id from people where name = 'supervisor')`)
		}, closeNoAccess},
		"out of their team": {func(string) {
			w.exec(`delete from memberships where person_id = (select id from people where name = 'admin')`)
		}, closeNoAccess},
	} {
		who := map[string]string{"signed out": "viewer", "disabled": "responder", "another role": "supervisor", "out of their team": "admin"}[name]
		cookie, login := w.cookieOf(who)
		watching := w.watchAs(cookie)
		watching.send(map[string]any{"op": "sub", "t": "me"})
		watching.next()
		c.end(login)
		if code := watching.closed(); code != c.code {
			t.Errorf("%s: closed with %d, want %d", name, code, c.code)
		}
	}
}

func (w world) exec(sql string) {
	w.t.Helper()
	tag, err := w.db.Exec(w.t.Context(), sql)
	if err != nil || tag.RowsAffected() == 0 {
		w.t.Fatalf("%s: %d rows, %v", sql, tag.RowsAffected(), err)
	}
}

// R: V5, K2
// case: abuse A13
func TestWhatIsAnotherTeamsLooksLikeWhatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	theirs, question := w.start("ledger"), w.question("ledger")
	c := w.watch("viewer")
	for topic, code := range map[string]string{
		"session:" + theirs.String():               "session_not_found",
		"session:" + id.New[id.Session]().String(): "session_not_found",
		"session:x":                          "session_not_found",
		"escalation:" + question.ID.String(): "escalation_not_found",
		"escalation:esc_1":                   "escalation_not_found",
		"decisions":                          "topic_unknown",
		"":                                   "topic_unknown",
		"session:":                           "topic_unknown",
	} {
		c.send(map[string]any{"op": "sub", "t": topic})
		if s := c.next(); s.Refused != code || s.T != topic {
			t.Errorf("%s: %+v", topic, s)
		}
	}
	// A list has what the reader may see, and nothing else.
	mine := w.question("desk")
	c.send(map[string]any{"op": "sub", "t": "inbox"})
	if text := opsText(c.next().Ops); !strings.Contains(text, mine.ID.String()) || strings.Contains(text, question.ID.String()) {
		t.Errorf("the inbox is %s", text)
	}
	c.send(map[string]any{"op": "sub", "t": "sessions"})
	if text := opsText(c.next().Ops); strings.Contains(text, theirs.String()) || !strings.Contains(text, mine.Session.String()) {
		t.Errorf("the sessions are %s", text)
	}
}

// R: V5
func TestAClientThatFloodsOrLiesIsShownTheDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	for name, c := range map[string]struct {
		do   func(wire)
		code int
	}{
		"a flood": {func(c wire) {
			for range 2 * liveMessages {
				if c.conn.WriteJSON(map[string]any{"op": "pong"}) != nil {
					return
				}
			}
		}, closeTooMuch},
		"topics without end": {func(c wire) {
			for i := range liveTopicsMost + 1 {
				_ = c.conn.WriteJSON(map[string]any{"op": "sub", "t": "session:" + w.session(session, i).String()})
			}
		}, closeTooMuch},
		"no JSON":      {func(c wire) { _ = c.conn.WriteMessage(websocket.TextMessage, []byte("{")) }, websocket.ClosePolicyViolation},
		"binary":       {func(c wire) { _ = c.conn.WriteMessage(websocket.BinaryMessage, []byte("{}")) }, websocket.ClosePolicyViolation},
		"another verb": {func(c wire) { c.send(map[string]any{"op": "answer", "t": "inbox"}) }, websocket.ClosePolicyViolation},
		"a novel": {func(c wire) {
			_ = c.conn.WriteJSON(map[string]any{"op": "sub", "t": strings.Repeat("x", liveMessageMost)})
		}, websocket.CloseMessageTooBig},
	} {
		watching := w.watch("viewer")
		c.do(watching)
		if code := watching.closed(); code != c.code {
			t.Errorf("%s: closed with %d, want %d", name, code, c.code)
		}
	}
	// Numbers that can't be are taken for what they can mean.
	liar := w.watch("viewer")
	liar.send(map[string]any{"op": "sub", "t": "session:" + session.String(), "seq": -5, "after": 1 << 60, "scale": -1, "view": "x"})
	if s := liar.next(); s.Refused != "" || len(s.Ops) == 0 {
		t.Errorf("%+v", s)
	}
}

// session is one of many.
func (w world) session(first id.Session, i int) id.Session {
	if i == 0 {
		return first
	}
	return w.start("desk")
}

// R: V4, Q4
// case: abuse A01
func TestWhatToolsAndModelsWriteIsTextInFrames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	worker := w.work(session)
	const evil = `<img src=x onerror=alert(1)></script><script>alert(2)</script>`
	worker.ask("query_db", fmt.Sprintf(`{"sql": %q}`, evil), tools.Ready)
	worker.end("query_db", succeeded(t, fmt.Sprintf(`[%q]`, evil)), nil, evil)
	c := w.watch("admin")
	c.send(map[string]any{"op": "sub", "t": "session:" + session.String(), "view": "technical"})
	text := opsText(c.until(0, w.lastSeq(session)))
	if strings.Contains(text, "<img src=x") || strings.Contains(text, "<script>alert") || !strings.Contains(text, "&lt;img src=x") {
		t.Errorf("frames hold %s", text)
	}
}

// R: V1
func TestTheServerSaysWhenItGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stopping := make(chan struct{})
	w = w.served(func(d *Deps) { d.Stopping = stopping }, func(*http.Server) {})
	c := w.watch("viewer")
	close(stopping)
	if s := c.next(); !s.Going {
		t.Errorf("%+v", s)
	}
	if code := c.closed(); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d", code)
	}
}

// R: V3
// case: fault F24
func TestAClientThatReadsNothingIsCutAndDelaysNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	worker := w.work(session)
	cookie, _ := w.cookieOf("viewer")
	narrow := websocket.Dialer{NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		}
		return conn, err
	}}
	conn, res, err := narrow.DialContext(t.Context(), "ws"+strings.TrimPrefix(w.server.URL, "http")+"/ws", http.Header{"Origin": {w.server.URL}, "Cookie": {cookie}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	defer conn.Close()
	stalled, other := wire{t, conn}, w.watchAs(cookie)
	stalled.send(sub(session, 0))
	other.send(sub(session, 0))
	seen := int64(0)
	text := make([]byte, 100<<10)
	for range 40 { // more than the kernel takes on the way
		_, _ = rand.Read(text)
		worker.steps++
		worker.write(sessions.Step{Events: []sessions.NewEvent{{Type: sessions.ModelReplied, Turn: 1, Step: worker.steps,
			Data: map[string]any{"text": hex.EncodeToString(text)}}}})
		last := w.lastSeq(session)
		other.until(seen, last)
		seen = last
	}
	// What it was sent before it was cut still lies there, and then nothing.
	for {
		var s said
		if err := stalled.conn.ReadJSON(&s); err != nil {
			break
		}
		if s.To >= seen {
			t.Fatal("a client that read nothing was sent everything")
		}
	}
}

// R: V2
func TestThatTimePassesIsNoNews(t *testing.T) {
	t.Parallel()
	s := &stateSource{}
	row := func(status, since string) []region {
		return []region{{selector: "#a", list: "rows", html: `<tr id="a">` + status + `<time data-show="since">` + since + `</time></tr>`}}
	}
	s.compare(row("running", "1 s"))
	if ops := s.compare(row("running", "2 s")); len(ops) != 0 {
		t.Errorf("a clock that went on was sent: %v", ops)
	}
	if ops := s.compare(row("waiting", "3 s")); len(ops) != 1 || !strings.Contains(fmt.Sprint(ops[0]...), "3 s") {
		t.Errorf("a row that changed came as %v", ops)
	}
}
