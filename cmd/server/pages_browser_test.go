package main

import (
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/templates"
	"baton/web/browsertest"
)

// serve lets people reach the pages.
func (p *inProcess) serve() string {
	p.t.Helper()
	server := httptest.NewServer(p.handler)
	p.t.Cleanup(server.Close)
	return server.URL
}

// tab is a tab in which somebody has signed in by their link.
func (p *inProcess) tab(t *testing.T, base string, look browsertest.Look, name string) *browsertest.Tab {
	t.Helper()
	token, err := p.accounts.MakeLink(t.Context(), auth.CLI("t"), name)
	if err != nil {
		t.Fatal(err)
	}
	tab := browsertest.Open(t, look)
	tab.Go(base + templates.SignInLinkURL(token))
	tab.Follow("main button")
	if tab.Path() != templates.InboxURL {
		t.Fatalf("%s is at %s after signing in", name, tab.Path())
	}
	return tab
}

func sound(tab *browsertest.Tab) {
	tab.NoOverflow()
	tab.Axe()
}

// answerTwice presses Enter, and again once the page has asked a second time
// and the time is over in which a press is taken for a slip.
func answerTwice(tab *browsertest.Tab) {
	tab.Press("\r")
	tab.Wait(`!document.querySelector(".answer-confirm").hidden`)
	browsertest.Eval[float64](tab, `(window.asked = performance.now())`)
	tab.Wait(`performance.now() - window.asked > 600`)
	tab.PressToLoad("\r")
}

