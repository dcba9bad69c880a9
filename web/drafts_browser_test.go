package web

import (
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/live"
	"baton/internal/tools"
	"baton/web/browsertest"
)

// colleagues are two people who may answer the same question, one of them in a
// browser in which every change of it is told.
type colleagues struct {
	world
	t   *testing.T
	tab *browsertest.Tab
	e   escalation.Escalation
}

func twoWithOneQuestion(t *testing.T) *colleagues {
	t.Helper()
	w := newWorld(t)
	c := &colleagues{world: w, t: t, e: w.question("desk"), tab: w.tabOf(browsertest.Desk, "responder")}
	return c
}

func (c *colleagues) actor(name string) auth.Actor {
	c.t.Helper()
	_, login := c.cookieOf(name)
	actor, err := c.accounts.ActorByLogin(c.t.Context(), login)
	if err != nil {
		c.t.Fatal(err)
	}
	return actor
}

// answer answers as somebody, and holds the answer.
func (c *colleagues) answer(name, option string) {
	c.t.Helper()
	hold := escalation.MaxHold
	e, err := c.deps.Desk.Answer(c.t.Context(), c.actor(name), c.e.ID, decide.Answer{Version: c.e.Version, Type: escalation.Choose, Option: option, Hold: &hold})
	if err != nil {
		c.t.Fatal(err)
	}
	c.e = e
	c.deps.Live.Tell(live.Of(c.e.ID))
}

func (c *colleagues) undo(name string) {
	c.t.Helper()
	e, err := c.deps.Desk.Undo(c.t.Context(), c.actor(name), c.e.ID)
	if err != nil {
		c.t.Fatal(err)
	}
	c.e = e
	c.deps.Live.Tell(live.Of(c.e.ID))
}

const connectedNow = `"connected" in document.documentElement.dataset`

func (c *colleagues) open() {
	c.t.Helper()
	c.tab.Go(c.server.URL + questionPath(c.e))
	c.tab.Wait(connectedNow)
}

func (c *colleagues) write(words string) {
	c.t.Helper()
	c.tab.Click(".note")
	c.tab.Press(words)
}

const note = `document.querySelector("[name=message]")?.value`

// What somebody has begun to write is theirs, whoever else answers.
// R: V1, V6
func TestAColleaguesAnswerLeavesWhatWasWritten(t *testing.T) {
	t.Parallel()
	c := twoWithOneQuestion(t)
	c.open()
	c.write("Half a thought")
	c.answer("supervisor", "leave")
	c.tab.Wait(`document.querySelector(".news[data-told]")`)
	c.open()
	if got := c.tab.Text("[data-kept]"); got != "What you had filled in\nHalf a thought" {
		t.Errorf("beside the colleague's answer stands %q", got)
	}
	c.tab.Axe()
	c.undo("supervisor")
	c.tab.Wait(note + ` === "Half a thought"`) // it comes by itself
	c.open()
	c.tab.Wait(note + ` === "Half a thought"`)
	c.answer("responder", "leave") // in another window: it is theirs, and has been said
	c.open()
	if got := c.tab.Text("[data-kept]"); got != "" {
		t.Errorf("beside their own answer stands %q", got)
	}
	c.undo("responder")
	c.open()
	if got := browsertest.Eval[string](c.tab, note); got != "" {
		t.Errorf("after their own answer the note is %q", got)
	}
}

// R: V1, V6
func TestWhoIsWritingIsShownOnDemandWhatHasBecomeOfTheQuestion(t *testing.T) {
	t.Parallel()
	c := twoWithOneQuestion(t)
	c.open()
	stays := func() { browsertest.Eval[bool](c.tab, `(window.mark = true)`) }
	stays()
	c.write("Half a thought")
	const disabled = `document.querySelector(".answer-go").disabled`
	c.answer("supervisor", "leave")
	c.tab.Wait(disabled)
	c.undo("supervisor")
	c.tab.Wait(`!` + disabled) // it waits again
	if got := browsertest.Eval[string](c.tab, note); got != "Half a thought" {
		t.Errorf("the note is %q", got)
	}
	c.tab.Click(".news [data-refresh]")
	c.tab.Wait(`!document.querySelector(".news[data-told]") && document.querySelector(".answer-form [name=version]").value === "3"`)
	if got := browsertest.Eval[string](c.tab, note); got != "Half a thought" {
		t.Errorf("after Show the note is %q", got)
	}
	c.answer("supervisor", "leave")
	c.tab.Wait(disabled)
	c.tab.Click(".news [data-refresh]")
	c.tab.Wait(`document.querySelector("[data-kept]:not([hidden])")?.textContent.includes("Half a thought")`)
	c.undo("supervisor")
	c.tab.Wait(note + ` === "Half a thought"`)
	if !browsertest.Eval[bool](c.tab, `window.mark === true`) {
		t.Error("the page was loaded anew")
	}
	c.tab.Click("#option-b")
	c.tab.Follow(".answer-go")
	e, err := c.deps.Escalations.Get(t.Context(), auth.System(), c.e.ID)
	if err != nil || e.Decision == nil || e.Decision.Message != "Half a thought" {
		t.Errorf("%+v %v", e.Decision, err)
	}
}

// A form that comes into a page which is open already is a form like any other.
// R: V1, V6, UI
func TestAFormThatComesLaterAsksTwiceAndKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan, spec := mailing()
	worker := w.work(w.start("desk"))
	worker.ask("mail", string(plan.Call.Args), tools.Ready)
	c := &colleagues{world: w, t: t, e: worker.raise(escalation.DoubtDraft(plan, spec, escalation.Known{Task: "Tell them"})), tab: w.tabOf(browsertest.Desk, "responder")}
	c.answer("supervisor", escalation.DoubtSkip)
	c.open()
	c.undo("supervisor")
	c.tab.Wait(`document.querySelector(".answer-form")`)
	c.write("Later.")
	if got := browsertest.Eval[string](c.tab, `Object.values(sessionStorage).join()`); got != `{"message":"Later."}` {
		t.Errorf("kept is %s", got)
	}
	c.tab.Click("#option-b")
	c.tab.Click(".answer-go")
	c.tab.Wait(`!document.querySelector(".answer-confirm").hidden`)
	c.tab.Offline(true)
	c.tab.Wait(`!document.querySelector(".answer-offline").hidden`)
	c.tab.Offline(false)
	if n := count(t, w.db, `select count(*) from escalations where seen_at is not null`); n != 1 {
		t.Error("nobody has seen it")
	}
}

// R: O2, UI
func TestTheNextPersonInTheTabHasNothingOfTheLastOnes(t *testing.T) {
	t.Parallel()
	c := twoWithOneQuestion(t)
	c.open()
	c.write("For my eyes")
	_, login := c.cookieOf("supervisor") // nobody has signed out
	c.tab.SetCookie(c.server.URL, c.loginCookie(), login)
	c.open()
	if got := browsertest.Eval[string](c.tab, note); got != "" {
		t.Errorf("the next one's note is %q", got)
	}
	c.write("Mine")
	c.tab.Click(`[popovertarget="menu"]`)
	c.tab.Follow(`#menu form[action="/sign-out"] button`)
	if got := browsertest.Eval[int](c.tab, `sessionStorage.length`); got != 0 {
		t.Errorf("%d things are left after they have signed out", got)
	}
}
