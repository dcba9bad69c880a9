package escalation

import (
	"encoding/json"
	"time"

	"baton/internal/i18n"
)

// The answers to what is to be done about a model that doesn't go on.
const (
	TroubleAgain = "try-again" // with a fresh set of tries
	TroubleStop  = "stop"
)

// TroubleKind is what keeps a model from going on, as people need to know it.
type TroubleKind string

// The kinds.
const (
	TroubleAway       TroubleKind = "away"       // it can't be reached, or is overloaded
	TroubleLater      TroubleKind = "later"      // its provider says to come back much later
	TroubleUnreadable TroubleKind = "unreadable" // what it sends can't be read
	TroubleUseless    TroubleKind = "useless"    // it answers, and does nothing
	TroubleRefused    TroubleKind = "refused"    // its provider won't work on this content
	TroubleAccess     TroubleKind = "access"     // its provider doesn't accept our key
	TroubleTooLong    TroubleKind = "too_long"   // the conversation is more than it can read
	TroubleRequest    TroubleKind = "request"    // its provider doesn't take what it is asked
	TroubleSetup      TroubleKind = "setup"      // this installation isn't set up for it
)

// Trouble is a model that doesn't go on.
type Trouble struct {
	Kind  TroubleKind `json:"kind"`
	Tries int         `json:"tries"`
	// Wait is how long the provider says to wait.
	Wait time.Duration `json:"wait,omitempty"`
	// Exact is its kind and words, for those who look after agents.
	Exact string `json:"exact,omitempty"`
	Said  string `json:"said,omitempty"`
}

// troubleWords are the sentences about a trouble: what is shown as the problem,
// and what comes of trying again.
var troubleWords = map[TroubleKind]struct{ title, problem, again string }{
	TroubleAway:       {"escalation.trouble.away.title", "escalation.trouble.away.problem", "escalation.trouble.again_then"},
	TroubleLater:      {"escalation.trouble.later.title", "escalation.trouble.later.problem", "escalation.trouble.later.again_then"},
	TroubleUnreadable: {"escalation.trouble.unreadable.title", "escalation.trouble.unreadable.problem", "escalation.trouble.again_then"},
	TroubleUseless:    {"escalation.trouble.useless.title", "escalation.trouble.useless.problem", "escalation.trouble.useless.again_then"},
	TroubleRefused:    {"escalation.trouble.refused.title", "escalation.trouble.refused.problem", "escalation.trouble.refused.again_then"},
	TroubleAccess:     {"escalation.trouble.access.title", "escalation.trouble.access.problem", "escalation.trouble.access.again_then"},
	TroubleTooLong:    {"escalation.trouble.too_long.title", "escalation.trouble.too_long.problem", "escalation.trouble.too_long.again_then"},
	TroubleRequest:    {"escalation.trouble.request.title", "escalation.trouble.request.problem", "escalation.trouble.request.again_then"},
	TroubleSetup:      {"escalation.trouble.setup.title", "escalation.trouble.setup.problem", "escalation.trouble.request.again_then"},
}

// TroubleDraft makes the question what to do about a model that doesn't go on,
// after all that the harness may do by itself.
func TroubleDraft(t Trouble, k Known) Draft {
	w, known := troubleWords[t.Kind]
	if !known {
		w = troubleWords[TroubleAway]
	}
	q := ownQuestion(k, i18n.Say(w.title), i18n.Say("escalation.own.question"),
		i18n.Say(w.problem, "n", t.Tries, "wait", i18n.Figure{Unit: i18n.Nanoseconds, N: int64(t.Wait)}))
	q.offer(TroubleAgain, i18n.Say("escalation.trouble.again"), i18n.Say(w.again))
	q.offer(TroubleStop, i18n.Say("escalation.own.stop"), i18n.Say("escalation.own.stop_then"))
	parameters, _ := json.Marshal(map[string]any{"trouble": t.Kind})
	return ownDraft(k, RepeatedFailure, q, Case{ErrorType: t.Exact, Parameters: parameters})
}
