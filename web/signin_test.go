package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"baton/internal/auth"
)

func token(t *testing.T, link string) url.Values {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return url.Values{"token": {u.Query().Get("token")}}
}

// R: K1, N2
func TestOpeningALinkShowsItsPersonAndUsesNothingUp(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	link := h.link("Mara Okafor", auth.Responder)
	scanner := h.browser()
	for range 3 {
		if got := scanner.get(link); got.status != http.StatusOK || !strings.Contains(got.body, "Sign in as Mara Okafor") {
			t.Fatalf("GET of the link: %d\n%s", got.status, got.body)
		}
	}
	if n := count(t, h.db, `select count(*) from logins`); n != 0 {
		t.Errorf("opening a link made %d logins", n)
	}
	b := h.browser()
	if got := b.post("/sign-in", token(t, link)); got.status != http.StatusSeeOther || got.header.Get("Location") != "/inbox" {
		t.Fatalf("POST of the link: %d to %q", got.status, got.header.Get("Location"))
	}
	if got := b.get("/inbox"); got.status != http.StatusOK || !strings.Contains(got.body, "Mara Okafor") {
		t.Errorf("inbox after signing in: %d", got.status)
	}
}

// R: K1, S3
func TestALinkThatWasUsedSaysHowToGetAnother(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	link := h.link("Mara", auth.Responder)
	h.browser().post("/sign-in", token(t, link))
	for name, got := range map[string]reply{
		"opened again": h.browser().get(link),
		"used again":   h.browser().post("/sign-in", token(t, link)),
		"nonsense":     h.browser().get("/sign-in?token=nonsense"),
	} {
		if got.status != http.StatusGone || !strings.Contains(got.body, "server user link NAME") {
			t.Errorf("%s: %d, want 410 and the way on\n%s", name, got.status, got.body)
		}
	}
}

// R: K1, K3
// case: abuse A10
func TestSigningInMakesANewLoginAndEndsTheOld(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.browser()
	b.post("/sign-in", token(t, h.link("Mara", auth.Responder)))
	planted := cookieValue(b)
	if _, err := h.accounts.ActorByLogin(t.Context(), planted); err != nil {
		t.Fatal(err)
	}
	got := b.post("/sign-in", token(t, h.link("Dana", auth.Responder)))
	if got.status != http.StatusSeeOther {
		t.Fatalf("second sign-in: %d", got.status)
	}
	if fresh := cookieValue(b); fresh == planted || fresh == "" {
		t.Error("the login did not change")
	}
	if _, err := h.accounts.ActorByLogin(t.Context(), planted); err == nil {
		t.Error("the login from before still works")
	}
	set := got.header.Get("Set-Cookie")
	for _, want := range []string{h.loginCookie() + "=", "Path=/", "HttpOnly", "SameSite=Lax"} {
		if !strings.Contains(set, want) {
			t.Errorf("cookie %q lacks %s", set, want)
		}
	}
}

func cookieValue(b *browser) string {
	at, _ := url.Parse(b.h.server.URL)
	for _, c := range b.client.Jar.Cookies(at) {
		if c.Name == b.h.loginCookie() {
			return c.Value
		}
	}
	return ""
}

// R: K3
// case: abuse A10
func TestOnHTTPSTheCookieIsBoundToTheHostAndSecure(t *testing.T) {
	t.Parallel()
	h := open4test(t, func(d *Deps) { d.PublicURL = &url.URL{Scheme: "https", Host: "baton.example"} })
	got := h.browser().post("/sign-in", token(t, h.link("Mara", auth.Responder)))
	set := got.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-baton=", "Path=/", "Secure", "HttpOnly", "SameSite=Lax"} {
		if !strings.Contains(set, want) {
			t.Errorf("cookie %q lacks %s", set, want)
		}
	}
	if strings.Contains(set, "Domain") {
		t.Errorf("cookie %q names a domain", set)
	}
}

// Browsers share cookies among the ports of a host, and a demo runs beside a
// server on another one.
// R: K1
func TestTwoServersOnOneHostDoNotSignEachOtherOut(t *testing.T) {
	t.Parallel()
	first, second := open4test(t), open4test(t)
	b := first.browser()
	b.post("/sign-in", token(t, first.link("Mara", auth.Responder)))
	other := &browser{h: second, client: b.client}
	if got := other.get("/decisions"); got.header.Get("Location") != "/sign-in" {
		t.Fatalf("signed in at a server that was never asked: %d", got.status)
	}
	other.post("/sign-in", token(t, second.link("Mara", auth.Responder)))
	for name, at := range map[string]*browser{"first": b, "second": other} {
		if got := at.get("/inbox"); got.status != http.StatusOK {
			t.Errorf("at the %s server: %d, want 200", name, got.status)
		}
	}
}

