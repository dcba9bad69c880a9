package web

import (
	"net/http"
	"strings"
	"testing"

	"baton/internal/escalation"
	"baton/static"
	"baton/web/browsertest"
)

// R: Q6 — several answers in a row don't hide each other's way back.
func TestEachAnswerOnHoldKeepsItsWayBackInSight(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.as("responder")
	var asked []escalation.Escalation
	for range 5 {
		asked = append(asked, w.question("desk"))
	}
	var got reply
	for i, e := range asked[:4] {
		answered := b.post(questionPath(e)+"/answer", form("1", "leave"))
		got = b.get(answered.header.Get("Location"))
		got.has(t, http.StatusOK)
		toasts := got.markup(t).all(".toast")
		if len(toasts) != min(i+1, 3) {
			t.Fatalf("after %d answers there are %d toasts", i+1, len(toasts))
		}
		toasts[0].says(e.DisplayNumber(), "Leave it", "Undo")
		if keys := got.markup(t).all(`[data-key="z"]`); len(keys) != 1 {
			t.Errorf("Z has %d meanings", len(keys))
		}
	}
	// On the page of an answer that is held, Z is for that one.
	got = b.get(questionPath(asked[3]) + "?answered=" + asked[2].ID.String())
	if keys := got.markup(t).all(`[data-key="z"]`); len(keys) != 1 {
		t.Errorf("Z has %d meanings", len(keys))
	}
	got.markup(t).one("main").one(`[data-key="z"]`)
	// Nobody else is offered to take them back.
	w.as("viewer").get(questionPath(asked[4])+"?answered="+asked[0].ID.String()).lacks(t, `class="toast"`)
}

// R: UI — WCAG 2.2.1: a toast stays while somebody is at it, and says when the
// way back has closed.
func TestAToastStaysWhileSomebodyIsAtIt(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/question-toast")
	tab.Wait(`document.querySelectorAll(".toast").length === 3`)
	over := func(nth string) {
		browsertest.Eval[string](tab, `document.querySelectorAll(".toast")[`+nth+`].querySelector("[data-until]").dataset.until = "2000-01-01T00:00:00Z"`)
	}
	browsertest.Eval[bool](tab, `document.querySelectorAll(".toast .button[data-key]")[0].focus(), true`)
	over("0")
	over("1")
	tab.Wait(`document.querySelectorAll(".toast").length === 2 || document.querySelectorAll(".toast").length === 1`)
	tab.Wait(`document.querySelector(".toast form").hidden`)
	if got := tab.Text(".toast"); !strings.Contains(got, "the answer has gone out") || strings.Contains(got, "Undo") {
		t.Errorf("after the hold the toast says %q", got)
	}
	if at := browsertest.Eval[bool](tab, `document.activeElement.matches(".toast [data-close]")`); !at {
		t.Error("the focus is lost")
	}
	browsertest.Eval[bool](tab, `document.activeElement.blur(), true`)
	tab.Wait(`!document.querySelector(".toast form")`)
	tab.Press("z") // there is no way back any more
	forms.nothing(t)
	tab.Click(".toast [data-close]")
	tab.Wait(`!document.querySelector(".toast")`)
}

// R: UI — what is drawn anew of the page leaves toasts alone.
func TestAToastSurvivesARefreshOfThePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.question("desk"), w.question("desk")
	tab := w.tabOf(browsertest.Desk, "responder")
	tab.Go(w.server.URL + questionPath(first))
	tab.Press("b")
	tab.PressToLoad("\r")
	if want := questionPath(second) + "?answered=" + first.ID.String(); tab.Path() != want {
		t.Fatalf("after answering: %s, want %s", tab.Path(), want)
	}
	tab.Wait(`(window.toast = document.querySelector(".toast")) !== null`)
	browsertest.Eval[bool](tab, `import("`+static.URL("js/patch.js")+`").then((patch) => patch.refresh()).then(() => true)`)
	if !browsertest.Eval[bool](tab, `toast.isConnected && document.querySelectorAll(".toast").length === 1`) {
		t.Error("the toast is gone, or there twice")
	}
	tab.PressToLoad("z")
	if want := questionPath(first) + "?undone="; !strings.HasPrefix(tab.Path(), want) {
		t.Errorf("Z leads to %s", tab.Path())
	}
}
