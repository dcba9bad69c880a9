package escalation

import (
	"baton/internal/i18n"
	"baton/internal/tools"
)

// The answers to whether a call in doubt happened.
const (
	DoubtHappened = "it-happened"
	DoubtAgain    = "run-again"
	DoubtSkip     = "skip"
)

// DoubtDraft makes the question what became of a call that can't be taken back
// and whose outcome is not known: nobody but a person can say.
func DoubtDraft(plan tools.Plan, spec tools.Spec, k Known) Draft {
	a := action(plan, spec, k.Redact)
	q := ownQuestion(k, i18n.Say("escalation.doubt.title", "what", a.title()),
		i18n.Say("escalation.doubt.question"), i18n.Say("escalation.doubt.problem"))
	// Whoever has it run again has to see what runs. It is no approval: the call
	// has one already, if it needs one, and none like it gets one.
	q.ActionRequest = a
	q.offer(DoubtHappened, i18n.Say("escalation.doubt.happened"), i18n.Say("escalation.doubt.happened_then"))
	q.offer(DoubtAgain, i18n.Say("escalation.doubt.again"), i18n.Say("escalation.doubt.again_then"))
	q.offer(DoubtSkip, i18n.Say("escalation.doubt.skip"), i18n.Say("escalation.doubt.skip_then"))
	return ownDraft(k, SensitiveAction, q, Case{Tool: plan.Call.Tool, ToolHash: plan.ToolHash,
		ErrorType: string(tools.OutcomeUnknown), ErrorClass: string(tools.OutcomeUnknown.Class())})
}
