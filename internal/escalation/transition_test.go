package escalation_test

import (
	"slices"
	"testing"

	"baton/internal/escalation"
)

// R: Q5, Q6, Q11, Q13
func TestTheLegalTransitions(t *testing.T) {
	t.Parallel()
	want := map[escalation.Status]map[escalation.Move]escalation.Status{
		escalation.Pending: {
			escalation.MoveAnswer: escalation.Answered, escalation.MoveCancel: escalation.Cancelled,
			escalation.MoveExpire: escalation.Expired, escalation.MoveSupersede: escalation.Superseded,
		},
		escalation.Answered: {
			escalation.MoveUndo: escalation.Pending, escalation.MoveApply: escalation.Applied, escalation.MoveFail: escalation.ApplyFailed,
		},
	}
	for _, from := range escalation.Statuses() {
		for _, move := range escalation.Moves() {
			next, legal := from.After(move)
			if expected, ok := want[from][move]; legal != ok || next != expected {
				t.Errorf("%s from %s leads to %q (%v), want %q", move, from, next, legal, expected)
			}
			if legal && !slices.Contains(escalation.Statuses(), next) {
				t.Errorf("%s is no status", next)
			}
		}
		if from.Final() != (want[from] == nil) {
			t.Errorf("%s is final: %v", from, from.Final())
		}
	}
}
