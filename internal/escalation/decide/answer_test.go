package decide_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// R: Q5, Q6, A9
func TestAnAnswerIsRecordedAndTheSessionGoesOn(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	a := pick("A")
	a.Message, a.Rationale = "Tell her we are sorry.", "Both charges have one time."
	got, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, a)
	if err != nil {
		t.Fatal(err)
	}
	d := got.Decision
	if got.Status != escalation.Answered || got.Version != 2 || d == nil || d.OptionID != "refund" || d.Option != "A" ||
		d.Label != "Refund it" || d.By != (escalation.Decider{Kind: escalation.ByPerson, ID: ana.Person.String(), Name: "Ana"}) ||
		d.Message != a.Message || d.Rationale != a.Rationale || d.TookMS < 0 || d.HeldUntil != nil {
		t.Errorf("got %+v with decision %+v", got, d)
	}
	if s := h.session(t, w.id); s.Status != sessions.Queued || s.OpenQuestions != 0 {
		t.Errorf("the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
	if n := h.runs(t, w.id); n != 2 { // its start, and this
		t.Errorf("%d jobs, want 2", n)
	}
	e := h.last(t, w.id, sessions.EscalationAnswered)
	if e.Escalation != got.ID || e.Call != 1 || e.Decision.ID != d.ID || len(e.Approvals) != 1 ||
		!strings.HasPrefix(e.Approvals[0].Digest, "digest-of-") || !e.Approvals[0].ExpiresAt.After(d.DecidedAt) {
		t.Errorf("the event is %+v", e)
	}
	if n := h.count(t, `select count(*) from audit where object_id = $1 and verb = 'escalation.answer' and actor_name = 'Ana'`, got.ID.String()); n != 1 {
		t.Errorf("%d audit rows", n)
	}
}

// R: C1, C2
func TestADecisionKeepsTheQuestionAndTheCase(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	if err := h.questions.MarkSeen(t.Context(), ana, w.questions[0].ID); err != nil {
		t.Fatal(err)
	}
	got, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("leave-it"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.questions.Decision(t.Context(), ana, got.Decision.ID)
	if err != nil {
		t.Fatal(err)
	}
	if d.Question == nil || d.Question.Title != "Charged twice" || len(d.Question.Options) != 2 {
		t.Errorf("the question is %+v", d.Question)
	}
	if c := d.Case; c.ReasonCode != "duplicate_charge" || c.OptionSet != "leave-it refund!" || c.Tool != "refund" || c.ToolHash != "h1" ||
		c.Problem != "Order <n> was charged twice." {
		t.Errorf("the case is %+v", c)
	}
	if d.Via != "api" || d.Agent != "bot" || d.Team != "support" || d.Trigger != escalation.AmbiguousDecision {
		t.Errorf("the decision is %+v", d)
	}
	for _, sql := range []string{`update decisions set label = 'B'`, `delete from decisions`, `truncate decisions cascade`} {
		if _, err := h.pool.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "never changed") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := h.pool.Exec(t.Context(), `insert into decisions select (jsonb_populate_record(d, '{"decided_by_kind": "agent", "id": "00000000-0000-7000-8000-000000000001"}')).* from decisions d`); err == nil {
		t.Error("an agent stands in the decisions") // case: abuse A28
	}
}

// R: Q5
// case: fault F16
func TestOfEightWhoAnswerAtOnceOneWins(t *testing.T) {
	t.Parallel()
	h := build(t)
	people := make([]auth.Actor, 8)
	for i := range people {
		people[i] = h.person(t, fmt.Sprintf("P%d", i), auth.Responder, "support")
	}
	const rounds = 100
	for round := range rounds {
		w := h.ask(t, escalation.Raise{Draft: choice(t)})
		var start, end sync.WaitGroup
		start.Add(1)
		var mu sync.Mutex
		var won []string
		winners := map[string]int{}
		for i, p := range people {
			end.Go(func() {
				option := []string{"refund", "leave-it"}[i%2]
				start.Wait()
				got, err := h.desk.Answer(t.Context(), p, w.questions[0].ID, pick(option))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, got.Decision.By.Name+" "+got.Decision.OptionID)
					return
				}
				problem := problem.From(err)
				d, _ := problem.Members["decision"].(*escalation.Decision)
				if problem.Code != "already_answered" || d == nil || d.DecidedAt.IsZero() {
					t.Errorf("round %d: %v", round, err)
					return
				}
				winners[d.By.Name+" "+d.OptionID]++
			})
		}
		start.Done()
		end.Wait()
		if len(won) != 1 || len(winners) != 1 || winners[won[0]] != 7 {
			t.Fatalf("round %d: %v won, and the others were told %v", round, won, winners)
		}
		if n := h.count(t, `select count(*) from decisions where escalation_id = $1`, w.questions[0].ID); n != 1 {
			t.Fatalf("round %d: %d decisions", round, n)
		}
		if n := h.runs(t, w.id); n != 2 {
			t.Fatalf("round %d: %d jobs, want the start's and one more", round, n)
		}
	}
}

