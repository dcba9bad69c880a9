package agent_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"baton/internal/agent"
	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

const (
	clearEmail = `ana"o'\hara@x.example` // with what JSON, HTML and SQL escape
	clearCard  = "7420 0015 9933"
)

// told is what a test's tools were called with, and what models were sent.
type told struct {
	mu   sync.Mutex
	list []string
}

func (w *told) add(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, s)
}

func (w *told) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.list, "\n")
}

// Write makes it a log.
func (w *told) Write(b []byte) (int, error) { w.add(string(b)); return len(b), nil }

// customers are what the tests' agents look at and write to.
func customers(sent *told) []tools.Tool {
	person := encode(map[string]any{"email": clearEmail, "card": clearCard, "name": "Ana O'Hara", "age": 41})
	read := tool("customers", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{Data: json.RawMessage(`{"note":` + encode("call "+clearEmail) + `,"orders":[{"n":1,"customer":` + person + `},{"n":2,"customer":` + person + `}]}`),
			Notices: []string{"Found " + clearEmail + "."}}, nil
	})
	text := tool("letters", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{Text: "Dear Ana,\nwe write to " + clearEmail + " again, as to [masked:email:ffffffffffff].\n"}, nil
	})
	mail := tool("mail", tools.EffectIrreversible, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		sent.add(string(args))
		return tools.Output{Data: json.RawMessage(`{"accepted":` + string(args) + `}`)}, nil
	})
	broken := tool("broken", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		var a struct{ To string }
		_ = json.Unmarshal(args, &a)
		panic("no mailbox " + a.To)
	})
	return []tools.Tool{read, text, mail, broken}
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(b.String())
}

// listening notes what the model is sent.
type listening struct {
	llm.Model
	heard *told
}

func (m listening) Next(ctx context.Context, req llm.Request) (llm.Reply, error) {
	b, err := json.Marshal(req.Messages)
	if err != nil {
		return llm.Reply{}, err
	}
	m.heard.add(req.System + "\n" + string(b))
	return m.Model.Next(ctx, req)
}

// loud has the worker tell a test all that it logs and sends to models.
func (h *house) loud(logged, heard *told) {
	deps := h.deps()
	deps.Log = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	model := deps.Model
	deps.Model = func(v definition.Version, name string) (llm.Model, error) {
		m, err := model(v, name)
		return listening{m, heard}, err
	}
	h.use(deps)
}

