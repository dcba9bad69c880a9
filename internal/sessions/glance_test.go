package sessions_test

import (
	"testing"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/sessions"
)

// R: UI, K2
func TestAGlanceCountsWhatFailedAndSaysWhatIsGoingOn(t *testing.T) {
	t.Parallel()
	h := build(t)
	s, quiet := h.start(t), h.start(t)
	lease := h.claim(t, h.join(t), s.ID)
	reply := sessions.NewEvent{Type: sessions.ModelReplied, Turn: 1, Step: 1, Data: map[string]any{
		"text": "I look.", "plans": []any{map[string]any{"call": map[string]any{"n": 1, "tool": "query_db"}}}}}
	step := sessions.Step{Events: []sessions.NewEvent{reply, note("ended")}, Counters: sessions.Counters{Turn: 1, Steps: 1, Calls: 5}}
	for i, c := range []sessions.EndedCall{
		{Status: "succeeded", Attempts: 3}, {Status: "failed", ErrorType: "timeout", Attempts: 4}, {Status: "failed", ErrorType: "circuit_open"},
		{Status: "partial", Attempts: 1}, {Status: "cancelled", ErrorType: "cancelled"},
	} {
		c.N, c.Turn, c.Step, c.Event, c.Tool = i+1, 1, 1, 1, "query_db"
		step.Ended = append(step.Ended, c)
	}
	if _, err := h.store.WriteStep(t.Context(), lease, step); err != nil {
		t.Fatal(err)
	}
	both := []id.Session{s.ID, quiet.ID}
	got, err := h.store.Glances(t.Context(), auth.CLI("t"), both)
	if err != nil {
		t.Fatal(err)
	}
	if want := (sessions.Glance{Failed: 3, Retries: 5, Stopped: 1, Said: "I look.", Tool: "query_db"}); got[s.ID] != want {
		t.Errorf("glance %+v, want %+v", got[s.ID], want)
	}
	if g, there := got[quiet.ID]; !there || g != (sessions.Glance{}) {
		t.Errorf("of a session in which nothing happened: %+v", g)
	}
	if n, err := h.store.CountRunning(t.Context(), auth.CLI("t")); err != nil || n != 1 {
		t.Errorf("%d run, %v", n, err)
	}

	stranger := auth.Actor{Kind: auth.KindPerson, Roles: map[id.Team]auth.Role{id.New[id.Team](): auth.Admin}}
	if got, err := h.store.Glances(t.Context(), stranger, both); err != nil || len(got) != 0 {
		t.Errorf("another team sees %v, %v", got, err)
	}
	if n, err := h.store.CountRunning(t.Context(), stranger); err != nil || n != 0 {
		t.Errorf("another team counts %d, %v", n, err)
	}
}
