package decide_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// release lets the session's holds end now, and sweeps.
func (h house) release(t testing.TB, s id.Session) {
	t.Helper()
	for _, sql := range []string{
		`update sessions set wake_at = now() where id = $1 and wake_at is not null`,
		`update escalations set held_until = now() where session_id = $1 and held_until is not null`,
	} {
		if _, err := h.pool.Exec(t.Context(), sql, s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := sessions.WakeDue(t.Context(), h.pool, h.inserter); err != nil {
		t.Fatal(err)
	}
}

// R: Q6
func TestAHeldAnswerCanBeTakenBackAndGivenAnew(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	q := w.questions[0]
	first, err := h.desk.Answer(t.Context(), ana, q.ID, holdFor(pick("A"), time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if s := h.session(t, w.id); s.Status != sessions.Waiting || s.OpenQuestions != 0 || h.runs(t, w.id) != 1 {
		t.Errorf("held, the session is %s with %d open questions and %d jobs", s.Status, s.OpenQuestions, h.runs(t, w.id))
	}
	got, err := h.desk.Undo(t.Context(), ana, q.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != escalation.Pending || got.Version != 3 || got.Decision != nil || got.HeldUntil != nil {
		t.Errorf("undone, the question is %+v", got)
	}
	if s := h.session(t, w.id); s.Status != sessions.Waiting || s.OpenQuestions != 1 {
		t.Errorf("undone, the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
	e := h.last(t, w.id, sessions.EscalationUndone)
	if e.Decision == nil || e.Decision.ID != first.Decision.ID || e.By == nil || e.By.Name != "Ana" {
		t.Errorf("the event is %+v", e)
	}
	d, err := h.questions.Decision(t.Context(), ana, first.Decision.ID)
	if err != nil || d.UndoneAt == nil {
		t.Errorf("the decision is undone at %v, %v", d.UndoneAt, err)
	}
	if _, err := h.desk.Undo(t.Context(), ana, q.ID); !problem.Is(err, "nothing_to_undo") {
		t.Errorf("undo again: %v", err)
	}
	// What was undone is no answer: given again with the version that it had, it
	// is stale.
	if _, err := h.desk.Answer(t.Context(), ana, q.ID, holdFor(pick("A"), time.Minute)); !problem.Is(err, "stale_version") {
		t.Errorf("the undone answer again: %v", err)
	}
	a := pick("B")
	a.Version = 3
	if _, err := h.desk.Answer(t.Context(), ana, q.ID, a); err != nil {
		t.Errorf("another answer: %v", err)
	}
	if s := h.session(t, w.id); s.Status != sessions.Queued || h.runs(t, w.id) != 2 {
		t.Errorf("the session is %s with %d jobs", s.Status, h.runs(t, w.id))
	}
}

// R: Q6, K2
func TestWhoMayTakeAnAnswerBack(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana, ben := h.person(t, "Ana", auth.Responder, "support"), h.person(t, "Ben", auth.Responder, "support")
	boss := h.person(t, "Bea", auth.Supervisor, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	q := w.questions[0].ID
	if _, err := h.desk.Undo(t.Context(), ana, q); !problem.Is(err, "nothing_to_undo") {
		t.Errorf("nothing was answered: %v", err)
	}
	if _, err := h.desk.Answer(t.Context(), ana, q, holdFor(pick("A"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.desk.Undo(t.Context(), ben, q); !problem.Is(err, "not_allowed") {
		t.Errorf("a colleague: %v", err)
	}
	if _, err := h.desk.Undo(t.Context(), boss, q); err != nil {
		t.Errorf("a supervisor: %v", err)
	}
}

// R: Q6
func TestUndoIsTooLateOnceTheAnswerIsOut(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")

	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("A")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.desk.Undo(t.Context(), ana, w.questions[0].ID); !problem.Is(err, "undo_too_late") {
		t.Errorf("without a hold: %v", err)
	}

	w = h.ask(t, escalation.Raise{Draft: choice(t)})
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, holdFor(pick("A"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	h.release(t, w.id)
	if s := h.session(t, w.id); s.Status != sessions.Queued || h.runs(t, w.id) != 2 {
		t.Errorf("after the hold the session is %s with %d jobs", s.Status, h.runs(t, w.id))
	}
	if _, err := h.desk.Undo(t.Context(), ana, w.questions[0].ID); !problem.Is(err, "undo_too_late") {
		t.Errorf("after the hold: %v", err)
	}
	// The agent went on with it, so it is not true that nobody waited.
	if _, err := h.pool.Exec(t.Context(), `update sessions set status = 'completed', outcome = 'done', ended_at = now() where id = $1`, w.id); err != nil {
		t.Fatal(err)
	}
	if _, err := h.desk.Undo(t.Context(), ana, w.questions[0].ID); !problem.Is(err, "undo_too_late") {
		t.Errorf("after the end of the session: %v", err)
	}
}

// A session that is cancelled takes a held answer with it: it never went out.
// R: Q6
func TestAnAnswerOfACancelledSessionDidNotGoOut(t *testing.T) {
	t.Parallel()
	h := build(t)
	boss := h.person(t, "Bea", auth.Supervisor, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	if _, err := h.desk.Answer(t.Context(), boss, w.questions[0].ID, holdFor(pick("A"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.sessions.Cancel(t.Context(), boss, h.inserter, w.id); err != nil {
		t.Fatal(err)
	}
	for range 2 { // before the worker has ended it, and after
		if _, err := h.desk.Undo(t.Context(), boss, w.questions[0].ID); !problem.Is(err, "cancelled") {
			t.Errorf("of a cancelled session: %v", err)
		}
		if !h.session(t, w.id).Status.Ended() {
			h.end(t, w.id)
		}
	}
}

// That an agent could not do what it was refused is no fault of the refusal.
// R: C1
func TestWhatLetNothingHappenDidNotGoBadly(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	refuse, approve, respond := decide.Answer{Version: 1, Type: escalation.Reject}, decide.Answer{Version: 1, Type: escalation.Approve}, decide.Answer{Version: 1, Type: escalation.Respond, Message: "Call them."}
	for name, c := range map[string]struct {
		draft   escalation.Draft
		answer  decide.Answer
		outcome string
		want    escalation.Mark
	}{
		"refused, unable":                  {approval(), refuse, "unable", escalation.MarkApplied},
		"refused, done all the same":       {approval(), refuse, "done", escalation.MarkSucceeded},
		"approved, unable":                 {approval(), approve, "unable", escalation.MarkFailed},
		"an option without effect, unable": {choice(t), pick("B"), "unable", escalation.MarkApplied},
		"an option with one, unable":       {choice(t), pick("A"), "unable", escalation.MarkFailed},
		"in other words, unable":           {choice(t), respond, "unable", escalation.MarkFailed},
	} {
		w := h.ask(t, escalation.Raise{Draft: c.draft})
		e, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, c.answer)
		if err != nil {
			t.Fatal(err)
		}
		err = postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error { return escalation.ApplyTx(t.Context(), tx, w.id, e.ID) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.pool.Exec(t.Context(), `update sessions set status = 'completed', outcome = $2, ended_at = now() where id = $1`, w.id, c.outcome); err != nil {
			t.Fatal(err)
		}
		d, err := h.questions.Decision(t.Context(), ana, e.Decision.ID)
		if err != nil || d.Outcome == nil || d.Outcome.Status != c.want {
			t.Errorf("%s: %+v, %v; want %s", name, d.Outcome, err, c.want)
		}
	}
}

// R: Q6
func TestTheSessionWaitsForTheLatestHold(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	wake := func(s id.Session) (at *time.Time) {
		t.Helper()
		if err := h.pool.QueryRow(t.Context(), `select wake_at from sessions where id = $1`, s).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	w := h.ask(t, escalation.Raise{Draft: approval(), Group: "g"}, escalation.Raise{Draft: choice(t), Group: "g"})
	long, err := h.desk.Answer(t.Context(), ana, w.questions[1].ID, holdFor(pick("A"), 10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	yes := pick("")
	yes.Type = escalation.Approve
	short, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, holdFor(yes, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if at := wake(w.id); at == nil || !at.Equal(*long.HeldUntil) {
		t.Errorf("wakes at %v, want %v", at, long.HeldUntil)
	}
	if _, err := h.desk.Undo(t.Context(), ana, w.questions[1].ID); err != nil {
		t.Fatal(err)
	}
	if at := wake(w.id); at == nil || !at.Equal(*short.HeldUntil) {
		t.Errorf("after the undo it wakes at %v, want %v", at, short.HeldUntil)
	}
	h.release(t, w.id)
	if s := h.session(t, w.id); s.Status != sessions.Waiting || s.OpenQuestions != 1 {
		t.Errorf("with a question open the session is %s (%d open)", s.Status, s.OpenQuestions)
	}
	again := pick("B")
	again.Version = 3
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[1].ID, again); err != nil {
		t.Fatal(err)
	}
	if s := h.session(t, w.id); s.Status != sessions.Queued {
		t.Errorf("the session is %s", s.Status)
	}
}

// R: Q11
func TestAnUndoneQuestionStillExpires(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	q := w.questions[0]
	if _, err := h.desk.Answer(t.Context(), ana, q.ID, holdFor(pick("A"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	h.expireAt(t, q, -time.Second) // while the answer stands
	if wait, err := h.desk.Expire(t.Context(), q.ID); err != nil || wait != 0 {
		t.Errorf("expiry of an answered question: %v, %v", wait, err)
	}
	if _, err := h.desk.Undo(t.Context(), ana, q.ID); err != nil {
		t.Fatal(err)
	}
	if left := h.count(t, `select extract(epoch from expires_at - now())::int from escalations where id = $1`, q.ID); left < 500 || left > 600 {
		t.Errorf("%d seconds are left to reconsider", left)
	}
	if n := h.count(t, `select count(*) from river_job j join escalations e on e.id = $1
		where j.kind = 'escalation.expire' and j.args ->> 'escalation' = $2 and j.scheduled_at = e.expires_at`, q.ID, q.ID.String()); n != 1 {
		t.Errorf("%d jobs to expire it anew", n)
	}
}

// R: Q11
func TestExpiryIsAResultOfItsOwnKind(t *testing.T) {
	t.Parallel()
	h := build(t)
	for name, c := range map[string]struct {
		raise    escalation.Raise
		then     string
		decision escalation.DecisionType
		approves bool
	}{
		"by default":                     {escalation.Raise{Draft: choice(t)}, "fail", "", false},
		"to continue":                    {escalation.Raise{Draft: choice(t), OnExpiry: "continue"}, "continue", "", false},
		"to reject an approval":          {escalation.Raise{Draft: approval(), OnExpiry: "reject"}, "reject", escalation.Reject, false},
		"to reject what is no approval":  {escalation.Raise{Draft: choice(t), OnExpiry: "reject"}, "fail", "", false},
		"a reversible option":            {escalation.Raise{Draft: choice(t), OnExpiry: "option:A"}, "option:refund", escalation.Choose, true},
		"an option with unknown effects": {escalation.Raise{Draft: choice(t), OnExpiry: "option:leave-it"}, "fail", "", false},
		"an option that isn't there":     {escalation.Raise{Draft: choice(t), OnExpiry: "option:x"}, "fail", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.ask(t, c.raise)
			q := w.questions[0]
			if wait, err := h.desk.Expire(t.Context(), q.ID); err != nil || wait <= 71*time.Hour {
				t.Errorf("before its time: wait %v, %v", wait, err)
			}
			h.expireAt(t, q, 0)
			if wait, err := h.desk.Expire(t.Context(), q.ID); err != nil || wait != 0 {
				t.Fatalf("expire: %v, %v", wait, err)
			}
			got := h.question(t, q)
			if got.Status != escalation.Expired || got.Version != 2 || got.ClosedAt == nil {
				t.Errorf("the question is %+v", got)
			}
			e := h.last(t, w.id, sessions.EscalationExpired)
			if e.OnExpiry != c.then {
				t.Errorf("on expiry: %s, want %s", e.OnExpiry, c.then)
			}
			if (e.Decision != nil) != (c.decision != "") || (got.Decision != nil) != (c.decision != "") || (len(e.Approvals) > 0) != c.approves {
				t.Errorf("the event has the decision %+v and approves %v", e.Decision, e.Approvals)
			}
			if d := e.Decision; d != nil && (d.Type != c.decision || d.By.Kind != escalation.ByExpiry) {
				t.Errorf("the decision is %+v", d)
			}
			if s := h.session(t, w.id); s.Status != sessions.Queued || s.OpenQuestions != 0 {
				t.Errorf("the session is %s with %d open questions", s.Status, s.OpenQuestions)
			}
			if _, err := h.desk.Expire(t.Context(), q.ID); err != nil || h.question(t, q).Version != 2 {
				t.Errorf("expired twice: %v", err)
			}
			ana := auth.Actor{Kind: auth.KindPerson, Person: id.New[id.Person](), Via: "api", Roles: map[id.Team]auth.Role{q.Team: auth.Responder}}
			if _, err := h.desk.Answer(t.Context(), ana, q.ID, pick("A")); !problem.Is(err, "expired") {
				t.Errorf("answer after it: %v", err)
			}
		})
	}
}

// R: Q11
func TestTheExpiryJobComesAgainIfItIsEarly(t *testing.T) {
	t.Parallel()
	h := build(t)
	q := h.ask(t, escalation.Raise{Draft: choice(t)}).questions[0]
	if n := h.count(t, `select count(*) from river_job j join escalations e on e.id = $1
		where j.kind = 'escalation.expire' and j.args ->> 'escalation' = $2 and j.scheduled_at = e.expires_at`, q.ID, q.ID.String()); n != 1 {
		t.Errorf("%d jobs to expire it", n)
	}
	worker := expireWorker(h)
	job := &river.Job[escalation.ExpireArgs]{Args: escalation.ExpireArgs{Escalation: q.ID}}
	if err := worker.Work(t.Context(), job); err == nil {
		t.Error("an early job was done")
	}
	h.expireAt(t, q, 0)
	if err := worker.Work(t.Context(), job); err != nil || h.question(t, q).Status != escalation.Expired {
		t.Errorf("work: %v", err)
	}
	gone := &river.Job[escalation.ExpireArgs]{Args: escalation.ExpireArgs{Escalation: id.New[id.Escalation]()}}
	if err := worker.Work(t.Context(), gone); err != nil {
		t.Errorf("a question that isn't there: %v", err)
	}
}
