package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"baton/internal/auth"
	"baton/web/browsertest"
)

// R: UI — G, then a letter, leads to a section from everywhere.
func TestGAndALetterLeadToASection(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	for _, look := range []browsertest.Look{browsertest.Desk, browsertest.Phone} {
		tab := browsertest.Open(t, look)
		for key, to := range map[string]string{"i": "/inbox", "s": "/sessions", "d": "/decisions"} {
			tab.Go(server.URL + "/gallery/question")
			tab.Press("g")
			tab.PressToLoad(key)
			if tab.Path() != to {
				t.Errorf("G %s leads to %s", key, tab.Path())
			}
		}
		tab.Go(server.URL + "/gallery/question")
		tab.Press("gx")
		tab.Press("d") // no longer after G: the option
		if tab.Path() != "/gallery/question" {
			t.Errorf("D alone leads to %s", tab.Path())
		}
	}
}

// R: UI — while the map is open, keys don't reach the page behind it.
func TestTheMapOfKeysOpensAndCloses(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/question")
	tab.Press("?")
	tab.Wait(`document.getElementById("keys").open`)
	tab.Press("b")
	if got := chosen(tab); got != "" {
		t.Errorf("behind the map, B chose %q", got)
	}
	tab.Press(kb.Escape)
	tab.Wait(`!document.getElementById("keys").open`)
	tab.Press("b")
	if got := chosen(tab); got != "refund_part" {
		t.Errorf("with the map closed, B chose %q", got)
	}
	tab.Click(`[popovertarget="menu"]`)
	tab.Click(`[data-opens="keys"]`)
	tab.Wait(`document.getElementById("keys").open`)
}

// R: UI — WCAG 2.1.4: single keys can be turned off, and stay off.
func TestSingleKeysCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	tab := h.signedInTab(t, browsertest.Desk, "Mara")
	tab.Go(h.server.URL + "/inbox")
	tab.Press("?")
	tab.Follow(`#keys [name="keys"][value="off"]`)
	if tab.Path() != "/inbox" {
		t.Errorf("turning them off leads to %s", tab.Path())
	}
	tab.Press("?")
	if browsertest.Eval[bool](tab, `document.getElementById("keys").open`) {
		t.Error("? still opens the map")
	}
	tab.Click(`[popovertarget="menu"]`)
	tab.Click(`[data-opens="keys"]`) // the map is there to turn them on again
	tab.Follow(`#keys [name="keys"][value="on"]`)
	tab.Press("?")
	tab.Wait(`document.getElementById("keys").open`)
}

func TestWhetherKeysActIsKeptWithTheAccount(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	b := h.signedIn("Mara", auth.Viewer)
	const off = ` data-keys="off"`
	if strings.Contains(b.get("/inbox").body, off) {
		t.Error("keys are off to begin with")
	}
	b.post("/preferences", url.Values{"keys": {"off"}})
	b.post("/preferences", url.Values{"theme": {"dark"}}) // one preference leaves the others
	if !strings.Contains(b.get("/inbox").body, off) || count(t, h.db, `select count(*) from people where not single_keys`) != 1 {
		t.Error("keys are not off")
	}
	b.post("/preferences", url.Values{"keys": {"on"}})
	if strings.Contains(b.get("/inbox").body, off) {
		t.Error("keys can't be turned on again")
	}
	if got := b.post("/preferences", url.Values{"keys": {"maybe"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("keys maybe: %d", got.status)
	}
}

// R: UI — without scripts no key does anything, and none is shown.
func TestNoKeyIsShownWithoutScripts(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	look := browsertest.Desk
	for _, look.NoScripts = range []bool{false, true} {
		tab := browsertest.Open(t, look)
		for _, name := range []string{"inbox", "question", "session-running"} {
			tab.Go(server.URL + "/gallery/" + name)
			shown := browsertest.Eval[int](tab, `[...document.querySelectorAll(".key, .key-hint")].filter((e) => e.checkVisibility()).length`)
			if (shown == 0) != look.NoScripts {
				t.Errorf("%s without scripts (%v) shows %d keys", name, look.NoScripts, shown)
			}
		}
	}
}
