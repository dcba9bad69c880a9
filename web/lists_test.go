package web

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/jobs"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

// R: V6, S3, F9 — a call in sentences, what failed in words and exactly, and
// what the model saw, cut and whole.
func TestASessionTellsWhatHappened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	worker.ask("query_db", `{"sql": "select <b>1</b>", "key": "[redacted:key:3f9a1c]"}`, tools.Ready)
	worker.end("query_db", succeeded(t, `{"columns": [], "rows": [["`+strings.Repeat("long ", 800)+`<script>alert(1)</script>"]]}`), nil, "")
	worker.ask("http_request", `{"url": "http://x"}`, tools.Ready)
	worker.end("http_request", tools.Refuse(tools.Fail(tools.Unavailable, "The service <i>answered</i> 503."), tools.Meta{Attempts: 3}), []tools.Attempt{{N: 1}, {N: 2}, {N: 3}}, "")
	worker.ask("ask_human", `{}`, tools.Ready)
	e := worker.raise(choice(t))
	at := templates.SessionURL(worker.session.String())
	b := w.as("viewer")
	got := b.get(at)
	got.has(t, http.StatusOK, "gave the agent its task", "The agent says", "1 row", "The service did not answer properly.", "The service &lt;i&gt;answered&lt;/i&gt; 503.",
		"3 attempts", "Asked a person", questionPath(e), at+"/calls/1", `id="call-2"`)
	got.lacks(t, "<script>alert", "redacted:key", "ask_human", "long long")
	for _, opened := range []string{at + "?call=1", at + "/calls/1"} {
		got := b.get(opened)
		got.has(t, http.StatusOK, "select &lt;b&gt;1&lt;/b&gt;", "hidden", "What the model saw", "&lt;script&gt;alert(1)")
		got.lacks(t, "<script>alert", "redacted:key")
	}
	b.get(at+"?before=3").has(t, http.StatusOK, "The agent says")
	b.get(at+"?before=x").has(t, 422, "The cursor")
	b.get("/sessions").has(t, http.StatusOK, "Find order 4711", "Waiting for a person", "Charged twice")
	b.get("/sessions?status=waiting").has(t, http.StatusOK, "Find order 4711")
	b.get("/sessions?status=failed").lacks(t, "Find order 4711")
	b.get("/sessions?status=nonsense").has(t, http.StatusNotFound)
	if n := len(b.get(at, "Accept-Language", "zh-CN").body); n == 0 {
		t.Error("no page")
	}
	b.get(at, "Accept-Language", "zh-CN").has(t, http.StatusOK, "该服务未能正常应答。", "1 行数据", "询问人工")
}

// R: S3 — a failed session says what happened, why, and what can be done.
func TestAFailedSessionSaysWhyInWords(t *testing.T) {
	t.Parallel()
	r := reader{ctx: t.Context(), actor: auth.System()}
	for raw, says := range map[string]string{
		`{"code": "budget_working_time", "params": {"used": "1260000000000", "max": "1200000000000"}}`: "It worked for 21m of 20m; waiting for people is not counted.",
		`{"code": "budget_cost_usd", "params": {"used": "1004000", "max": "1000000"}}`:                 "It used $1.00 of $1.00.",
		`{"code": "budget_tokens", "params": {"used": "120500", "max": "120000"}}`:                     "It used 120,500 of 120,000.",
		`{"code": "model_failed", "params": {"kind": "timeout", "n": 5, "said": "secret stack"}}`:      "Baton asked 5 times. The kind of fault: timeout.",
		`{"code": "model_failed", "params": {"kind": "invalid_request", "n": 1, "said": "secret"}}`:    "Baton asked once. The kind of fault: invalid_request.",
		`{"code": "script_failed", "params": {"said": "secret.star:3: division by zero"}}`:             "It broke off in the middle of its work, and would again at the same place.",
		`{"code": "of_a_newer_release"}`: "Something happened that this page has no words for.",
		`nonsense`:                       "Something happened that this page has no words for.",
	} {
		f := r.failure(json.RawMessage(raw), false)
		if f.Why != says || f.What == "" || f.Do == "" || f.Exact != "" || strings.Contains(f.What+f.Why+f.Do, "secret") {
			t.Errorf("%s: %+v", raw, f)
		}
	}
	if f := r.failure(json.RawMessage(`{"code": "model_failed", "params": {"said": "exactly"}}`), true); f.Exact != "exactly" {
		t.Errorf("whoever looks after agents sees %q", f.Exact)
	}
}

// R: C7, C1 — decisions, each with the question as it was.
func TestDecisionsAreListedWithWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	b := w.as("responder")
	b.post(questionPath(e)+"/answer", form("1", "refund", "message", "Go."))
	b.post(questionPath(e)+"/undo", nil)
	b.post(questionPath(e)+"/answer", form("3", "leave"))
	list := w.as("viewer").get("/decisions")
	list.has(t, http.StatusOK, "Refund it", "Leave it", "Taken back", "responder", "Charged twice")
	b.get("/decisions?by=me").has(t, http.StatusOK, "Leave it")
	w.as("supervisor").get("/decisions?by=me").lacks(t, "Leave it")
	b.get("/decisions?agent=desk").has(t, http.StatusOK, "Leave it")
	now, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	got := b.get(templates.DecisionURL(now.Decision.ID.String()))
	got.has(t, http.StatusOK, "You answered B: Leave it", "Not followed", "duplicate charge", "Browser", "Order 8812 was charged twice.")
	got.lacks(t, `type="radio"`)

	// The next question like it is shown with them.
	like := b.get(questionPath(w.question("desk")))
	like.has(t, http.StatusOK, "How similar cases were decided", "Chosen in 1 of 1 similar case", templates.DecisionURL(now.Decision.ID.String()))
	like.lacks(t, "No similar decision yet", "went well")
	for _, c := range [][2]string{{"failed", "went well in 0 of 1"}, {"succeeded", "went well in 1 of 1"}} { // the latest mark counts
		mark, says := c[0], c[1]
		if _, err := w.db.Exec(t.Context(), `insert into decision_marks (decision_id, mark, by_name) values ($1, $2, 'test')`, now.Decision.ID, mark); err != nil {
			t.Fatal(err)
		}
		b.get(questionPath(w.question("desk"))).has(t, http.StatusOK, "Chosen in 1 of 1 similar case; "+says)
	}
}

