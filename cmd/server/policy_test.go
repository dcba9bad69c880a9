package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/templates"
)

const (
	guarded = `data: {fields: {/customer/email: token, /amount: token, /to: token}}`
	askMail = "permission: {mode: ask, rules: [{tool: look, do: allow}]}\nescalation: {hold: 0s}"

	// sendTo is held until somebody has looked at it.
	sendTo = `
def reply(s):
    if s.step == 0:
        return [call("look", customer = {"email": "ana@x.example"}, amount = 12.5)]
    seen = s.results[0].data
    if s.step == 1:
        return [call("send", amount = seen["amount"], to = seen["customer"]["email"], text = "To " + seen["customer"]["email"])]
    if s.last[0].status != "success":
        fail("it came to %s" % s.last[0])
    return [finish("Sent to %s." % seen["customer"]["email"], evidence = [r.call_id for r in s.results])]
`
)

// get reads an address of the house as a person with a key, or with their login.
func (p *inProcess) get(address, key, login string) string {
	p.t.Helper()
	req := httptest.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://127.0.0.1:4000"+address, nil)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if login != "" {
		req.AddCookie(&http.Cookie{Name: "baton_4000", Value: login})
	}
	res := httptest.NewRecorder()
	p.handler.ServeHTTP(res, req)
	body, _ := io.ReadAll(res.Body)
	if res.Code != http.StatusOK {
		p.t.Fatalf("%s: %d %s", address, res.Code, body)
	}
	return string(body)
}

// credentials are a key and a login of a new person.
func (p *inProcess) credentials(name string, role auth.Role) (key, login string) {
	p.t.Helper()
	link, err := p.accounts.AddPerson(p.t.Context(), auth.CLI("t"), auth.NewPerson{Name: name, Role: role, Team: "support"})
	if err != nil {
		p.t.Fatal(err)
	}
	if login, err = p.accounts.SignIn(p.t.Context(), link, "test"); err != nil {
		p.t.Fatal(err)
	}
	if key, err = p.accounts.CreateKey(p.t.Context(), auth.CLI("t"), auth.NewKey{Person: name, Scopes: []auth.Scope{auth.ScopeAll}}); err != nil {
		p.t.Fatal(err)
	}
	return key, login
}

