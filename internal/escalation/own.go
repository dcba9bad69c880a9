package escalation

import (
	"encoding/json"
	"strings"

	"baton/internal/clean"
	"baton/internal/definition"
	"baton/internal/i18n"
)

// The questions that the harness itself asks, about a call in doubt, a loop, a
// limit, a model: all of their words are the server's, and what was done and
// tried comes from the log.

// ownQuestion begins such a question.
func ownQuestion(k Known, title, question, problem i18n.Message) Question {
	q := Question{
		Context: Context{Task: clip(strings.TrimSpace(clean.Text(k.Task)), maxProblem), Done: done(k), Tried: tried(k)},
		Allowed: []DecisionType{Choose},
	}
	q.say("title", &q.Title, title)
	q.say("question", &q.Question, question)
	q.say("context.problem", &q.Context.Problem, problem)
	return q
}

// offer adds an option.
func (q *Question) offer(id string, label, then i18n.Message) {
	at := len(q.Options)
	q.Options = append(q.Options, Option{ID: id, Key: Key(at)})
	q.say("options."+id+".label", &q.Options[at].Label, label)
	q.say("options."+id+".consequence", &q.Options[at].Consequence, then)
}

// ownDraft ends it. Of the case, what the question itself says is filled in.
func ownDraft(k Known, trigger Trigger, q Question, cs Case) Draft {
	if len(cs.Parameters) == 0 {
		cs.Parameters = json.RawMessage("{}")
	}
	cs.Problem, cs.OptionSet = mask(q.Context.Problem), optionSet(KindFailed, q)
	return Draft{Kind: KindFailed, Trigger: trigger, Priority: orDefault(k.Priority, definition.PriorityNormal), Question: q.filled(), Case: cs}
}