// spellings are the ways in which a value might stand somewhere. Its end, which
// nothing escapes, is among them.
func spellings(value string) []string {
	_, end, _ := strings.Cut(value, `\`)
	if end == "" {
		end = value
	}
	quoted := encode(value)
	twice := encode(quoted)
	return []string{end, value, quoted[1 : len(quoted)-1], twice[1 : len(twice)-1], hex.EncodeToString([]byte(value)), strconv.Quote(value), strconv.Quote(quoted)}
}

// holds lists the tables of the database that hold a value in any row.
func (h *house) holds(value string) (tables []string) {
	h.t.Helper()
	ctx := context.WithoutCancel(h.t.Context())
	rows, err := h.pool.Query(ctx, `select tablename from pg_tables where schemaname = 'public'`)
	if err != nil {
		h.t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 10 {
		h.t.Fatalf("%d tables, %v", len(names), err)
	}
	for _, name := range names {
		for _, s := range spellings(value) {
			var n int
			if err := h.pool.QueryRow(ctx, fmt.Sprintf(`select count(*) from %q x where position($1 in x::text) > 0`, name), s).Scan(&n); err != nil {
				h.t.Fatal(err)
			}
			if n > 0 {
				tables = append(tables, name)
			}
		}
	}
	return tables
}

func (h *house) count(sql string, args ...any) (n int) {
	h.t.Helper()
	if err := h.pool.QueryRow(context.WithoutCancel(h.t.Context()), sql, args...).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

const allowMail = `permission: {mode: auto, rules: [{tool: mail, do: allow}]}`

const guarded = `data: {fields: {/customer/email: token, /customer/card: drop, /customer/age: token}}`

// writeTo finds a customer and writes to them, with the placeholder it was given.
const writeTo = `
def reply(s):
    if s.step == 0:
        return [say("Looking."), call("customers")]
    who = s.results[0].data["orders"][0]["customer"]
    if s.step == 1:
        if who["card"] != "[withheld]" or who["name"] != "Ana O'Hara" or not who["email"].startswith("[masked:email:"):
            fail("it was shown %s" % who)
        return [call("letters"), call("mail", to = [who["email"]], age = who["age"], text = "To " + who["email"] + ".")]
    if s.last[1].status != "success" or s.last[1].data["accepted"]["to"] != [who["email"]]:
        fail("mail came to %s" % s.last[1])
    return finish("Wrote to %s, aged %s." % (who["email"], who["age"]), evidence = [s.results[0].call_id, s.last[1].call_id])
`

// R: O3
func TestDataThatAPolicyNamesReachesTheToolAndNothingElse(t *testing.T) {
	t.Parallel()
	sent, logged, heard := &told{}, &told{}, &told{}
	h := build(t, customers(sent)...)
	h.loud(logged, heard)
	s := h.run(writeTo, guarded, allowMail)
	if s.Status != sessions.Completed || s.Outcome != sessions.Done {
		t.Fatalf("the session is %s %s, %s", s.Status, s.Outcome, s.Failure)
	}
	if want := `{"age":41,"text":` + encode("To "+clearEmail+".") + `,"to":[` + encode(clearEmail) + `]}`; sent.all() != want {
		t.Errorf("the tool was called with %s\nwant %s", sent.all(), want)
	}
	if !strings.Contains(s.Summary, "[masked:email:") || !strings.Contains(s.Summary, "[masked:age:") {
		t.Errorf("the summary is %q", s.Summary)
	}
	for _, value := range []string{clearEmail, clearCard} {
		if tables := h.holds(value); tables != nil {
			t.Errorf("%s stands in %v", value, tables)
		}
		for _, s := range spellings(value) {
			if strings.Contains(logged.all(), s) || strings.Contains(heard.all(), s) {
				t.Errorf("%s was logged, or sent to the model", s)
			}
		}
	}
	if !strings.Contains(heard.all(), "# Masked values") || !strings.Contains(heard.all(), "Dear Ana") {
		t.Error("the model wasn't taught about placeholders, or not sent what passes")
	}
	if n := h.count(`select count(*) from session_tokens`) + h.count(`select count(*) from sealed_args`); n != 0 {
		t.Errorf("%d values are still kept after the end", n)
	}
}

// R: O3
func TestAnAgentWithoutADataPolicySeesEverythingAndNothingIsKept(t *testing.T) {
	t.Parallel()
	sent, logged, heard := &told{}, &told{}, &told{}
	h := build(t, customers(sent)...)
	deps := h.deps()
	deps.Store = sessions.NewStore(h.pool, nil) // it has no key: whatever asked for one would fail
	h.use(deps)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return call("customers")
    to = s.last[0].data["orders"][1]["customer"]["email"]
    return finish("Found " + to + ".", evidence = [s.last[0].call_id])`, "data: {default: pass, fields: {/customer/email: pass}}")
	if s.Outcome != sessions.Done || s.Summary != "Found "+clearEmail+"." {
		t.Errorf("the session is %s, %q", s.Outcome, s.Summary)
	}
	if h.holds(clearEmail) == nil || h.holds(clearCard) == nil {
		t.Error("what passes isn't found in the database")
	}
	if strings.Contains(heard.all()+logged.all(), "[masked:") || h.count(`select count(*) from session_tokens`) != 0 {
		t.Error("something was masked")
	}
}

