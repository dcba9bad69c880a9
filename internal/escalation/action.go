package escalation

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"baton/internal/clean"
	"baton/internal/redact"
	"baton/internal/tools"
)

// action is what a person is shown of a call that is to be approved. Nothing in
// it but the arguments comes from a model.
func action(plan tools.Plan, spec tools.Spec, r *redact.Redactor) *Action {
	args := plan.Call.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if r != nil {
		args = r.With(nil, spec.Sensitive).JSON(args)
	}
	shown, err := clean.JSON(args)
	if err != nil {
		shown = json.RawMessage("{}") // can't be: a plan with a digest has arguments
	}
	a := &Action{
		Tool: plan.Call.Tool, Args: shown, Digest: plan.Digest, Effect: plan.Effect.Or(), ToolHash: plan.ToolHash,
		Titles: map[string]string{}, Sentences: map[string]string{}, Reversals: map[string]string{},
	}
	for lang, words := range spec.Words {
		a.Titles[lang] = words.Title
		if s, ok := Sentence(words.Sentence, shown); ok {
			a.Sentences[lang] = s
		}
		if words.Reversal != "" {
			a.Reversals[lang] = words.Reversal
		}
	}
	return a
}

// reversible is what is known about taking the action back, from the tool's
// declaration alone; nil if nothing is.
func reversible(plan tools.Plan, spec tools.Spec) *bool {
	known := func(v bool) *bool { return &v }
	switch {
	case plan.Effect.Or() == tools.EffectIrreversible:
		return known(false)
	case !plan.Effect.Writes(), spec.Undo != nil:
		return known(true)
	}
	for _, words := range spec.Words {
		if words.Reversal != "" {
			return known(true)
		}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\{[A-Za-z0-9_.-]+\}`)

// maxInSentence bounds a value within a sentence; the arguments are shown whole
// below it.
const maxInSentence = 120

// Sentence fills a tool's sentence ("Refund {amount} to {customer.name}") with
// a call's arguments. It is not ok if one that the sentence needs is missing or
// is no plain value: half a sentence would say less than it seems to.
func Sentence(pattern string, args json.RawMessage) (sentence string, ok bool) {
	if pattern == "" {
		return "", false
	}
	ok = true
	sentence = placeholder.ReplaceAllStringFunc(pattern, func(p string) string {
		value, found := plainAt(args, strings.Split(p[1:len(p)-1], "."))
		ok = ok && found
		return value
	})
	return sentence, ok
}

func plainAt(doc json.RawMessage, path []string) (string, bool) {
	for _, step := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(doc, &object) != nil {
			return "", false
		}
		var found bool
		if doc, found = object[step]; !found {
			return "", false
		}
	}
	doc = bytes.TrimSpace(doc)
	var s string
	switch {
	case len(doc) == 0, doc[0] == '{', doc[0] == '[', string(doc) == "null":
		return "", false
	case json.Unmarshal(doc, &s) == nil:
		return clip(clean.Line(s), maxInSentence), true
	}
	return string(doc), true // a number as it was written, true or false
}

// clip shortens a text on a character's border.
func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return strings.TrimSpace(string(r[:most-1])) + "…"
}
