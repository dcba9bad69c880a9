package decide_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
	"baton/internal/sessions"
)

func expireWorker(h house) *decide.ExpireWorker { return decide.NewExpireWorker(h.desk) }

// whileLocked runs fn once another waits for the session's row, which is locked
// by what before did in its transaction; then it commits.
func (h house) whileLocked(t *testing.T, s id.Session, before func(tx pgx.Tx, l sessions.Locked) error, other func()) {
	t.Helper()
	var waiter sync.WaitGroup
	err := postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
		l, err := sessions.LockTx(t.Context(), tx, s)
		if err != nil {
			return err
		}
		if err := before(tx, l); err != nil {
			return err
		}
		waiter.Go(other)
		for h.count(t, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 0 {
			if err := t.Context().Err(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	waiter.Wait()
}

// R: Q13, A7
// case: fault F19
func TestAnAnswerThatComesAfterACancellationIsRefused(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)})
	var err error
	h.whileLocked(t, w.id, func(tx pgx.Tx, l sessions.Locked) error {
		return sessions.OutsideTx(t.Context(), tx, h.inserter, l, sessions.Outside{Event: sessions.NewEvent{Type: sessions.CancelRequested}, Cancel: true})
	}, func() {
		_, err = h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("A"))
	})
	if !problem.Is(err, "cancelled") {
		t.Errorf("answer: %v", err)
	}
	h.end(t, w.id)
	got := h.question(t, w.questions[0])
	if got.Status != escalation.Cancelled || got.Decision != nil {
		t.Errorf("the question is %s with decision %v", got.Status, got.Decision)
	}
	if s := h.session(t, w.id); s.Status != sessions.Cancelled || s.OpenQuestions != 0 {
		t.Errorf("the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
	if e := h.last(t, w.id, sessions.EscalationWithdrawn); e.Escalation != got.ID {
		t.Errorf("the event is %+v", e)
	}
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("A")); !problem.Is(err, "cancelled") {
		t.Errorf("answer after the end: %v", err)
	}
	if _, err := h.desk.Undo(t.Context(), ana, w.questions[0].ID); !problem.Is(err, "cancelled") {
		t.Errorf("undo after the end: %v", err)
	}
}

// R: Q13, A7
// case: fault F19
func TestACancellationThatComesAfterAnAnswerLeavesTheAnswerOnRecord(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	w := h.ask(t, escalation.Raise{Draft: choice(t)}, escalation.Raise{Draft: choice(t)})
	if _, err := h.desk.Answer(t.Context(), ana, w.questions[0].ID, holdFor(pick("A"), time.Minute)); err != nil {
		t.Fatal(err)
	}
	var cancelled error
	h.whileLocked(t, w.id, func(pgx.Tx, sessions.Locked) error { return nil }, func() {
		_, cancelled = h.sessions.Cancel(t.Context(), h.person(t, "Sue", auth.Supervisor, "support"), h.inserter, w.id)
	})
	if cancelled != nil {
		t.Fatal(cancelled)
	}
	if _, err := h.desk.Undo(t.Context(), ana, w.questions[0].ID); !problem.Is(err, "cancelled") {
		t.Errorf("undo during the cancellation: %v", err)
	}
	h.end(t, w.id)
	answered, open := h.question(t, w.questions[0]), h.question(t, w.questions[1])
	if _, err := h.desk.Undo(t.Context(), ana, w.questions[0].ID); !problem.Is(err, "cancelled") {
		t.Errorf("undo after the end, of an answer that never went out: %v", err)
	}
	if answered.Status != escalation.ApplyFailed || answered.Decision == nil || open.Status != escalation.Cancelled {
		t.Errorf("the questions are %s and %s", answered.Status, open.Status)
	}
	if n := h.count(t, `select count(*) from decision_marks where decision_id = $1 and mark = 'apply_failed' and note <> ''`, answered.Decision.ID); n != 1 {
		t.Errorf("%d marks say why", n)
	}
	if s := h.session(t, w.id); s.Status != sessions.Cancelled || s.OpenQuestions != 0 {
		t.Errorf("the session is %s with %d open questions", s.Status, s.OpenQuestions)
	}
}

