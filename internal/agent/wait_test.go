package agent_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// busyOnce is a tool of which each call is refused once, with the wish to wait
// long enough that people are told. first runs in the attempt that is refused,
// again in the one after it.
func busyOnce(first, again func(session id.Session, n int)) tools.Tool {
	return tool("busy", tools.EffectRead, func(ctx context.Context, args json.RawMessage) (tools.Output, error) {
		call := tools.RunningCall(ctx)
		if call.Attempt == 1 {
			first(call.ID.Session, call.ID.N)
			f := tools.Fail(tools.RateLimited, "Too many questions.")
			f.RetryAfter = tools.LongEnough
			return tools.Output{}, f
		}
		again(call.ID.Session, call.ID.N)
		return tools.Output{Data: args}, nil
	})
}

func nothing(id.Session, int) {}

// waits reads the data of each call.retried, by call.
func (h *house) waits(session id.Session) map[int][]string {
	h.t.Helper()
	list := map[int][]string{}
	for _, e := range h.events(session) {
		if e.Type == sessions.CallRetried {
			list[e.Call] = append(list[e.Call], string(e.Data))
		}
	}
	return list
}

const oneThenFinish = `
def reply(s):
    if s.step == 0:
        return call("busy", n = 1)
    return finish("It says 1.", evidence = [s.last[0].call_id])
`

// R: X1, V6
func TestARetryIsOnRecordWhileItIsWaitedFor(t *testing.T) {
	t.Parallel()
	var h *house
	var seen atomic.Int64
	h = build(t, busyOnce(nothing, func(session id.Session, n int) { seen.Store(int64(len(h.waits(session)[n]))) }))
	s := h.run(oneThenFinish)
	if s.Status != sessions.Completed || s.Outcome != sessions.Done {
		t.Fatalf("the session is %s %s, %s", s.Status, s.Outcome, s.Failure)
	}
	if seen.Load() != 1 {
		t.Errorf("when the second attempt began, %d waits were on record", seen.Load())
	}
	var d struct {
		N         int             `json:"n"`
		ErrorType tools.ErrorType `json:"error_type"`
		Message   string          `json:"message"`
		NextMS    int64           `json:"next_ms"`
	}
	told := h.waits(s.ID)[1]
	if len(told) != 1 {
		t.Fatalf("told %q", told)
	}
	if err := json.Unmarshal([]byte(told[0]), &d); err != nil || d.N != 1 || d.ErrorType != tools.RateLimited || d.Message != "Too many questions." || d.NextMS <= 0 || d.NextMS > tools.LongEnough.Milliseconds() {
		t.Errorf("told %s (%v)", told[0], err)
	}
	if r := h.results(s.ID)[1]; r.Meta().Attempts != 2 {
		t.Errorf("the result tells of %d attempts", r.Meta().Attempts)
	}
}

// R: X1, A2
func TestCallsSideBySideTellOfTheirRetriesByOneHand(t *testing.T) {
	t.Parallel()
	h := build(t, busyOnce(nothing, nothing))
	s := h.run(`
def reply(s):
    if s.step == 0:
        return [call("busy", n = 1), call("busy", n = 2), call("busy", n = 3)]
    return finish("Done.", evidence = [r.call_id for r in s.last])
`)
	if s.Outcome != sessions.Done {
		t.Fatalf("the session is %s %s, %s", s.Status, s.Outcome, s.Failure)
	}
	told := h.waits(s.ID)
	for n := 1; n <= 3; n++ {
		if len(told[n]) != 1 {
			t.Errorf("call %d: told %q", n, told[n])
		}
	}
}

// R: X1
func TestARetryThatCanNotBeToldIsMadeAllTheSame(t *testing.T) {
	t.Parallel()
	h := build(t, busyOnce(nothing, nothing))
	if _, err := h.pool.Exec(t.Context(), `
create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
create trigger refuse before insert on session_events for each row when (new.type = 'call.retried') execute function refuse()`); err != nil {
		t.Fatal(err)
	}
	s := h.run(oneThenFinish)
	if s.Status != sessions.Completed || s.Outcome != sessions.Done || len(h.waits(s.ID)) != 0 {
		t.Errorf("the session is %s %s, %s", s.Status, s.Outcome, s.Failure)
	}
	if r := h.results(s.ID)[1]; !r.OK() || r.Meta().Attempts != 2 {
		t.Errorf("the result is %s", r.ForModel())
	}
}

// R: A2
func TestAWorkerThatLostItsSessionTriesNothingAgain(t *testing.T) {
	t.Parallel()
	var h *house
	var again atomic.Bool
	h = build(t, busyOnce(func(session id.Session, _ int) {
		if _, err := h.pool.Exec(t.Context(), `update sessions set epoch = epoch + 1 where id = $1`, session); err != nil {
			t.Error(err)
		}
	}, func(id.Session, int) { again.Store(true) }))
	session := h.start(oneThenFinish)
	if err := h.work(session); err != nil {
		t.Fatal(err)
	}
	if again.Load() {
		t.Error("another attempt was made for a session that is another worker's")
	}
	events := h.events(session)
	if last := events[len(events)-1]; last.Type != sessions.LateResult || len(h.waits(session)) != 0 {
		t.Errorf("the ledger ends with %s", last.Type)
	}
}
