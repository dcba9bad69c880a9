package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"baton/internal/sessions"
	"baton/internal/tools"
)

// A model with a small window: what it found first is left out of what it is
// sent, and it reads it again where it needs it.
// R: F11, F9
func TestAModelReadsAgainWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	report := tool("report", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		if strings.Contains(string(args), `"n":1}`) {
			return tools.Output{}, tools.Fail(tools.Conflict, "Report 1 is closed.\nIt was closed on Monday.", "Read another.")
		}
		return tools.Output{Text: string(args) + "\n" + strings.Repeat("figures ", 900)}, nil
	})
	h := build(t, report)
	s := h.run(`
def reply(s):
    if s.task != "Do it":
        fail("the task is %s" % s.task)
    if s.step < 8:
        return call("report", n = s.step)
    first = s.results[0]
    if s.step == 8:
        if not first.data.startswith("left out") or first.status != "success":
            fail("the first result is sent whole: %s" % first.data[:80])
        old = s.results[1]
        if old.status != "error" or old.hint or "\n" in old.message:
            fail("an old failure is %s" % old)
        if not s.results[7].data.startswith("{\"n\":7}"):
            fail("the latest is %s" % s.results[7].data[:80])
        return call("read_output", call_id = first.call_id, offset = 0, limit = 1)
    return finish("Report 0 is there.", evidence = [{"claim": "0", "call": first.call_id, "quote": "\"n\":0"}, s.last[0].call_id])
`, "budgets: {window: 12000}")
	if s.Status != sessions.Completed || s.Outcome != sessions.Done {
		t.Fatalf("session is %s %s: %s", s.Status, s.Outcome, s.Failure)
	}
	told := 0
	for _, e := range h.events(s.ID) {
		if e.Type == sessions.NoticeGiven && strings.Contains(string(e.Data), `"left_out"`) {
			told++
		}
	}
	if told == 0 || told > 3 {
		t.Errorf("people were told %d times", told)
	}
}

// A provider that can't read so much is asked once more with less; then people
// are.
// R: A4, F11
func TestAConversationThatIsTooLongIsMadeShorterAndAskedOnceMore(t *testing.T) {
	t.Parallel()
	large := tool("large", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{Text: strings.Repeat(strings.Repeat("figures ", 15)+"\n", 190)}, nil
	})
	h := build(t, large)
	const playbook = `
def reply(s):
    if s.step < 3:
        return call("large", n = s.step)
    whole = [r for r in s.results if not r.data.startswith("left out")]
    if len(whole) > MOST:
        return provider_error(413)
    return finish("Read.", evidence = [s.results[2].call_id])
`
	s := h.run(strings.Replace(playbook, "MOST", "1", 1), "budgets: {window: 34000}")
	if s.Status != sessions.Completed {
		_, _, text := h.question(s)
		t.Errorf("it is %s: %s %v %s", s.Status, s.Failure, h.notices(s), text)
	}
	s = h.run(strings.Replace(playbook, "MOST", "-1", 1), "budgets: {window: 34000}")
	tries := 0
	for _, e := range h.events(s.ID) {
		if e.Type == sessions.ModelFailed {
			tries++
		}
	}
	if s.Status != sessions.Waiting || tries != 2 {
		t.Fatalf("it is %s after %d tries: %s", s.Status, tries, s.Failure)
	}
	if _, trigger, text := h.question(s); trigger != "repeated_failure" || !strings.Contains(text, "too long for the agent") {
		t.Errorf("asked %s", fmt.Sprint(trigger, text))
	}
}
