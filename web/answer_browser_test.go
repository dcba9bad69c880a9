package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"baton/web/browsertest"
)

func (s *sent) form(t *testing.T) map[string][]string {
	t.Helper()
	select {
	case form := <-s.values:
		return form
	case <-t.Context().Done():
		t.Fatal("nothing was sent")
		return nil
	}
}

func (s *sent) nothing(t *testing.T) {
	t.Helper()
	select {
	case form := <-s.values:
		t.Errorf("was sent: %v", form)
	default:
	}
}

func want(t *testing.T, form map[string][]string, fields map[string]string) {
	t.Helper()
	for name, value := range fields {
		got := ""
		if len(form[name]) > 0 {
			got = form[name][0]
		}
		if got != value {
			t.Errorf("%q is %q, want %q", name, got, value)
		}
	}
}

func chosen(tab *browsertest.Tab) string {
	return browsertest.Eval[string](tab, `document.querySelector("[name=option]:checked")?.value ?? ""`)
}

// R: UI — three keys: read, choose, answer. Nothing is chosen beforehand.
func TestALetterChoosesAndEnterAnswers(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/question")
	if got := chosen(tab); got != "" {
		t.Fatalf("%s was chosen beforehand", got)
	}
	if got := tab.Text(".answer-go"); got != "Choose an answer" {
		t.Errorf("the button says %q", got)
	}
	tab.Press("\r") // nothing is chosen: nothing is sent
	tab.Press("c")
	tab.Press("b")
	if got := chosen(tab); got != "refund_part" {
		t.Errorf("B chose %q", got)
	}
	if got := tab.Text(".answer-go"); got != "Answer B\n⏎" && got != "Answer B ⏎" {
		t.Errorf("the button says %q", got)
	}
	tab.Shot("question-chosen")
	tab.PressToLoad("\r")
	want(t, forms.form(t), map[string]string{"": "/inbox/esc_1/answer", "option": "refund_part", "version": "3", "confirm": "", "message": ""})
	forms.nothing(t)
	tab.PressToLoad("zz") // taken back once
	want(t, forms.form(t), map[string]string{"": "/inbox/esc_1/undo"})
	forms.nothing(t)
}

// R: UI — what can't be undone is asked about twice, by name.
func TestWhatCannotBeUndoneTakesASecondPress(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/question")
	tab.Press("a")
	tab.Press("\r\r") // the second is a slip
	tab.Wait(`!document.querySelector(".answer-confirm").hidden`)
	if got := tab.Text(".answer-confirm"); got != "Refund €1,284.00 to the card ending 4417? This can’t be undone. Press the button again to go through with it." {
		t.Errorf("the second question is %q", got)
	}
	tab.Shot("question-confirm")
	tab.Axe()
	forms.nothing(t)
	tab.Press("b") // another choice takes the second question back
	if got := tab.Text(".answer-confirm"); got != "" {
		t.Errorf("after another choice it still asks %q", got)
	}
	tab.Press("a")
	tab.Press("\r")
	tab.Wait(`!document.querySelector(".answer-confirm").hidden`)
	browsertest.Eval[float64](tab, `(window.shown = performance.now())`)
	tab.Wait(`performance.now() - window.shown > 600`)
	tab.PressToLoad("\r")
	want(t, forms.form(t), map[string]string{"option": "refund_full", "confirm": "refund_full"})
}

// A key that is held down is one press: what can't be undone takes two.
// R: UI
func TestAKeyThatIsHeldDownIsOnePress(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	ctrl := chromedp.KeyModifiers(chromedp.ModifierCtrl)
	for name, c := range map[string]struct {
		at      string
		off     bool
		options []chromedp.KeyOption
	}{
		"at the choice":                  {at: "#option-a"},
		"at the choice, single keys off": {at: "#option-a", off: true},
		"at the button":                  {at: ".answer-go"},
		"nowhere":                        {at: "body"},
		"with Ctrl, in the note":         {at: "[name=message]", options: []chromedp.KeyOption{ctrl}},
		"with Ctrl, at the button":       {at: ".answer-go", options: []chromedp.KeyOption{ctrl}},
		"with Ctrl, at the choice":       {at: "#option-a", options: []chromedp.KeyOption{ctrl}},
	} {
		tab.Go(server.URL + "/gallery/question")
		browsertest.Eval[bool](tab, fmt.Sprintf(`(() => {
			if (%t) document.documentElement.dataset.keys = "off";
			document.getElementById("option-a").click();
			document.activeElement.blur();
			document.querySelector(%q).focus();
			window.began = performance.now();
			return true;
		})()`, c.off, c.at))
		tab.Hold('\r', `!(performance.now() - window.began < 1500)`, c.options...)
		if browsertest.Eval[bool](tab, `document.querySelector(".answer-confirm")?.hidden ?? false`) {
			t.Errorf("%s: Enter was not taken at all", name)
		}
		if tab.Path() != "/gallery/question" {
			t.Errorf("%s: the page is %s", name, tab.Path())
		}
		forms.nothing(t)
	}
}

