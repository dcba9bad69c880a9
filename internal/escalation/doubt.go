package escalation

import (
	"encoding/json"
	"strings"

	"baton/internal/clean"
	"baton/internal/definition"
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
// and whose outcome is not known. All of its words are the server's; nobody but
// a person can say.
func DoubtDraft(plan tools.Plan, spec tools.Spec, k Known) Draft {
	a := action(plan, spec, k.Redact)
	q := Question{
		Context: Context{Task: clip(strings.TrimSpace(clean.Text(k.Task)), maxProblem), Done: done(k), Tried: tried(k)},
		Allowed: []DecisionType{Choose},
		// Whoever has it run again has to see what runs. It is no approval: the
		// call has one already, if it needs one, and none like it gets one.
		ActionRequest: a,
	}
	q.say("title", &q.Title, i18n.Say("escalation.doubt.title", "what", a.title()))
	q.say("question", &q.Question, i18n.Say("escalation.doubt.question"))
	q.say("context.problem", &q.Context.Problem, i18n.Say("escalation.doubt.problem"))
	add := func(id string, label, then i18n.Message) {
		at := len(q.Options)
		q.Options = append(q.Options, Option{ID: id, Key: Key(at)})
		q.say("options."+id+".label", &q.Options[at].Label, label)
		q.say("options."+id+".consequence", &q.Options[at].Consequence, then)
	}
	add(DoubtHappened, i18n.Say("escalation.doubt.happened"), i18n.Say("escalation.doubt.happened_then"))
	add(DoubtAgain, i18n.Say("escalation.doubt.again"), i18n.Say("escalation.doubt.again_then"))
	add(DoubtSkip, i18n.Say("escalation.doubt.skip"), i18n.Say("escalation.doubt.skip_then"))
	cs := Case{Tool: plan.Call.Tool, ToolHash: plan.ToolHash, Parameters: json.RawMessage("{}"), Problem: mask(q.Context.Problem),
		ErrorType: string(tools.OutcomeUnknown), ErrorClass: string(tools.OutcomeUnknown.Class())}
	cs.OptionSet = optionSet(KindFailed, q)
	return Draft{Kind: KindFailed, Trigger: SensitiveAction, Priority: orDefault(k.Priority, definition.PriorityNormal), Question: q.filled(), Case: cs}
}
