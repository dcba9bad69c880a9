package escalation

import (
	"strings"
	"unicode/utf8"

	"baton/internal/clean"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// MaxRationale bounds a decider's note for the record, in characters.
const MaxRationale = 4000

// Message cleans a decider's words to the agent. The problem is
// message_too_long.
func Message(s string) (string, error) { return personText(s, "message", sessions.MaxMessage) }

// Rationale cleans a decider's note for the record. The problem is
// message_too_long.
func Rationale(s string) (string, error) { return personText(s, "rationale", MaxRationale) }

func personText(s, field string, most int) (string, error) {
	s = strings.TrimSpace(clean.Text(s))
	if count := utf8.RuneCountInString(s); count > most {
		return "", problem.New(problem.Invalid, "message_too_long", problem.Params{"count": count, "most": most}).At(field)
	}
	return s, nil
}
