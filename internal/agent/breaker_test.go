package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"baton/internal/sessions"
	"baton/internal/tools"
)

// What one session meets, the others are spared; a reset lets them try again.
// R: X4, E6
func TestAServiceThatIsDownIsSparedByAllSessions(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var up atomic.Bool
	away := tool("away", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		if asked.Add(1); up.Load() {
			return tools.Output{Text: "here"}, nil
		}
		return tools.Output{}, tools.Fail(tools.Unavailable, "The desk is closed.")
	}).(testTool)
	away.spec.Retry = tools.RetryPolicy{Attempts: 1}
	h := build(t, away)
	h.run(`
def reply(s):
    if s.step < 5:
        return call("away", n = s.step)
    return finish("It is unavailable.", status = "unable")
`)
	if n := asked.Load(); n != 5 {
		t.Fatalf("asked %d times, want 5", n)
	}
	other := `
def reply(s):
    if s.step == 0:
        return call("away")
    ok = s.last[0].status == "success"
    return finish("Asked.", status = "partly" if ok else "unable", evidence = [s.last[0].call_id] if ok else [])
`
	s := h.run(other)
	r := h.results(s.ID)[1]
	if asked.Load() != 5 || r.ErrorType() != tools.Unavailable || !strings.Contains(r.Message(), "away keeps failing") || !strings.Contains(r.ForModel(), "The desk is closed.") {
		t.Fatalf("asked %d times, the other session got %s", asked.Load(), r.ForModel())
	}
	up.Store(true)
	if services, err := h.worker.Breakers.Reset(t.Context(), cli, "away"); err != nil || len(services) != 1 {
		t.Fatalf("reset %q, %v", services, err)
	}
	if s := h.run(other); s.Outcome != sessions.Partly || asked.Load() != 6 {
		t.Errorf("after the reset the session is %s, asked %d times", s.Outcome, asked.Load())
	}
	if list, err := h.worker.Breakers.List(t.Context(), cli); err != nil || len(list) != 0 {
		t.Errorf("after a success: %+v, %v", list, err)
	}
}
