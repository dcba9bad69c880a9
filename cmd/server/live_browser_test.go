package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/sessions"
	"baton/templates"
	"baton/web/browsertest"
)

// stays marks a page, so that a test can tell that it was not loaded anew.
func stays(tab *browsertest.Tab) { browsertest.Eval[bool](tab, `(window.mark = true)`) }

func stayed(t *testing.T, tab *browsertest.Tab, what string) {
	t.Helper()
	if !browsertest.Eval[bool](tab, `window.mark === true`) {
		t.Errorf("%s was loaded anew", what)
	}
}

const connected = `"connected" in document.documentElement.dataset`

// What one answers, the other sees: the list, the numbers, and the question that
// is open before them, with what they were writing kept.
// R: V1, V6, UI, Y1
func TestTwoBrowsersSeeTheSameInbox(t *testing.T) {
	t.Parallel()
	p := working(t)
	base := p.serve()
	one, other := p.tab(t, base, browsertest.Desk, "responder"), p.tab(t, base, browsertest.Desk, "responder-2")
	for _, tab := range []*browsertest.Tab{one, other} {
		tab.Wait(connected)
	}
	first := p.questions(p.start(askWithActions, "escalation: {hold: 30m}"), 1)[0]
	// An inbox that was empty fills, and the tab's title says how many wait.
	for _, tab := range []*browsertest.Tab{one, other} {
		tab.Wait(`document.querySelector("#queue a[data-row]") && document.title.startsWith("(1) ")`)
		stays(tab)
	}
	second := p.questions(p.start(askWithActions, "escalation: {hold: 30m}"), 1)[0]
	for _, tab := range []*browsertest.Tab{one, other} {
		tab.Wait(`document.querySelectorAll("#queue a[data-row]").length === 2 && document.title.startsWith("(2) ")`)
		tab.Wait(`document.querySelector("#inbox-rest h2").textContent === "2 questions wait"`)
		stayed(t, tab, "the inbox")
	}
	for _, tab := range []*browsertest.Tab{one, other} {
		tab.Go(base + templates.EscalationURL(first.ID.String()))
		tab.Wait(connected)
		stays(tab)
	}
	browsertest.Eval[string](other, `(document.querySelector("[name=message]").value = "half a thought")`)
	one.Press("c")
	one.PressToLoad("\r")
	other.Wait(`document.querySelector(".news[data-told]")?.textContent.includes("responder answered C")`)
	other.Wait(`document.querySelectorAll("#queue a[data-row]").length === 1`)
	stayed(t, other, "the question")
	if draft := browsertest.Eval[string](other, `document.querySelector("[name=message]").value`); draft != "half a thought" {
		t.Errorf("the draft is %q", draft)
	}
	if !browsertest.Eval[bool](other, `[...document.querySelectorAll(".answer-form button:not([type=button])")].every((b) => b.disabled)`) {
		t.Error("a question that is answered can still be answered")
	}
	sound(other)
	other.Shot("live-news")
	if _, err := p.desk.Undo(t.Context(), p.people["responder"], first.ID); err != nil {
		t.Fatal(err)
	}
	other.Wait(`document.querySelector(".news[data-told]")?.textContent.includes("taken back")`)
	other.Wait(`document.querySelectorAll("#queue a[data-row]").length === 2`)
	_ = second
}

