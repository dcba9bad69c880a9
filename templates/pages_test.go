package templates

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"baton/internal/i18n"
)

func draw(t *testing.T, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	if err := c.Render(i18n.With(t.Context(), i18n.English), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// ask draws the page of a question that is open to its reader, after change.
func ask(t *testing.T, change func(*Question)) string {
	t.Helper()
	q := Question{
		ID: "esc_1", Number: 7, Version: 2, Status: StatusPending, MayAnswer: true, Title: "Title", Agent: "Agent",
		Options: []Option{{ID: "yes", Letter: "A", Label: "Yes", Recommended: true}, {ID: "no", Letter: "B", Label: "No"}},
	}
	change(&q)
	return draw(t, QuestionDetail(QuestionPage{
		Frame: Frame{Title: q.Title, Section: SectionInbox, Sections: []Section{SectionInbox}, Me: &Me{Name: "Mara"}, Now: noon}, Question: q,
	}))
}

const (
	answerForm = `action="/inbox/esc_1/answer"`
	undoForm   = `action="/inbox/esc_1/undo"`
)

// R: Q13, K2 — what can't be answered is never shown as answerable.
func TestOnlyAnOpenQuestionOfOnesOwnCanBeAnswered(t *testing.T) {
	t.Parallel()
	mine := &Answer{Letter: "A", OptionID: "yes", Who: "Mara", Mine: true, At: noon, HeldUntil: noon.Add(8 * time.Second)}
	others := &Answer{Letter: "A", OptionID: "yes", Who: "Dana", At: noon, HeldUntil: noon.Add(8 * time.Second)}
	ended := &Ended{At: noon, Why: "why"}
	for name, c := range map[string]struct {
		change       func(*Question)
		answer, undo bool
	}{
		"open":             {func(*Question) {}, true, false},
		"not allowed":      {func(q *Question) { q.MayAnswer = false }, false, false},
		"held, mine":       {func(q *Question) { q.Status, q.Decision = StatusHeld, mine }, false, true},
		"held, another's":  {func(q *Question) { q.Status, q.Decision = StatusHeld, others }, false, false},
		"handed over":      {func(q *Question) { q.Status, q.Decision = StatusApplied, mine }, false, false},
		"withdrawn":        {func(q *Question) { q.Status, q.Ended = StatusWithdrawn, ended }, false, false},
		"expired":          {func(q *Question) { q.Status, q.Ended = StatusExpired, ended }, false, false},
		"replaced":         {func(q *Question) { q.Status, q.Ended = StatusSuperseded, ended }, false, false},
		"answered by Dana": {func(q *Question) { q.Status, q.Conflict = StatusAnswered, &Conflict{Who: "Dana", At: noon} }, false, false},
		"changed":          {func(q *Question) { q.Conflict = &Conflict{} }, true, false},
	} {
		page := ask(t, c.change)
		if got := strings.Contains(page, answerForm); got != c.answer {
			t.Errorf("%s: can be answered: %v, want %v", name, got, c.answer)
		}
		if got := strings.Contains(page, undoForm); got != c.undo {
			t.Errorf("%s: can be taken back: %v, want %v", name, got, c.undo)
		}
		if got := strings.Contains(page, `type="radio"`); got != c.answer {
			t.Errorf("%s: has something to choose: %v", name, got)
		}
	}
}

// R: C4, Q11 — a recommendation is a mark, never a choice.
func TestNothingIsChosenBeforehand(t *testing.T) {
	t.Parallel()
	page := ask(t, func(q *Question) {
		q.Draft = Draft{Option: "yes", Message: "kept"}
		q.Conflict = &Conflict{}
	})
	if strings.Contains(page, " checked") {
		t.Error("an option is chosen beforehand")
	}
	if !strings.Contains(page, ">kept</textarea>") || !strings.Contains(page, "What you had filled in") {
		t.Error("the draft is lost")
	}
}

// R: K3, Q4
// case: abuse A01, A29
func TestWhatAgentsWriteIsText(t *testing.T) {
	t.Parallel()
	const evil = `</textarea><script>alert(1)</script>" onfocus="x`
	page := ask(t, func(q *Question) {
		q.Title, q.Agent, q.Problem, q.Ask = evil, evil, evil, evil
		q.Done = []Step{{Text: evil, URL: "javascript:alert(1)"}}
		q.Facts = []Fact{{Label: evil, Value: evil, URL: "javascript:alert(1)"}}
		q.Tables = []Table{{Title: evil, Columns: []string{evil}, Rows: [][]Cell{{{Text: evil}, {Text: evil, Differs: true}}}}}
		q.Options = []Option{{ID: evil, Letter: "A", Label: evil, Says: evil, Reason: evil, Confirm: evil,
			Action: &Action{Sentence: evil, Tool: evil, Arguments: []Argument{{Name: evil, Value: evil}}}, Chips: []Chip{{"coins", evil, ""}}}}
		q.Similar = Similar{Summary: evil, Cases: []SimilarCase{{URL: "javascript:alert(1)", Title: evil, Label: evil, Quote: evil, Who: evil, At: noon}}}
		q.Draft.Message = evil
		q.Session = &SessionBrief{Steps: evil, Moments: []Moment{{Text: evil, Detail: evil, Icon: "check"}}, Facts: []Pair{{Name: evil, Value: evil}}}
	})
	if strings.Contains(page, "<script>") || strings.Contains(page, `" onfocus="`) || strings.Contains(page, `href="javascript:`) {
		t.Error("markup of an agent reaches the page")
	}
	if strings.Count(page, "</textarea>") != 1 {
		t.Error("an agent ends the note's field")
	}
}

// R: Q3 — the server's word and the agent's are told apart.
func TestAnActionIsShownInTheServersWordsBesideTheAgents(t *testing.T) {
	t.Parallel()
	page := ask(t, func(q *Question) {
		q.Options[0].Says = "just a small thing"
		q.Options[0].Action = &Action{Sentence: "Refund €1,284.00", Tool: "payments.refund", Arguments: []Argument{{Name: "card", Value: "4417-secret", Hidden: true}}}
	})
	for _, want := range []string{"Approves exactly this:", "<b>Refund €1,284.00</b>", "The agent says:", "just a small thing", "payments.refund"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "4417-secret") {
		t.Error("a hidden argument is on the page")
	}
}

func TestAMeterWarnsBeforeItsLimit(t *testing.T) {
	t.Parallel()
	for share, want := range map[float64][2]string{0: {"fill-ink", "0%"}, .79: {"fill-ink", "79%"}, .8: {"fill-warn", "80%"}, .95: {"fill-bad", "95%"}, 1.7: {"fill-bad", "100%"}, -1: {"fill-ink", "0%"}} {
		m := Meter{Share: share}
		if m.fill() != want[0] || m.width() != want[1] {
			t.Errorf("%v: %s %s, want %v", share, m.fill(), m.width(), want)
		}
	}
}

func TestTheTitleSaysHowManyWait(t *testing.T) {
	t.Parallel()
	ctx := i18n.With(t.Context(), i18n.English)
	if got := (Frame{Title: "Inbox", Waiting: 1840}).documentTitle(ctx); got != "(1,840) Inbox · Baton" {
		t.Errorf("title is %q", got)
	}
	if got := (Frame{Title: "Inbox"}).documentTitle(ctx); got != "Inbox · Baton" {
		t.Errorf("title is %q", got)
	}
}

// The rail leads to pages that exist, and to no others.
func TestTheRailHasTheSectionsOfTheFrame(t *testing.T) {
	t.Parallel()
	page := draw(t, Inbox(InboxPage{Frame: Frame{Title: "Inbox", Section: SectionInbox, Sections: []Section{SectionInbox, SectionDecisions}, Me: &Me{Name: "Mara"}, Now: noon}}))
	if !strings.Contains(page, `href="/decisions"`) || strings.Contains(page, `href="/sessions"`) {
		t.Error("the rail leads elsewhere")
	}
}