// R: K1
func TestSigningOutEndsTheLoginOnTheServer(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.signedIn("Mara", auth.Viewer)
	kept := cookieValue(b)
	if got := b.post("/sign-out", nil); got.status != http.StatusSeeOther || got.header.Get("Location") != "/sign-in?bye" {
		t.Fatalf("sign out: %d to %q", got.status, got.header.Get("Location"))
	}
	if _, err := h.accounts.ActorByLogin(t.Context(), kept); err == nil {
		t.Error("the login still works after signing out")
	}
	if got := b.get("/sign-in?bye"); !strings.Contains(got.body, "You have signed out.") {
		t.Errorf("page after signing out: %s", got.body)
	}
}

// R: K3
// case: abuse A33
func TestAfterSigningInThePersonIsWhereTheyWantedToGo(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.browser()
	h.login("first", auth.Admin)
	if got := b.get("/inbox?view=team"); got.header.Get("Location") != "/sign-in" {
		t.Fatalf("unsigned: %d", got.status)
	}
	if got := b.post("/sign-in", token(t, h.link("Mara", auth.Viewer))); got.header.Get("Location") != "/inbox?view=team" {
		t.Errorf("after signing in: to %q", got.header.Get("Location"))
	}
	for _, evil := range []string{"//evil.example", `/\evil.example`, "https://evil.example", "javascript:alert(1)"} {
		link, err := h.accounts.MakeLink(t.Context(), auth.CLI("root"), "Mara")
		if err != nil {
			t.Fatal(err)
		}
		if got := h.browser().post("/sign-in", url.Values{"token": {link}}, "Cookie", strings.Replace(h.loginCookie(), "baton", returnCookie, 1)+"="+evil); got.header.Get("Location") != "/inbox" {
			t.Errorf("with %q: to %q", evil, got.header.Get("Location"))
		}
	}
}

// case: abuse A33
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{
		"/inbox", "/inbox/esc_0193?view=mine", "//evil", `/\evil`, "https:evil", "javascript:x", "/\tevil", "/%09/evil",
		"/a\r\nSet-Cookie: x", "", "/", "/..//evil", "/.//evil", "/@evil", "///", "/?/\\evil",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		const fallback = "/fallback"
		got := localPath(p, fallback)
		if got == fallback {
			return
		}
		base, _ := url.Parse("https://baton.example/sign-in")
		to, err := base.Parse(got)
		if err != nil || to.Host != "baton.example" || to.Scheme != "https" || strings.ContainsAny(got, "\\\r\n\t ") || strings.HasPrefix(to.Path, "//") {
			t.Errorf("localPath(%q) = %q, which leads to %v (%v)", p, got, to, err)
		}
	})
}

// R: UI, I18N — language and theme are kept, work signed out and without scripts.
func TestThemeAndLanguageAreKeptWithTheAccountAndInTheBrowser(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.signedIn("Mara", auth.Viewer)
	got := b.post("/preferences", url.Values{"theme": {"dark"}, "return": {"/inbox"}})
	if got.status != http.StatusSeeOther || got.header.Get("Location") != "/inbox" {
		t.Fatalf("set theme: %d to %q", got.status, got.header.Get("Location"))
	}
	b.post("/preferences", url.Values{"language": {"zh-Hans"}, "return": {"//evil"}})
	if body := b.get("/inbox").body; !strings.Contains(body, `<html lang="zh-Hans" data-theme="dark"`) || !strings.Contains(body, "收件箱") {
		t.Errorf("inbox is not dark and Chinese: %.200s", body)
	}
	if n := count(t, h.db, `select count(*) from people where theme = 'dark' and language = 'zh-Hans'`); n != 1 {
		t.Error("the choice isn't with the account")
	}
	b.post("/sign-out", nil)
	if body := b.get("/sign-in").body; !strings.Contains(body, `<html lang="zh-Hans" data-theme="dark"`) {
		t.Errorf("sign-in page forgot: %.200s", body)
	}
	b.post("/preferences", url.Values{"theme": {"system"}})
	if body := b.get("/sign-in").body; !strings.Contains(body, `data-theme=""`) {
		t.Errorf("the system's theme can't be chosen again: %.200s", body)
	}
	for _, wrong := range []url.Values{{"theme": {"neon"}}, {"language": {"tlh"}}} {
		if got := b.post("/preferences", wrong); got.status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d, want 422", wrong, got.status)
		}
	}
}