// R: O3, E2
func TestAPlaceholderThatTheSessionNeverGaveOutIsToldAndRunsNothing(t *testing.T) {
	t.Parallel()
	sent := &told{}
	h := build(t, customers(sent)...)
	one := h.start(`
def reply(s):
    if s.step == 0:
        return call("customers")
    fail("enough")`, guarded)
	_ = h.work(one)
	other := strings.Split(string(h.results(one)[1].Data()), `"`)
	foreign := ""
	for _, part := range other {
		if strings.HasPrefix(part, "[masked:email:") {
			foreign = part
		}
	}
	for _, mark := range []string{foreign, "[masked:email:ffffffffffff]", "[withheld]"} {
		s := h.run(`
def reply(s):
    if s.step == 0:
        return call("letters")
    if s.step == 1:
        return call("mail", to = "`+mark+`")
    return finish("Nobody was written to.", status = "unable", unresolved = ["the mail"])`, guarded, allowMail)
		r := h.results(s.ID)[2]
		if s.Status != sessions.Completed || r.ErrorType() != tools.InvalidArguments || len(r.Errors()) != 1 || r.Errors()[0].Path != "/to" || r.Errors()[0].Got != mark {
			t.Errorf("%s: the session is %s, %s; the result %s", mark, s.Status, s.Failure, r.ForModel())
		}
	}
	if sent.all() != "" {
		t.Errorf("a tool was called with %s", sent.all())
	}
}

// R: O3
func TestTheDefaultHidesWhatNobodyNamed(t *testing.T) {
	t.Parallel()
	sent, logged, heard := &told{}, &told{}, &told{}
	h := build(t, customers(sent)...)
	h.loud(logged, heard)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [call("customers"), call("letters")]
    who = s.results[0].data["orders"][1]["customer"]
    if s.step == 1:
        if who["name"] != "Ana O'Hara" or s.results[0].data["orders"][0]["n"] == 1 or not s.results[1].data.startswith("[masked:text:"):
            fail("it was shown %s" % [r.data for r in s.results])
        return call("mail", to = who["email"], text = s.results[1].data)
    return finish("Written.", evidence = [s.last[0].call_id])`, "data: {default: token, fields: {/name: pass}}", allowMail)
	if s.Outcome != sessions.Done || !strings.Contains(sent.all(), `"to":`+encode(clearEmail)) || !strings.Contains(sent.all(), `"text":"Dear Ana,\nwe write to`) {
		t.Errorf("the session is %s %s; sent %s", s.Outcome, s.Failure, sent.all())
	}
	for _, value := range []string{clearEmail, clearCard} {
		if tables := h.holds(value); tables != nil || strings.Contains(heard.all()+logged.all(), value) {
			t.Errorf("%s stands in %v, in the log or in what the model was sent", value, tables)
		}
	}
}

// R: O3, L6
func TestAToolThatPanicsLogsNoClearValue(t *testing.T) {
	t.Parallel()
	sent, logged, heard := &told{}, &told{}, &told{}
	h := build(t, customers(sent)...)
	h.loud(logged, heard)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return call("customers")
    if s.step == 1:
        return call("broken", to = s.results[0].data["orders"][0]["customer"]["email"])
    return finish("It is broken.", status = "unable", unresolved = ["the mail"])`, guarded)
	if s.Status != sessions.Completed || !strings.Contains(logged.all(), "no mailbox [masked:email:") {
		t.Errorf("the session is %s %s; the panic isn't in the log", s.Status, s.Failure)
	}
	for _, spelt := range spellings(clearEmail) {
		if strings.Contains(logged.all(), spelt) {
			t.Errorf("the log holds %s", spelt)
		}
	}
}

// What a model wrote in clear into a field that is named, it sees as a
// placeholder from then on; what ran is what it wrote.
// R: O3
func TestNamedFieldsOfACallAreMaskedOnRecordToo(t *testing.T) {
	t.Parallel()
	sent, logged, heard := &told{}, &told{}, &told{}
	h := build(t, customers(sent)...)
	h.loud(logged, heard)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [say("To bo@x.example."), call("mail", customer = {"email": "bo@x.example", "card": "9911 2233"})]
    if s.step == 1:
        if not s.results[0].args["customer"]["email"].startswith("[masked:email:"):
            fail("its call reads %s" % s.results[0].args)
        return call("mail", to = s.results[0].args["customer"]["email"])
    return finish("Wrote to bo@x.example.", evidence = [r.call_id for r in s.results])`, guarded, allowMail)
	if s.Outcome != sessions.Done || sent.all() != `{"customer":{"card":"9911 2233","email":"bo@x.example"}}`+"\n"+`{"to":"bo@x.example"}` {
		t.Errorf("the session is %s %s; sent %s", s.Outcome, s.Failure, sent.all())
	}
	for _, table := range append(h.holds("bo@x.example"), h.holds("9911 2233")...) {
		if table != "agent_versions" { // the playbook itself
			t.Errorf("a clear value stands in %s", table)
		}
	}
	if strings.Contains(heard.all()+logged.all(), "bo@x.example") {
		t.Error("the model was sent its own clear words again, or they were logged")
	}
}

