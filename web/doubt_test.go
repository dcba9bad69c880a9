package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/tools"
)

// mailing is a call that can't be taken back.
func mailing() (tools.Plan, tools.Spec) {
	plan, spec := refund(tools.Call{N: 1, Tool: "mail", Args: json.RawMessage(`{"amount": "3", "text": "Dear customer, prices go up.", "to": ["a@example.com", "b@example.com"]}`)})
	plan.Effect, spec.Effect = tools.EffectIrreversible, tools.EffectIrreversible
	spec.Words = map[string]tools.Words{
		"en":      {Title: "Mail customers", Sentence: "Mail {amount} customers"},
		"zh-Hans": {Title: "群发邮件", Sentence: "给 {amount} 位客户发邮件"},
	}
	return plan, spec
}

// To run a call again of which nobody knows whether it happened is to approve
// it: everything that it would do is on the page, and it is asked about twice.
// R: Q2, Q3, UI
func TestACallInDoubtRunsAgainOnlyAfterASecondWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan, spec := mailing()
	worker := w.work(w.start("desk"))
	worker.ask("mail", string(plan.Call.Args), tools.Ready)
	e := worker.raise(escalation.DoubtDraft(plan, spec, escalation.Known{Task: "Tell them"}))
	b := w.as("responder")
	const confirm = "Run it again: Mail 3 customers? If it did happen, it happens twice. This can’t be undone."
	b.get(questionPath(e)).has(t, http.StatusOK, "Did this happen? Mail 3 customers", "Dear customer, prices go up.", "a@example.com; b@example.com", "The exact call", "Can’t be undone",
		`data-confirm="`+confirm+`"`)
	b.post(questionPath(e)+"/answer", form("1", escalation.DoubtAgain)).has(t, http.StatusOK, confirm, "Dear customer, prices go up.", `name="confirm" value="run-again"`)
	if n := count(t, w.db, `select count(*) from decisions`); n != 0 {
		t.Fatalf("%d decisions before it was confirmed", n)
	}
	if got := b.post(questionPath(e)+"/answer", form("1", escalation.DoubtAgain, "confirm", escalation.DoubtAgain)); got.status != http.StatusSeeOther {
		t.Errorf("confirmed: %d", got.status)
	}
	now, err := w.deps.Escalations.Get(t.Context(), auth.System(), e.ID)
	if err != nil || now.Decision == nil || now.Decision.OptionID != escalation.DoubtAgain {
		t.Fatalf("%+v %v", now.Decision, err)
	}
	// What the server offered and what was chosen of it are in the reader's words.
	b.post("/preferences", url.Values{"language": {"zh-Hans"}})
	b.get("/sessions/"+e.Session.String()).has(t, http.StatusOK, i18n.T(i18n.With(t.Context(), i18n.Chinese), "escalation.doubt.again"))
	// It is the call in doubt that runs again, and no other like it.
	if n := count(t, w.db, `select count(*) from session_events where data->>'approvals' is not null`); n != 0 {
		t.Errorf("%d approvals were given", n)
	}
}
