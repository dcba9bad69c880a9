package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
	"baton/web/browsertest"
)

// as is a browser in which a person who has an account is signed in.
func (w world) as(name string) *browser {
	w.t.Helper()
	token, err := w.accounts.MakeLink(w.t.Context(), auth.CLI("root"), name)
	if err != nil {
		w.t.Fatal(err)
	}
	login, err := w.accounts.SignIn(w.t.Context(), token, "test")
	if err != nil {
		w.t.Fatal(err)
	}
	b := w.browser()
	at, _ := url.Parse(w.server.URL)
	b.client.Jar.SetCookies(at, []*http.Cookie{{Name: w.loginCookie(), Value: login, Path: "/"}})
	return b
}

// tabOf is a tab in which a person who has an account is signed in.
func (w world) tabOf(look browsertest.Look, name string) *browsertest.Tab {
	w.t.Helper()
	tab := browsertest.Open(w.t, look)
	at, _ := url.Parse(w.server.URL)
	for _, cookie := range w.as(name).client.Jar.Cookies(at) {
		tab.SetCookie(w.server.URL, cookie.Name, cookie.Value)
	}
	return tab
}

func questionPath(e escalation.Escalation) string { return templates.EscalationURL(e.ID.String()) }

// form is what the page of a question sends.
func form(version, option string, more ...string) url.Values {
	f := url.Values{"version": {version}, "option": {option}, "other": {""}, "message": {""}}
	for i := 0; i+1 < len(more); i += 2 {
		f.Set(more[i], more[i+1])
	}
	return f
}

func (r reply) has(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d", r.status, status)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	if t.Failed() {
		t.Logf("page: %.3000s", r.body)
	}
}

func (r reply) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(r.body, text) {
			t.Errorf("the page has %q", text)
		}
	}
}

// R: UI, Q2, Q3, Q6 — read, answer, on to the next with the way back; take it
// back, and find the note again.
func TestAQuestionIsAnsweredOnItsPageAndTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e, other := w.question("desk"), w.question("desk")
	b := w.as("responder")
	b.get("/inbox").has(t, http.StatusOK, "Charged twice", "DESK", "(2) Inbox · Baton", questionPath(e))
	b.get(questionPath(e)).has(t, http.StatusOK, "Refund the second charge of 240 EUR?", "Approves exactly this:", "<b>Refund 240.00</b>",
		"Order 8812 was charged twice.", "Not known to be reversible", "The agent goes on from there", "Recommended", "1 of 2")

	got := b.post(questionPath(e)+"/answer", form("1", "refund", "message", "Mention the order."))
	to := got.header.Get("Location")
	if got.status != http.StatusSeeOther || to != questionPath(other)+"?answered="+e.ID.String() {
		t.Fatalf("%d to %q", got.status, to)
	}
	next := b.get(to)
	next.has(t, http.StatusOK, "ESC-1 answered: A, Refund it.", `action="`+questionPath(e)+`/undo"`, "(1) ")
	b.get(questionPath(e)).has(t, http.StatusOK, "Going out", "You answered A: Refund it", "Mention the order.", `action="`+questionPath(e)+`/undo"`)
	b.get("/inbox?view=going-out").has(t, http.StatusOK, questionPath(e))

	got = b.post(questionPath(e)+"/undo", nil)
	if got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), questionPath(e)+"?undone=dec_") {
		t.Fatalf("undo: %d to %q", got.status, got.header.Get("Location"))
	}
	again := b.get(got.header.Get("Location"))
	again.has(t, http.StatusOK, `name="version" value="3"`, ">Mention the order.</textarea>")
	again.lacks(t, " checked")
	w.as("viewer").get(got.header.Get("Location")).lacks(t, "Mention the order.</textarea>")
	// To take it back twice is to have taken it back.
	if twice := b.post(questionPath(e)+"/undo", nil); twice.header.Get("Location") != got.header.Get("Location") {
		t.Errorf("undo, once more: %d to %q", twice.status, twice.header.Get("Location"))
	}
	w.as("supervisor").post(questionPath(e)+"/undo", nil).has(t, http.StatusConflict, "There is no answer to take back.")

	b.post(questionPath(e)+"/answer", form("3", "other", "other", "Call them first.", "message", "Today."))
	d, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
	if err != nil || d.Decision == nil || d.Decision.Type != escalation.Respond || d.Decision.Message != "Call them first.\n\nToday." || d.Decision.Via != "browser" {
		t.Errorf("%+v, %v", d.Decision, err)
	}
}

