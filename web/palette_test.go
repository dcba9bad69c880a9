package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/postgres"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/templates"
	"baton/web/browsertest"
)

func searchFor(words string) string {
	return templates.PaletteURL + "?" + url.Values{"q": {words}}.Encode()
}

// R: UI — one search for questions, sessions and decisions.
func TestASearchFindsByWordsAndByNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	w.as("responder").post(questionPath(e)+"/answer", form("1", "leave"))
	now, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	question, decision, session := questionPath(e), templates.DecisionURL(now.Decision.ID.String()), templates.SessionURL(e.Session.String())
	b := w.as("viewer")
	all := []string{question, decision, session}
	for words, finds := range map[string][]string{
		"charged":                    {question, decision},
		"CHARGED TW":                 {question, decision},
		"chargd":                     {question, decision}, // written nearly the same
		e.DisplayNumber():            {question, decision},
		"  4711 ":                    {session},
		"order":                      {session},
		"ordr":                       {session},
		"%":                          nil,
		"__":                         nil,
		"o":                          nil, // too little
		"nothing like this":          nil,
		"x' or 1=1 --":               nil,
		strings.Repeat("order ", 99): {session},
	} {
		got := b.get(searchFor(words))
		if got.status != http.StatusOK {
			t.Errorf("%q: %d", words, got.status)
		}
		main := got.markup(t).one("main")
		for _, url := range all {
			want := false
			for _, f := range finds {
				want = want || f == url
			}
			if there := len(main.all(`a[href="`+url+`"]`)) == 1; there != want {
				t.Errorf("%q finds %s: %v, want %v", words, url, there, want)
			}
		}
		if len(finds) == 0 && words != "o" {
			main.says("Nothing found")
		}
	}
	b.get(searchFor("SESS")).markup(t).one("main").one(`a[href="/sessions"]`).says("Sessions")
	for _, odd := range []string{"a%00b", "%ff%fe", "%25_'\"\\", "%e2%80%ae", strings.Repeat("x", 5000)} {
		b.get(templates.PaletteURL+"?part=1&q="+odd).has(t, http.StatusOK)
	}
	b.get(templates.PaletteURL).markup(t).one("main").one(`a[href="/decisions"]`)
	b.get(searchFor("charged")+"&part=1&here=3").has(t, http.StatusOK, "5 results")
	b.get(searchFor("charged"), "Accept-Language", "zh-CN").has(t, http.StatusOK, "2 个结果")
}

// R: K2 — what a person can't see isn't found either.
func TestASearchFindsNothingOfAnotherTeams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	w.as("responder").post(questionPath(e)+"/answer", form("1", "leave"))
	for _, words := range []string{"charged", "order", e.DisplayNumber()} {
		got := w.as("Otto").get(searchFor(words))
		got.has(t, http.StatusOK, "Nothing found")
		got.lacks(t, "esc_", "ses_", "dec_")
	}
}

// R: UI — the keyboard alone: open, write, choose, go.
func TestThePaletteGoesByKeyboard(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	tab := browsertest.Open(t, browsertest.Desk)
	tab.Go(server.URL + "/gallery/question")
	open := func(words string) {
		t.Helper()
		browsertest.Eval[bool](tab, `document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true, cancelable: true}))`)
		tab.Wait(`document.getElementById("palette").open`)
		tab.Press(words)
	}
	chosenFind := func() string {
		return browsertest.Eval[string](tab, `document.getElementById(document.querySelector("#palette input").getAttribute("aria-activedescendant"))?.innerText ?? ""`)
	}
	open("")
	if got := chosenFind(); got != "" {
		t.Errorf("without words Enter would open %q", got)
	}
	tab.Press(kb.ArrowDown)
	if got := chosenFind(); !strings.Contains(got, "Refund €1,284.00") {
		t.Errorf("without words the first is %q, want what can be done here", got)
	}
	tab.Axe()
	tab.Shot("palette")
	tab.Press("order")
	tab.Wait(`document.querySelector("#palette [role=status]").textContent === "3 results" && document.querySelectorAll("#palette [role=option]").length === 3`)
	tab.Axe()
	tab.Shot("palette-found")
	tab.Press(kb.ArrowDown)
	if got := chosenFind(); !strings.Contains(got, "Duplicate payment") {
		t.Errorf("after an arrow it is %q", got)
	}
	tab.Press(kb.ArrowUp + kb.ArrowUp)
	if got := chosenFind(); !strings.Contains(got, "48-1120") {
		t.Errorf("up from the first it is %q, want the last", got)
	}
	tab.PressToLoad("\r")
	if tab.Path() != "/decisions/dec_1" {
		t.Errorf("Enter leads to %s", tab.Path())
	}

	// An action of the page behind: the same as its key.
	tab.Go(server.URL + "/gallery/question")
	open("note")
	tab.Wait(`document.querySelector("#palette [role=option]")?.textContent.includes("Note")`)
	tab.Press("\r")
	if got := browsertest.Eval[string](tab, `document.activeElement.name`); got != "message" {
		t.Errorf("the note's action leads to %q", got)
	}
	tab.Click(".rail-search")
	tab.Wait(`document.getElementById("palette").open`)
	tab.Press(kb.Escape)
	tab.Wait(`!document.getElementById("palette").open`)
}

// R: UI — without scripts a page does the same.
func TestASearchWorksWithoutScripts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.question("desk")
	look := browsertest.Phone
	look.NoScripts = true
	tab := w.signedInTab(t, look, "Mara")
	tab.Go(w.server.URL + "/inbox")
	tab.Follow(`.topbar [href="/palette"]`)
	tab.Wait(`document.activeElement.name === "q"`)
	tab.Press("inb")
	tab.PressToLoad("\r")
	if tab.Path() != "/palette?q=inb" {
		t.Errorf("the form leads to %s", tab.Path())
	}
	tab.Follow(`main a[href="/inbox"]`)
}

// R: Z5 — each statement of the search has an index to go by.
func TestASearchGoesByAnIndex(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for index, search := range map[string]func(postgres.DB) error{
		"sessions_title_idx": func(db postgres.DB) error {
			_, err := sessions.NewStore(db, nil).Search(t.Context(), auth.CLI("t"), "order", 5)
			return err
		},
		"escalations_title_idx": func(db postgres.DB) error {
			_, err := escalation.NewStore(db).Search(t.Context(), auth.CLI("t"), "order", 5)
			return err
		},
	} {
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// An empty table is read from end to end unless that is forbidden.
		const forbid = `set local enable_seqscan = off; set local enable_indexscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off`
		if _, err := tx.Exec(t.Context(), forbid); err != nil {
			t.Fatal(err)
		}
		if err := search(tx); err != nil {
			t.Fatal(err)
		}
		var scans int
		if err := tx.QueryRow(t.Context(), `select pg_stat_get_xact_numscans($1::regclass)`, index).Scan(&scans); err != nil {
			t.Fatal(err)
		}
		if scans == 0 {
			t.Errorf("the search doesn't go by %s", index)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
