package web

import (
	"net/http"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/web/browsertest"
)

// R: UI — an empty inbox says what went on meanwhile, in numbers that are so.
func TestAnEmptyInboxSaysWhatWentOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.as("responder")
	b.get("/inbox").lacks(t, "agents finished", "People answered")
	e := w.question("desk")
	w.start("desk")
	if _, err := w.db.Exec(t.Context(), `update sessions set status = 'completed', outcome = 'done', ended_at = now() where status = 'queued'`); err != nil {
		t.Fatal(err)
	}
	b.get("/inbox").lacks(t, "agents finished") // there is something to do
	b.post(questionPath(e)+"/answer", form("1", "leave"))
	b.get("/inbox").has(t, http.StatusOK, "Nothing needs you.", "In the last 24 hours agents finished 1 of 2 sessions.", "People answered 1 question.")
	w.as("Otto").get("/inbox").lacks(t, "agents finished", "People answered") // another team's
	b.post(questionPath(e)+"/undo", nil)
	b.post(questionPath(e)+"/answer", form("3", "leave"))
	b.get("/inbox", "Accept-Language", "zh-CN").has(t, http.StatusOK, "智能体完成了 2 个会话中的 1 个", "人员回答了 1 个问题")
}

// R: X1 — what a person can hand to whoever looks after the server.
func TestAnErrorPageHasItsDetailsToCopy(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	tab := h.signedInTab(t, browsertest.Desk, "Mara")
	tab.Expect("404")
	tab.Go(h.server.URL + "/inbox/esc_00000000000000000000000000000001?x=private")
	reference := tab.Text(".reference code")
	details := browsertest.Eval[string](tab, `document.querySelector("[data-copy]").dataset.copy`)
	if reference == "" {
		t.Fatal("no reference")
	}
	for _, want := range []string{"404", reference} {
		if !strings.Contains(details, want) {
			t.Errorf("the details lack %q: %q", want, details)
		}
	}
	if strings.Contains(details, "private") {
		t.Errorf("the details have what was asked for: %q", details)
	}
}

// R: UI — offline, an answer waits, and what was written is kept.
func TestAnAnswerWaitsForTheNetwork(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Phone)
	tab.Go(server.URL + "/gallery/question")
	tab.Press("b")
	tab.Press("n")
	tab.Press("Mention the order.")
	browsertest.Eval[bool](tab, `document.activeElement.blur(), true`)
	tab.Offline(true)
	tab.Wait(`!document.querySelector(".answer-offline").hidden`)
	tab.Axe()
	tab.Shot("question-offline")
	tab.NoOverflow()
	tab.Press("\r")
	forms.nothing(t)
	if got := tab.Text(".answer-offline"); !strings.Contains(got, "can’t be sent now") {
		t.Errorf("the reason is %q", got)
	}
	tab.Offline(false)
	tab.Wait(`document.querySelector(".answer-offline").hidden`)
	tab.Go(server.URL + "/gallery/question")
	if got := browsertest.Eval[string](tab, `document.querySelector("[name=message]").value`); !strings.Contains(got, "Mention the order.") || chosen(tab) != "" {
		t.Errorf("the note is %q, and %q is chosen", got, chosen(tab))
	}
	tab.Press("b")
	tab.PressToLoad("\r")
	want(t, forms.form(t), map[string]string{"option": "refund_part"})
}

// R: UI — the foot of the rail says how the page hears of changes.
func TestTheFootSaysHowThePageIsConnected(t *testing.T) {
	t.Parallel()
	h := open4test(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.SetCookie(h.server.URL, h.loginCookie(), h.login("Mara", auth.Responder))
	tab.Go(h.server.URL + "/inbox")
	says := func(text string) {
		t.Helper()
		tab.Wait(`document.querySelector("#link:not([hidden]) [data-says]")?.textContent === ` + text)
	}
	says(`"Live"`)
	set := func(js string) { browsertest.Eval[bool](tab, js+`, true`) }
	// What comes over the connection says that the page is not behind, so it is
	// said as often as it is looked for.
	tab.Wait(`(document.documentElement.dataset.connected = "behind", document.querySelector("#link [data-says]").textContent === "Catching up")`)
	set(`document.documentElement.dataset.retry = Date.now() + 8000, delete document.documentElement.dataset.connected`)
	tab.Wait(`/^Reconnecting in \d s$/.test(document.querySelector("#link [data-says]").textContent)`)
	tab.Axe()
	tab.Shot("inbox-reconnecting")
	if got := tab.Text("#link [data-reconnect]"); got != "Try now" {
		t.Errorf("the button says %q", got)
	}
	set(`document.documentElement.dataset.retry = 0`)
	says(`"Reconnecting"`)
	tab.Offline(true)
	says(`"Offline"`)
	if bar := browsertest.Eval[string](tab, `document.getElementById("connection").dataset.lost`); !strings.Contains(bar, "You are offline") {
		t.Errorf("the bar would say %q", bar)
	}
	tab.Offline(false)
	set(`document.documentElement.dataset.connected = ""`)
	says(`"Live"`)
}

func TestTheColumnOfCostsIsThereIfAnythingCost(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	for name, want := range map[string]bool{"sessions": true, "sessions-free": false} {
		tab.Go(server.URL + "/gallery/" + name)
		if got := browsertest.Eval[bool](tab, `document.querySelector("th.cost").checkVisibility()`); got != want {
			t.Errorf("%s has a column of costs: %v", name, got)
		}
	}
}