// R: Q5
// case: fault F17, fault F06
func TestTheSameAnswerAgainGetsTheFirstReply(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana, ben := h.person(t, "Ana", auth.Responder, "support"), h.person(t, "Ben", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	esc := w.questions[0].ID
	answer := holdFor(pick("A"), time.Minute)
	answer.Message = "Go on."
	replies := make([]string, 5)
	var all sync.WaitGroup
	for i := range replies {
		all.Go(func() {
			got, err := h.desk.Answer(t.Context(), ana, esc, answer)
			if err != nil {
				t.Errorf("answer: %v", err)
			}
			b, err := json.Marshal(got)
			if err != nil {
				t.Error(err)
			}
			replies[i] = string(b)
		})
	}
	all.Wait()
	for _, r := range replies[1:] {
		if r != replies[0] {
			t.Errorf("replies differ:\n%s\n%s", replies[0], r)
		}
	}
	if n := h.count(t, `select count(*) from decisions`); n != 1 {
		t.Errorf("%d decisions", n)
	}

	// Named by its id, by key instead of browser, with a stale version, once it
	// has been applied: it is the same answer still.
	if _, err := h.pool.Exec(t.Context(), `update escalations set status = 'applied', version = 3, closed_at = now() where id = $1`, esc); err != nil {
		t.Fatal(err)
	}
	again := answer
	again.Option, again.Version = "refund", 7
	byKey := ana
	byKey.Kind, byKey.Scopes = auth.KindKey, []auth.Scope{auth.ScopeAll}
	got, err := h.desk.Answer(t.Context(), byKey, esc, again)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := json.Marshal(got); string(b) != replies[0] {
		t.Errorf("the reply is\n%s\nwant\n%s", b, replies[0])
	}

	for name, a := range map[string]decide.Answer{
		"another message":   {Version: 1, Type: escalation.Choose, Option: "A", Message: "Go on"},
		"another rationale": {Version: 1, Type: escalation.Choose, Option: "A", Message: "Go on.", Rationale: "r"},
		"another option":    {Version: 1, Type: escalation.Choose, Option: "B", Message: "Go on."},
	} {
		if _, err := h.desk.Answer(t.Context(), ana, esc, a); !problem.Is(err, "already_answered") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.desk.Answer(t.Context(), ben, esc, answer); !problem.Is(err, "already_answered") {
		t.Errorf("the same answer by another: %v", err)
	}
}

// R: Q1
func TestTwoTiedQuestionsAnsweredAtOnceWakeTheSession(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana, ben := h.person(t, "Ana", auth.Responder, "support"), h.person(t, "Ben", auth.Responder, "support")
	for round := range 100 {
		w := h.ask(t, escalation.Raise{Draft: approval(), Group: "g"}, escalation.Raise{Draft: approval(), Group: "g"})
		var start, end sync.WaitGroup
		start.Add(1)
		for i, p := range []auth.Actor{ana, ben} {
			end.Go(func() {
				start.Wait()
				_, err := h.desk.Answer(t.Context(), p, w.questions[i].ID, decide.Answer{Version: 1, Type: []escalation.DecisionType{escalation.Approve, escalation.Reject}[i]})
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		start.Done()
		end.Wait()
		if s := h.session(t, w.id); s.Status != sessions.Queued || s.OpenQuestions != 0 {
			t.Fatalf("round %d: the session is %s with %d open questions", round, s.Status, s.OpenQuestions)
		}
		if n := h.runs(t, w.id); n != 2 {
			t.Fatalf("round %d: %d jobs", round, n)
		}
	}
}

// R: K2, K6
// case: abuse A13, abuse A14, abuse A27, abuse A28
func TestOnlyPeopleOfTheTeamWithTheRightAnswer(t *testing.T) {
	t.Parallel()
	h := build(t)
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	team := w.questions[0].Team
	agent := auth.Actor{Kind: auth.KindAgent, ID: "key_1", Agent: "bot", Name: "bot", Scopes: auth.AgentScopes(), Roles: map[id.Team]auth.Role{team: auth.Viewer}}
	mighty := agent // even if somebody gave it everything
	mighty.Scopes, mighty.Roles = []auth.Scope{auth.ScopeAll}, map[id.Team]auth.Role{team: auth.Admin}
	reader := h.person(t, "Rita", auth.Responder, "support")
	reader.Kind, reader.Scopes = auth.KindKey, []auth.Scope{auth.ScopeEscalationRead}
	for name, c := range map[string]struct {
		actor auth.Actor
		code  string
	}{
		"another team's admin":     {h.person(t, "Stan", auth.Admin, "finance"), "escalation_not_found"},
		"a viewer":                 {h.person(t, "Vera", auth.Viewer, "support"), "not_allowed"},
		"a key without the scope":  {reader, "not_allowed"},
		"an agent's key":           {agent, "not_allowed"},
		"an agent's key, as admin": {mighty, "not_allowed"},
		"the command line":         {auth.CLI("root"), "only_people_answer"},
		"the server itself":        {auth.System(), "only_people_answer"},
		"a standing rule":          {auth.Actor{Kind: auth.KindRule, Roles: map[id.Team]auth.Role{team: auth.Admin}, Scopes: []auth.Scope{auth.ScopeAll}}, "only_people_answer"},
		"nobody":                   {auth.Actor{}, "escalation_not_found"},
	} {
		if _, err := h.desk.Answer(t.Context(), c.actor, w.questions[0].ID, pick("A")); !problem.Is(err, c.code) {
			t.Errorf("%s: answer: %v, want %s", name, err, c.code)
		}
		if _, err := h.desk.Undo(t.Context(), c.actor, w.questions[0].ID); !problem.Is(err, c.code) {
			t.Errorf("%s: undo: %v, want %s", name, err, c.code)
		}
	}
	if _, err := h.desk.Answer(t.Context(), reader, id.New[id.Escalation](), pick("A")); !problem.Is(err, "escalation_not_found") {
		t.Errorf("a question that isn't there: %v", err)
	}
	if n := h.count(t, `select count(*) from decisions`); n != 0 {
		t.Errorf("%d decisions", n)
	}
	if s := h.session(t, w.id); s.Status != sessions.Waiting || s.OpenQuestions != 1 {
		t.Errorf("the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
}

// R: Q5, Q6
func TestADecisionWhoseJobCantBeInsertedLeavesNothing(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	_, err := h.pool.Exec(t.Context(), `
		create function full_disk() returns trigger language plpgsql as $$ begin raise exception 'no space'; end $$;
		create trigger full_disk before insert on river_job for each row execute function full_disk()`)
	if err != nil {
		t.Fatal(err)
	}
	before := len(h.ledger(t, w.id))
	audit := h.count(t, `select count(*) from audit`)
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("A")); err == nil {
		t.Fatal("it was answered")
	}
	q := h.question(t, w.questions[0])
	if q.Status != escalation.Pending || q.Version != 1 || q.Decision != nil {
		t.Errorf("the question is %s, version %d, decision %v", q.Status, q.Version, q.Decision)
	}
	if n := h.count(t, `select count(*) from decisions`); n != 0 {
		t.Errorf("%d decisions", n)
	}
	if n := h.count(t, `select count(*) from audit`); n != audit {
		t.Errorf("%d audit rows more", n-audit)
	}
	if n := len(h.ledger(t, w.id)); n != before {
		t.Errorf("%d events more", n-before)
	}
	if s := h.session(t, w.id); s.Status != sessions.Waiting || s.OpenQuestions != 1 {
		t.Errorf("the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
}

// R: Q1, Q3, Q5
func TestAnswersThatDontFitAreRefused(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	form, faults := escalation.ParseAsk(json.RawMessage(`{"question": "Which IBAN does the customer have?", "kind": "input", "trigger": "external_input",
		"response_schema": {"type": "object", "required": ["iban"], "additionalProperties": false, "properties": {"iban": {"type": "string", "minLength": 15}, "since": {"type": "string", "format": "date"}}}}`), nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	input, faults := escalation.Compose(form, escalation.Known{Task: "Settle it"})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	closed := choice(t)
	closed.Question.Allowed, closed.Question.AllowOther = []escalation.DecisionType{escalation.Choose}, false
	w := h.ask(t, escalation.Raise{Draft: choice(t)}, escalation.Raise{Draft: approval()}, escalation.Raise{Draft: input}, escalation.Raise{Draft: closed})
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, c := range map[string]struct {
		question int
		answer   decide.Answer
		code     string
	}{
		"an unknown option":             {0, decide.Answer{Type: escalation.Choose, Option: "C"}, "option_unknown"},
		"no option":                     {0, decide.Answer{Type: escalation.Choose}, "option_unknown"},
		"no words":                      {0, decide.Answer{Type: escalation.Respond, Message: " \n"}, "message_missing"},
		"other words, not welcome":      {3, decide.Answer{Type: escalation.Respond, Message: "No."}, "answer_type_not_allowed"},
		"approving a choice":            {0, decide.Answer{Type: escalation.Approve}, "answer_type_not_allowed"},
		"no type":                       {0, decide.Answer{}, "answer_type_not_allowed"},
		"choosing an approval":          {1, decide.Answer{Type: escalation.Choose, Option: "A"}, "answer_type_not_allowed"},
		"approving and editing":         {1, decide.Answer{Type: escalation.Approve, EditedArgs: raw(`{"amount":"1","customer":"Ana"}`)}, "answer_field_unexpected"},
		"editing nothing":               {1, decide.Answer{Type: escalation.Edit}, "edited_args_invalid"},
		"editing to null":               {1, decide.Answer{Type: escalation.Edit, EditedArgs: raw(`null`)}, "edited_args_invalid"},
		"editing a part":                {1, decide.Answer{Type: escalation.Edit, EditedArgs: raw(`{"amount":"1"}`)}, "edited_args_invalid"},
		"editing to another type":       {1, decide.Answer{Type: escalation.Edit, EditedArgs: raw(`{"amount":1,"customer":"Ana"}`)}, "edited_args_invalid"},
		"inventing an argument":         {1, decide.Answer{Type: escalation.Edit, EditedArgs: raw(`{"amount":"1","customer":"Ana","x":1}`)}, "edited_args_invalid"},
		"editing to what is no JSON":    {1, decide.Answer{Type: escalation.Edit, EditedArgs: raw(`{`)}, "edited_args_invalid"},
		"an empty form":                 {2, decide.Answer{Type: escalation.Respond}, "values_invalid"},
		"a form with a field too short": {2, decide.Answer{Type: escalation.Respond, Values: raw(`{"iban":"DE89"}`)}, "values_invalid"},
		"a form with a wrong date":      {2, decide.Answer{Type: escalation.Respond, Values: raw(`{"iban":"DE89370400440532013000","since":"soon"}`)}, "values_invalid"},
		"values to a choice":            {0, decide.Answer{Type: escalation.Respond, Message: "x", Values: raw(`{}`)}, "answer_field_unexpected"},
		"a hold of 31 minutes":          {0, holdFor(decide.Answer{Type: escalation.Choose, Option: "A"}, 31*time.Minute), "hold_invalid"},
		"a negative hold":               {0, holdFor(decide.Answer{Type: escalation.Choose, Option: "A"}, -time.Second), "hold_invalid"},
		"a stale version":               {0, decide.Answer{Version: 2, Type: escalation.Choose, Option: "A"}, "stale_version"},
		"a message without end":         {0, decide.Answer{Type: escalation.Respond, Message: strings.Repeat("a", sessions.MaxMessage+1)}, "message_too_long"},
	} {
		if c.answer.Version == 0 {
			c.answer.Version = 1
		}
		if _, err := h.desk.Answer(t.Context(), ana, w.questions[c.question].ID, c.answer); !problem.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if n := h.count(t, `select count(*) from decisions`); n != 0 {
		t.Fatalf("%d decisions", n)
	}

	if _, err := h.desk.Answer(t.Context(), ana, w.questions[2].ID, decide.Answer{Version: 1, Type: escalation.Respond, Values: raw(`{"iban": "DE89370400440532013000"}`)}); err != nil {
		t.Errorf("a form that fits: %v", err)
	}
	edited := raw(`{"amount": "120.00", "customer": "Ana"}`)
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[1].ID, decide.Answer{Version: 1, Type: escalation.Edit, EditedArgs: edited}); err != nil {
		t.Errorf("an edit that fits: %v", err)
	}
	e := h.last(t, w.id, sessions.EscalationAnswered)
	if len(e.Approvals) != 1 || e.Approvals[0].Digest != "" || string(e.Approvals[0].Args) != `{"amount":"120.00","customer":"Ana"}` {
		t.Errorf("the approval of edited arguments is %+v", e.Approvals)
	}
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, decide.Answer{Version: 1, Type: escalation.Respond, Message: "Ask her\u202e first."}); err != nil {
		t.Errorf("other words: %v", err)
	}
	if e := h.last(t, w.id, sessions.EscalationAnswered); len(e.Approvals) != 0 || e.Decision.Message != "Ask her[U+202E] first." {
		t.Errorf("other words approve %+v and say %q", e.Approvals, e.Decision.Message)
	}
}

// R: Q6
func TestABrowsersAnswerIsHeldAsTheAgentSays(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	ana.Via = "browser"
	w := h.ask(t, escalation.Raise{Draft: choice(t), Hold: 90 * time.Second}, escalation.Raise{Draft: choice(t), Hold: 90 * time.Second})
	got, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("A"))
	if err != nil || got.HeldUntil == nil || got.HeldUntil.Sub(got.Decision.DecidedAt) != 90*time.Second {
		t.Errorf("held until %v, %v", got.HeldUntil, err)
	}
	got, err = h.desk.Answer(t.Context(), ana, w.questions[1].ID, holdFor(pick("A"), 0))
	if err != nil || got.HeldUntil != nil {
		t.Errorf("held until %v, %v", got.HeldUntil, err)
	}
	// The second answer is out, the first still holds the session.
	if s := h.session(t, w.id); s.Status != sessions.Waiting || s.OpenQuestions != 0 {
		t.Errorf("the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
	if n := h.runs(t, w.id); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

// R: Q10
func TestAQuestionIsDueByItsPriority(t *testing.T) {
	t.Parallel()
	h := build(t)
	for priority, due := range map[definition.Priority]time.Duration{definition.PriorityHigh: time.Hour, definition.PriorityNormal: 8 * time.Hour, definition.PriorityLow: 24 * time.Hour} {
		draft := choice(t)
		draft.Priority = priority
		q := h.ask(t, escalation.Raise{Draft: draft, ExpiresAfter: 48 * time.Hour}).questions[0]
		if q.DueAt.Sub(q.CreatedAt) != due || q.ExpiresAt.Sub(q.CreatedAt) != 48*time.Hour {
			t.Errorf("%s is due after %s and expires after %s", priority, q.DueAt.Sub(q.CreatedAt), q.ExpiresAt.Sub(q.CreatedAt))
		}
	}
}
