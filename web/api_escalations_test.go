package web

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/tools"
)

func (w world) agentKey(agent, team string) program {
	w.t.Helper()
	key, err := w.accounts.CreateKey(w.t.Context(), auth.CLI("root"), auth.NewKey{Agent: agent, Team: team, Scopes: auth.AgentScopes()})
	if err != nil {
		w.t.Fatal(err)
	}
	return program{w.house, key}
}

// R: I1, Q2, Q3
func TestAQuestionIsReadAnsweredAndKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	at := "/escalations/" + e.ID.String()
	p := w.program("responder")
	got := p.get(at)
	q := got.ok(t, http.StatusOK)
	if q["status"] != "pending" || q["version"] != 1.0 || q["title"] != "Charged twice" || q["session_id"] != e.Session.String() || got.header.Get("ETag") != `"1"` {
		t.Errorf("%v, ETag %s", q, got.header.Get("ETag"))
	}
	if options, _ := q["options"].([]any); len(options) != 2 || options[0].(map[string]any)["key"] != "A" || options[0].(map[string]any)["recommended"] != true {
		t.Errorf("options %v", q["options"])
	}
	a := p.post(at+"/answer", `{"version": 1, "decision": {"type": "choose", "option_id": "A", "message": "Thanks."}, "rationale": "Charged twice, indeed."}`)
	answered := a.ok(t, http.StatusOK)
	d := object(answered["decision"].(map[string]any))
	if answered["status"] != "answered" || answered["version"] != 2.0 || a.header.Get("ETag") != `"2"` || d["option_id"] != "refund" || d["option"] != "A" ||
		d["message"] != "Thanks." || d["rationale"] != "Charged twice, indeed." || d["via"] != "api" || d["held_until"] != nil {
		t.Errorf("%v", answered)
	}
	if by := d["decided_by"].(map[string]any); by["kind"] != "person" || by["name"] != "responder" {
		t.Errorf("decided by %v", by)
	}
	kept := w.program("viewer").get("/decisions/"+d.text("id")).ok(t, http.StatusOK)
	if kept["escalation_id"] != e.ID.String() || kept["question"].(map[string]any)["title"] != "Charged twice" {
		t.Errorf("kept as %v", kept)
	}
	call := p.get("/calls/call_"+e.Session.Digits()+"_1").ok(t, http.StatusOK)
	if call["escalation_id"] != e.ID.String() || call["in_doubt"] != false {
		t.Errorf("the call: %v", call)
	}
	if s := p.get("/sessions/"+e.Session.String()).ok(t, http.StatusOK); s["status"] != "queued" || s["open_questions"] != 0.0 {
		t.Errorf("the session: %v", s)
	}
}

// R: Q5, I1
func TestOfSeveralAnswersOneCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	at := "/escalations/" + e.ID.String()
	p := w.program("responder")
	p.post(at+"/answer", `{"version": 7, "decision": {"type": "choose", "option_id": "leave"}}`).refused(t, http.StatusConflict, "stale_version", "")
	first := p.choose(e, "leave", 0)
	first.ok(t, http.StatusOK)
	if again := p.choose(e, "B", 0); again.status != http.StatusOK || again.body != first.body {
		t.Errorf("the same answer again: %d\n%s\nfirst\n%s", again.status, again.body, first.body)
	}
	for _, other := range []program{p, w.program("supervisor")} {
		refused := other.choose(e, "refund", 0).refused(t, http.StatusConflict, "already_answered", "")
		if won, _ := refused["decision"].(map[string]any); won["option_id"] != "leave" || won["decided_by"].(map[string]any)["name"] != "responder" {
			t.Errorf("what won: %v", refused["decision"])
		}
	}
	// Another person's equal answer is another's.
	w.program("supervisor").choose(e, "leave", 0).refused(t, http.StatusConflict, "already_answered", "")
	if n := count(t, w.db, `select count(*) from decisions`); n != 1 {
		t.Errorf("%d decisions", n)
	}
}