// The whole way in a browser, by keyboard: open, choose B, take it back, choose
// B again; the session goes on, thanks, restates, does what was approved
// without asking again, and finishes.
// R: UI, Q3, Q6, A9, Y1
func TestAPersonAnswersByKeyboardAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	p := working(t)
	base := p.serve()
	session := p.start(askWithActions, "escalation: {hold: 10s}")
	q := p.questions(session, 1)[0]
	tab := p.tab(t, base, browsertest.Desk, "responder")
	tab.Go(base + "/inbox")
	sound(tab)
	tab.Press("j")
	tab.PressToLoad("\r")
	if tab.Path() != templates.EscalationURL(q.ID.String()) {
		t.Fatalf("the first question is at %s", tab.Path())
	}
	sound(tab)

	tab.Press("b")
	answerTwice(tab)
	if got := tab.Text(".notice.state"); !strings.Contains(got, "You answered B: Refund a part") || !strings.Contains(got, "The agent goes on in") {
		t.Errorf("after the answer: %q", got)
	}
	sound(tab)
	tab.PressToLoad("z")
	if s, _ := p.sessions.Get(t.Context(), p.people["viewer"], session); s.Status != sessions.Waiting || s.OpenQuestions != 1 {
		t.Fatalf("taken back, the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
	if got := tab.Text(".tag.human"); got != "Waiting for you" {
		t.Errorf("taken back, the question is %q", got)
	}

	tab.Press("b")
	answerTwice(tab)
	tab.Go(base + templates.SessionsURL) // the question's page renews itself, which would come between
	if got := tab.Text("tbody"); !strings.Contains(got, "Going out") {
		t.Errorf("while the answer is held the session is listed as %q", got)
	}
	s := p.untilStatus(session, sessions.Completed)
	if s.Outcome != sessions.Done {
		t.Errorf("outcome %s", s.Outcome)
	}
	if ran := p.witness.ran("send"); len(ran) != 1 || !strings.Contains(ran[0], "500") {
		t.Errorf("send ran %v, want once as approved", ran)
	}
	if n := len(p.allQuestions(session)); n != 1 {
		t.Errorf("%d questions, want 1", n)
	}
	tab.Go(base + templates.EscalationURL(q.ID.String()))
	if got := tab.Text(".notice.state"); !strings.Contains(got, "The agent has gone on with it.") {
		t.Errorf("in the end the question says %q", got)
	}
	sound(tab)
	tab.PressToLoad("v")
	tab.Wait(`document.querySelector(".events")?.checkVisibility()`)
	told := tab.Text(".events")
	at := -1
	for _, says := range []string{"Asked a person", "responder answered B: Refund a part", "responder took the answer back", "responder answered B: Refund a part", "Thank you. You chose: Refund a part.", "send 500 to card", "The session ended: Completed"} {
		next := strings.Index(told[at+1:], says)
		if next < 0 {
			t.Fatalf("the session does not tell %q after the rest:\n%s", says, told)
		}
		at += 1 + next
	}
	if got := tab.Text(".now"); !strings.Contains(got, "Refunded a part.") {
		t.Errorf("the report says %q", got)
	}
	sound(tab)
}

// R: UI — the same without any script, on a phone: forms, links, and a page
// that asks a second time.
func TestAPersonAnswersWithoutScripts(t *testing.T) {
	t.Parallel()
	p := working(t)
	base := p.serve()
	session := p.start(askWithActions, "escalation: {hold: 10s}")
	q := p.questions(session, 1)[0]
	look := browsertest.Phone
	look.NoScripts = true
	tab := p.tab(t, base, look, "responder")
	tab.Follow(".queue-item")
	answer := func() {
		t.Helper()
		tab.Click("#option-b")
		tab.Follow(".answer-go")
		if got := tab.Text("h1"); got != "send 500 to card? This can’t be undone." {
			t.Fatalf("before what can't be undone the page asks %q", got)
		}
		tab.Follow("main .primary")
	}
	answer()
	if got := tab.Text(".notice.state"); !strings.Contains(got, "You answered B: Refund a part") {
		t.Fatalf("after the answer: %q", got)
	}
	tab.NoOverflow()
	tab.Follow(".notice.state button")
	if s, _ := p.sessions.Get(t.Context(), p.people["viewer"], session); s.OpenQuestions != 1 {
		t.Fatal("the answer was not taken back")
	}
	answer()
	p.untilStatus(session, sessions.Completed)
	tab.Go(base + templates.EscalationURL(q.ID.String()))
	if got := tab.Text(".notice.state"); !strings.Contains(got, "The agent has gone on with it.") {
		t.Errorf("after a reload: %q", got)
	}
	tab.Go(base + templates.SessionURL(session.String()))
	// Rows out of sight are not drawn, and so not in what is shown as text.
	if got := browsertest.Eval[string](tab, `document.querySelector(".events").textContent`); !strings.Contains(got, "Thank you. You chose: Refund a part.") {
		t.Errorf("the session tells %q", got)
	}
	if ran := p.witness.ran("send"); len(ran) != 1 {
		t.Errorf("send ran %v", ran)
	}
	tab.NoOverflow()
}

// R: Q5, K2 — two people look at one question; the slower one sees who was
// faster, with what, and keeps what they wrote. Who may not answer reads; whose
// team it isn't sees nothing.
// case: fault F16
func TestTwoPeopleAnswerInTwoBrowsers(t *testing.T) {
	t.Parallel()
	p := working(t)
	base := p.serve()
	session := p.start(askWithActions, "escalation: {hold: 30m}")
	q := p.questions(session, 1)[0]
	at := base + templates.EscalationURL(q.ID.String())
	fast := p.tab(t, base, browsertest.Desk, "responder")
	slow := p.tab(t, base, browsertest.Phone, "responder-2")
	fast.Go(at)
	slow.Go(at)
	slow.Click(".note")
	slow.Press("Call them first.")
	fast.Press("c")
	fast.PressToLoad("\r")
	slow.Click("#option-b")
	slow.Wait(`document.querySelector(".news[data-told]")?.textContent.includes("responder answered C")`)
	// The news may come too late: then the server says it.
	browsertest.Eval[bool](slow, `[...document.querySelectorAll(".answer-form button")].every((b) => !(b.disabled = false))`)
	slow.Expect("409")
	slow.Click(".answer-go")
	slow.Wait(`!document.querySelector(".answer-confirm").hidden`)
	browsertest.Eval[float64](slow, `(window.asked = performance.now())`)
	slow.Wait(`performance.now() - window.asked > 600`)
	slow.Follow(".answer-go")
	for _, says := range []string{"responder answered C,", "Do nothing", "What you had filled in", "Refund a part", "Call them first."} {
		if got := slow.Text(".notice.state"); !strings.Contains(got, says) {
			t.Errorf("the slower one is not told %q: %q", says, got)
		}
	}
	sound(slow)
	e, err := p.escalations.Get(t.Context(), p.people["viewer"], q.ID)
	if err != nil || e.Decision == nil || e.Decision.By.Name != "responder" || e.Decision.Option != "C" {
		t.Errorf("decided: %+v, %v", e.Decision, err)
	}
	fast.PressToLoad("z")

	viewer := p.tab(t, base, browsertest.Desk, "viewer")
	viewer.Go(at)
	if got := viewer.Text(".notice.state"); !strings.Contains(got, "You can read this, but not answer it.") {
		t.Errorf("a viewer is told %q", got)
	}
	viewer.Press("b")
	viewer.Press("\r")
	sound(viewer)
	stranger := p.tab(t, base, browsertest.Desk, "stranger")
	stranger.Expect("404")
	stranger.Go(at)
	if got := stranger.Text("h1"); got != "There is no such question." {
		t.Errorf("another team's question: %q", got)
	}
	if e, _ := p.escalations.Get(t.Context(), p.people["viewer"], q.ID); e.Status != escalation.Pending {
		t.Errorf("in the end the question is %s", e.Status)
	}
}

// R: Y1, UI — each page with what really happened, in each look. What agents
// and tools write is text.
// case: abuse A01
func TestPagesOfRealSessionsHoldInEveryLook(t *testing.T) {
	t.Parallel()
	p := working(t)
	base := p.serve()
	evil := `<img src=x onerror=alert(1)>`
	waiting := p.start(strings.ReplaceAll(askWithActions, "Order 48 was charged twice.", "Order 48 "+evil+" was charged twice."), "escalation: {hold: 30m}")
	open := p.questions(waiting, 1)[0]
	held := p.start(askWithActions, "escalation: {hold: 30m}")
	goingOut := p.questions(held, 1)[0]
	p.answer("responder", goingOut, choose(goingOut, "A"))
	finished := p.start(`
def reply(s):
    if s.step == 0:
        return [say("I look. `+evil+`"), call("look", text = "`+evil+`"), call("nowhere", text = "long " * 2000)]
    return [finish("Found `+evil+`.", status = "partly", evidence = [r.call_id for r in s.results if r.status == "success"], unresolved = ["`+evil+`"])]
`, "escalation: {hold: 0s}")
	failed := p.start("def reply(s):\n    return [say(\"I only talk.\")]\n", "escalation: {hold: 0s}")
	p.untilStatus(finished, sessions.Completed)
	useless := p.questions(failed, 1)[0]
	p.answer("responder", useless, choose(useless, "stop"))
	p.untilStatus(failed, sessions.Failed)
	decisions, err := p.escalations.Decisions(t.Context(), p.people["viewer"], escalation.DecisionFilter{Limit: 1})
	if err != nil || len(decisions) != 1 {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	pages := map[string]string{
		"real-inbox":            "/inbox",
		"real-going-out":        "/inbox?view=going-out",
		"real-question":         templates.EscalationURL(open.ID.String()),
		"real-question-held":    templates.EscalationURL(goingOut.ID.String()),
		"real-decisions":        "/decisions",
		"real-decision":         templates.DecisionURL(decisions[0].ID.String()),
		"real-sessions":         "/sessions",
		"real-session-waiting":  templates.SessionURL(waiting.String()),
		"real-session-finished": templates.SessionURL(finished.String()) + "?" + url.Values{"call": {"2"}}.Encode(),
		"real-session-failed":   templates.SessionURL(failed.String()),
	}
	names := make([]string, 0, len(pages))
	for name := range pages {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, look := range browsertest.Looks() {
		t.Run(look.String(), func(t *testing.T) {
			t.Parallel()
			tab := p.tab(t, base, look, "supervisor")
			for _, name := range names {
				tab.Go(base + pages[name])
				sound(tab)
				tab.Shot(name)
				if n := browsertest.Eval[int](tab, `document.querySelectorAll("img").length`); n != 0 {
					t.Errorf("%s: what an agent wrote became an element", name)
				}
			}
		})
	}
}
