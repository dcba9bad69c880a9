package sessions_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/idempotency"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// R: A1
func TestAStartedSessionIsQueuedWithItsJobAndItsFirstEvent(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	if s.Status != sessions.Queued || s.Agent.Slug != "bot" || s.TeamSlug != "support" || s.Model != "scripted/bot" {
		t.Errorf("session is %+v", s)
	}
	if n := h.jobs(t, s.ID); n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
	if got := h.ledger(t, s.ID); !slices.Equal(got, []sessions.EventType{sessions.SessionStarted}) {
		t.Errorf("ledger is %v", got)
	}
}

// R: K2
// case: abuse A13
func TestAnotherTeamsSessionIsNotThere(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	stranger := auth.Actor{Kind: auth.KindPerson, Roles: map[id.Team]auth.Role{id.New[id.Team](): auth.Admin}}
	_, err := h.store.Get(t.Context(), stranger, s.ID)
	if !problem.Is(err, "session_not_found") {
		t.Errorf("get: %v", err)
	}
	if _, err := h.store.Cancel(t.Context(), stranger, h.inserter, s.ID); !problem.Is(err, "session_not_found") {
		t.Errorf("cancel: %v", err)
	}
	if _, err := h.store.Events(t.Context(), stranger, s.ID, 0, 10); !problem.Is(err, "session_not_found") {
		t.Errorf("events: %v", err)
	}
	if _, _, err := h.store.Call(t.Context(), stranger, id.Call{Session: s.ID, N: 1}); !problem.Is(err, "call_not_found") {
		t.Errorf("call: %v", err)
	}
	if list, err := h.store.List(t.Context(), stranger, sessions.Filter{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("list: %v, %v", list, err)
	}
	viewer := auth.Actor{Kind: auth.KindPerson, Roles: map[id.Team]auth.Role{s.Team: auth.Viewer}}
	if _, err := h.store.Cancel(t.Context(), viewer, h.inserter, s.ID); !problem.Is(err, "not_allowed") {
		t.Errorf("a viewer cancels: %v", err)
	}
}

// R: A2
func TestOfManyClaimsOneWins(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	replica := h.join(t)
	var mu sync.Mutex
	won := 0
	var tries sync.WaitGroup
	for range 8 {
		tries.Go(func() {
			_, _, err := h.store.Claim(t.Context(), replica, s.ID)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case !errors.Is(err, sessions.ErrTaken):
				t.Errorf("claim: %v", err)
			}
		})
	}
	tries.Wait()
	if won != 1 {
		t.Errorf("%d claims won", won)
	}
}

// R: A2, L1
// case: fault F10
func TestAWorkerThatLostItsSessionCanWriteNothing(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	first, second := h.join(t), h.join(t)
	old := h.claim(t, first, s.ID)
	if _, err := h.store.WriteStep(t.Context(), old, sessions.Step{Events: []sessions.NewEvent{note("a")}}); err != nil {
		t.Fatal(err)
	}
	h.silence(t, first)
	if n, err := sessions.TakeOver(t.Context(), h.pool, h.inserter); err != nil || n != 1 {
		t.Fatalf("took over %d, %v", n, err)
	}
	lease := h.claim(t, second, s.ID)

	step := sessions.Step{Events: []sessions.NewEvent{note("late")}, Ended: []sessions.EndedCall{{N: 1, Tool: "x", Status: "succeeded"}}}
	if _, err := h.store.WriteStep(t.Context(), old, step); !errors.Is(err, sessions.ErrLost) {
		t.Errorf("late step: %v, want ErrLost", err)
	}
	if err := h.store.Park(t.Context(), old, sessions.Parking{To: sessions.Waiting}); !errors.Is(err, sessions.ErrLost) {
		t.Errorf("late park: %v, want ErrLost", err)
	}
	if err := h.store.End(t.Context(), old, sessions.Ending{Status: sessions.Completed}); !errors.Is(err, sessions.ErrLost) {
		t.Errorf("late end: %v, want ErrLost", err)
	}
	if _, err := h.store.WriteStep(t.Context(), lease, sessions.Step{Events: []sessions.NewEvent{note("b")}}); err != nil {
		t.Errorf("the new worker's step: %v", err)
	}
	want := []sessions.EventType{sessions.SessionStarted, sessions.NoticeGiven, sessions.SessionRecovered, sessions.NoticeGiven}
	if got := h.ledger(t, s.ID); !slices.Equal(got, want) {
		t.Errorf("ledger is %v, want %v", got, want)
	}
	if calls, _ := h.store.Calls(t.Context(), auth.CLI("t"), s.ID, 0, 10); len(calls) != 0 {
		t.Errorf("a lost worker's call is listed: %v", calls)
	}
}