// R: V1, V6, UI, Y1
func TestASessionsPageFollowsTheSession(t *testing.T) {
	t.Parallel()
	p := working(t)
	base := p.serve()
	session := p.start(askWithActions, "escalation: {hold: 0s}")
	q := p.questions(session, 1)[0]
	for _, look := range []struct{ who string }{{"supervisor"}, {"viewer"}} {
		tab := p.tab(t, base, browsertest.Desk, look.who)
		tab.Go(base + templates.SessionURL(session.String()))
		tab.Wait(connected)
		stays(tab)
		// Details that were opened and loaded stay when their row is drawn anew.
		browsertest.Eval[bool](tab, `(window.row = document.querySelector("#call-1").outerHTML, document.querySelector("#call-1 details").open = true)`)
		tab.Wait(`document.querySelector("#call-1 [data-part]") !== null`)
		browsertest.Eval[bool](tab, `import(document.querySelector("script[type=module]").src.replace("app.js", "patch.js")).then((m) => m.apply(["put", "events", "call-1", "", window.row]))`)
		if !browsertest.Eval[bool](tab, `Boolean(document.querySelector("#call-1 details[open] [data-part]"))`) {
			t.Errorf("%s: what was loaded is gone", look.who)
		}
		defer func() {
			p.untilStatus(session, sessions.Completed)
			tab.Wait(`document.querySelector("#session-head").textContent.includes("Completed")`)
			tab.Wait(`document.querySelector("#session-now").textContent.includes("Refunded a part.")`)
			stayed(t, tab, "the session")
			// The rows are those of the page as it would be drawn now, in their order.
			ids := `[...document.querySelectorAll("#events > *")].map((e) => e.id).join()`
			live := browsertest.Eval[string](tab, ids)
			tab.Go(base + templates.SessionURL(session.String()))
			if drawn := browsertest.Eval[string](tab, ids); drawn != live {
				t.Errorf("%s: the rows are %s, and should be %s", look.who, live, drawn)
			}
			sound(tab)
		}()
	}
	p.answer("responder", q, choose(q, "B"))
}

// R: V6
func TestWhatTheModelSaysStandsInThePageWhileItIsSaid(t *testing.T) {
	t.Parallel()
	p := working(t)
	base := p.serve()
	const said = "I have looked at the orders of this customer and found one that was paid twice, a week apart. I am going to look at what was promised about it. "
	session := p.start(`
def reply(s):
    return [slow(60), say("` + strings.Repeat(said, 6) + `"), call("look")]
`)
	tab := p.tab(t, base, browsertest.Desk, "viewer")
	tab.Go(base + templates.SessionURL(session.String()))
	tab.Wait(`document.querySelector("#session-draft .writing-text")?.textContent.startsWith("I have looked")`)
	tab.Shot("live-draft")
	sound(tab)
	if _, err := p.sessions.Cancel(t.Context(), p.people["supervisor"], p.inserter, session); err != nil {
		t.Fatal(err)
	}
	tab.Wait(`document.querySelector("#session-draft").childElementCount === 0`)
}

// A page that is open while its server is killed says so, comes back by itself
// when the server does, and has every row once, in order, without being loaded
// anew.
// R: V1, V2, UI, Y1
func TestAnOpenPageOutlivesItsServer(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 700*time.Millisecond)
	r.env = append(r.env, "BATON_DATA_DIR="+dataDir(t))
	first := launch(t, r.env...)
	r.start(1)
	token, err := auth.NewAccounts(r.pool).MakeLink(t.Context(), auth.CLI("t"), "Mara")
	if err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(first.url + templates.SignInLinkURL(token))
	tab.Follow("main button")
	page := first.url + templates.SessionURL(r.ids[0].String())
	tab.Go(page)
	tab.Wait(connected)
	stays(tab)
	tab.Wait(`document.querySelectorAll("#events > [id^=call-]").length >= 2`)
	tab.Expect("ERR_CONNECTION_REFUSED")
	first.end(syscall.SIGKILL)
	tab.Wait(`!document.querySelector("#connection").hidden`)
	tab.Wait(`/^Reconnecting in \d+ s$/.test(document.querySelector("#link [data-says]").textContent)`)
	launchAt(t, strings.TrimPrefix(first.url, "http://"), r.env...)
	tab.Wait(`document.querySelector("#link").dataset.state === "on"`)
	r.untilAllEnded()
	// Or: it is not known whether it was booked, if that was under way.
	tab.Wait(`document.querySelector("#session-now").textContent.toLowerCase().includes("booked.")`)
	stayed(t, tab, "the session")
	const rows = `[...document.querySelectorAll("#events > *")].map((e) => e.id).join()`
	live := browsertest.Eval[string](tab, rows)
	tab.Go(page)
	if drawn := browsertest.Eval[string](tab, rows); drawn != live || !strings.Contains(live, "call-6") {
		t.Errorf("the rows are %s, and should be %s", live, drawn)
	}
}
