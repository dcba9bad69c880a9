package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"baton/internal/auth"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// R: I1
func TestASessionIsStartedReadAndListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("supervisor")
	a := p.post("/sessions", `{"agent": "desk", "task": " Find order 4711 ", "inputs": {"order": 9007199254740993}, "model": "scripted/p"}`)
	s := a.ok(t, http.StatusCreated)
	for name, want := range map[string]any{"status": "queued", "task": "Find order 4711", "team": "support", "model": "scripted/p", "requested_by": "supervisor", "turn": 1.0, "cost_usd": 0.0} {
		if s[name] != want {
			t.Errorf("%s is %v, want %v", name, s[name], want)
		}
	}
	if !strings.Contains(a.body, "9007199254740993") {
		t.Errorf("a number is another one now: %s", a.body)
	}
	if at := a.header.Get("Location"); at != "/api/v1/sessions/"+s.text("id") {
		t.Errorf("Location is %q", at)
	}
	again := w.program("viewer").get("/sessions/"+s.text("id")).ok(t, http.StatusOK)
	if again["id"] != s["id"] || again["created_at"] != s["created_at"] {
		t.Errorf("read as %v", again)
	}
	list, next := p.get("/sessions?status=queued&agent=desk&team=support&q=ORDER&since=2020-01-01T00:00:00Z").ok(t, http.StatusOK).items()
	if len(list) != 1 || list[0]["id"] != s["id"] || next != "" {
		t.Errorf("listed as %v, next %q", list, next)
	}
	for _, filter := range []string{"status=failed", "agent=other", "team=finance", "q=nothing", "since=2100-01-01T00:00:00Z"} {
		if list, _ := p.get("/sessions?"+filter).ok(t, http.StatusOK).items(); len(list) != 0 {
			t.Errorf("%s finds %v", filter, list)
		}
	}
	if n := count(t, w.db, `select count(*) from river_job where kind = 'session.run'`); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// R: I1
func TestListsArePagedNewestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []string
	for range 5 {
		want = append([]string{w.start("desk").String()}, want...)
	}
	w.start("ledger")
	p := w.program("viewer")
	var got []string
	for path := "/sessions?limit=2"; ; {
		items, next := p.get(path).ok(t, http.StatusOK).items()
		if len(items) > 2 {
			t.Fatalf("a page of 2 has %d", len(items))
		}
		for _, i := range items {
			got = append(got, i.text("id"))
		}
		if next == "" {
			break
		}
		path = "/sessions?limit=2&cursor=" + next
	}
	if !slices.Equal(got, want) {
		t.Errorf("pages hold %v, want %v", got, want)
	}
}

// R: I1
func TestParametersThatCannotBeUsedAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("viewer")
	events := p.get("/sessions/" + w.start("desk").String() + "/events?limit=1")
	_ = events
	for path, want := range map[string][2]string{
		"/sessions?limit=0":                       {"limit_invalid", "limit"},
		"/sessions?limit=201":                     {"limit_invalid", "limit"},
		"/sessions?limit=ten":                     {"limit_invalid", "limit"},
		"/sessions?cursor=nonsense":               {"cursor_invalid", "cursor"},
		"/sessions?cursor=Y2FsbHMgMTc":            {"cursor_invalid", "cursor"}, // another list's
		"/sessions?cursor=c2Vzc2lvbnMgeA":         {"cursor_invalid", "cursor"}, // "sessions x"
		"/sessions?status=sleeping":               {"parameter_invalid", "status"},
		"/sessions?since=yesterday":               {"parameter_invalid", "since"},
		"/sessions?q=" + strings.Repeat("x", 201): {"parameter_invalid", "q"},
		"/sessions?q=%00":                         {"parameter_invalid", "q"},
		"/sessions?Status=queued":                 {"parameter_unknown", "Status"},
		"/sessions?agent=a&agent=b":               {"parameter_repeated", "agent"},
		"/agents?status=queued":                   {"parameter_unknown", "status"},
		"/agents/desk?version=0":                  {"parameter_invalid", "version"},
	} {
		p.get(path).refused(t, http.StatusUnprocessableEntity, want[0], want[1])
	}
	p.get("/sessions?q=%zz").refused(t, http.StatusBadRequest, "malformed", "")
}