// The write number makes a step that is sent twice (a commit whose confirmation
// was lost) take place once.
// R: L1, A2
func TestTheSameStepSentTwiceTakesPlaceOnce(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	lease := h.claim(t, h.join(t), s.ID)
	again := *lease
	step := sessions.Step{Events: []sessions.NewEvent{note("a")}}
	if _, err := h.store.WriteStep(t.Context(), lease, step); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.WriteStep(t.Context(), &again, step); !errors.Is(err, sessions.ErrLost) {
		t.Errorf("the same write number again: %v, want ErrLost", err)
	}
	if got := h.ledger(t, s.ID); len(got) != 2 {
		t.Errorf("ledger is %v", got)
	}
}

// R: A7
func TestASessionCannotParkOrEndWithAnUnreadInbox(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	lease := h.claim(t, h.join(t), s.ID)
	h.outside(t, s.ID, sessions.Outside{})
	if err := h.store.Park(t.Context(), lease, sessions.Parking{To: sessions.Waiting}); !errors.Is(err, sessions.ErrInbox) {
		t.Errorf("park: %v, want ErrInbox", err)
	}
	if err := h.store.End(t.Context(), lease, sessions.Ending{Status: sessions.Completed}); !errors.Is(err, sessions.ErrInbox) {
		t.Errorf("end: %v, want ErrInbox", err)
	}
	written, err := h.store.WriteStep(t.Context(), lease, sessions.Step{Events: []sessions.NewEvent{note("a")}})
	if err != nil || written.Inbox <= lease.Seen {
		t.Fatalf("step says the inbox is at %d, seen %d, %v", written.Inbox, lease.Seen, err)
	}
	events, err := h.store.Inbox(t.Context(), lease, written.Inbox)
	if err != nil || len(events) == 0 || events[len(events)-1].Type != sessions.MessageReceived {
		t.Fatalf("inbox is %v, %v", events, err)
	}
	if err := h.store.Park(t.Context(), lease, sessions.Parking{To: sessions.Waiting}); err != nil {
		t.Errorf("park after reading: %v", err)
	}
}