// R: UI — WCAG 2.1.4, input methods.
func TestKeysStayOutOfTextAndOfInputMethods(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/question")
	tab.Press("n")
	if at := browsertest.Eval[string](tab, `document.activeElement.name`); at != "message" {
		t.Errorf("N leads to %q", at)
	}
	browsertest.Eval[string](tab, `document.activeElement.value = ""`) // the protocol types keys that the page has taken, too
	tab.Press("a b c z j")
	if got := browsertest.Eval[string](tab, `document.querySelector("[name=message]").value`); got != "a b c z j" || chosen(tab) != "" || tab.Path() != "/gallery/question" {
		t.Errorf("typing a note wrote %q, chose %q and led to %s", got, chosen(tab), tab.Path())
	}
	send := func(init string) {
		browsertest.Eval[bool](tab, `document.body.dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, cancelable: true, `+init+`}))`)
	}
	browsertest.Eval[bool](tab, `document.activeElement.blur(), true`)
	for _, ignored := range []string{`key: "b", isComposing: true`, `key: "b", ctrlKey: true`, `key: "b", metaKey: true`, `key: "b", altKey: true`} {
		send(ignored)
		if got := chosen(tab); got != "" {
			t.Errorf("{%s} chose %q", ignored, got)
		}
	}
	send(`key: "Process", code: "KeyB", keyCode: 229`)
	if got := chosen(tab); got != "refund_part" {
		t.Errorf("B under an input method chose %q", got)
	}
	// Programs that fill in forms send events without a key, and to the document.
	browsertest.Eval[bool](tab, `(window.thrown = [], addEventListener("error", (e) => thrown.push(e.message)),
		document.dispatchEvent(new KeyboardEvent("keydown", {key: "x", bubbles: true})), document.dispatchEvent(new Event("keydown", {bubbles: true})), true)`)
	if got := browsertest.Eval[int](tab, `thrown.length`); got != 0 {
		t.Errorf("%d exceptions", got)
	}
	send(`key: "？", code: "Slash", shiftKey: true`)
	if !browsertest.Eval[bool](tab, `document.getElementById("keys").open`) {
		t.Error("the question mark of a Chinese board does not open the map of keys")
	}
	browsertest.Eval[bool](tab, `(document.getElementById("keys").close(), true)`)
	browsertest.Eval[string](tab, `document.documentElement.dataset.keys = "off"`)
	tab.Press("c")
	if got := chosen(tab); got != "refund_part" {
		t.Errorf("with keys off, C chose %q", got)
	}
	forms.nothing(t)
}

func TestKeysLeadFromQuestionToQuestion(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	for key, to := range map[string]string{"j": "/inbox/esc_2", "k": "/inbox/esc_0", "u": "/inbox", "v": "/sessions/ses_1"} {
		tab.Go(server.URL + "/gallery/question")
		tab.PressToLoad(key)
		if tab.Path() != to {
			t.Errorf("%s leads to %s, want %s", key, tab.Path(), to)
		}
	}
	tab.Go(server.URL + "/gallery/inbox")
	tab.Press("j")
	tab.Press("j")
	tab.Press("k")
	if got := browsertest.Eval[string](tab, `document.activeElement.querySelector(".queue-title").textContent`); got != "Supplier portal rejected our login three times" {
		t.Errorf("J J K is at %q", got)
	}
	tab.PressToLoad("\r")
	if tab.Path() != "/inbox/esc_1" {
		t.Errorf("Enter leads to %s", tab.Path())
	}
}

func TestANoteSurvivesTheTabAndGoesWithTheAnswer(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	tab := browsertest.Open(t, browsertest.Phone)
	tab.Go(server.URL + "/gallery/question")
	tab.Click(".note")
	tab.Press("Mention the order.")
	tab.Shot("question-note")
	tab.Go(server.URL + "/gallery/question")
	if got := browsertest.Eval[string](tab, `document.querySelector("[name=message]").value`); got != "Mention the order." {
		t.Errorf("after a reload the note is %q", got)
	}
	tab.Click("#option-c")
	tab.Shot("question-chosen")
	tab.NoOverflow()
	tab.Follow(".answer-go")
	want(t, forms.form(t), map[string]string{"option": "hand_over", "message": "Mention the order."})
}

// R: UI — reading and answering work without JavaScript.
func TestAnsweringWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	server, forms := showGallery(t)
	look := browsertest.Phone
	look.NoScripts = true
	tab := browsertest.Open(t, look)
	tab.Go(server.URL + "/gallery/question")
	tab.Click("#option-a")
	tab.Follow(".answer-go")
	want(t, forms.form(t), map[string]string{"option": "refund_full", "version": "3", "confirm": ""})
	tab.Go(server.URL + "/gallery/confirm")
	tab.Follow("main .primary")
	want(t, forms.form(t), map[string]string{"option": "refund_full", "confirm": "refund_full", "message": "x", "version": "3"})
	tab.Go(server.URL + "/gallery/question")
	tab.Click("#option-o")
	tab.Click(".option-words")
	tab.Press("Call them first.")
	tab.Follow(".answer-go")
	want(t, forms.form(t), map[string]string{"option": "other", "other": "Call them first."})
}

// R: Q6 — once the hold has passed the page shows what has become of the answer.
func TestThePageRenewsItselfWhenAHoldEnds(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/question-held")
	if left := tab.Text("time[data-show=left]"); !strings.Contains(left, "m") && left != "1h" {
		t.Errorf("%q is left of an hour", left)
	}
	tab.EvalToLoad(`document.querySelectorAll(".state [data-until]").forEach((e) => (e.dataset.until = "2000-01-01T00:00:00Z"))`)
	kind := browsertest.Eval[string](tab, `performance.getEntriesByType("navigation")[0].type`)
	if kind != "reload" {
		t.Errorf("the page was left by %q", kind)
	}
}

func TestTimesAreInTheReadersZone(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.SetZone("Asia/Shanghai")
	tab.Go(server.URL + "/gallery/decisions")
	inZone := sampleTime.Add(-3 * 3600e9).In(mustZone(t, "Asia/Shanghai"))
	got := tab.Text("tbody time")
	if want := inZone.Format("15:04"); got != want && got != inZone.Format("2 Jan, 15:04") {
		t.Errorf("a decision three hours ago is shown at %q, want %q", got, want)
	}
}