// R: Q5
// case: fault F16
func TestTwoPeopleAtOnceMakeOneDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	people := []program{w.program("responder"), w.program("supervisor"), w.program("admin")}
	for round := range 4 {
		e := w.question("desk")
		got := make([]answer, 8)
		var group sync.WaitGroup
		for i := range got {
			p, option := people[i%len(people)], []string{"refund", "leave"}[i%2]
			group.Go(func() { got[i] = p.choose(e, option, 0) })
		}
		group.Wait()
		winner, decisions := "", map[string]bool{}
		for _, a := range got {
			o := read[object](t, a.body)
			d, _ := o["decision"].(map[string]any)
			decisions[object(d).text("id")] = true
			switch {
			case a.status == http.StatusOK && (winner == "" || winner == a.body): // a double click of the winner's
				winner = a.body
			case a.status == http.StatusConflict && o["code"] == "already_answered":
			default:
				t.Errorf("round %d: %d %s", round, a.status, a.body)
			}
		}
		if winner == "" || len(decisions) != 1 {
			t.Errorf("round %d: winner %q, decisions %v", round, winner, decisions)
		}
		if n := count(t, w.db, `select count(*) from decisions where escalation_id = $1`, e.ID); n != 1 {
			t.Errorf("round %d: %d decisions", round, n)
		}
		if n := count(t, w.db, `select count(*) from river_job where kind = 'session.run' and args ->> 'session' = $1`, e.Session.String()); n != 2 {
			t.Errorf("round %d: %d jobs, want that of the start and one more", round, n)
		}
	}
}

// R: Q5, I1
// case: fault F17
// case: fault F06
func TestAnAnswerSentFiveTimesWithOneKeyIsOneDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	at := "/escalations/" + e.ID.String() + "/answer"
	p := w.program("responder")
	const body = `{"version": 1, "decision": {"type": "choose", "option_id": "leave"}, "hold_seconds": 600}`
	got := make([]answer, 5)
	var group sync.WaitGroup
	for i := range got {
		group.Go(func() { got[i] = p.post(at, body, "Idempotency-Key", "click-1") })
	}
	group.Wait()
	first := 0
	for _, a := range got {
		if a.status != http.StatusOK || a.body != got[0].body || a.header.Get("ETag") != `"2"` {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		if a.header.Get("Idempotent-Replayed") == "" {
			first++
		}
	}
	if n := count(t, w.db, `select count(*) from decisions`); n != 1 || first != 1 {
		t.Errorf("%d decisions, %d first replies", n, first)
	}
	p.post(at, strings.Replace(body, "leave", "refund", 1), "Idempotency-Key", "click-1").
		refused(t, http.StatusUnprocessableEntity, "idempotency_key_reused", "Idempotency-Key")
	// What happens later doesn't change the reply to that request.
	p.post("/escalations/"+e.ID.String()+"/undo", "").ok(t, http.StatusOK)
	if a := p.post(at, body, "Idempotency-Key", "click-1"); a.status != http.StatusOK || a.body != got[0].body {
		t.Errorf("after an undo: %d %s", a.status, a.body)
	}
	if q := p.get("/escalations/"+e.ID.String()).ok(t, http.StatusOK); q["status"] != "pending" || q["version"] != 3.0 {
		t.Errorf("%v", q)
	}
}

// R: Q1, A6, I1
func TestAnApprovalIsGivenChangedOrRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("responder")
	for body, want := range map[string]string{
		`{"type": "approve"}`: "approve",
		`{"type": "edit", "edited_args": {"amount": "120.00"}}`: "edit",
		`{"type": "reject", "message": "Not this one."}`:        "reject",
	} {
		worker := w.work(w.start("desk"))
		call := worker.ask("refund", `{"amount": "240.00"}`, tools.Awaiting)
		e := worker.raise(approval(`{"amount": "240.00"}`))
		if c := p.get("/calls/"+call.String()).ok(t, http.StatusOK); c["status"] != "awaiting_approval" || c["escalation_id"] != e.ID.String() || c["approval"] != nil {
			t.Errorf("while asked: %v", c)
		}
		at := "/escalations/" + e.ID.String() + "/answer"
		send := func(decision string) answer { return p.post(at, `{"version": 1, "decision": `+decision+`}`) }
		send(`{"type": "edit", "edited_args": {"amount": 120}}`).refused(t, http.StatusUnprocessableEntity, "edited_args_invalid", "/decision/edited_args")
		send(`{"type": "approve", "edited_args": {"amount": "1.00"}}`).refused(t, http.StatusUnprocessableEntity, "answer_field_unexpected", "/decision/edited_args")
		send(`{"type": "choose", "option_id": "A"}`).refused(t, http.StatusUnprocessableEntity, "answer_type_not_allowed", "/decision/type")
		d := object(send(body).ok(t, http.StatusOK)["decision"].(map[string]any))
		if d["type"] != want {
			t.Errorf("%s: %v", body, d)
		}
		c := p.get("/calls/"+call.String()).ok(t, http.StatusOK)
		given, _ := c["approval"].(map[string]any)
		if (given != nil) != (want != "reject") || given != nil && (given["decision_id"] != d["id"] || given["decided_by"].(map[string]any)["name"] != "responder") {
			t.Errorf("%s: the call has the approval %v", body, c["approval"])
		}
	}
}

