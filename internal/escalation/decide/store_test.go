package decide_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// R: K2
// case: abuse A13
func TestAnotherTeamsQuestionsAndDecisionsAreNotThere(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana, stan := h.person(t, "Ana", auth.Responder, "support"), h.person(t, "Stan", auth.Admin, "finance")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	q := w.questions[0]
	answered, err := h.desk.Answer(t.Context(), ana, q.ID, pick("A"))
	if err != nil {
		t.Fatal(err)
	}
	other := auth.Actor{Kind: auth.KindAgent, Agent: "else", Scopes: auth.AgentScopes(), Roles: map[id.Team]auth.Role{q.Team: auth.Viewer}}
	for name, actor := range map[string]auth.Actor{"another team's admin": stan, "another agent's key": other, "nobody": {}} {
		if _, err := h.questions.Get(t.Context(), actor, q.ID); !problem.Is(err, "escalation_not_found") {
			t.Errorf("%s: get: %v", name, err)
		}
		if list, err := h.questions.List(t.Context(), actor, escalation.Filter{Limit: 9}); err != nil || len(list) > 0 {
			t.Errorf("%s: list: %v, %v", name, list, err)
		}
		if list, err := h.questions.ForSession(t.Context(), actor, w.id); err != nil || len(list) > 0 {
			t.Errorf("%s: of the session: %v, %v", name, list, err)
		}
		if _, err := h.questions.Decision(t.Context(), actor, answered.Decision.ID); !problem.Is(err, "decision_not_found") {
			t.Errorf("%s: decision: %v", name, err)
		}
		if list, err := h.questions.Decisions(t.Context(), actor, escalation.DecisionFilter{Limit: 9}); err != nil || len(list) > 0 {
			t.Errorf("%s: decisions: %v, %v", name, list, err)
		}
		if list, err := h.questions.Similar(t.Context(), actor, h.ask(t, escalation.Raise{Draft: choice(t)}).questions[0]); err != nil || len(list) > 0 {
			t.Errorf("%s: similar: %v, %v", name, list, err)
		}
		if c, err := h.questions.Counts(t.Context(), actor); err != nil || c != (escalation.Counts{}) {
			t.Errorf("%s: counts: %+v, %v", name, c, err)
		}
	}
	own := other
	own.Agent = "bot"
	if _, err := h.questions.Get(t.Context(), own, q.ID); err != nil {
		t.Errorf("the agent's own key: %v", err)
	}
	if list, err := h.questions.List(t.Context(), own, escalation.Filter{Limit: 9}); err != nil || len(list) == 0 {
		t.Errorf("the agent's own key: %d questions, %v", len(list), err)
	}
}