// R: Q6
func TestAWaitingSessionWakesAtNoOpenQuestionAndAfterTheLatestHold(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	lease := h.claim(t, h.join(t), s.ID)
	if err := h.store.Park(t.Context(), lease, sessions.Parking{To: sessions.Waiting, Raised: 2}); err != nil {
		t.Fatal(err)
	}
	answered := func(hold time.Duration) sessions.Outside {
		at := time.Now().Add(hold)
		return sessions.Outside{Questions: -1, Wake: &at}
	}
	wake := func() int {
		n, err := sessions.WakeDue(t.Context(), h.pool, h.inserter)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	h.outside(t, s.ID, answered(time.Hour))
	if n := wake(); n != 0 || h.get(t, s.ID).Status != sessions.Waiting {
		t.Error("woke with an open question")
	}
	h.outside(t, s.ID, answered(time.Hour))
	if n := wake(); n != 0 {
		t.Error("woke during the hold")
	}
	if _, err := h.pool.Exec(t.Context(), `update sessions set wake_at = now() - interval '1 ms' where id = $1`, s.ID); err != nil {
		t.Fatal(err)
	}
	if n := wake(); n != 1 || h.get(t, s.ID).Status != sessions.Queued {
		t.Errorf("woke %d sessions after the hold, status %s", n, h.get(t, s.ID).Status)
	}
	if n := wake(); n != 0 {
		t.Error("woke twice")
	}
}

// R: Q6
func TestAnAnswerWithoutAHoldQueuesTheSessionInItsOwnTransaction(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	lease := h.claim(t, h.join(t), s.ID)
	if err := h.store.Park(t.Context(), lease, sessions.Parking{To: sessions.Waiting, Raised: 1}); err != nil {
		t.Fatal(err)
	}
	before := h.jobs(t, s.ID)
	h.outside(t, s.ID, sessions.Outside{Questions: -1})
	if got := h.get(t, s.ID); got.Status != sessions.Queued || got.OpenQuestions != 0 {
		t.Errorf("session is %s with %d questions", got.Status, got.OpenQuestions)
	}
	if n := h.jobs(t, s.ID) - before; n != 1 {
		t.Errorf("%d further jobs, want 1", n)
	}
}

// R: A7
func TestEndedIsFinal(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	lease := h.claim(t, h.join(t), s.ID)
	if err := h.store.End(t.Context(), lease, sessions.Ending{Status: sessions.Completed, Outcome: sessions.Done, Summary: "All done."}); err != nil {
		t.Fatal(err)
	}
	if got := h.get(t, s.ID); got.Status != sessions.Completed || got.Outcome != sessions.Done || got.Summary != "All done." || got.EndedAt == nil {
		t.Errorf("session is %+v", got)
	}
	supervisor := auth.CLI("t")
	for name, verb := range map[string]func() error{
		"cancel":  func() error { _, err := h.store.Cancel(t.Context(), supervisor, h.inserter, s.ID); return err },
		"pause":   func() error { _, err := h.store.Pause(t.Context(), supervisor, h.inserter, s.ID); return err },
		"message": func() error { _, err := h.store.Message(t.Context(), supervisor, h.inserter, s.ID, "hi"); return err },
	} {
		if err := verb(); !problem.Is(err, "session_ended") {
			t.Errorf("%s: %v, want session_ended", name, err)
		}
	}
	if _, _, err := h.store.Claim(t.Context(), h.join(t), s.ID); !errors.Is(err, sessions.ErrTaken) {
		t.Errorf("claim: %v, want ErrTaken", err)
	}
}

// R: A7
func TestCancelReachesASessionWhateverItWaitsFor(t *testing.T) {
	t.Parallel()
	h := build(t)
	for name, park := range map[string]sessions.Parking{
		"waiting for a person": {To: sessions.Waiting, Raised: 1},
		"paused":               {To: sessions.Paused},
	} {
		s := h.start(t)
		if err := h.store.Park(t.Context(), h.claim(t, h.join(t), s.ID), park); err != nil {
			t.Fatal(err)
		}
		got, err := h.store.Cancel(t.Context(), auth.CLI("t"), h.inserter, s.ID)
		if err != nil || got.Status != sessions.Queued || !got.CancelRequested {
			t.Errorf("%s: %s, requested %v, %v", name, got.Status, got.CancelRequested, err)
		}
	}
}

// R: A1
// case: fault F09
func TestARestartedReplicaTakesItsSessionsBackAtOnce(t *testing.T) {
	t.Parallel()
	h := build(t)
	dir := t.TempDir()
	s := h.start(t)
	first := h.joinAt(t, dir)
	h.claim(t, first, s.ID)
	// The same machine, while the first life holds its slot: another identity.
	if second := h.joinAt(t, dir); second.ID == first.ID {
		t.Fatal("two replicas have one identity")
	}
	first.Leave(t.Context(), h.pool)
	again := h.joinAt(t, dir)
	if again.ID != first.ID {
		t.Fatalf("the free slot gave identity %s, want %s", again.ID, first.ID)
	}
	if n, err := sessions.Reclaim(t.Context(), h.pool, h.inserter, again); err != nil || n != 1 {
		t.Errorf("reclaimed %d, %v", n, err)
	}
	h.claim(t, again, s.ID)
}

// R: A2
func TestASilentReplicaMayNotActEvenAfterItsBeatIsBack(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	replica := h.join(t)
	lease := h.claim(t, replica, s.ID)
	if !replica.MayAct(lease) {
		t.Fatal("a live replica may not act")
	}
	replica.Freeze(6 * time.Second)
	if replica.MayAct(lease) {
		t.Error("a replica silent for 6 s acts")
	}
	if err := replica.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if replica.MayAct(lease) {
		t.Error("a lease from before the silence acts")
	}
	other := h.start(t)
	if !replica.MayAct(h.claim(t, replica, other.ID)) {
		t.Error("a lease from after the silence doesn't act")
	}
}

// R: O1
func TestEndedCallsAreListedWithTheEventThatHoldsTheirResult(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	lease := h.claim(t, h.join(t), s.ID)
	result := sessions.NewEvent{Type: sessions.CallEnded, Turn: 1, Step: 1, Call: 1, Data: map[string]string{"what": "result of 1"}}
	at := time.Now().Add(-time.Second)
	_, err := h.store.WriteStep(t.Context(), lease, sessions.Step{
		Events:   []sessions.NewEvent{note("before"), result},
		Ended:    []sessions.EndedCall{{N: 1, Turn: 1, Step: 1, Event: 1, Tool: "query_db", Status: "succeeded", Effect: "read_only", Attempts: 2, Duration: time.Second, Bytes: 7, StartedAt: at}},
		Counters: sessions.Counters{Turn: 1, Steps: 1, Calls: 1, Tokens: 12, CostMicros: 123, WorkingMS: 1000},
	})
	if err != nil {
		t.Fatal(err)
	}
	row, data, err := h.store.Call(t.Context(), auth.CLI("t"), id.Call{Session: s.ID, N: 1})
	if err != nil || row.Tool != "query_db" || row.Attempts != 2 || string(data) != `{"what":"result of 1"}` {
		t.Errorf("call is %+v, %s, %v", row, data, err)
	}
	if got := h.get(t, s.ID); got.Calls != 1 || got.Tokens != 12 || got.CostMicros != 123 {
		t.Errorf("counters are %+v", got)
	}
	if _, _, err := h.store.Call(t.Context(), auth.CLI("t"), id.Call{Session: s.ID, N: 2}); !problem.Is(err, "call_not_found") {
		t.Errorf("a call that has not ended: %v", err)
	}
}

// R: I1
// case: fault F18
func TestARetriedStartStartsOneSession(t *testing.T) {
	t.Parallel()
	h := build(t)
	const clients = 6
	replies, errs := make([]string, clients), make([]error, clients)
	var group sync.WaitGroup
	for i := range clients {
		once, err := idempotency.New("key_1", "retry", "the same body")
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			_, errs[i] = h.store.Start(t.Context(), auth.CLI("t"), h.inserter, sessions.New{Agent: h.agent, Task: "Do it", Once: once})
			reply, _ := once.Reply()
			replies[i] = string(reply)
		})
	}
	group.Wait()
	for i := range clients {
		if errs[i] != nil || replies[i] != replies[0] || !strings.Contains(replies[i], `"status":"queued"`) {
			t.Errorf("client %d: %s, %v", i, replies[i], errs[i])
		}
	}
	list, err := h.store.List(t.Context(), auth.CLI("t"), sessions.Filter{Limit: 10})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d sessions, %v", len(list), err)
	}
	if n := h.jobs(t, list[0].ID); n != 1 {
		t.Errorf("%d jobs wait for it", n)
	}
}

