package escalation

import (
	"baton/internal/i18n"
	"baton/internal/tools"
)

// The answers to how an agent that goes round in circles is to go on.
const (
	LoopAgain   = "try-again" // exactly once
	LoopWithout = "go-without"
	LoopStop    = "stop"
)

// LoopDraft makes the question how to go on, of a call that an agent came back
// to after it was reminded and after its tool was rested.
func LoopDraft(plan tools.Plan, spec tools.Spec, k Known) Draft {
	a := action(plan, spec, k.Redact)
	q := ownQuestion(k, i18n.Say("escalation.loop.title", "what", clip(a.title(), maxTitle)),
		i18n.Say("escalation.own.question"), i18n.Say("escalation.loop.problem"))
	q.ActionRequest = a
	q.offer(LoopAgain, i18n.Say("escalation.loop.again"), i18n.Say("escalation.loop.again_then"))
	q.offer(LoopWithout, i18n.Say("escalation.loop.without"), i18n.Say("escalation.loop.without_then"))
	q.offer(LoopStop, i18n.Say("escalation.own.stop"), i18n.Say("escalation.own.stop_then"))
	cs := Case{Tool: plan.Call.Tool, ToolHash: plan.ToolHash}
	if failed, any := k.lastFailed(); any {
		cs.ErrorType, cs.ErrorClass = string(failed.ErrorType), string(failed.ErrorType.Class())
	}
	return ownDraft(k, PoisonLoop, q, cs)
}
