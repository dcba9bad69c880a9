package web

import (
	"strings"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/tools"
)

// What the server says of a problem is neither shown as the agent's words nor in
// another language than the reader's.
// R: Q2, Q4, UI
func TestTheServersAccountOfAProblemIsNotTheAgents(t *testing.T) {
	t.Parallel()
	r := reader{ctx: i18n.With(t.Context(), i18n.Chinese), actor: auth.System(), now: time.Now()}
	plan := tools.Plan{Call: tools.Call{N: 5, Tool: "look"}}
	for name, draft := range map[string]escalation.Draft{
		"a loop":  escalation.LoopDraft(plan, tools.Spec{Name: "look"}, escalation.Known{Task: "Look."}),
		"a doubt": escalation.DoubtDraft(plan, tools.Spec{Name: "look"}, escalation.Known{Task: "Look."}),
	} {
		q := r.question(escalation.Escalation{Kind: draft.Kind}, draft.Question)
		if !q.ProblemOurs || q.Problem == draft.Question.Context.Problem || !strings.Contains(q.Problem, "。") {
			t.Errorf("%s: ours %v, %q", name, q.ProblemOurs, q.Problem)
		}
	}
	asked := escalation.Question{Context: escalation.Context{Problem: "The login is refused."}}
	if q := r.question(escalation.Escalation{}, asked); q.ProblemOurs || q.Problem != "The login is refused." {
		t.Errorf("the agent's: ours %v, %q", q.ProblemOurs, q.Problem)
	}
}