// R: Z5 — lists come in pages.
func TestListsGoOnFromPageToPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	if _, err := w.db.Exec(t.Context(), `
create temp table more as select e.* from escalations e, generate_series(1, 119);
update more set id = gen_random_uuid(), number = nextval(pg_get_serial_sequence('escalations', 'number')), call = 1, due_at = now() + random() * interval '2 days';
insert into escalations overriding system value select * from more`); err != nil {
		t.Fatal(err)
	}
	b := w.as("responder")
	seen := map[string]bool{}
	pages := 0
	for at := "/inbox"; at != ""; pages++ {
		body := b.get(at).body
		at = ""
		for _, part := range strings.Split(body, `href="`)[1:] {
			to, _, _ := strings.Cut(part, `"`)
			to = strings.ReplaceAll(to, "&amp;", "&")
			switch {
			case strings.HasPrefix(to, "/inbox/esc_"):
				if seen[to] {
					t.Fatalf("%s is on two pages", to)
				}
				seen[to] = true
			case strings.HasPrefix(to, "/inbox?cursor="):
				at = to
			}
		}
	}
	if len(seen) != 120 || pages != 3 || !seen[questionPath(e)] {
		t.Errorf("%d questions on %d pages", len(seen), pages)
	}
	for _, at := range []string{"/inbox?cursor=x", "/decisions?cursor=x", "/sessions?cursor=x", "/inbox?view=done&cursor=aW5ib3ggeA"} {
		b.get(at).has(t, 422, "The cursor")
	}
	b.get("/inbox?view=nonsense").has(t, http.StatusNotFound)
}

// R: N2, K3 — a page that is opened changes nothing, not even that it was seen.
// case: abuse A07
func TestOpeningAPageWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	b := w.as("responder")
	b.post(questionPath(e)+"/answer", form("1", "leave"))
	other := w.question("desk")
	now, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	readOnly := pgtest.Open(t, pgtest.URL(w.db)+"&default_transaction_read_only=on")
	deps := w.deps
	deps.Accounts, deps.Sessions, deps.Definitions = auth.NewAccounts(readOnly), sessions.NewStore(readOnly, nil), definition.NewStore(readOnly, definition.Known{}, nil)
	deps.Escalations, deps.Inserter, deps.Log = escalation.NewStore(readOnly), (*jobs.Inserter)(nil), slog.New(slog.NewTextHandler(io.Discard, nil))
	server := httptest.NewServer(New(deps))
	defer server.Close()
	at, _ := url.Parse(w.server.URL)
	there, _ := url.Parse(server.URL)
	cookies := b.client.Jar.Cookies(at)
	for _, c := range cookies {
		c.Name = strings.Replace(c.Name, at.Port(), there.Port(), 1)
	}
	b.client.Jar.SetCookies(there, cookies)
	for _, page := range []string{"/inbox", "/inbox?view=done", "/inbox?view=going-out", questionPath(e), questionPath(other), questionPath(other) + "?answered=" + e.ID.String(),
		"/sessions", templates.SessionURL(e.Session.String()), "/decisions", templates.DecisionURL(now.Decision.ID.String())} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if got := b.do(method, server.URL+page, nil); got.status != http.StatusOK {
				t.Errorf("%s %s on a read-only database: %d", method, page, got.status)
			}
		}
	}
	if n := count(t, w.db, `select count(*) from escalations where seen_at is not null`); n != 0 {
		t.Errorf("%d were seen", n)
	}
	if got := b.post(questionPath(other)+"/seen", nil); got.status != http.StatusNoContent {
		t.Errorf("seen: %d", got.status)
	}
	if n := count(t, w.db, `select count(*) from escalations where seen_at is not null`); n != 1 {
		t.Errorf("%d were seen, want 1", n)
	}
}

// R: Q6 — until the agent has an answer its page looks again, but not for ever.
func TestAPageLooksAgainOnlyWhileAnAnswerIsOnItsWay(t *testing.T) {
	t.Parallel()
	r := reader{ctx: t.Context(), now: time.Now()}
	for name, c := range map[string]struct {
		status escalation.Status
		since  time.Duration // since it went out
		again  bool
	}{
		"held":           {escalation.Answered, -5 * time.Second, false},
		"just out":       {escalation.Answered, time.Second, true},
		"out for long":   {escalation.Answered, time.Minute, false},
		"with the agent": {escalation.Applied, time.Second, false},
	} {
		out := r.now.Add(-c.since)
		for _, e := range []escalation.Escalation{
			{Status: c.status, HeldUntil: &out, Decision: &escalation.Decision{DecidedAt: out.Add(-time.Hour)}},
			{Status: c.status, Decision: &escalation.Decision{DecidedAt: out}},
		} {
			if e.HeldUntil == nil && c.since < 0 {
				continue
			}
			if got := r.renew(e); got.IsZero() == c.again || c.again && !got.After(r.now) {
				t.Errorf("%s: looks again at %v", name, got)
			}
		}
	}
}