// R: Q5
// case: fault F16
func TestTheSecondToAnswerSeesWhoWasFasterAndKeepsTheDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	first, second := w.as("responder"), w.as("supervisor")
	first.post(questionPath(e)+"/answer", form("1", "leave", "message", "It is settled."))
	got := second.post(questionPath(e)+"/answer", form("1", "refund", "message", "Refund quickly."))
	got.has(t, http.StatusConflict, "responder answered B,", "It is settled: Leave it", "It is settled.", "What you had filled in", "Refund it", "Refund quickly.")
	if n := count(t, w.db, `select count(*) from decisions`); n != 1 {
		t.Errorf("%d decisions", n)
	}

	// Taken back: what was read is not what is asked now.
	first.post(questionPath(e)+"/undo", nil)
	stale := second.post(questionPath(e)+"/answer", form("1", "refund", "message", "Refund quickly."))
	stale.has(t, http.StatusConflict, "The question has changed since you opened it.", "Refund quickly.", `name="version" value="3"`)
	stale.lacks(t, " checked")
}

// R: Q5
// case: fault F17
func TestAnAnswerThatIsSentFiveTimesIsOneDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	b := w.as("responder")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			got := b.post(questionPath(e)+"/answer", form("1", "refund"))
			if got.status != http.StatusSeeOther || got.header.Get("Location") != questionPath(e) {
				t.Errorf("%d to %q", got.status, got.header.Get("Location"))
			}
		})
	}
	all.Wait()
	if n := count(t, w.db, `select count(*) from decisions`); n != 1 {
		t.Errorf("%d decisions", n)
	}
}

// R: S3, K3 — whatever is sent, the reply is a page with words, and nothing is
// decided.
func TestFormsThatNoPageSendsAreRefusedInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	b := w.as("responder")
	at := questionPath(e) + "/answer"
	for name, c := range map[string]struct {
		form   url.Values
		status int
		says   string
	}{
		"nothing":            {url.Values{}, 400, "could not read your request"},
		"no version":         {url.Values{"option": {"refund"}}, 400, "could not read your request"},
		"version in letters": {form("one", "refund"), 400, "could not read your request"},
		"version 0":          {form("0", "refund"), 400, "could not read your request"},
		"two options":        {url.Values{"version": {"1"}, "option": {"refund", "leave"}}, 400, "could not read your request"},
		"no option":          {form("1", ""), 422, "Nothing was chosen."},
		"another's option":   {form("1", `"><script>alert(1)</script>`), 422, "This question has no option"},
		"words without any":  {form("1", "other", "other", "  ", "message", "just a note"), 422, "The message is empty."},
		"too many words":     {form("1", "leave", "message", strings.Repeat("a", sessions.MaxMessage+1)), 422, "The message is too long."},
		"more than a body":   {form("1", "leave", "message", strings.Repeat("a", maxBody+1)), 413, "too large"},
	} {
		got := b.post(at, c.form)
		got.has(t, c.status, c.says)
		got.lacks(t, "<script>alert", "ERROR", "sql")
		if t.Failed() {
			t.Fatalf("%s", name)
		}
	}
	got := b.do(http.MethodPost, at, nil, "Content-Type", "application/json")
	got.has(t, http.StatusBadRequest)
	doc := b.post(at, form("1", ""), "Accept", "application/json")
	if doc.status != 422 || !strings.Contains(doc.body, `"code":"option_missing"`) {
		t.Errorf("%d %s", doc.status, doc.body)
	}
	b.post(at, form("1", "refund"), "Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site").has(t, http.StatusForbidden)
	if n := count(t, w.db, `select count(*) from decisions`); n != 0 {
		t.Errorf("%d decisions", n)
	}
}