// R: F9
func TestALineLongerThanAChunkIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	h := build(t)
	call := id.Call{Session: h.start(t).ID, N: 1}
	for i, c := range []sessions.Chunk{{FirstLine: 0, Body: "a\n"}, {FirstLine: 1, Body: "long "}, {FirstLine: 1, Body: "line\nb\n"}} {
		_, err := h.pool.Exec(t.Context(), `insert into call_outputs values ($1, $2, $3, $4, $5)`, call.Session, call.N, i+1, c.FirstLine, c.Body)
		if err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[int64]string{0: "a\nlong line\nb\n", 1: "long line\nb\n", 2: "long line\nb\n", 9: "long line\nb\n"} {
		chunks, err := h.store.Output(t.Context(), call, line, 10)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range chunks {
			got += c.Body
		}
		if got != want {
			t.Errorf("from line %d on: %q, want %q", line, got, want)
		}
	}
}

// R: I1
func TestListsAreNarrowedByEachFilter(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	fits := map[string]sessions.Filter{
		"none": {}, "status": {Status: sessions.Queued}, "agent": {Agent: "bot"}, "team": {Team: "support"},
		"since": {Since: s.CreatedAt}, "text": {Q: "DO I"},
	}
	misses := map[string]sessions.Filter{
		"status": {Status: sessions.Failed}, "agent": {Agent: "other"}, "team": {Team: "other"},
		"since": {Since: s.CreatedAt.Add(time.Microsecond)}, "text": {Q: "do%"}, "before": {Before: s.ID},
	}
	for want, filters := range map[int]map[string]sessions.Filter{1: fits, 0: misses} {
		for name, f := range filters {
			f.Limit = 10
			if list, err := h.store.List(t.Context(), auth.CLI("t"), f); err != nil || len(list) != want {
				t.Errorf("by %s: %d sessions, %v; want %d", name, len(list), err, want)
			}
		}
	}
}