// holders are the tables with a row that holds a text, but for the agents'
// playbooks, in which the tests' models know everything.
func (p *inProcess) holders(text string) (tables []string) {
	p.t.Helper()
	rows, err := p.pool.Query(p.t.Context(), `select tablename from pg_tables where schemaname = 'public' and tablename <> 'agent_versions'`)
	if err != nil {
		p.t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range names {
		var n int
		if err := p.pool.QueryRow(p.t.Context(), fmt.Sprintf(`select count(*) from %q x where position($1 in x::text) > 0`, name), text).Scan(&n); err != nil {
			p.t.Fatal(err)
		}
		if n > 0 {
			tables = append(tables, name)
		}
	}
	return tables
}

// R: O3, A6, Q3
func TestWhoMayDecideSeesTheActionInClearAndExactlyThatRuns(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(sendTo, guarded, askMail)
	q := p.questions(session, 1)[0]
	address, page := "/escalations/"+q.ID.String(), templates.EscalationURL(q.ID.String())
	decides, decidesHere := p.credentials("decider", auth.Responder)
	reads, readsHere := p.credentials("reader", auth.Viewer)

	for who, c := range map[string]struct {
		text  string
		clear bool
	}{
		"a decider's program": {p.get("/api/v1"+address, decides, ""), true}, "a decider's page": {p.get(page, "", decidesHere), true},
		"a reader's program": {p.get("/api/v1"+address, reads, ""), false}, "a reader's page": {p.get(page, "", readsHere), false},
		"a decider's list": {p.get("/api/v1/escalations", decides, ""), false}, "the events": {p.get("/api/v1/sessions/"+session.String()+"/events", decides, ""), false},
		"the session's page": {p.get(templates.SessionURL(session.String()), "", decidesHere), false},
	} {
		hidden := strings.Contains(c.text, "[masked:email:") || strings.Contains(c.text, "[email]")
		if strings.Contains(c.text, "ana@x.example") != c.clear || !c.clear && !hidden {
			t.Errorf("%s: clear %v, want %v\n%s", who, !c.clear, c.clear, c.text)
		}
	}
	if inbox := p.get(templates.InboxURL, "", decidesHere); !strings.Contains(inbox, "to [email]") || strings.Contains(inbox, "[masked:") {
		t.Errorf("the inbox isn't for people to read:\n%s", inbox)
	}
	var seen struct {
		Title         string
		ActionRequest escalation.Action `json:"action_request"`
	}
	if err := json.Unmarshal([]byte(p.get("/api/v1"+address, decides, "")), &seen); err != nil {
		t.Fatal(err)
	}
	if a := seen.ActionRequest; seen.Title != "send 12.5 to ana@x.example" || string(a.Clear) != `{"amount":12.5,"to":"ana@x.example","text":"To ana@x.example"}` || strings.Contains(string(a.Args), "ana@") {
		t.Errorf("the decider is shown %q, %s, %s", seen.Title, a.Clear, a.Args)
	}

	p.answer("responder", q, decide.Answer{Version: q.Version, Type: escalation.Approve})
	s := p.untilStatus(session, sessions.Completed)
	if ran := p.witness.ran("send"); s.Outcome != sessions.Done || len(ran) != 1 || ran[0] != `{"amount":12.5,"text":"To ana@x.example","to":"ana@x.example"}` {
		t.Errorf("the session is %s; sent %v", s.Outcome, ran)
	}
	if got := p.get(page, "", decidesHere); strings.Contains(got, "ana@x.example") {
		t.Error("the decider still sees it in clear when all is done")
	}
	for _, table := range append(p.holders("ana@x.example"), p.holders("12.5")...) {
		t.Errorf("a clear value stands in %s", table)
	}
}

// R: O3, A6
func TestWhoDecidesSeesWhatTheAgentWroteIntoADroppedField(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("send", amount = 7, to = "shop", iban = "XX44 8800 1122")]
    return [finish("Sent.", evidence = [s.last[0].call_id])]
`, "data: {fields: {/iban: drop}}", askMail)
	q := p.questions(session, 1)[0]
	for who, clear := range map[string]bool{"responder": true, "viewer": false} {
		e, err := p.escalations.Get(t.Context(), p.people[who], q.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.Question.ActionRequest.Shown()); strings.Contains(got, "XX44 8800 1122") != clear {
			t.Errorf("%s sees %s", who, got)
		}
	}
	if tables := p.holders("XX44 8800 1122"); tables != nil {
		t.Errorf("a clear value stands in %v", tables)
	}
	p.answer("responder", q, decide.Answer{Version: q.Version, Type: escalation.Approve})
	s := p.untilStatus(session, sessions.Completed)
	if ran := p.witness.ran("send"); s.Outcome != sessions.Done || len(ran) != 1 || ran[0] != `{"amount":7,"iban":"XX44 8800 1122","to":"shop"}` {
		t.Errorf("the session is %s, %s; sent %v", s.Outcome, s.Failure, ran)
	}
}

// R: O3, Q1
func TestEditedArgumentsAreStoredMaskedAndRunInClear(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ edit, sent string }{
		// AMOUNT and EMAIL are the placeholders.
		"placeholders kept":     {`{"amount":"AMOUNT","to":"EMAIL","text":"Dear EMAIL"}`, `{"amount":12.5,"text":"Dear ana@x.example","to":"ana@x.example"}`},
		"sent back in clear":    {`{"amount":12.5,"to":"ana@x.example","text":"Dear ana@x.example"}`, `{"amount":12.5,"text":"Dear ana@x.example","to":"ana@x.example"}`},
		"another value, typed":  {`{"amount":11,"to":"EMAIL","text":"x"}`, `{"amount":11,"text":"x","to":"ana@x.example"}`},
		"an invented one":       {`{"amount":11,"to":"[masked:to:ffffffffffff]","text":"x"}`, ""},
		"what nobody can know":  {`{"amount":11,"to":"[withheld]","text":"x"}`, ""},
		"another order of keys": {`{"to":"EMAIL","text":"x","amount":12.5}`, `{"amount":12.5,"text":"x","to":"ana@x.example"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := working(t)
			session := p.start(sendTo, guarded, askMail)
			q := p.questions(session, 1)[0]
			var marks struct{ Amount, To string }
			if err := json.Unmarshal(q.Question.ActionRequest.Args, &marks); err != nil {
				t.Fatal(err)
			}
			edit := decide.Answer{Version: q.Version, Type: escalation.Edit,
				EditedArgs: json.RawMessage(strings.NewReplacer("AMOUNT", marks.Amount, "EMAIL", marks.To).Replace(c.edit))}
			if c.sent == "" {
				if _, err := p.desk.Answer(t.Context(), p.people["responder"], q.ID, edit); err == nil {
					t.Error("it was taken")
				}
				return
			}
			p.answer("responder", q, edit)
			s := p.untilStatus(session, sessions.Completed)
			if ran := p.witness.ran("send"); s.Outcome != sessions.Done || len(ran) != 1 || ran[0] != c.sent {
				t.Errorf("the session is %s, %s; sent %v", s.Outcome, s.Failure, ran)
			}
			for _, table := range p.holders("ana@x.example") {
				t.Errorf("a clear value stands in %s", table)
			}
		})
	}
}

