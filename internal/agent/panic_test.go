package agent_test

import (
	"context"
	"testing"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"baton/internal/agent"
	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/sessions"
)

// panicking is a model whose code is at fault, the first time that it is asked.
type panicking struct{ llm.Model }

func (panicking) Next(context.Context, llm.Request) (llm.Reply, error) {
	panic("a fault in our own code")
}

// R: L6
func TestAFaultInTheLoopItselfGivesTheSessionBack(t *testing.T) {
	t.Parallel()
	h := build(t, echo)
	session := h.start(`
def reply(s):
    return finish("Done.", status = "done")
`)
	deps := h.deps()
	deps.Model = func(definition.Version, string) (llm.Model, error) { return panicking{}, nil }
	worker := agent.NewWorker(deps)
	job := &river.Job[sessions.RunArgs]{JobRow: &rivertype.JobRow{}, Args: sessions.RunArgs{Session: session}}
	if err := worker.Work(t.Context(), job); err != nil {
		t.Fatalf("work: %v", err)
	}
	if s := h.get(session); s.Status != sessions.Queued {
		t.Fatalf("after the fault the session is %s, want queued", s.Status)
	}
	if err := h.work(session); err != nil {
		t.Fatal(err)
	}
	if s := h.get(session); s.Status != sessions.Completed {
		t.Errorf("the session is %s", s.Status)
	}
}
