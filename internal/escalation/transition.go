package escalation

// Status is where a question is in its life.
type Status string

// The statuses. All but the first two are final.
const (
	Pending     Status = "pending"      // waits for a person
	Answered    Status = "answered"     // decided; held, or on its way to the agent
	Applied     Status = "applied"      // the agent has it
	ApplyFailed Status = "apply_failed" // decided, but it never reached the agent
	Cancelled   Status = "cancelled"    // nobody waits for it any more
	Expired     Status = "expired"      // nobody answered in time
	Superseded  Status = "superseded"   // asked anew
)

// Statuses lists the statuses in the order of a question's life.
func Statuses() []Status {
	return []Status{Pending, Answered, Applied, ApplyFailed, Cancelled, Expired, Superseded}
}

// Move is what happens to a question.
type Move string

// The moves.
const (
	MoveAnswer    Move = "answer"
	MoveUndo      Move = "undo"
	MoveApply     Move = "apply"
	MoveFail      Move = "fail" // to hand an answer back
	MoveCancel    Move = "cancel"
	MoveExpire    Move = "expire"
	MoveSupersede Move = "supersede"
)

// Moves lists all moves.
func Moves() []Move {
	return []Move{MoveAnswer, MoveUndo, MoveApply, MoveFail, MoveCancel, MoveExpire, MoveSupersede}
}

// transitions are all that is legal. A status that isn't here is final.
var transitions = map[Status]map[Move]Status{
	Pending: {
		MoveAnswer:    Answered,
		MoveCancel:    Cancelled,
		MoveExpire:    Expired,
		MoveSupersede: Superseded,
	},
	Answered: {
		MoveUndo:  Pending,
		MoveApply: Applied,
		MoveFail:  ApplyFailed,
	},
}

// After is the status that a move leads to, and whether it may be made at all.
func (s Status) After(m Move) (Status, bool) {
	next, legal := transitions[s][m]
	return next, legal
}

// Final says whether nothing can happen to the question any more.
func (s Status) Final() bool { return len(transitions[s]) == 0 }