// R: A1, A2
// case: fault F08
func TestADeadReplicasJobsAreGivenBackAndAQueuedSessionWithoutOneGetsOne(t *testing.T) {
	t.Parallel()
	h := build(t)
	replica := h.join(t)
	fetched, lost := h.start(t), h.start(t)
	const fetch = `update river_job set state = 'running', attempt = 1, attempted_at = now(), attempted_by = array[$2]
		where args ->> 'session' = $1`
	if _, err := h.pool.Exec(t.Context(), fetch, fetched.ID.String(), replica.ID.String()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.pool.Exec(t.Context(), `delete from river_job where args ->> 'session' = $1`, lost.ID.String()); err != nil {
		t.Fatal(err)
	}
	if n, err := sessions.Refloat(t.Context(), h.pool, h.inserter); err != nil || n != 1 || h.jobs(t, lost.ID) != 1 {
		t.Errorf("refloated %d, %v", n, err)
	}
	replica.Freeze(time.Minute)
	h.silence(t, replica)
	if _, err := sessions.TakeOver(t.Context(), h.pool, h.inserter); err != nil {
		t.Fatal(err)
	}
	if n := h.jobs(t, fetched.ID); n != 1 {
		t.Errorf("a dead replica's job was not given back: %d available", n)
	}
}

// R: A7
func TestACancellationIsAskedForOnceAndNothingElseAfterIt(t *testing.T) {
	t.Parallel()
	h := build(t)
	s := h.start(t)
	for range 2 {
		if _, err := h.store.Cancel(t.Context(), auth.CLI("t"), h.inserter, s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.ledger(t, s.ID); len(got) != 2 {
		t.Errorf("ledger is %v, want one request", got)
	}
	if _, err := h.store.Resume(t.Context(), auth.CLI("t"), h.inserter, s.ID); !problem.Is(err, "session_cancelling") {
		t.Errorf("resume: %v, want session_cancelling", err)
	}
}
