package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"baton/internal/tools"
	"baton/templates"
	"baton/web/browsertest"
)

// focused is the id of the row that has the focus.
func focused(tab *browsertest.Tab) string {
	return browsertest.Eval[string](tab, `document.activeElement.closest("li")?.id ?? ""`)
}

// R: UI — keys lead through the rows, from problem to problem, and open them.
func TestKeysLeadThroughATimeline(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	for _, page := range []string{"session-chart", "session"} {
		tab.Go(server.URL + "/gallery/" + page)
		for _, step := range []struct{ keys, at string }{
			{"jjj", "call-1"}, {"k", "event-2"}, {"]", "call-4"}, {"]", "call-6"}, {"]", "call-7"}, {"[", "call-6"}, {"jj", ""},
		} {
			tab.Press(step.keys)
			if got := focused(tab); step.at != "" && got != step.at {
				t.Errorf("%s: %s leads to %q, want %s", page, step.keys, got, step.at)
			}
		}
	}
	tab.Go(server.URL + "/gallery/session-chart")
	open := func() int {
		return browsertest.Eval[int](tab, `document.querySelectorAll(".events li > details[open]").length`)
	}
	all := browsertest.Eval[int](tab, `document.querySelectorAll(".events li > details").length`)
	tab.Press("]")
	tab.Press("\r")
	if got := open(); got != 0 { // it was open
		t.Errorf("after Enter %d rows are open", got)
	}
	tab.Press("\r")
	tab.Press("e")
	if got := open(); got != all || all < 8 {
		t.Errorf("E opens %d of %d rows", got, all)
	}
	tab.Press("e")
	if got := open(); got != 0 {
		t.Errorf("E leaves %d rows open", got)
	}
}

// R: UI, A7 — what is drawn anew while somebody is about to stop the session
// doesn't take the question away.
func TestWhatIsDrawnAnewLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/session-chart")
	tab.Click(`[popovertarget="stop"]`)
	browsertest.Eval[bool](tab, `(() => {
		for (const id of ["session-head", "session-controls", "session-filters", "session-now", "session-axis", "events"]) {
			const part = document.getElementById(id);
			part.replaceWith(part.cloneNode(true));
		}
		return true;
	})()`)
	if got := tab.Text("#stop h2"); got != "Stop this session for good?" {
		t.Fatalf("the question says %q", got)
	}
	tab.Follow("#stop button")
	want(t, forms.form(t), map[string]string{"": templates.CancelURL(sampleSession.String())})
	tab.Go(server.URL + "/gallery/session-chart")
	tab.PressToLoad("p")
	want(t, forms.form(t), map[string]string{"": templates.PauseURL(sampleSession.String())})
}

// R: UI — what runs is seen to run.
func TestClocksAndBarsGrow(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/session-running")
	const now = `JSON.stringify([...document.querySelectorAll("time[data-show=since]")].map((e) => e.textContent).concat(document.querySelector("rect[data-since]").getAttribute("width")))`
	before := browsertest.Eval[string](tab, now)
	tab.Wait(`(() => { const was = ` + before + `, is = JSON.parse(` + now + `); return was.length > 2 && was.every((text, i) => text !== is[i]); })()`)
	if got := browsertest.Eval[int](tab, `document.querySelectorAll("#events li.ok time[data-show=since]").length`); got != 0 {
		t.Errorf("%d clocks for what has ended", got)
	}
}

// R: UI — where the reader's system chooses the colours, the shape of a bar still
// says how it went.
func TestBarsAreToldApartWithoutColours(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.ForceColors()
	tab.Go(server.URL + "/gallery/session-chart")
	tab.NoOverflow()
	tab.Shot("session-chart-forced")
	seen := map[string]string{}
	for _, look := range []string{"bar-ok", "bar-bad", "bar-outline", "bar-wait"} {
		drawn := browsertest.Eval[string](tab, fmt.Sprintf(`(({fill, stroke, strokeDasharray}) => [fill, stroke, strokeDasharray].join())(getComputedStyle(document.querySelector(".bars .%s")))`, look))
		if other := seen[drawn]; other != "" {
			t.Errorf("%s looks like %s: %s", look, other, drawn)
		}
		seen[drawn] = look
	}
}

