package agent_test

import (
	"strings"
	"testing"

	"baton/internal/sessions"
)

// While a model speaks, what it says can be seen, with secrets masked as they
// are on record; then there is the reply alone.
// R: V6, O3
func TestWhatAModelSaysIsSeenWhileItSaysIt(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	const said = "I have looked at the orders of this customer and found one that was paid twice, so I will ask whether to give back one of the payments. "
	id := h.start(`
def reply(s):
    if s.step == 0:
        return [slow(1.5), say("` + said + `Their card is 4111 1111 1111 1111, as they wrote. ` + said + `"), call("echo", n = 1)]
    return finish("Done.", evidence = [s.last[0].call_id])
`)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := h.work(id); err != nil {
			t.Error(err)
		}
	}()
	var seen []string
	for working := true; working; {
		select {
		case <-ended:
			working = false
		default:
		}
		d, err := h.store.Draft(t.Context(), cli, h.get(id))
		if err != nil {
			t.Fatal(err)
		}
		if d.Text != "" && (len(seen) == 0 || seen[len(seen)-1] != d.Text) {
			seen = append(seen, d.Text)
		}
	}
	s := h.get(id)
	if s.Status != sessions.Completed {
		t.Fatalf("session is %s, %s", s.Status, s.Failure)
	}
	reply := ""
	for _, e := range h.events(id) {
		if e.Type == sessions.ModelReplied && reply == "" {
			reply = string(e.Data)
		}
	}
	if len(seen) < 2 {
		t.Fatalf("seen while it was said: %q", seen)
	}
	for _, text := range seen {
		if strings.Contains(text, "4111") || !strings.Contains(reply, strings.TrimSpace(text)) {
			t.Errorf("what was seen, %q, is not how the reply begins: %s", text, reply)
		}
	}
}