// R: I1
func TestAnswersThatDoNotFitAreRefusedByField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	at := "/escalations/" + e.ID.String() + "/answer"
	p := w.program("responder")
	for body, want := range map[string][2]string{
		`{"decision": {"type": "choose", "option_id": "A"}}`: {"field_missing", "/version"},
		`{"version": 1}`: {"field_missing", "/decision/type"},
		`{"version": 1, "decision": {"type": "choose"}}`:                                                        {"option_unknown", "/decision/option_id"},
		`{"version": 1, "decision": {"type": "choose", "option_id": "Z"}}`:                                      {"option_unknown", "/decision/option_id"},
		`{"version": 1, "decision": {"type": "decree"}}`:                                                        {"answer_type_not_allowed", "/decision/type"},
		`{"version": 1, "decision": {"type": "respond"}}`:                                                       {"message_missing", "/decision/message"},
		`{"version": 1, "decision": {"type": "choose", "option": "A"}}`:                                         {"field_unknown", "/decision/option"},
		`{"version": "1", "decision": {"type": "choose", "option_id": "A"}}`:                                    {"field_type", "/version"},
		`{"version": 1, "decision": "A"}`:                                                                       {"field_type", "/decision"},
		`{"version": 1, "decision": {"type": "choose", "option_id": "A", "Option_ID": "B"}}`:                    {"field_repeated", "/decision/Option_ID"},
		`{"version": 1, "decision": {"type": "choose", "option_id": "A"}, "hold_seconds": -1}`:                  {"hold_invalid", "/hold_seconds"},
		`{"version": 1, "decision": {"type": "choose", "option_id": "A"}, "hold_seconds": 1801}`:                {"hold_invalid", "/hold_seconds"},
		`{"version": 1, "decision": {"type": "choose", "option_id": "A"}, "hold_seconds": 9223372036854775807}`: {"hold_invalid", "/hold_seconds"},
		`{"version": 1, "decision": {"type": "choose", "option_id": "A"}, "hold_seconds": "10"}`:                {"field_type", "/hold_seconds"},
		`{"version": 1, "decision": {"type": "choose", "option_id": "A"}, "decided_by": "the user"}`:            {"field_unknown", "/decided_by"},
	} {
		p.post(at, body).refused(t, http.StatusUnprocessableEntity, want[0], want[1])
	}
	good := `{"version": 1, "decision": {"type": "choose", "option_id": "leave"}}`
	p.post(at, good, "If-Match", `"2"`).refused(t, http.StatusBadRequest, "precondition_invalid", "If-Match")
	p.post(at, strings.Replace(good, `"version": 1, `, "", 1), "If-Match", `"7"`).refused(t, http.StatusConflict, "stale_version", "")
	if n := count(t, w.db, `select count(*) from decisions`); n != 0 {
		t.Errorf("%d decisions", n)
	}
	p.post(at, good, "If-Match", `"1"`).ok(t, http.StatusOK)
}