// R: I1
// case: fault F18
func TestARetriedRequestGetsTheFirstReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("supervisor")
	const body = `{"agent": "desk", "task": "Find order 4711"}`
	first := p.post("/sessions", body, "Idempotency-Key", "retry-1")
	first.ok(t, http.StatusCreated)
	if first.header.Get("Idempotent-Replayed") != "" {
		t.Error("the first reply says that it is a repetition")
	}
	// What has happened since doesn't show: it is the reply to that request.
	if _, err := w.db.Exec(t.Context(), `update sessions set pause_requested = true`); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		again := p.post("/sessions", body, "Idempotency-Key", "retry-1")
		if again.status != http.StatusCreated || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" ||
			again.header.Get("Location") != first.header.Get("Location") {
			t.Errorf("a retry got %d %v %s", again.status, again.header, again.body)
		}
	}
	p.post("/sessions", `{"agent": "desk", "task": "Find another order"}`, "Idempotency-Key", "retry-1").
		refused(t, http.StatusUnprocessableEntity, "idempotency_key_reused", "Idempotency-Key")
	p.post("/sessions", body, "Idempotency-Key", "with a space").
		refused(t, http.StatusBadRequest, "idempotency_key_invalid", "Idempotency-Key")
	// Another's key of the same name is another key, and has its own rights.
	w.program("viewer").post("/sessions", body, "Idempotency-Key", "retry-1").refused(t, http.StatusForbidden, "not_allowed", "")
	if n := count(t, w.db, `select count(*) from sessions`); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

// R: I1
// case: fault F18
func TestRetriesAtTheSameMomentStartOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("supervisor")
	const clients = 8
	got := make([]answer, clients)
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() { got[i] = p.post("/sessions", `{"agent": "desk", "task": "Once"}`, "Idempotency-Key", "k") })
	}
	group.Wait()
	first := 0
	for _, a := range got {
		if a.status != http.StatusCreated || a.body != got[0].body {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a.header.Get("Idempotent-Replayed") == "" {
			first++
		}
	}
	if n := count(t, w.db, `select count(*) from sessions`); n != 1 || first != 1 {
		t.Errorf("%d sessions, %d first replies", n, first)
	}
}

// R: A7, I1
func TestASessionIsPausedResumedWrittenToAndCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	w.work(session)
	at := "/sessions/" + session.String()
	p := w.program("supervisor", auth.ScopeSessionControl) // may not even read
	if s := p.post(at+"/pause", "").ok(t, http.StatusOK); s["pause_requested"] != true {
		t.Errorf("paused: %v", s)
	}
	if s := p.post(at+"/resume", "{}").ok(t, http.StatusOK); s["pause_requested"] != false {
		t.Errorf("resumed: %v", s)
	}
	p.post(at+"/messages", `{"text": "Look in the archive, too."}`).ok(t, http.StatusOK)
	p.post(at+"/messages", `{"text": " "}`).refused(t, http.StatusUnprocessableEntity, "message_missing", "/text")
	p.post(at+"/messages", `{"text": "`+strings.Repeat("x", sessions.MaxMessage+1)+`"}`).refused(t, http.StatusUnprocessableEntity, "message_too_long", "/text")
	if s := p.post(at+"/cancel", "").ok(t, http.StatusOK); s["cancel_requested"] != true || s["status"] != "running" {
		t.Errorf("cancelled: %v", s)
	}
	p.post(at+"/cancel", `{"force": true}`).refused(t, http.StatusUnprocessableEntity, "field_unknown", "/force")
	p.post(at+"/cancel?force=1", "").refused(t, http.StatusUnprocessableEntity, "parameter_unknown", "force")
	if _, err := w.db.Exec(t.Context(), `update sessions set status = 'cancelled', replica_id = null, ended_at = now()`); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"/pause", "/resume", "/cancel"} {
		p.post(at+verb, "").refused(t, http.StatusConflict, "session_ended", "")
	}
	p.post(at+"/messages", `{"text": "Hello?"}`).refused(t, http.StatusConflict, "session_ended", "")
}

