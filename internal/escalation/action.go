package escalation

import (
	"encoding/json"
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
		args = r.With(nil, spec.Sensitive).Written().JSON(args)
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
		a.Titles[lang], a.Sentences[lang] = spec.Describe(lang, shown)
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

// clip shortens a text on a character's border.
func clip(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return strings.TrimSpace(string(r[:most-1])) + "…"
}
