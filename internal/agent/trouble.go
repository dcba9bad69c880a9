package agent

import (
	"baton/internal/escalation"
	"baton/internal/llm"
)

// A model that doesn't go on is asked again a bounded number of times; then
// people are asked, since none of the work done so far is lost by waiting for
// them. Whoever says to try again gives it the same number of tries once more.

// Codes of the notices about a model that doesn't go on.
const (
	codeUseless         = "model_useless"
	codeTroubleAnswered = "model_answered"
)

// troubleOf is what a failure that is not tried again means for people.
func troubleOf(e *llm.Error, tries int, said string) *escalation.Trouble {
	t := escalation.Trouble{Tries: tries, Exact: string(e.Kind), Said: said}
	switch e.Kind {
	case llm.InvalidReply:
		t.Kind = escalation.TroubleUnreadable
	case llm.Refused:
		t.Kind = escalation.TroubleRefused
	case llm.ContextTooLong:
		t.Kind = escalation.TroubleTooLong
	case llm.InvalidRequest:
		t.Kind = escalation.TroubleRequest
		switch e.Status {
		case 0: // nobody was asked
			t.Kind = escalation.TroubleSetup
		case 401, 402, 403, 429: // 429 that waiting doesn't help: the money is used up
			t.Kind = escalation.TroubleAccess
		}
	default:
		t.Kind = escalation.TroubleAway
		if e.RetryAfter > modelWaitMost {
			t.Kind, t.Wait = escalation.TroubleLater, e.RetryAfter
		}
	}
	return &t
}

// troubleAnswered is what a person said about a model that doesn't go on.
func troubleAnswered(t escalation.Trouble, d *escalation.Decision) notice {
	n := notice{Code: codeTroubleAnswered, Said: d.OptionID}
	switch {
	case n.Said == escalation.TroubleAgain && t.Kind == escalation.TroubleUseless:
		n.Text = "A person wants the work to go on. Go on with a call, or end with finish."
	case n.Said == escalation.TroubleAgain:
		n.Text = "The work stood still for a while, since you could not be reached or gave no usable reply. A person lets it go on."
	case t.Kind == escalation.TroubleUseless:
		n.Text, n.End = "A person stopped the session.", &failure{Code: "model_useless", Params: map[string]any{"n": t.Tries}}
	default:
		n.Text, n.End = "A person stopped the session.", &failure{Code: "model_failed", Params: map[string]any{"kind": t.Exact, "n": t.Tries, "said": t.Said}}
	}
	return n
}