// R: Q6, I1
func TestAHeldAnswerIsTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	undo := "/escalations/" + e.ID.String() + "/undo"
	p := w.program("responder")
	p.post(undo, "").refused(t, http.StatusConflict, "nothing_to_undo", "")
	held := p.choose(e, "leave", 600).ok(t, http.StatusOK)
	if held["held_until"] == nil {
		t.Errorf("%v", held)
	}
	w.add("Rico", auth.Responder, "support")
	w.program("Rico").post(undo, "").refused(t, http.StatusForbidden, "not_allowed", "")
	if q := p.post(undo, "").ok(t, http.StatusOK); q["status"] != "pending" || q["version"] != 3.0 || q["decision"] != nil {
		t.Errorf("%v", q)
	}
	d := p.get("/decisions/"+object(held["decision"].(map[string]any)).text("id")).ok(t, http.StatusOK)
	if d["undone_at"] == nil {
		t.Errorf("the decision: %v", d)
	}
	e.Version = 3
	p.choose(e, "leave", 0).ok(t, http.StatusOK)
	p.post(undo, "").refused(t, http.StatusConflict, "undo_too_late", "")
}

// R: Q11, Q13, I1
func TestWhatNobodyWaitsForIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("responder")
	e := w.question("desk")
	w.program("supervisor").post("/sessions/"+e.Session.String()+"/cancel", "").ok(t, http.StatusOK)
	p.choose(e, "leave", 0).refused(t, http.StatusGone, "cancelled", "")
	late := w.question("desk")
	if _, err := w.db.Exec(t.Context(), `update escalations set expires_at = now() where id = $1`, late.ID); err != nil {
		t.Fatal(err)
	}
	p.choose(late, "leave", 0).refused(t, http.StatusGone, "expired", "")
}

// R: I1
func TestQuestionsAreListedAsTheyAreDue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var want []string
	for i := range 5 {
		e := w.question("desk")
		if _, err := w.db.Exec(t.Context(), `update escalations set due_at = now() + $2 * interval '1 hour' where id = $1`, e.ID, 5-i); err != nil {
			t.Fatal(err)
		}
		want = append([]string{e.ID.String()}, want...)
	}
	w.question("ledger")
	p := w.program("viewer")
	walk := func(path string) (ids []string) {
		for at := path; at != ""; {
			items, next := p.get(at).ok(t, http.StatusOK).items()
			for _, i := range items {
				ids = append(ids, i.text("id"))
			}
			at = ""
			if next != "" {
				at = path + "&cursor=" + next
			}
		}
		return ids
	}
	if got := walk("/escalations?status=pending&limit=2"); !slices.Equal(got, want) {
		t.Errorf("pending: %v, want %v", got, want)
	}
	// Without a status the newest comes first: here, in the same order.
	if got := walk("/escalations?limit=2&agent=desk&kind=options&trigger=ambiguous_decision&team=support&since=2020-01-01T00:00:00Z"); !slices.Equal(got, want) {
		t.Errorf("all: %v, want %v", got, want)
	}
	for _, filter := range []string{"status=answered", "kind=approval", "trigger=poison_loop", "agent=ledger", "team=finance", "since=2100-01-01T00:00:00Z"} {
		if got := walk("/escalations?limit=2&" + filter); len(got) != 0 {
			t.Errorf("%s: %v", filter, got)
		}
	}
	for query, want := range map[string][2]string{
		"status=open": {"parameter_invalid", "status"}, "kind=x": {"parameter_invalid", "kind"}, "trigger=x": {"parameter_invalid", "trigger"},
		"cursor=ZXNjYWxhdGlvbnMgeA": {"cursor_invalid", "cursor"}, "q=x": {"parameter_unknown", "q"},
	} {
		p.get("/escalations?"+query).refused(t, http.StatusUnprocessableEntity, want[0], want[1])
	}
}