// R: O3, Q5
func TestTheSameEditInClearAgainIsTheSameAnswer(t *testing.T) {
	t.Parallel()
	p := working(t)
	q := p.questions(p.start(sendTo, guarded, askMail), 1)[0]
	hold := 30 * time.Minute
	edit := decide.Answer{Version: q.Version, Type: escalation.Edit, Hold: &hold, EditedArgs: json.RawMessage(`{"amount":12.5,"to":"ana@x.example","text":"x"}`)}
	first, again := p.answer("responder", q, edit), p.answer("responder", q, edit)
	if first.Decision.ID != again.Decision.ID || strings.Contains(string(again.Decision.EditedArgs), "ana@x.example") {
		t.Errorf("first %s, then %s with %s", first.Decision.ID, again.Decision.ID, again.Decision.EditedArgs)
	}
}

// R: O3, Q3
func TestAnActionBoundToAnOptionIsShownInClearAndApprovesTheCallThatFollows(t *testing.T) {
	t.Parallel()
	p := working(t)
	session := p.start(`
def reply(s):
    if s.step == 0:
        return [call("look", customer = {"email": "ana@x.example"}, amount = 12.5)]
    args = {"amount": s.results[0].data["amount"], "to": s.results[0].data["customer"]["email"]}
    if s.step == 1:
        return [ask("May I write to them? They have waited for long.", title = "Write to them", options = [
            option("Write", "They get a letter.", id = "write", action = call("send", **args)), option("Leave it", "Nothing is sent.", id = "leave")],
            problem = "They wait.", recommended = "write", reason = "It is due.")]
    if s.step == 2:
        return [call("send", **args)]
    return [finish("Sent.", evidence = [r.call_id for r in s.results if r.tool == "send"])]
`, guarded, askMail)
	q := p.questions(session, 1)[0]
	for who, clear := range map[string]bool{"responder": true, "viewer": false} {
		e, err := p.escalations.Get(t.Context(), p.people[who], q.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.Question.Options[0].Action.Shown()); strings.Contains(got, "ana@x.example") != clear {
			t.Errorf("%s sees %s", who, got)
		}
	}
	p.answer("responder", q, choose(q, "write"))
	s := p.untilStatus(session, sessions.Completed)
	if ran := p.witness.ran("send"); s.Outcome != sessions.Done || len(ran) != 1 || ran[0] != `{"amount":12.5,"to":"ana@x.example"}` || len(p.allQuestions(session)) != 1 {
		t.Errorf("the session is %s, %s; sent %v, %d questions", s.Outcome, s.Failure, ran, len(p.allQuestions(session)))
	}
}

// R: O3
func TestInputsAreMaskedBeforeTheyAreStored(t *testing.T) {
	t.Parallel()
	p := working(t)
	slug := "bot-" + id.New[id.Session]().String()[4:12]
	store := definition.NewStore(p.pool, definition.Known{}, playbookFaults)
	file := definition.File{Name: slug + ".yaml", Source: []byte("slug: " + slug + "\nteam: support\nmodel: scripted/test\nplaybook: ./test.star\ntools: [send]\n" +
		"permission: {mode: auto, rules: [{tool: send, do: allow}]}\ndata: {fields: {/customer/email: token, /customer/card: drop}}\n"), Playbook: []byte(`
def reply(s):
    if s.step == 0:
        return [call("send", to = s.inputs["customer"]["email"], text = s.task, card = "none")]
    return [finish("Sent.", evidence = [s.last[0].call_id])]
`)}
	if _, err := store.Apply(t.Context(), auth.CLI("t"), file); err != nil {
		t.Fatal(err)
	}
	version, err := store.Get(t.Context(), auth.CLI("t"), slug, 0)
	if err != nil {
		t.Fatal(err)
	}
	started, err := p.sessions.Start(t.Context(), p.people["supervisor"], p.inserter, sessions.New{Agent: version, Task: "Write to kim@x.example",
		Inputs: json.RawMessage(`{"customer":{"email":"kim@x.example","card":"8811 7733","name":"Kim"}}`)})
	if err != nil || strings.Contains(started.Task+string(started.Inputs), "kim@") || !strings.Contains(string(started.Inputs), `"card":"[withheld]","name":"Kim"`) {
		t.Fatalf("started with %s, %s, %v", started.Task, started.Inputs, err)
	}
	s := p.untilStatus(started.ID, sessions.Completed)
	if ran := p.witness.ran("send"); s.Outcome != sessions.Done || len(ran) != 1 || ran[0] != `{"card":"none","text":"Write to kim@x.example","to":"kim@x.example"}` {
		t.Errorf("the session is %s, %s; sent %v", s.Outcome, s.Failure, ran)
	}
	for _, table := range append(p.holders("kim@x.example"), p.holders("8811 7733")...) {
		t.Errorf("a clear value stands in %s", table)
	}
}
