package web

import (
	"net/url"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/web/browsertest"
)

// signedInTab is a tab in which a person is signed in.
func (h *house) signedInTab(t *testing.T, look browsertest.Look, name string) *browsertest.Tab {
	t.Helper()
	tab := browsertest.Open(t, look)
	tab.SetCookie(h.server.URL, h.loginCookie(), h.login(name, auth.Responder))
	return tab
}

// R: Y1, G1 — each page, in each look: no complaint of the browser, none of axe.
func TestEveryPageHoldsInEveryLook(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	h.login("first", auth.Admin)
	for _, look := range browsertest.Looks() {
		t.Run(look.String(), func(t *testing.T) {
			t.Parallel()
			link := h.link(look.String()+" Okafor", auth.Responder)
			tab := browsertest.Open(t, look)
			check := func(name string) {
				t.Helper()
				tab.NoOverflow()
				tab.Axe()
				tab.Shot(name)
			}
			tab.Go(h.server.URL + "/inbox")
			if tab.Path() != "/sign-in" {
				t.Errorf("a stranger is at %s", tab.Path())
			}
			check("signed-out")
			tab.Go(link)
			check("sign-in")
			tab.Follow("main button")
			if tab.Path() != "/inbox" {
				t.Errorf("after signing in: %s", tab.Path())
			}
			check("inbox-empty")
			tab.Click(`[popovertarget="menu"]`)
			check("menu")
			tab.Expect("404")
			tab.Go(h.server.URL + "/no-such-page")
			check("not-found")
			tab.Expect("410")
			tab.Go(link)
			check("link-used")
		})
	}
}

// R: UI, I18N — no page needs JavaScript.
func TestThePersonGetsInChoosesAThemeAndOutWithoutScripts(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	look := browsertest.Phone
	look.NoScripts = true
	tab := browsertest.Open(t, look)
	tab.Go(h.link("Mara", auth.Responder))
	tab.Follow("main button")
	tab.Click(`.topbar [popovertarget="menu"]`)
	tab.Follow(`#menu [name="theme"][value="dark"]`)
	if theme := browsertest.Eval[string](tab, `document.documentElement.dataset.theme`); theme != "dark" || tab.Path() != "/inbox" {
		t.Errorf("theme %q at %s", theme, tab.Path())
	}
	tab.Click(`.topbar [popovertarget="menu"]`)
	tab.Follow(`#menu [name="language"][value="zh-Hans"]`)
	if title := tab.Text("h1"); title != "收件箱" {
		t.Errorf("title is %q", title)
	}
	tab.Click(`.topbar [popovertarget="menu"]`)
	tab.Follow(`#menu form[action="/sign-out"] button`)
	if tab.Path() != "/sign-in?bye" {
		t.Errorf("after signing out: %s", tab.Path())
	}
}

// case: abuse A01
func TestANameWithMarkupIsShownAsText(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	h.login("first", auth.Admin)
	evil := `<img src=x onerror=alert(1)>"'&{{7*7}}`
	tab := h.signedInTab(t, browsertest.Desk, evil)
	tab.Go(h.server.URL + "/inbox")
	if got := tab.Text(".me span"); !strings.Contains(got, "<img src=x") {
		t.Errorf("the name reads %q", got)
	}
	if n := browsertest.Eval[int](tab, `document.querySelectorAll("img").length`); n != 0 {
		t.Error("the name became an element")
	}
	tab.Go(h.server.URL + "/sign-in?token=" + url.QueryEscape(`"><script>alert(1)</script>`))
	tab.Expect("410")
}