// R: Q13
// case: fault F19
func TestAnswerAndCancellationAtOnce(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana, sue := h.person(t, "Ana", auth.Responder, "support"), h.person(t, "Sue", auth.Supervisor, "support")
	for round := range 50 {
		w := h.ask(t, escalation.Raise{Draft: choice(t)})
		var both sync.WaitGroup
		var answered, cancelled error
		both.Go(func() { _, answered = h.desk.Answer(t.Context(), ana, w.questions[0].ID, pick("A")) })
		both.Go(func() { _, cancelled = h.sessions.Cancel(t.Context(), sue, h.inserter, w.id) })
		both.Wait()
		if cancelled != nil || answered != nil && !problem.Is(answered, "cancelled") {
			t.Fatalf("round %d: answer %v, cancel %v", round, answered, cancelled)
		}
		h.end(t, w.id)
		want := escalation.Cancelled
		if answered == nil {
			want = escalation.ApplyFailed
		}
		if got := h.question(t, w.questions[0]); got.Status != want || (got.Decision != nil) != (answered == nil) {
			t.Fatalf("round %d: the question is %s, want %s", round, got.Status, want)
		}
	}
}

// R: Q11
// case: fault F20, fault F21
func TestAnAnswerAtTheDeadlineAndTheExpiryAgree(t *testing.T) {
	t.Parallel()
	h := build(t)
	ana := h.person(t, "Ana", auth.Responder, "support")
	outcomes := map[escalation.Status]int{}
	for round := range 200 {
		w := h.ask(t, escalation.Raise{Draft: choice(t)})
		q := w.questions[0]
		h.expireAt(t, q, time.Duration(rand.IntN(8000))*time.Microsecond)
		var both sync.WaitGroup
		var answered, expired error
		both.Go(func() { _, answered = h.desk.Answer(t.Context(), ana, q.ID, pick("A")) })
		both.Go(func() {
			for wait := time.Duration(1); wait > 0 && expired == nil; { // until its time has come
				wait, expired = h.desk.Expire(t.Context(), q.ID)
			}
		})
		both.Wait()
		got := h.question(t, q)
		outcomes[got.Status]++
		switch {
		case expired != nil:
			t.Fatalf("round %d: expire: %v", round, expired)
		case answered == nil && (got.Status != escalation.Answered || !got.Decision.DecidedAt.Before(got.ExpiresAt)):
			t.Fatalf("round %d: answered, but %+v", round, got)
		case answered != nil && (!problem.Is(answered, "expired") || got.Status != escalation.Expired || got.ClosedAt.Before(got.ExpiresAt)):
			t.Fatalf("round %d: %v, but %+v", round, answered, got)
		}
		if n := h.runs(t, w.id); n != 2 {
			t.Fatalf("round %d: %d jobs", round, n)
		}
	}
	t.Logf("outcomes: %v", outcomes)
}

// R: A1
// case: fault F05
func TestAQuestionAndItsWaitingSessionComeTogether(t *testing.T) {
	t.Parallel()
	h := build(t)
	s, err := h.sessions.Start(t.Context(), auth.CLI("t"), h.inserter, sessions.New{Agent: h.agent, Task: "x"})
	if err != nil {
		t.Fatal(err)
	}
	lease := h.claim(t, s.ID)
	if _, err := h.sessions.Cancel(t.Context(), h.person(t, "Sue", auth.Supervisor, "support"), h.inserter, s.ID); err != nil {
		t.Fatal(err)
	}
	// The worker has not read its inbox: it may not park, and nothing is asked.
	err = postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
		if _, err := escalation.RaiseTx(t.Context(), tx, h.inserter, escalation.Raise{Draft: choice(t), Session: s, Call: 1}); err != nil {
			return err
		}
		return sessions.ParkTx(t.Context(), tx, lease, sessions.Parking{To: sessions.Waiting, Raised: 1})
	})
	if !errors.Is(err, sessions.ErrInbox) {
		t.Fatalf("park: %v", err)
	}
	if n := h.count(t, `select count(*) from escalations`); n != 0 {
		t.Errorf("%d questions", n)
	}
	if n := h.count(t, `select count(*) from river_job where kind = 'escalation.expire'`); n != 0 {
		t.Errorf("%d jobs", n)
	}
}