// R: O3, A6
func TestPermissionIsJudgedByWhatAPlaceholderStandsFor(t *testing.T) {
	t.Parallel()
	sent := &told{}
	h := build(t, customers(sent)...)
	s := h.run(`
def reply(s):
    if s.step == 0:
        return call("customers")
    if s.step == 1:
        return call("mail", to = s.results[0].data["orders"][0]["customer"]["email"])
    return finish("It isn't allowed.", status = "unable", unresolved = ["the mail"])`, guarded,
		`permission: {mode: auto, rules: [{tool: mail, do: allow}, {tool: mail, when: {to: "*@x.example"}, do: deny}]}`)
	if r := h.results(s.ID)[2]; s.Status != sessions.Completed || r.ErrorType() != tools.PermissionDenied || sent.all() != "" {
		t.Errorf("the session is %s; the result %s; sent %s", s.Status, r.ForModel(), sent.all())
	}
}

// R: O3, A2
func TestAnotherReplicaPutsBackWhatTheFirstGaveOut(t *testing.T) {
	t.Parallel()
	sent := &told{}
	h := build(t, customers(sent)...)
	session := h.start(writeTo, guarded, "permission: {mode: ask, rules: [{tool: customers, do: allow}, {tool: letters, do: allow}]}")
	if err := h.work(session); err != nil {
		t.Fatal(err)
	}
	if h.get(session).Status != sessions.Waiting || h.count(`select count(*) from session_tokens where session_id = $1`, session) != 2 {
		t.Fatalf("the session is %s, %d values are kept", h.get(session).Status, h.count(`select count(*) from session_tokens`))
	}
	tokens, err := join(t, h.pool, t.TempDir()).store.Tokens(t.Context(), session)
	if err != nil || tokens.Len() != 2 {
		t.Fatalf("%d values, %v", tokens.Len(), err)
	}
	for _, e := range h.events(session) {
		if e.Type != sessions.ModelReplied || !strings.Contains(string(e.Data), `"mail"`) {
			continue
		}
		var d struct{ Plans []tools.Plan }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		clear, at, wrong := tokens.PutBack(d.Plans[1].Call.Args)
		if len(at) != 3 || wrong != nil || !strings.Contains(string(clear), encode(clearEmail)) {
			t.Errorf("put back: %s at %v, %v", clear, at, wrong)
		}
	}
	if tables := h.holds(clearEmail); tables != nil {
		t.Errorf("while it waits the value stands in %v", tables)
	}
}

// R: O3, A1
func TestKilledAtEachStatementAPlaceholderStillGivesItsValue(t *testing.T) {
	t.Parallel()
	h := build(t)
	const playbook = `
def reply(s):
    if s.step == 0:
        return call("look", customer = {"email": "kim@x.example"})
    if s.step == 1:
        return call("put", to = s.results[0].data["customer"]["email"])
    return finish("Told them.", evidence = [r.call_id for r in s.results])`
	for at := 1; ; at++ {
		c := crash{h: h, session: h.start(playbook, `data: {fields: {/customer/email: token}}`), dir: t.TempDir()}
		killed := c.live(strconv.Itoa(at), "")
		if killed {
			c.live("0", "")
		}
		text, err := os.ReadFile(c.witness())
		if s := h.get(c.session); err != nil || s.Outcome != sessions.Done || !strings.Contains(string(text), `{"to":"kim@x.example"}`) || strings.Contains(string(text), "[masked:") {
			t.Errorf("killed at boundary %d: session %s %s, the tools saw %s, %v", at, s.Status, s.Failure, text, err)
		}
		if !killed {
			break
		}
	}
	for _, table := range h.holds("kim@x.example") {
		if table != "agent_versions" {
			t.Errorf("a clear value stands in %s", table)
		}
	}
}

