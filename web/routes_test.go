package web

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/static"
)

// example fills the parameters of a route's path.
func example(path string) string {
	return strings.NewReplacer(":digest", static.Digest(), "*", "css/app.css", ":id", "esc_00000000000000000000000000000000").Replace(path)
}

// R: N2, K3
// case: abuse A07
func TestNoSafeMethodWrites(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	login := h.login("Mara", auth.Admin)
	// On a database that refuses every write, all that is safe still works.
	readOnly := pgtest.Open(t, pgtest.URL(h.db)+"&default_transaction_read_only=on")
	if _, err := readOnly.Exec(t.Context(), `delete from logins`); err == nil {
		t.Fatal("the read-only pool writes")
	}
	s := &site{Deps: Deps{Accounts: auth.NewAccounts(readOnly), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Sessions: sessions.NewStore(readOnly, nil), Definitions: definition.NewStore(readOnly, definition.Known{}, nil),
		Escalations: escalation.NewStore(readOnly)}}
	handler, safeRoutes := New(s.Deps), 0
	for _, r := range s.routes() {
		if !safe(r.method) {
			continue
		}
		safeRoutes++
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			req := httptest.NewRequest(method, example(r.path), nil)
			req.Host = "localhost"
			req.AddCookie(&http.Cookie{Name: "baton", Value: login})
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, req)
			if w.Code >= 500 || w.Code == http.StatusUnauthorized || w.Code == http.StatusMethodNotAllowed {
				t.Errorf("%s %s on a read-only database: %d", method, r.path, w.Code)
			}
		}
	}
	if safeRoutes == 0 {
		t.Fatal("no safe routes found")
	}
}

// case: abuse A07
func TestAMethodCannotBeOverridden(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.signedIn("Mara", auth.Viewer)
	for _, headers := range [][]string{nil, {"X-HTTP-Method-Override", "POST"}, {"X-HTTP-Method", "POST"}, {"X-Method-Override", "POST"}} {
		if got := b.get("/sign-out?_method=POST", headers...); got.status != http.StatusMethodNotAllowed {
			t.Errorf("GET /sign-out with %v: %d, want 405", headers, got.status)
		}
	}
	if n := count(t, h.db, `select count(*) from logins`); n != 1 {
		t.Errorf("%d logins are left, want 1", n)
	}
}

// R: K1, K2
func TestEveryAddressAsksForAPersonUnlessItIsKnownNotTo(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	openRoutes := map[string]bool{
		"GET /sign-in": true, "POST /sign-in": true, "POST /sign-out": true, "POST /preferences": true,
		"GET " + static.Prefix + ":digest/*": true, "GET /favicon.ico": true, "GET /healthz": true, "GET /readyz": true,
		"GET /ws":     true, // says so by a close code
		"GET /api/v1": true, "GET /api/v1/": true, "GET /api/v1/openapi.json": true,
	}
	for _, r := range (&site{}).routes() {
		name := r.method + " " + r.path
		if (r.access == open) != openRoutes[name] {
			t.Errorf("%s: open is %v", name, r.access == open)
		}
		if r.access == open {
			continue
		}
		for _, login := range []string{"", "nonsense"} {
			headers := []string{"Cookie", h.loginCookie() + "=" + login}
			if login == "" {
				headers = nil
			}
			got := h.browser().do(r.method, example(r.path), nil, headers...)
			if r.method == http.MethodGet && !strings.HasPrefix(r.path, "/api/") {
				if got.status != http.StatusSeeOther || got.header.Get("Location") != "/sign-in" {
					t.Errorf("%s with login %q: %d to %q, want the way to sign in", name, login, got.status, got.header.Get("Location"))
				}
			} else if got.status != http.StatusUnauthorized {
				t.Errorf("%s with login %q: %d, want 401", name, login, got.status)
			}
		}
	}
}
