package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// wire is a page's connection as a program has it.
type wire struct {
	t    *testing.T
	conn *websocket.Conn
}

func (w world) dial(header http.Header) (*websocket.Conn, *http.Response, error) {
	return websocket.DefaultDialer.DialContext(w.t.Context(), "ws"+strings.TrimPrefix(w.server.URL, "http")+"/ws", header)
}

// cookieOf signs somebody of the world in, and is their Cookie header.
func (w world) cookieOf(name string) (header, login string) {
	w.t.Helper()
	token, err := w.accounts.MakeLink(w.t.Context(), auth.CLI("t"), name)
	if err != nil {
		w.t.Fatal(err)
	}
	if login, err = w.accounts.SignIn(w.t.Context(), token, "test"); err != nil {
		w.t.Fatal(err)
	}
	return w.loginCookie() + "=" + login, login
}

// watch opens a connection for somebody.
func (w world) watch(name string) wire {
	w.t.Helper()
	cookie, _ := w.cookieOf(name)
	return w.watchAs(cookie)
}

func (w world) watchAs(cookie string) wire {
	w.t.Helper()
	conn, res, err := w.dial(http.Header{"Origin": {w.server.URL}, "Cookie": {cookie}})
	if err != nil {
		w.t.Fatal(err)
	}
	res.Body.Close()
	w.t.Cleanup(func() { conn.Close() })
	return wire{w.t, conn}
}

func (c wire) send(what any) {
	c.t.Helper()
	if err := c.conn.WriteJSON(what); err != nil {
		c.t.Fatal(err)
	}
}

// said is whatever the server says to a page.
type said struct {
	T       string
	From    int64
	To      int64
	Ops     [][]string
	Refused string
	Ping    string
	Going   bool
}

func (c wire) next() said {
	c.t.Helper()
	var s said
	if err := c.conn.ReadJSON(&s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

// closed waits for the end and is its code.
func (c wire) closed() int {
	c.t.Helper()
	for {
		if _, _, err := c.conn.ReadMessage(); err != nil {
			e, ok := err.(*websocket.CloseError) //nolint:errorlint // it is never wrapped
			if !ok {
				c.t.Fatalf("no close code: %v", err)
			}
			return e.Code
		}
	}
}

// until reads frames up to an event, checks that they leave nothing out, and
// returns their ops.
func (c wire) until(seq, to int64) (ops [][]string) {
	c.t.Helper()
	for seq < to {
		s := c.next()
		if s.From > seq+1 {
			c.t.Fatalf("a frame begins at %d, and %d was the last one", s.From, seq)
		}
		seq = max(seq, s.To)
		ops = append(ops, s.Ops...)
	}
	return ops
}

// opsText are ops as they are, one a line.
func opsText(ops [][]string) string {
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintln(&b, strings.Join(op, "|"))
	}
	return b.String()
}

func sub(session id.Session, seq int64) map[string]any {
	return map[string]any{"op": "sub", "t": "session:" + session.String(), "seq": seq}
}

// R: V1, V6
func TestAPageGetsWhatItMissedAndThenWhatHappensEachOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	worker := w.work(session)
	worker.ask("query_db", `{"sql": "select 1"}`, tools.Ready)
	c := w.watch("viewer")
	c.send(sub(session, 0))
	first := w.lastSeq(session)
	ops := c.until(0, first)
	if text := opsText(ops); !strings.Contains(text, `id="call-1"`) || !strings.Contains(text, "session-head") {
		t.Errorf("the page is not brought up to date: %s", text)
	}
	worker.end("query_db", succeeded(t, `[1]`), nil, "a\nb\n")
	ops = c.until(first, w.lastSeq(session))
	if text := opsText(ops); strings.Count(text, "put|events|call-1|") != 1 {
		t.Errorf("the call's end is %s", text)
	}
	// Another page that comes back with what it has seen gets the rest alone.
	again := w.watch("viewer")
	again.send(sub(session, first))
	if text := opsText(again.until(first, w.lastSeq(session))); strings.Count(text, "put|") != 1 || !strings.Contains(text, `id="call-1"`) {
		t.Errorf("the rest is %s", text)
	}
}

func (w world) lastSeq(session id.Session) int64 {
	w.t.Helper()
	v, err := w.deps.Sessions.Get(w.t.Context(), auth.System(), session)
	if err != nil {
		w.t.Fatal(err)
	}
	return v.LastSeq
}

// R: V1, V2
// case: fault F23
func TestAClientThatComesBackHasNoGapAndNoRepeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	worker := w.work(session)
	seen := int64(0)
	cookie, _ := w.cookieOf("viewer")
	for _, missed := range []int{1, 50} {
		for range missed {
			worker.ask("query_db", `{"sql": "select 1"}`, tools.Ready)
			worker.end("query_db", succeeded(t, `[1]`), nil, "")
		}
		c := w.watchAs(cookie)
		c.send(sub(session, seen))
		last := w.lastSeq(session)
		rows := map[string]int{}
		for _, op := range c.until(seen, last) {
			if op[0] == "put" {
				rows[op[2]]++
			}
		}
		for row, n := range rows {
			if n != 1 {
				t.Errorf("%s came %d times", row, n)
			}
		}
		if len(rows) < missed {
			t.Errorf("%d rows after %d calls were missed", len(rows), missed)
		}
		seen = last
		c.conn.Close()
	}
	// More than a page can take up is a page anew.
	many := make([]sessions.NewEvent, 5000)
	for i := range many {
		many[i] = sessions.NewEvent{Type: sessions.NoticeGiven, Turn: 1, Data: map[string]string{"code": "other", "text": "x"}}
	}
	worker.write(sessions.Step{Events: many})
	late := w.watchAs(cookie)
	late.send(sub(session, seen))
	if s := late.next(); s.Refused != "resync" {
		t.Errorf("a page that missed 5,000 events gets %d ops, %q", len(s.Ops), s.Refused)
	}
	seen += int64(len(many))
	ahead := w.watchAs(cookie)
	ahead.send(map[string]any{"op": "sub", "t": "session:" + session.String(), "seq": seen + 1000, "after": seen - 100})
	if s := ahead.next(); len(s.Ops) != 1 || s.Ops[0][0] != "resync" {
		t.Errorf("a page that knows more than there is gets %+v", s)
	}
}