// R: O3
func TestAnEndWipesWhatWasSealedForASession(t *testing.T) {
	t.Parallel()
	h := build(t, customers(&told{})...)
	session := h.start(`
def reply(s):
    return call("mail", customer = {"email": "bo@x.example"})`, guarded, "permission: {mode: ask}")
	if err := h.work(session); err != nil {
		t.Fatal(err)
	}
	kept := func() int {
		return h.count(`select count(*) from session_tokens`) + 10*h.count(`select count(*) from sealed_args`)
	}
	if kept() != 11 {
		t.Fatalf("kept while it waits: %d", kept())
	}
	if _, err := h.store.Cancel(t.Context(), cli, h.inserter, session); err != nil {
		t.Fatal(err)
	}
	if err := h.work(session); err != nil {
		t.Fatal(err)
	}
	if s := h.get(session); s.Status != sessions.Cancelled || kept() != 0 {
		t.Errorf("the session is %s, kept %d", s.Status, kept())
	}
}

// R: S2, O3
func TestOnlyAgentsWithADataPolicyAreTaughtAboutPlaceholders(t *testing.T) {
	t.Parallel()
	plain, _ := agent.Prompt(definition.Agent{Instructions: "Work."})
	named, _ := agent.Prompt(definition.Agent{Instructions: "Work.", Data: definition.DataPolicy{Fields: map[string]definition.DataRule{"/a": definition.DataToken}}})
	whole, _ := agent.Prompt(definition.Agent{Data: definition.DataPolicy{Default: definition.DataDrop}})
	if strings.Contains(plain, "[masked:") || !strings.Contains(named, "[masked:") || !strings.Contains(whole, "[masked:") || !strings.HasSuffix(named, "# Your work\n\nWork.") {
		t.Errorf("plain %q\nnamed %q", plain, named)
	}
}

// A rule for a field of the business has nothing to say of what the agent tells
// the harness, though that has a field of the same name.
// R: O3, A5, Q2
func TestWhatAnAgentSaysToTheHarnessHasNoFieldsOfTheBusiness(t *testing.T) {
	t.Parallel()
	h := build(t, customers(&told{})...)
	const named = `data: {fields: {/status: token, /summary: drop, /title: drop, /label: token, /claim: drop, /unresolved: drop, /customer/email: token}}`
	s := h.run(`
def reply(s):
    if s.step == 0:
        return call("customers")
    return finish("Found them.", status = "partly", evidence = [s.last[0].call_id], unresolved = ["the rest"])`, named)
	if s.Outcome != sessions.Partly || s.Summary != "Found them." || !strings.Contains(string(s.Unresolved), "the rest") {
		t.Errorf("it ended %s: %q, %s", s.Outcome, s.Summary, s.Unresolved)
	}
	s = h.run(`
def reply(s):
    return ask("May I write to bo@x.example? They have waited for long.", title = "Write to them", options = [
        option("Write", "They get a letter.", id = "write", action = call("mail", customer = {"email": "bo@x.example"})), option("Leave it", "Nothing is sent.", id = "leave")],
        problem = "They wait.", recommended = "write", reason = "It is due.")`, named)
	var question string
	if err := h.pool.QueryRow(t.Context(), `select question::text from escalations where session_id = $1`, s.ID).Scan(&question); err != nil {
		t.Fatalf("the session is %s, %s: %v", s.Status, s.Failure, err)
	}
	if !strings.Contains(question, `"Write to them"`) || !strings.Contains(question, `"Leave it"`) || strings.Contains(question, "bo@") || !strings.Contains(question, "May I write to [masked:email:") {
		t.Errorf("asked: %s", question)
	}
	for _, table := range h.holds("bo@x.example") {
		if table != "agent_versions" {
			t.Errorf("a clear value stands in %s", table)
		}
	}
}