// R: K2
// case: abuse A13, A14
func TestPagesShowAndDoWhatTheRoleAllows(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	held := w.question("desk")
	w.as("responder").post(questionPath(held)+"/answer", form("1", "leave"))
	decided, err := w.deps.Escalations.Get(t.Context(), auth.System(), held.ID)
	if err != nil {
		t.Fatal(err)
	}
	session, decision := templates.SessionURL(e.Session.String()), templates.DecisionURL(decided.Decision.ID.String())

	stranger := w.as("Otto")
	for _, at := range []string{questionPath(e), questionPath(e) + "/answer", questionPath(e) + "/undo", questionPath(e) + "/seen", session, session + "/pause", session + "/resume", session + "/allow", session + "/cancel", decision} {
		method, f := http.MethodPost, form("1", "refund")
		if at == questionPath(e) || at == session || at == decision {
			method, f = http.MethodGet, nil
		}
		theirs := stranger.do(method, at, f)
		none := stranger.do(method, strings.NewReplacer(e.ID.Digits(), strings.Repeat("7", 32), e.Session.Digits(), strings.Repeat("7", 32), decided.Decision.ID.Digits(), strings.Repeat("7", 32)).Replace(at), f)
		if theirs.status != http.StatusNotFound || none.status != http.StatusNotFound {
			t.Errorf("%s %s: %d for another team's, %d for none", method, at, theirs.status, none.status)
		}
		mask := func(r reply) string { return strings.ReplaceAll(r.body, r.header.Get("X-Request-Id"), "") }
		if cleanOf(mask(theirs)) != cleanOf(mask(none)) {
			t.Errorf("%s %s: another team's looks different from none", method, at)
		}
	}
	for _, list := range []string{"/inbox", "/inbox?view=done", "/inbox?view=going-out", "/sessions", "/decisions"} {
		stranger.get(list).lacks(t, "Charged twice", "Find order 4711")
	}

	viewer := w.as("viewer")
	got := viewer.get(questionPath(e))
	got.has(t, http.StatusOK, "You can read this, but not answer it.", "You are a viewer in the team support")
	got.lacks(t, `type="radio"`, "/answer")
	viewer.get(session).lacks(t, "/cancel", "/pause")
	for _, at := range []string{questionPath(e) + "/answer", questionPath(held) + "/undo", session + "/pause", session + "/allow", session + "/cancel"} {
		before := count(t, w.db, `select count(*) from audit where note = 'refused'`)
		viewer.post(at, form("1", "refund")).has(t, http.StatusForbidden, "you may not do that here")
		if n := count(t, w.db, `select count(*) from audit where note = 'refused'`); n != before+1 {
			t.Errorf("%s: %d refusals on record, want %d", at, n, before+1)
		}
	}
	w.as("responder").post(session+"/cancel", nil).has(t, http.StatusForbidden)
	supervisor := w.as("supervisor")
	supervisor.get(session).has(t, http.StatusOK, session+"/pause", session+"/cancel")
	if got := supervisor.post(session+"/pause", nil); got.status != http.StatusSeeOther {
		t.Errorf("pause: %d", got.status)
	}
	supervisor.get(session).has(t, http.StatusOK, session+"/resume", "supervisor asked for a pause")
	if got := supervisor.post(session+"/allow", nil); got.status != http.StatusSeeOther {
		t.Errorf("allow: %d", got.status)
	}
	supervisor.get(session).has(t, http.StatusOK, "You may go on with what you were kept from.")
	if got := supervisor.post(session+"/cancel", nil); got.status != http.StatusSeeOther {
		t.Errorf("cancel: %d", got.status)
	}
	supervisor.get(session).has(t, http.StatusOK, "Stopping")
	w.as("responder").post(questionPath(e)+"/answer", form("1", "refund", "message", "kept")).has(t, http.StatusGone, "Nobody waits for this answer any more.", "kept")
}

// cleanOf leaves out what differs between any two pages: the time.
func cleanOf(body string) string {
	before, after, _ := strings.Cut(body, `data-now="`)
	_, after, _ = strings.Cut(after, `"`)
	_, main, _ := strings.Cut(after, "<main")
	return before + main
}

