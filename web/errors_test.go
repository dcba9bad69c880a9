package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/problem"
)

// failing serves one address that always fails with err.
func failing(t *testing.T, err error) (*house, http.Handler) {
	t.Helper()
	h := open4test(t)
	s := &site{Deps: Deps{Accounts: h.accounts, Log: slogTo(h.log)}, origin: newOriginCheck(nil)}
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.Use(s.identified, s.logged, s.recovered, safeHeaders, s.read)
	e.GET("/fail", func(echo.Context) error {
		if err == nil {
			panic("kaboom with a secret")
		}
		return err
	})
	return h, e
}

func ask(handler http.Handler, accept, language string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodGet, "/fail", nil)
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Language", language)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	return w
}

// R: K3, S3 — no raw error ever reaches a person.
func TestARawErrorBecomesAPageWithAReferenceAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"error": fmt.Errorf("read people: %w", errBroken), "panic": nil} {
		h, handler := failing(t, fault)
		w := ask(handler, "text/html", "en")
		body := w.Body.String()
		if w.Code != http.StatusInternalServerError || !strings.Contains(body, "Something went wrong on our side.") {
			t.Errorf("%s: %d\n%s", name, w.Code, body)
		}
		if strings.Contains(body, "secret") || strings.Contains(body, "goroutine") {
			t.Errorf("%s: the cause is on the page", name)
		}
		reference := w.Header().Get("X-Request-Id")
		if !strings.Contains(body, reference) || !strings.Contains(h.log.String(), reference) || !strings.Contains(h.log.String(), "secret") {
			t.Errorf("%s: reference %s doesn't lead from the page to the cause in the log", name, reference)
		}
	}
}

// R: I1 — RFC 9457.
func TestProgramsGetAProblemDocumentInTheirLanguage(t *testing.T) {
	t.Parallel()
	p := problem.New(problem.Conflict, "conflict", problem.Params{"who": "Dana"}).At("/version").With("decision", map[string]any{"option": "B"})
	_, handler := failing(t, fmt.Errorf("answer: %w", p))
	w := ask(handler, "application/json", "zh-CN")
	if w.Code != http.StatusConflict || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Fatalf("%d %s", w.Code, w.Header().Get("Content-Type"))
	}
	var doc map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"type": "urn:baton:problem:conflict", "code": "conflict", "status": 409.0, "field": "/version", "title": "你的请求到达之前，情况已经变了。"} {
		if doc[name] != want {
			t.Errorf("%s is %v, want %v", name, doc[name], want)
		}
	}
	if d, _ := doc["decision"].(map[string]any); d["option"] != "B" {
		t.Errorf("extension member: %v", doc["decision"])
	}
}

func TestEachKindHasItsStatus(t *testing.T) {
	t.Parallel()
	for kind, want := range map[problem.Kind]int{
		problem.Internal: 500, problem.Malformed: 400, problem.Unauthenticated: 401, problem.Forbidden: 403, problem.NotFound: 404,
		problem.Conflict: 409, problem.Gone: 410, problem.TooLarge: 413, problem.Invalid: 422, problem.Limited: 429, problem.Unavailable: 503,
	} {
		if got := statusOf(problem.New(kind, "x", nil)); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
	}
}

// R: K2
func TestAnUnknownAddressIsAPageWithTheWayBack(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	for _, b := range []*browser{h.browser(), h.signedIn("Mara", auth.Viewer)} {
		got := b.get("/no/such/<script>alert(1)</script>")
		if got.status != http.StatusNotFound || !strings.Contains(got.body, "There is nothing here.") || !strings.Contains(got.body, `href="/inbox"`) {
			t.Errorf("%d\n%s", got.status, got.body)
		}
		if strings.Contains(got.body, "<script>alert") {
			t.Error("the address is on the page as markup")
		}
	}
}

// R: K4
// case: abuse A14
func TestARefusedVerbIsOnRecord(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	login := h.login("Vera", auth.Viewer)
	actor, err := h.accounts.ActorByLogin(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	var refusal error
	for team := range actor.Roles {
		refusal = auth.Can(actor, auth.AnswerEscalation, auth.Object{Kind: "escalation", ID: "esc_1", Team: team})
	}
	s := &site{Deps: Deps{Accounts: h.accounts, Log: slogTo(h.log)}, origin: newOriginCheck(nil)}
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.Use(s.identified, s.logged, s.read)
	e.POST("/refuse", func(echo.Context) error { return refusal })
	req := httptest.NewRequest(http.MethodPost, "/refuse", nil)
	req.AddCookie(&http.Cookie{Name: "baton", Value: login})
	w := httptest.NewRecorder()
	e.ServeHTTP(w, req)
	if w.Code != http.StatusForbidden {
		t.Errorf("%d, want 403", w.Code)
	}
	if n := count(t, h.db, `select count(*) from audit where actor_name = 'Vera' and verb = 'escalation.answer' and note = 'refused'`); n != 1 {
		t.Errorf("%d rows on record, want 1", n)
	}
}

// R: W5
func TestReadinessIsSaidWithoutSayingWhatIsMissing(t *testing.T) {
	t.Parallel()
	h := open4test(t, func(d *Deps) { d.Ready = func(context.Context) error { return errBroken } })
	if got := h.browser().get("/healthz"); got.status != http.StatusOK {
		t.Errorf("healthz: %d", got.status)
	}
	got := h.browser().get("/readyz")
	if got.status != http.StatusServiceUnavailable || strings.Contains(got.body, "secret") {
		t.Errorf("readyz: %d %s", got.status, got.body)
	}
	if ready := open4test(t).browser().get("/readyz"); ready.status != http.StatusOK {
		t.Errorf("readyz of a ready server: %d", ready.status)
	}
}

// case: fault F14
func TestAnUnreachableDatabaseIsSaidSo(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.signedIn("Mara", auth.Viewer)
	h.db.Close()
	if got := b.get("/inbox"); got.status < 500 || strings.Contains(got.body, "closed pool") {
		t.Errorf("%d\n%s", got.status, got.body)
	}
}