// R: C4, C7, I1
func TestDecisionsAreListedAndFoundAsPrecedents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("responder")
	var ids []string
	for _, option := range []string{"refund", "leave", "leave"} {
		d := object(p.choose(w.question("desk"), option, 0).ok(t, http.StatusOK)["decision"].(map[string]any))
		ids = append([]string{d.text("id")}, ids...)
	}
	w.program("Otto").choose(w.question("ledger"), "leave", 0).ok(t, http.StatusOK)
	read := func(path string) (got []string) {
		items, _ := p.get(path).ok(t, http.StatusOK).items()
		for _, d := range items {
			got = append(got, d.text("id"))
		}
		return got
	}
	person := p.get("/decisions/"+ids[0]).ok(t, http.StatusOK)["decided_by"].(map[string]any)["id"].(string)
	for path, want := range map[string][]string{
		"/decisions":                                                     ids,
		"/decisions?option_id=leave":                                     ids[:2],
		"/decisions?decided_by=" + person:                                ids,
		"/decisions?decided_by=per_1":                                    nil,
		"/decisions?agent=ledger":                                        nil,
		"/decisions?trigger=sensitive_action":                            nil,
		"/escalations/" + w.question("desk").ID.String() + "/precedents": ids,
	} {
		if got := read(path); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	items, next := p.get("/decisions?limit=2").ok(t, http.StatusOK).items()
	if len(items) != 2 || next == "" {
		t.Fatalf("%v, %q", items, next)
	}
	if got := read("/decisions?limit=2&cursor=" + next); !slices.Equal(got, ids[2:]) {
		t.Errorf("the second page: %v", got)
	}
	p.get("/decisions/dec_1").refused(t, http.StatusNotFound, "decision_not_found", "")
	p.get("/escalations/esc_1").refused(t, http.StatusNotFound, "escalation_not_found", "")
}

// R: I2, K6
// case: abuse A14
// case: abuse A27
func TestAnAgentsKeySeesItsOwnQuestionsAndAnswersNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply("archive", "support")
	mine, other, foreign := w.question("desk"), w.question("archive"), w.question("ledger")
	p := w.agentKey("desk", "support")
	p.get("/escalations/"+mine.ID.String()).ok(t, http.StatusOK)
	for _, e := range []escalation.Escalation{other, foreign} {
		p.get("/escalations/"+e.ID.String()).refused(t, http.StatusNotFound, "escalation_not_found", "")
	}
	if items, _ := p.get("/escalations").ok(t, http.StatusOK).items(); len(items) != 1 || items[0]["id"] != mine.ID.String() {
		t.Errorf("it sees %v", items)
	}
	for _, e := range []escalation.Escalation{mine, other, foreign} {
		p.choose(e, "refund", 0).refused(t, http.StatusForbidden, "agent_not_allowed", "")
		p.post("/escalations/"+e.ID.String()+"/undo", "").refused(t, http.StatusForbidden, "agent_not_allowed", "")
	}
	p.get("/escalations/"+mine.ID.String()+"/precedents").refused(t, http.StatusForbidden, "agent_not_allowed", "")
	if n := count(t, w.db, `select count(*) from decisions`); n != 0 {
		t.Errorf("%d decisions", n)
	}
	if n := count(t, w.db, `select count(*) from audit where actor_kind = 'agent' and note = 'refused'`); n != 7 {
		t.Errorf("%d refusals on record", n)
	}
}

// R: I2
func TestWaitingEndsWithTheAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	at := "/escalations/" + e.ID.String()
	p, responder := w.agentKey("desk", "support"), w.program("responder")
	waited := make(chan answer, 1)
	go func() { waited <- p.get(at + "?wait=50") }()
	responder.choose(e, "leave", 600).ok(t, http.StatusOK)
	got := <-waited
	q := got.ok(t, http.StatusOK)
	if q["status"] != "answered" || got.header.Get("ETag") != `"2"` {
		t.Fatalf("%v", q)
	}
	// What is answered is told at once; with its ETag, the next change is.
	p.get(at+"?wait=50").ok(t, http.StatusOK)
	go func() { waited <- p.get(at+"?wait=50", "If-None-Match", `"2"`) }()
	responder.post(at+"/undo", "").ok(t, http.StatusOK)
	got = <-waited
	if q := got.ok(t, http.StatusOK); q["status"] != "pending" || q["version"] != 3.0 {
		t.Errorf("after an undo: %v", q)
	}
	for _, wait := range []string{"-1", "51", "x", "1s"} {
		p.get(at+"?wait="+wait).refused(t, http.StatusUnprocessableEntity, "parameter_invalid", "wait")
	}
	if got := p.get(at+"?wait=1", "If-None-Match", `"3"`); got.status != http.StatusNotModified || got.body != "" {
		t.Errorf("nothing changed: %d %s", got.status, got.body)
	}
	if q := p.get(at+"?wait=1").ok(t, http.StatusOK); q["status"] != "pending" {
		t.Errorf("nobody answered: %v", q)
	}
}