// R: Q1, Q3, A6 — of a call that is held back: allowed as it is, with changes,
// or not at all.
func TestACallIsApprovedChangedOrRefusedOnItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := func(args string) escalation.Escalation {
		worker := w.work(w.start("desk"))
		worker.ask("refund", args, tools.Awaiting)
		return worker.raise(approval(args))
	}
	b := w.as("responder")
	decided := func(e escalation.Escalation) *escalation.Decision {
		t.Helper()
		now, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
		if err != nil || now.Decision == nil {
			t.Fatalf("no decision: %v", err)
		}
		return now.Decision
	}

	e := ask(`{"amount": "240.00"}`)
	b.get(questionPath(e)).has(t, http.StatusOK, "May this be done?", "<b>Refund 240.00</b>", "Approve it: do exactly this", "Approve it with changes", `name="arg.amount" value="240.00"`, "Refuse it")
	b.post(questionPath(e)+"/answer", form("1", "approve", "arg.amount", "999"))
	if d := decided(e); d.Type != escalation.Approve || d.EditedArgs != nil {
		t.Errorf("%+v", d)
	}
	b.get(questionPath(e)).has(t, http.StatusOK, "You answered: Approved")

	e = ask(`{"amount": "240.00"}`)
	b.post(questionPath(e)+"/answer", form("1", "edit", "arg.amount", "")).has(t, 422, "The edited call of refund", "amount", "This has to be filled in", " checked")
	b.post(questionPath(e)+"/answer", form("1", "edit", "arg.amount", "200.00", "message", "Less."))
	if d := decided(e); d.Type != escalation.Edit || string(d.EditedArgs) != `{"amount":"200.00"}` || d.Message != "Less." {
		t.Errorf("%+v %s", d, d.EditedArgs)
	}
	late := w.as("supervisor").post(questionPath(e)+"/answer", form("1", "edit", "arg.amount", "190.00"))
	late.has(t, http.StatusConflict, "What you had filled in", "Approve it with changes", "190.00")
	undone := b.post(questionPath(e)+"/undo", nil).header.Get("Location")
	b.get(undone).has(t, http.StatusOK, `name="arg.amount" value="200.00"`, ">Less.</textarea>")
	w.as("supervisor").get(undone).has(t, http.StatusOK, `name="arg.amount" value="240.00"`)
	e = ask(`{"amount": "240.00"}`)
	b.post(questionPath(e)+"/answer", form("1", "reject", "message", "Not this one."))
	if d := decided(e); d.Type != escalation.Reject || d.Message != "Not this one." {
		t.Errorf("%+v", d)
	}
	w.as("viewer").get(questionPath(e)).has(t, http.StatusOK, "responder answered: Refused", "Not this one.")

	// What stands there instead of a secret is not what would run.
	e = ask(`{"amount": "[redacted:card:3f9a1c]"}`)
	got := b.get(questionPath(e))
	got.has(t, http.StatusOK, "hidden")
	got.lacks(t, "Approve it with changes")
	b.post(questionPath(e)+"/answer", form("1", "edit", "arg.amount", "1")).has(t, 422)
}

// R: Q1 — a flat form, from a schema.
func TestAFormIsFilledInOnItsPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	schema := `{"type":"object","additionalProperties":false,"required":["vat","rate"],"properties":{
		"vat":{"type":"string","title":"VAT number","description":"As on the invoice"},
		"rate":{"type":"number"},"since":{"type":"string","format":"date"},"eu":{"type":"boolean"},"country":{"type":"string","enum":["SE","DE"]}}}`
	draft, faults := compose(t, `{"question": "Which VAT number is right?", "kind": "input", "response_schema": `+schema+`}`)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	worker := w.work(w.start("desk"))
	worker.ask("ask_human", `{}`, tools.Ready)
	e := worker.raise(draft)
	b := w.as("responder")
	b.get(questionPath(e)).has(t, http.StatusOK, "VAT number", "As on the invoice", `name="value.rate"`, `type="date" name="value.since"`, `<option value="&#34;SE&#34;"`, "Send the answer", "I can’t provide this")
	fill := func(more ...string) url.Values {
		return form("1", "respond", append([]string{"value.vat", "SE556677", "value.rate", "25", "value.since", "", "value.eu", "true", "value.country", `"SE"`}, more...)...)
	}
	b.post(questionPath(e)+"/answer", fill("value.rate", "a quarter")).has(t, 422, "not filled in as it must be", "Give a number", `value="a quarter"`, `value="SE556677"`)
	b.post(questionPath(e)+"/answer", fill("value.vat", "")).has(t, 422, "This has to be filled in")
	b.post(questionPath(e)+"/answer", fill("value.country", `"FR"`)).has(t, 422, "Choose one of the values")
	b.post(questionPath(e)+"/answer", fill("value.rate", "25.00", "message", "From the ledger."))
	now, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
	if err != nil || now.Decision == nil || string(now.Decision.Values) != `{"vat":"SE556677","rate":25.00,"eu":true,"country":"SE"}` {
		t.Fatalf("%v %+v", err, now.Decision)
	}
	b.get(questionPath(e)).has(t, http.StatusOK, "Filled in the form", "SE556677")
	b.get(templates.DecisionURL(now.Decision.ID.String())).has(t, http.StatusOK, "SE556677", "25.00")
	w.as("supervisor").post(questionPath(e)+"/answer", fill("value.vat", "DK1")).has(t, http.StatusConflict, "What you had filled in", "DK1")
	b.get(b.post(questionPath(e)+"/undo", nil).header.Get("Location")).has(t, http.StatusOK,
		`value="SE556677"`, `value="25.00"`, `<option value="true" selected`, `<option value="&#34;SE&#34;" selected`, ">From the ledger.</textarea>")
}