// R: Q10, W4
func TestTheInboxIsInTheOrderInWhichItIsDue(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	ask := func(p definition.Priority, draft escalation.Draft) escalation.Escalation {
		draft.Priority = p
		return h.ask(t, escalation.Raise{Draft: draft}).questions[0]
	}
	low, high := ask(definition.PriorityLow, choice(t)), ask(definition.PriorityHigh, choice(t))
	normal, held := ask(definition.PriorityNormal, approval()), ask(definition.PriorityHigh, choice(t))
	notice := choice(t)
	notice.Kind, notice.Trigger, notice.Question.Allowed = escalation.KindCompleted, "", []escalation.DecisionType{escalation.Acknowledge}
	done := ask(definition.PriorityLow, notice)
	if _, err := h.desk.Answer(t.Context(), ana, held.ID, holdFor(pick("A"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	ids := func(f escalation.Filter) (got []int64) {
		t.Helper()
		for f.Limit = 2; ; { // pages of two
			page, err := h.questions.List(t.Context(), ana, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				got = append(got, e.Number)
			}
			if len(page) < f.Limit {
				return got
			}
			f.After = page[len(page)-1].Cursor()
		}
	}
	for name, c := range map[string]struct {
		filter escalation.Filter
		want   []escalation.Escalation
	}{
		"pending":       {escalation.Filter{Status: escalation.Pending}, []escalation.Escalation{high, normal, low, done}},
		"all":           {escalation.Filter{}, []escalation.Escalation{done, held, normal, high, low}},
		"answered":      {escalation.Filter{Status: escalation.Answered}, []escalation.Escalation{held}},
		"approvals":     {escalation.Filter{Status: escalation.Pending, Kind: escalation.KindApproval}, []escalation.Escalation{normal}},
		"by trigger":    {escalation.Filter{Trigger: escalation.SensitiveAction}, []escalation.Escalation{normal}},
		"by agent":      {escalation.Filter{Agent: "bot", Team: "support", Since: low.CreatedAt}, []escalation.Escalation{done, held, normal, high, low}},
		"another agent": {escalation.Filter{Agent: "x"}, nil},
		"another team":  {escalation.Filter{Team: "finance"}, nil},
		"the future":    {escalation.Filter{Since: time.Now().Add(time.Hour)}, nil},
	} {
		var want []int64
		for _, e := range c.want {
			want = append(want, e.Number)
		}
		if got := ids(c.filter); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if c, err := h.questions.Counts(t.Context(), ana); err != nil || c != (escalation.Counts{Waiting: 3, Notices: 1, GoingOut: 1}) {
		t.Errorf("counts are %+v, %v", c, err)
	}
	if _, err := h.pool.Exec(t.Context(), `update escalations set due_at = now() - interval '1 s' where id = $1`, high.ID); err != nil {
		t.Fatal(err)
	}
	if c, err := h.questions.Counts(t.Context(), ana); err != nil || c.Overdue != 1 {
		t.Errorf("counts are %+v, %v", c, err)
	}
	if c, err := h.questions.Counts(t.Context(), h.person(t, "Vera", auth.Viewer, "support")); err != nil || c != (escalation.Counts{}) {
		t.Errorf("a viewer, who can't answer, counts %+v, %v", c, err)
	}
	got, err := h.desk.Answer(t.Context(), ana, done.ID, decide.Answer{Version: 1, Type: escalation.Acknowledge})
	if err != nil || got.Decision.Type != escalation.Acknowledge {
		t.Errorf("acknowledge: %+v, %v", got.Decision, err)
	}
}

// R: N3, C1
func TestOnlySomebodyWhoMayAnswerCountsAsHavingSeenIt(t *testing.T) {
	t.Parallel()
	h := build(t)
	q := h.ask(t, escalation.Raise{Draft: choice(t)}).questions[0]
	for _, actor := range []auth.Actor{h.person(t, "Vera", auth.Viewer, "support"), h.person(t, "Stan", auth.Admin, "finance"), auth.System(), auth.CLI("root")} {
		if err := h.questions.MarkSeen(t.Context(), actor, q.ID); err != nil {
			t.Error(err)
		}
		if at := h.question(t, q).SeenAt; at != nil {
			t.Errorf("%s has seen it at %v", actor.Name, at)
		}
	}
	ana := h.person(t, "Ana", auth.Responder, "support")
	if err := h.questions.MarkSeen(t.Context(), ana, q.ID); err != nil {
		t.Fatal(err)
	}
	first := h.question(t, q)
	if first.SeenAt == nil || first.Version != 1 {
		t.Fatalf("seen at %v, version %d", first.SeenAt, first.Version)
	}
	if err := h.questions.MarkSeen(t.Context(), ana, q.ID); err != nil || !h.question(t, q).SeenAt.Equal(*first.SeenAt) {
		t.Errorf("seen anew: %v", err)
	}
}

// R: C1, C4
func TestTheLastFiveLikeDecisionsAreShown(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	var want []id.Decision
	answer := func(draft escalation.Draft, a decide.Answer) id.Decision {
		t.Helper()
		got, err := h.desk.Answer(t.Context(), ana, h.ask(t, escalation.Raise{Draft: draft}).questions[0].ID, a)
		if err != nil {
			t.Fatal(err)
		}
		return got.Decision.ID
	}
	for i := range 7 {
		want = append(want, answer(choice(t), pick([]string{"A", "B"}[i%2])))
	}
	// None of these is about a like case, or is anybody's decision.
	another := choice(t)
	another.Case.ReasonCode = "over_limit"
	answer(another, pick("A"))
	renamed := choice(t)
	renamed.Case.OptionSet = "leave-it refund"
	answer(renamed, pick("A"))
	undone := h.ask(t, escalation.Raise{Draft: choice(t)}).questions[0]
	if _, err := h.desk.Answer(t.Context(), ana, undone.ID, holdFor(pick("A"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.desk.Undo(t.Context(), ana, undone.ID); err != nil {
		t.Fatal(err)
	}
	expired := h.ask(t, escalation.Raise{Draft: choice(t), OnExpiry: "option:A"}).questions[0]
	h.expireAt(t, expired, 0)
	if _, err := h.desk.Expire(t.Context(), expired.ID); err != nil {
		t.Fatal(err)
	}

	slices.Reverse(want)
	list, err := h.questions.Similar(t.Context(), ana, h.ask(t, escalation.Raise{Draft: choice(t)}).questions[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []id.Decision
	for _, d := range list {
		got = append(got, d.ID)
	}
	if !slices.Equal(got, want[:5]) {
		t.Errorf("got %v, want %v", got, want[:5])
	}
}

// R: C1, C7
func TestDecisionsAreListedWithWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana, ben := h.person(t, "Ana", auth.Responder, "support"), h.person(t, "Ben", auth.Responder, "support")
	var all []escalation.Decision
	for i, p := range []auth.Actor{ana, ben, ana} {
		got, err := h.desk.Answer(t.Context(), p, h.ask(t, escalation.Raise{Draft: choice(t)}).questions[0].ID, pick([]string{"A", "B", "B"}[i]))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *got.Decision)
	}
	err := postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
		for _, mark := range []escalation.Mark{escalation.MarkSucceeded, escalation.MarkApplied, escalation.MarkReverted} {
			if err := escalation.MarkTx(t.Context(), tx, all[0].ID, mark, "", "Ben"); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		filter escalation.DecisionFilter
		want   []int
	}{
		"all":        {escalation.DecisionFilter{Agent: "bot", Team: "support", Trigger: escalation.AmbiguousDecision, Since: all[0].DecidedAt}, []int{2, 1, 0}},
		"by Ana":     {escalation.DecisionFilter{By: ana.Person.String()}, []int{2, 0}},
		"for B":      {escalation.DecisionFilter{Option: "leave-it"}, []int{2, 1}},
		"later ones": {escalation.DecisionFilter{Since: all[1].DecidedAt}, []int{2, 1}},
		"older ones": {escalation.DecisionFilter{Before: all[2].ID}, []int{1, 0}},
		"none":       {escalation.DecisionFilter{Agent: "x"}, nil},
	} {
		c.filter.Limit = 10
		list, err := h.questions.Decisions(t.Context(), ana, c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, d := range list {
			got = append(got, slices.IndexFunc(all, func(o escalation.Decision) bool { return o.ID == d.ID }))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	d, err := h.questions.Decision(t.Context(), ana, all[0].ID)
	if err != nil || d.Outcome == nil || d.Outcome.Status != escalation.MarkReverted || d.UndoneAt != nil {
		t.Errorf("the decision is %+v, %v", d, err)
	}
}

// Whoever says no has not decided badly because nothing was done.
// R: C1, Q6
func TestARefusalIsNotHeldAgainstWhoRefused(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	no := decide.Answer{Version: 1, Type: escalation.Reject, Message: "Not now."}
	yes := decide.Answer{Version: 1, Type: escalation.Approve}
	for name, c := range map[string]struct {
		draft   escalation.Draft
		answer  decide.Answer
		outcome string
		want    escalation.Mark
	}{
		"refused, nothing done":          {approval(), no, "unable", escalation.MarkApplied},
		"refused, the rest done":         {approval(), no, "done", escalation.MarkSucceeded},
		"approved, and it did not work":  {approval(), yes, "unable", escalation.MarkFailed},
		"left alone, nothing done":       {choice(t), pick("B"), "unable", escalation.MarkApplied},
		"agreed to, and it did not work": {choice(t), pick("A"), "unable", escalation.MarkFailed},
	} {
		w := h.ask(t, escalation.Raise{Draft: c.draft})
		got, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, c.answer)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `update sessions set status = 'completed', outcome = $2, ended_at = now() where id = $1`, w.id, c.outcome); err != nil {
				return err
			}
			return escalation.MarkTx(t.Context(), tx, got.Decision.ID, escalation.MarkApplied, "", "")
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := h.questions.Decision(t.Context(), ana, got.Decision.ID)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.Outcome == nil || d.Outcome.Status != c.want {
			t.Errorf("%s: outcome %+v, want %s", name, d.Outcome, c.want)
		}
	}
}

// R: I1
func TestTheShapesOfTheAPI(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	q := h.ask(t, escalation.Raise{Draft: choice(t), Group: "g"}).questions[0]
	members := func(v any) map[string]any {
		t.Helper()
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(b, &object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	has := func(what string, v any, fields string) {
		t.Helper()
		object, _ := v.(map[string]any)
		got := slices.Sorted(maps.Keys(object))
		want := strings.Fields(fields)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%v, want\n%v", what, got, want)
		}
	}
	const escalationFields = `id number version status kind trigger team title question context facts tables links attachments options recommended
		action_request reason_code parameters allowed_decisions response_schema allow_other priority due_at expires_at on_expiry assignee
		claimed_at snoozed_until session_id call_id source dedupe_key group_id askers held_until votes quorum proof decision created_at`
	open := members(q)
	has("an escalation", open, escalationFields)
	has("its context", open["context"], "task done problem tried")
	has("its proof", open["proof"], "asked delivered seen taken answered applied")
	option := open["options"].([]any)[0].(map[string]any)
	has("an option", option, "id key label consequence reversible action recommended")
	has("an action", option["action"], "tool args digest effect tool_hash titles sentences reversals")
	for _, list := range []string{"facts", "tables", "links", "attachments", "askers", "votes"} {
		if v, ok := open[list].([]any); !ok || len(v) != 0 {
			t.Errorf("%s is %v", list, open[list])
		}
	}
	for _, none := range []string{"recommended", "action_request", "response_schema", "assignee", "decision", "held_until", "dedupe_key"} {
		if open[none] != nil {
			t.Errorf("%s is %v", none, open[none])
		}
	}
	if open["call_id"] != (id.Call{Session: q.Session, N: 1}).String() || open["session_id"] != q.Session.String() || open["group_id"] != "g" || open["status"] != "pending" {
		t.Errorf("the escalation is %v", open)
	}

	got, err := h.desk.Answer(t.Context(), ana, q.ID, pick("A"))
	if err != nil {
		t.Fatal(err)
	}
	const decisionFields = `id escalation_id session_id team agent trigger reason_code type option_id option label message rationale edited_args
		values decided_by via rule_id suggestion held_until undone_at outcome decided_at took_ms`
	answered := members(got)
	has("an answered escalation", answered, escalationFields)
	has("its decision", answered["decision"], decisionFields)
	d, err := h.questions.Decision(t.Context(), ana, got.Decision.ID)
	if err != nil {
		t.Fatal(err)
	}
	whole := members(d)
	has("a decision", whole, decisionFields+" question")
	has("a decider", whole["decided_by"], "kind id name")

	// The agent reads it back from the ledger as it was.
	b, err := json.Marshal(got.Decision)
	if err != nil {
		t.Fatal(err)
	}
	var back escalation.Decision
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if back.ID != d.ID || back.Session != q.Session || back.EditedArgs != nil || back.Values != nil || !back.DecidedAt.Equal(d.DecidedAt) {
		t.Errorf("read back: %+v", back)
	}
}

// R: Q13
func TestApplyingIsDoneOnceAndMarked(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)}, escalation.Raise{Draft: choice(t)})
	got, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("A"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // after a crash the worker does it again
		err := postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
			for _, q := range w.questions { // one is still pending, and stays so
				if err := escalation.ApplyTx(t.Context(), tx, w.id, q.ID); err != nil {
					return err
				}
			}
			return escalation.ApplyTx(t.Context(), tx, id.New[id.Session](), w.questions[0].ID)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	a, b := h.question(t, w.questions[0]), h.question(t, w.questions[1])
	if a.Status != escalation.Applied || a.Version != 3 || a.ClosedAt == nil || b.Status != escalation.Pending || b.Version != 1 {
		t.Errorf("they are %s (%d) and %s (%d)", a.Status, a.Version, b.Status, b.Version)
	}
	if n := h.count(t, `select count(*) from decision_marks where decision_id = $1 and mark = 'applied'`, got.Decision.ID); n != 1 {
		t.Errorf("%d marks", n)
	}
	if _, err := h.pool.Exec(t.Context(), `delete from decision_marks`); err == nil {
		t.Error("a mark was deleted")
	}
}

// R: Q1, Q2
func TestWhatCantBeAskedIsNotRaised(t *testing.T) {
	t.Parallel()
	h := build(t)
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	s := h.session(t, w.id)
	for name, change := range map[string]func(*escalation.Raise){
		"no call":             func(r *escalation.Raise) { r.Call = 0 },
		"no title":            func(r *escalation.Raise) { r.Question.Title = "" },
		"seven options":       func(r *escalation.Raise) { r.Question.Options = make([]escalation.Option, 7) },
		"approval of no call": func(r *escalation.Raise) { r.Kind = escalation.KindApproval },
		"no way to answer":    func(r *escalation.Raise) { r.Question.Allowed = nil },
		"a hold of an hour":   func(r *escalation.Raise) { r.Hold = time.Hour },
		"no priority":         func(r *escalation.Raise) { r.Priority = "" },
	} {
		r := escalation.Raise{Draft: choice(t), Session: s, Call: 9}
		change(&r)
		err := postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
			_, err := escalation.RaiseTx(t.Context(), tx, h.inserter, r)
			return err
		})
		if err == nil {
			t.Errorf("%s: it was raised", name)
		}
	}
}