// R: UI, V6 — what people asked, answered and wrote has no bar beside it, and
// has the room of one.
func TestRowsWithoutABarAreReadWhole(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	for _, look := range browsertest.Looks() {
		tab := browsertest.Open(t, look)
		tab.Go(server.URL + "/gallery/session-chart")
		const longer = `[...document.querySelectorAll(".no-bar .step-name b")].map(b => b.append(", after a long look at it with everybody who knows the customer")).length`
		if rows := browsertest.Eval[int](tab, longer); rows < 2 {
			t.Fatalf("%d rows without a bar", rows)
		}
		tab.NoOverflow()
		const cut = `[...document.querySelectorAll(".no-bar .step-name > :not(.hidden)")].filter(e => e.scrollWidth > e.clientWidth && e.clientWidth > 0).map(e => e.textContent.trim()).join("; ")`
		if words := browsertest.Eval[string](tab, cut); words != "" {
			t.Errorf("at %d these are cut: %s", look.Width, words)
		}
	}
}

// signedInAs is a tab in which a person of the world is signed in.
func (w world) signedInAs(t *testing.T, look browsertest.Look, name string) *browsertest.Tab {
	t.Helper()
	at, _ := url.Parse(w.server.URL)
	tab := browsertest.Open(t, look)
	for _, cookie := range w.as(name).client.Jar.Cookies(at) {
		tab.SetCookie(w.server.URL, cookie.Name, cookie.Value)
	}
	return tab
}

// R: UI, F9 — what is opened is loaded when somebody sees it; the whole output
// goes on where it stands. Without scripts links lead to the same.
func TestACallLoadsWhenItIsOpened(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.work(w.start("desk"))
	call := worker.ask("read_file", `{"path": "<img src=x>"}`, tools.Ready)
	worker.end("read_file", succeeded(t, `"first line"`), nil, "x\n")
	if _, err := w.db.Exec(t.Context(), `delete from call_outputs`); err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&kept, "line %d <img src=x onerror=alert(1)> %s\n", i, strings.Repeat("y", 30))
	}
	store(t, w, call, kept.String())
	at := w.server.URL + templates.SessionURL(worker.session.String())

	tab := w.signedInAs(t, browsertest.Desk, "supervisor")
	tab.Go(at)
	if n := browsertest.Eval[int](tab, `document.querySelectorAll(".call-body").length`); n != 0 {
		t.Errorf("%d calls were loaded before anybody opened one", n)
	}
	tab.Click("#call-1 summary")
	tab.Wait(`document.querySelector("#call-1 .call-body")?.checkVisibility()`)
	tab.Axe()
	tab.NoOverflow()
	tab.Shot("call-opened")
	tab.Click("#call-1 details.box:last-of-type > summary")
	tab.Wait(`document.querySelectorAll("#call-1 pre.whole").length == 1`)
	tab.Click("#call-1 a[data-more]")
	tab.Wait(`document.querySelectorAll("#call-1 pre.whole").length == 2`)
	if got := browsertest.Eval[string](tab, `document.querySelectorAll("#call-1 pre.whole")[1].textContent.slice(0, 5)`); got != "line " {
		t.Errorf("the second part begins with %q", got)
	}
	if n := browsertest.Eval[int](tab, `document.querySelectorAll("img").length`); n != 0 {
		t.Error("what a tool wrote became an element")
	}
	tab.Go(at + "#call-1") // as a link of a question leads here
	tab.Wait(`document.querySelector("#call-1 details").open && document.querySelector("#call-1 .call-body") !== null`)

	look := browsertest.Phone
	look.NoScripts = true
	plain := w.signedInAs(t, look, "viewer")
	plain.Go(at)
	plain.Click("#call-1 summary")
	plain.Follow("#call-1 [data-load] a")
	if got := plain.Text(".call-body"); !strings.Contains(got, "first line") || plain.Path() != templates.CallURL(worker.session.String(), 1) {
		t.Errorf("at %s: %q", plain.Path(), got)
	}
	plain.NoOverflow()
	if got := w.as("viewer").get(at + "/calls/1/output"); got.status != http.StatusForbidden {
		t.Errorf("a viewer's whole output: %d", got.status)
	}
}