// R: A5, I1
func TestAnEndedSessionHasItsListsThoughTheyAreEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	err := w.deps.Sessions.End(t.Context(), worker.lease, sessions.Ending{Status: sessions.Completed, Outcome: sessions.Done,
		Summary: "Order 4711 is paid.", Evidence: []byte(`[{"claim": "paid", "call": "call_1", "quote": "paid"}]`), Unresolved: []byte("null"),
		Step: sessions.Step{Counters: sessions.Counters{Turn: 1, Steps: 1, CostMicros: 1_250_000}}})
	if err != nil {
		t.Fatal(err)
	}
	s := w.program("viewer").get("/sessions/"+worker.session.String()).ok(t, http.StatusOK)
	if s["status"] != "completed" || s["outcome"] != "done" || s["summary"] != "Order 4711 is paid." || s["cost_usd"] != 1.25 || s["ended_at"] == nil ||
		len(s["evidence"].([]any)) != 1 || len(s["unresolved"].([]any)) != 0 {
		t.Errorf("%v", s)
	}
}

// R: V1, I1
func TestEventsAreReadOnFromANumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := w.start("desk")
	worker := w.work(session)
	for range 3 {
		worker.ask("query_db", `{"sql": "select 1"}`, tools.Ready)
		worker.end("query_db", succeeded(t, `[1]`), nil, "")
	}
	p := w.program("viewer")
	at := "/sessions/" + session.String() + "/events"
	var seen []float64
	for path := at + "?limit=3"; path != ""; {
		items, next := p.get(path).ok(t, http.StatusOK).items()
		for _, e := range items {
			seen = append(seen, e["seq"].(float64))
		}
		path = ""
		if next != "" {
			path = at + "?limit=3&cursor=" + next
		}
	}
	if !slices.Equal(seen, []float64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("events %v", seen)
	}
	items, _ := p.get(at+"?after=5").ok(t, http.StatusOK).items()
	if len(items) != 2 || items[0]["seq"] != 6.0 || items[0]["type"] != "model.replied" || items[1]["call_id"] != "call_"+session.Digits()+"_3" {
		t.Errorf("after 5: %v", items)
	}
	if items, next := p.get(at+"?after=7").ok(t, http.StatusOK).items(); len(items) != 0 || next != "" {
		t.Errorf("after the last: %v", items)
	}
	p.get(at+"?after=-1").refused(t, http.StatusUnprocessableEntity, "parameter_invalid", "after")
}

// R: I1, K2
func TestWhatStartsNoSessionSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("supervisor")
	for body, want := range map[string][2]string{
		`{"agent": "desk"}`:                                                       {"task_missing", "/task"},
		`{"agent": "desk", "task": null}`:                                         {"task_missing", "/task"},
		`{"task": "x"}`:                                                           {"field_missing", "/agent"},
		`{"agent": "nobody", "task": "x"}`:                                        {"agent_not_found", "/agent"},
		`{"agent": "ledger", "task": "x"}`:                                        {"agent_not_found", "/agent"}, // another team's
		`{"agent": "ledger"}`:                                                     {"agent_not_found", "/agent"},
		`{"agent": "desk", "task": "x", "inputs": [1]}`:                           {"inputs_invalid", "/inputs"},
		`{"agent": "desk", "task": "x", "model": "gpt"}`:                          {"model_invalid", "/model"},
		`{"agent": "desk", "task": "x", "model": "nobody/any"}`:                   {"model_invalid", "/model"}, // not in this build
		`{"agent": "desk", "task": "x", "model": "scripted/other"}`:               {"model_invalid", "/model"},
		`{"agent": "desk", "task": "x", "model": "a/b\u0000"}`:                    {"model_invalid", "/model"},
		fmt.Sprintf(`{"agent": "desk", "task": %q}`, strings.Repeat("x", 20_001)): {"task_too_long", "/task"},
	} {
		p.post("/sessions", body).refused(t, http.StatusUnprocessableEntity, want[0], want[1])
	}
	for _, path := range []string{"/sessions/ses_1", "/sessions/" + strings.Repeat("x", 300), "/sessions/ses_00000000000000000000000000000001", "/sessions/%00"} {
		p.get(path).refused(t, http.StatusNotFound, "session_not_found", "")
	}
	if n := count(t, w.db, `select count(*) from sessions`); n != 0 {
		t.Errorf("%d sessions", n)
	}
}
