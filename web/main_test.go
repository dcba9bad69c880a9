package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/jobs"
	"baton/internal/live"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/internal/tools/breaker"
	"baton/web/browsertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	browsertest.Stop()
	pgtest.Stop()
	os.Exit(code)
}

// house is a server with a database of its own.
type house struct {
	t        *testing.T
	db       *pgxpool.Pool
	accounts *auth.Accounts
	deps     Deps
	site     *site
	server   *httptest.Server
	log      *lines
}

func open4test(t *testing.T, change ...func(*Deps)) *house {
	t.Helper()
	db := pgtest.New(t)
	h := &house{t: t, db: db, accounts: auth.NewAccounts(db), log: &lines{}}
	hub := live.NewHub(db, slogTo(h.log))
	deps := Deps{Prompt: func(a definition.Agent) (string, int) { return "The contract.\n" + a.Instructions, 7 }, Accounts: h.accounts, Log: slogTo(h.log), Live: hub, Breakers: breaker.New(db, slogTo(h.log)), Sessions: sessions.NewStore(db, hub), Definitions: definition.NewStore(db, definition.Known{}, nil)}
	var err error
	if deps.Inserter, err = jobs.NewInserter(db, deps.Log); err != nil {
		t.Fatal(err)
	}
	deps.Escalations, deps.Desk = escalation.NewStore(db), decide.NewDesk(db, deps.Inserter, hub)
	for _, f := range change {
		f(&deps)
	}
	h.deps = deps
	h.site = newSite(deps)
	h.server = httptest.NewServer(h.site.handler())
	t.Cleanup(h.server.Close)
	return h
}

// link adds a person and returns the address of their sign-in link.
func (h *house) link(name string, role auth.Role) string {
	h.t.Helper()
	token, err := h.accounts.AddPerson(h.t.Context(), auth.CLI("root"), auth.NewPerson{Name: name, Role: role})
	if err != nil {
		h.t.Fatal(err)
	}
	return h.server.URL + "/sign-in?token=" + url.QueryEscape(token)
}

// login is a signed-in person's cookie value.
func (h *house) login(name string, role auth.Role) string {
	h.t.Helper()
	u, err := url.Parse(h.link(name, role))
	if err != nil {
		h.t.Fatal(err)
	}
	login, err := h.accounts.SignIn(h.t.Context(), u.Query().Get("token"), "test")
	if err != nil {
		h.t.Fatal(err)
	}
	return login
}

// browser is a client that keeps cookies, follows no redirect, and says where
// its requests come from, as browsers do.
func (h *house) browser() *browser {
	h.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return &browser{h: h, client: &http.Client{
		Jar:           jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// loginCookie is the name of the server's login cookie.
func (h *house) loginCookie() string {
	at, _ := url.Parse(h.server.URL)
	return "baton_" + at.Port()
}

func (h *house) signedIn(name string, role auth.Role) *browser {
	b := h.browser()
	at, _ := url.Parse(h.server.URL)
	b.client.Jar.SetCookies(at, []*http.Cookie{{Name: h.loginCookie(), Value: h.login(name, role), Path: "/"}})
	return b
}

type browser struct {
	h      *house
	client *http.Client
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (b *browser) do(method, path string, form url.Values, headers ...string) reply {
	b.h.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = b.h.server.URL + path
	}
	req, err := http.NewRequestWithContext(context.Background(), method, path, strings.NewReader(form.Encode()))
	if err != nil {
		b.h.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if !safe(method) {
		req.Header.Set("Origin", b.h.server.URL)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		switch name, value := headers[i], headers[i+1]; {
		case value == "":
			req.Header.Del(name)
		case name == "Host":
			req.Host = value
		default:
			req.Header.Set(name, value)
		}
	}
	res, err := b.client.Do(req)
	if err != nil {
		b.h.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.h.t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(body)}
}

func (b *browser) get(path string, headers ...string) reply {
	b.h.t.Helper()
	return b.do(http.MethodGet, path, nil, headers...)
}

func (b *browser) post(path string, form url.Values, headers ...string) reply {
	b.h.t.Helper()
	if form == nil {
		form = url.Values{}
	}
	return b.do(http.MethodPost, path, form, headers...)
}

// lines is a log that a test can read.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func count(t *testing.T, db *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func slogTo(l *lines) *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

var errBroken = errors.New("pq: column \"secret\" of relation \"people\" is broken")

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("no time zone data: %v", err)
	}
	return zone
}
