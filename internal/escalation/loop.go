package escalation

import (
	"encoding/json"
	"strings"

	"baton/internal/clean"
	"baton/internal/definition"
	"baton/internal/i18n"
	"baton/internal/tools"
)

// The answers to how an agent that goes round in circles is to go on.
const (
	LoopAgain   = "try-again"
	LoopWithout = "go-without"
	LoopStop    = "stop"
)

// LoopDraft makes the question how to go on, of a call that an agent came back
// to after it was reminded and after its tool was rested. All of its words are
// the server's; what was tried comes from the log.
func LoopDraft(plan tools.Plan, spec tools.Spec, k Known) Draft {
	what := action(plan, spec, k.Redact).title()
	q := Question{
		Context: Context{Task: clip(strings.TrimSpace(clean.Text(k.Task)), maxProblem), Done: done(k), Tried: tried(k)},
		Allowed: []DecisionType{Choose},
	}
	q.say("title", &q.Title, i18n.Say("escalation.loop.title", "what", clip(what, maxTitle)))
	q.say("question", &q.Question, i18n.Say("escalation.loop.question"))
	q.say("context.problem", &q.Context.Problem, i18n.Say("escalation.loop.problem"))
	add := func(id string, label, then i18n.Message) {
		at := len(q.Options)
		q.Options = append(q.Options, Option{ID: id, Key: Key(at)})
		q.say("options."+id+".label", &q.Options[at].Label, label)
		q.say("options."+id+".consequence", &q.Options[at].Consequence, then)
	}
	add(LoopAgain, i18n.Say("escalation.loop.again"), i18n.Say("escalation.loop.again_then"))
	add(LoopWithout, i18n.Say("escalation.loop.without"), i18n.Say("escalation.loop.without_then"))
	add(LoopStop, i18n.Say("escalation.loop.stop"), i18n.Say("escalation.loop.stop_then"))
	cs := Case{Tool: plan.Call.Tool, ToolHash: plan.ToolHash, Parameters: json.RawMessage("{}"), Problem: mask(q.Context.Problem)}
	if failed, any := k.lastFailed(); any {
		cs.ErrorType, cs.ErrorClass = string(failed.ErrorType), string(failed.ErrorType.Class())
	}
	cs.OptionSet = optionSet(KindFailed, q)
	return Draft{Kind: KindFailed, Trigger: PoisonLoop, Priority: orDefault(k.Priority, definition.PriorityNormal), Question: q.filled(), Case: cs}
}
