package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/static"
)

// R: K3
// case: abuse A05
func TestEveryReplyCarriesTheSafeHeaders(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.signedIn("Mara", auth.Viewer)
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
	}
	for _, path := range []string{"/inbox", "/sign-in?token=x", "/no-such-page", static.URL("css/app.css"), "/healthz"} {
		got := b.get(path)
		for name, value := range want {
			if got.header.Get(name) != value {
				t.Errorf("%s: %s is %q", path, name, got.header.Get(name))
			}
		}
		if cached := got.header.Get("Cache-Control"); !strings.HasPrefix(path, "/static/") && cached != "no-store" {
			t.Errorf("%s may be kept: %q", path, cached)
		}
	}
}

// R: K3
// case: abuse A06
func TestARequestThatChangesSomethingMustComeFromOurOwnPages(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	for name, headers := range map[string][]string{
		"another site":          {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		"an older browser":      {"Origin", "https://evil.example", "Sec-Fetch-Site", ""},
		"a sibling host":        {"Origin", "http://other.localhost", "Sec-Fetch-Site", "same-site"},
		"a sandboxed frame":     {"Origin", "null", "Sec-Fetch-Site", ""},
		"no word on its origin": {"Origin", "", "Sec-Fetch-Site", ""},
		"text posed as a form":  {"Origin", "https://evil.example", "Sec-Fetch-Site", "", "Content-Type", "text/plain"},
	} {
		b := h.signedIn("Mara "+name, auth.Viewer)
		got := b.post("/sign-out", nil, headers...)
		if got.status != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", name, got.status)
		}
		if silent := name == "no word on its origin"; silent != strings.Contains(got.body, "did not say where it came from") {
			t.Errorf("%s: the page says\n%s", name, got.body)
		}
		if _, err := h.accounts.ActorByLogin(t.Context(), cookieValue(b)); err != nil {
			t.Errorf("%s: signed the person out", name)
		}
	}
}

// R: K3
func TestOnlyTheServersOwnNamesAreAnswered(t *testing.T) {
	t.Parallel()
	h := open4test(t, func(d *Deps) { d.PublicURL = &url.URL{Scheme: "https", Host: "baton.example"} })
	for host, status := range map[string]int{
		"baton.example": 200, "BATON.example": 200, "baton.example:443": 200, "localhost:8080": 200, "127.0.0.1": 200,
		"[::1]:8080": 200, "10.1.2.3:8080": 200,
		"evil.example": 403, "baton.example.evil.example": 403, "127.0.0.1.evil.example": 403, "localhost.evil.example:8080": 403, "notbaton.example": 403,
	} {
		if got := h.browser().get("/sign-in", "Host", host); got.status != status {
			t.Errorf("Host %s: %d, want %d", host, got.status, status)
		}
	}
	got := h.browser().get("/healthz", "Host", "evil.example")
	if got.status != http.StatusOK {
		t.Errorf("health probe under another name: %d", got.status)
	}
}

// R: K3
// case: abuse A15
func TestAKeyInTheAddressSignsNobodyIn(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	h.login("Mara", auth.Admin)
	key, err := h.accounts.CreateKey(t.Context(), auth.CLI("root"), auth.NewKey{Person: "Mara", Scopes: []auth.Scope{auth.ScopeAll}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"key", "token", "access_token", "api_key"} {
		if got := h.browser().get("/inbox?" + name + "=" + key); got.status != http.StatusSeeOther {
			t.Errorf("?%s=: %d", name, got.status)
		}
	}
	if strings.Contains(h.log.String(), key) {
		t.Error("the log has the key")
	}
}

func TestABodyOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	got := h.browser().post("/preferences", url.Values{"return": {strings.Repeat("x", maxBody+1)}})
	if got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("2 MiB: %d, want 413", got.status)
	}
}

// R: K1 — the token is the secret.
func TestTheLogHasNoSignInToken(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	link := h.link("Mara", auth.Viewer)
	secret := token(t, link).Get("token")
	h.browser().get(link)
	h.browser().post("/sign-in", token(t, link))
	h.browser().get(link)
	if log := h.log.String(); !strings.Contains(log, "path=/sign-in") || strings.Contains(log, secret) {
		t.Errorf("log:\n%s", log)
	}
}

// R: G5 — a page of another version must not be kept under this one's address.
func TestAssetsAreKeptForEverUnderTheirDigestOnly(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.browser()
	got := b.get(static.URL("css/app.css"), "Accept-Encoding", "gzip")
	if got.header.Get("Cache-Control") != "public, max-age=31536000, immutable" || got.header.Get("Content-Encoding") != "gzip" || got.header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("headers: %v", got.header)
	}
	if got := b.get("/static/00000000/css/app.css"); got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("under another digest: %d, %q", got.status, got.header.Get("Cache-Control"))
	}
	for _, path := range []string{"/static/x/nothing.css", "/static/x/../../web.go", "/static/x/static.go", "/static/x/css/tokens.css"} {
		if got := b.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s: %d, want 404", path, got.status)
		}
	}
}
