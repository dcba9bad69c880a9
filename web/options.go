package web

import (
	"encoding/json"
	"regexp"
	"strings"

	"baton/internal/escalation"
	"baton/internal/tools"
	"baton/templates"
)

// options are the ways to go on that an agent gave.
func (r reader) options(q escalation.Question) []templates.Option {
	var list []templates.Option
	for _, o := range q.Options {
		path := "options." + o.ID + "."
		out := templates.Option{ID: o.ID, Letter: o.Key, Label: r.text(q, path+"label", o.Label), Recommended: o.Recommended}
		if _, ours := q.Sentences[path+"consequence"]; ours {
			out.Then = r.text(q, path+"consequence", "")
		} else {
			out.Says = o.Consequence
		}
		if o.Recommended && q.Recommended != nil {
			out.Reason = q.Recommended.Reason
		}
		switch {
		case o.ID == escalation.DoubtAgain && q.ActionRequest != nil:
			action := r.action(*q.ActionRequest)
			out.Action = &action
			if out.Chips, out.Confirm = r.effects(*q.ActionRequest, takenBack(*q.ActionRequest), action.Sentence); out.Confirm != "" {
				out.Confirm = r.say("option.confirm_again", "what", action.Sentence)
			}
		case o.Action != nil:
			action := r.action(*o.Action)
			out.Action = &action
			out.Chips, out.Confirm = r.effects(*o.Action, o.Reversible, action.Sentence)
		case out.Then == "":
			out.Chips = []templates.Chip{{Icon: "bot", Text: r.say("option.agent_decides")}}
		}
		list = append(list, out)
	}
	return list
}

// approval are the ways to decide about one call that is held back. All words
// are the server's.
func (r reader) approval(q escalation.Question) []templates.Option {
	if q.ActionRequest == nil {
		return nil
	}
	a := *q.ActionRequest
	action := r.action(a)
	chips, confirm := r.effects(a, takenBack(a), action.Sentence)
	list := []templates.Option{{ID: templates.ApproveAnswer, Label: r.say("approval.approve"), Action: &action, Chips: chips, Confirm: confirm}}
	if q.Allows(escalation.Edit) && editable(a) {
		edit := templates.Option{ID: templates.EditAnswer, Label: r.say("approval.edit"), Then: r.say("approval.edit_then"),
			Fields: r.fields(a.Schema, a.Shown(), argumentPrefix)}
		if confirm != "" {
			edit.Confirm = r.say("option.confirm_edited")
		}
		list = append(list, edit)
	}
	list = append(list, templates.Option{ID: templates.RejectAnswer, Label: r.say("approval.reject"), Then: r.say("approval.reject_then")})
	for i := range list {
		list[i].Letter = escalation.Key(i)
	}
	return list
}

// takenBack is what a call itself says about taking it back; nil for nothing.
func takenBack(a escalation.Action) *bool {
	switch {
	case a.Effect == tools.EffectIrreversible:
		return new(false)
	case len(a.Reversals) > 0, !a.Effect.Writes():
		return new(true)
	}
	return nil
}

// masked finds what was redacted or withheld. Arguments with such parts can't be
// edited: what stands there is not what would run.
var masked = regexp.MustCompile(`\[redacted:[a-z0-9_-]+:[0-9a-f]{6}\]|\[withheld(?::too-(?:many|long))?\]`)

func editable(a escalation.Action) bool { return !masked.Match(a.Args) }

// action is a call in the server's words.
func (r reader) action(a escalation.Action) templates.Action {
	sentence := r.in(a.Sentences)
	if sentence == "" {
		sentence = r.in(a.Titles)
	}
	if sentence == "" {
		sentence = a.Tool
	}
	return templates.Action{Sentence: sentence, Tool: a.Tool, Payload: payload(a.Shown(), sentence), Arguments: arguments(a.Shown())}
}

// payload are the values in a call's arguments, however deep, that its sentence
// does not name already, each under its own name.
func payload(args json.RawMessage, sentence string) (list []templates.Argument) {
	for _, m := range members(args) {
		if inner := members(m.value); len(inner) > 0 {
			list = append(list, payload(m.value, sentence)...)
			continue
		}
		if a := argument(m.name, m.value); a.Value != "" && !strings.Contains(sentence, a.Value) {
			list = append(list, a)
		}
	}
	return list
}

// effects says whether a call can be taken back, as far as its tool declares
// it, and asks a second time about one that can't.
func (r reader) effects(a escalation.Action, reversible *bool, sentence string) (chips []templates.Chip, confirm string) {
	switch {
	case !a.Effect.Writes():
		return []templates.Chip{{Icon: "search", Text: r.say("option.only_reads")}}, ""
	case reversible == nil:
		return []templates.Chip{{Icon: "circle-alert", Text: r.say("option.reversible_unknown"), Tone: "warn"}}, ""
	case !*reversible:
		return []templates.Chip{{Icon: "triangle-alert", Text: r.say("option.irreversible"), Tone: "warn"}},
			r.say("option.confirm", "what", sentence)
	}
	if how := r.in(a.Reversals); how != "" {
		return []templates.Chip{{Icon: "undo-2", Text: how, Tone: "ok"}}, ""
	}
	return []templates.Chip{{Icon: "undo-2", Text: r.say("option.reversible"), Tone: "ok"}}, ""
}