func compose(t *testing.T, ask string) (escalation.Draft, []escalation.Fault) {
	t.Helper()
	a, faults := escalation.ParseAsk(json.RawMessage(ask), nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return escalation.Compose(a, escalation.Known{Task: "Settle it", Prepare: refund})
}

// R: UI, Q3 — without scripts too, what can't be undone is asked about twice.
func TestWhatCannotBeUndoneIsAskedAboutOnAPageOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, _ := escalation.ParseAsk(json.RawMessage(`{"question": "Send the mail to all customers?", "options": [
		{"label": "Send it", "id": "send", "action": {"tool": "refund", "args": {"amount": "1"}}}, {"label": "Leave it", "id": "other"}], "allow_other": true}`), nil)
	draft, faults := escalation.Compose(a, escalation.Known{Task: "Settle it", Prepare: func(c tools.Call) (tools.Plan, tools.Spec) {
		plan, spec := refund(c)
		plan.Effect, spec.Effect = tools.EffectIrreversible, tools.EffectIrreversible
		return plan, spec
	}})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	worker := w.work(w.start("desk"))
	worker.ask("ask_human", `{}`, tools.Ready)
	e := worker.raise(draft)
	b := w.as("responder")
	// An option may be called "other"; an answer in other words is then sent as .other.
	b.get(questionPath(e)).has(t, http.StatusOK, `data-confirm="Refund 1? This can’t be undone."`, `value=".other"`)
	got := b.post(questionPath(e)+"/answer", form("1", "send", "message", "Go on."))
	got.has(t, http.StatusOK, "Refund 1? This can’t be undone.", `name="confirm" value="send"`, `name="message" value="Go on."`)
	for chosen, confirmed := range map[string]string{"send": "other", "other": "send"} {
		got := b.post(questionPath(e)+"/answer", form("1", chosen, "confirm", confirmed))
		got.has(t, http.StatusUnprocessableEntity, "The two answers don&#39;t agree.")
	}
	b.post(questionPath(e)+"/answer", form("1", "Z")).has(t, http.StatusUnprocessableEntity, "has no option Z", "A (Send it), B (Leave it)")
	if n := count(t, w.db, `select count(*) from decisions`); n != 0 {
		t.Fatalf("%d decisions before it was confirmed", n)
	}
	if got := b.post(questionPath(e)+"/answer", form("1", "send", "message", "Go on.", "confirm", "send")); got.status != http.StatusSeeOther {
		t.Errorf("confirmed: %d", got.status)
	}
	b.post(questionPath(e)+"/undo", nil)
	b.post(questionPath(e)+"/answer", form("3", "other", "other", "words"))
	now, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
	if err != nil || now.Decision == nil || now.Decision.Type != escalation.Choose || now.Decision.OptionID != "other" {
		t.Errorf("%+v %v", now.Decision, err)
	}
}

// R: Q13, Q11
func TestAQuestionThatIsOverSaysHow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	expired, withdrawn := w.question("desk"), w.question("desk")
	for status, e := range map[escalation.Status]escalation.Escalation{escalation.Expired: expired, escalation.Cancelled: withdrawn} {
		if _, err := w.db.Exec(t.Context(), `update escalations set status = $2, closed_at = now() where id = $1`, e.ID, status); err != nil {
			t.Fatal(err)
		}
	}
	b := w.as("responder")
	for e, says := range map[*escalation.Escalation]string{&expired: "Nothing was taken for a yes.", &withdrawn: "nobody waits for an answer"} {
		got := b.get(questionPath(*e))
		got.has(t, http.StatusOK, says)
		got.lacks(t, `type="radio"`)
		b.post(questionPath(*e)+"/answer", form("1", "refund", "message", "too late")).has(t, http.StatusGone, "too late", says)
	}
	b.get("/inbox").has(t, http.StatusOK, "Nothing needs you.")
	b.get("/inbox?view=done").has(t, http.StatusOK, "Expired", "Withdrawn")
}
