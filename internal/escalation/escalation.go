package escalation

import (
	"encoding/json"
	"fmt"
	"time"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
)

// Kind says what sort of answer a question takes.
type Kind string

// The kinds.
const (
	KindOptions   Kind = "options"   // choose one of A, B, C
	KindApproval  Kind = "approval"  // of one call that is held back: approve, edit, reject
	KindInput     Kind = "input"     // fill in a form
	KindFailed    Kind = "failed"    // the agent can't go on: retry, hand over, give up
	KindCompleted Kind = "completed" // a notice, to be acknowledged; nothing to decide
)

// Trigger says why a question was asked. The set is closed; a reason code tells
// more.
type Trigger string

// The triggers.
const (
	SensitiveAction   Trigger = "sensitive_action"
	AmbiguousDecision Trigger = "ambiguous_decision"
	RepeatedFailure   Trigger = "repeated_failure"
	BudgetExhausted   Trigger = "budget_exhausted"
	ToolBlocked       Trigger = "tool_blocked"
	PoisonLoop        Trigger = "poison_loop"
	ExternalInput     Trigger = "external_input" // a secret, a physical act, a fact that only people have
	External          Trigger = "external"       // an agent that runs elsewhere asks
)

// Triggers lists all triggers.
func Triggers() []Trigger {
	return []Trigger{SensitiveAction, AmbiguousDecision, RepeatedFailure, BudgetExhausted, ToolBlocked, PoisonLoop, ExternalInput, External}
}

// dueAfter is how soon a question of each priority is due.
var dueAfter = map[definition.Priority]time.Duration{
	definition.PriorityHigh:   time.Hour,
	definition.PriorityNormal: 8 * time.Hour,
	definition.PriorityLow:    24 * time.Hour,
}

// Escalation is a question as it now stands.
type Escalation struct {
	ID       id.Escalation
	Number   int64 // for people: ESC-1042
	Version  int   // counts transitions, from 1
	Status   Status
	Kind     Kind
	Trigger  Trigger
	Team     id.Team
	TeamSlug string
	Agent    string     // slug
	Session  id.Session // zero: an agent that runs elsewhere asks
	Call     int        // of the session, that the answer is the result of; 0: none
	Group    string     // shared by questions that were raised together
	Question Question
	Case     Case
	Priority definition.Priority
	OnExpiry string // fail, continue, reject, option:<id>
	Hold     time.Duration

	CreatedAt  time.Time
	DueAt      time.Time
	ExpiresAt  time.Time
	SeenAt     *time.Time
	AnsweredAt *time.Time
	HeldUntil  *time.Time // until then the answer can be taken back
	ClosedAt   *time.Time
	Decision   *Decision // the one in force
}

// DisplayNumber is what people call it.
func (e Escalation) DisplayNumber() string { return fmt.Sprintf("ESC-%d", e.Number) }

// Object is what auth.Can is asked about.
func (e Escalation) Object() auth.Object {
	return auth.Object{Kind: "escalation", ID: e.ID.String(), Team: e.Team, Agent: e.Agent}
}

// proof is the strip that shows a question's way to its answer.
type proof struct {
	Asked     time.Time  `json:"asked"`
	Delivered *time.Time `json:"delivered"`
	Seen      *time.Time `json:"seen"`
	Taken     *time.Time `json:"taken"`
	Answered  *time.Time `json:"answered"`
	Applied   *time.Time `json:"applied"`
}

// wire is the shape of the API. Fields of what isn't there yet are null or
// empty, so that a client needs no second look when it comes.
type wire struct {
	ID       id.Escalation `json:"id"`
	Number   int64         `json:"number"`
	Version  int           `json:"version"`
	Status   Status        `json:"status"`
	Kind     Kind          `json:"kind"`
	Trigger  *Trigger      `json:"trigger"`
	TeamSlug string        `json:"team"`
	Question
	Priority     definition.Priority `json:"priority"`
	DueAt        time.Time           `json:"due_at"`
	ExpiresAt    time.Time           `json:"expires_at"`
	OnExpiry     string              `json:"on_expiry"`
	Assignee     *string             `json:"assignee"`
	ClaimedAt    *time.Time          `json:"claimed_at"`
	SnoozedUntil *time.Time          `json:"snoozed_until"`
	Session      *id.Session         `json:"session_id"`
	Call         *id.Call            `json:"call_id"`
	Source       map[string]string   `json:"source"`
	DedupeKey    *string             `json:"dedupe_key"`
	Group        *string             `json:"group_id"`
	Askers       []string            `json:"askers"`
	HeldUntil    *time.Time          `json:"held_until"`
	Votes        []string            `json:"votes"`
	Quorum       int                 `json:"quorum"`
	Proof        proof               `json:"proof"`
	Decision     *Decision           `json:"decision"`
	CreatedAt    time.Time           `json:"created_at"`
}

// MarshalJSON writes the escalation as the API has it.
func (e Escalation) MarshalJSON() ([]byte, error) {
	w := wire{
		ID: e.ID, Number: e.Number, Version: e.Version, Status: e.Status, Kind: e.Kind, TeamSlug: e.TeamSlug,
		Question: e.Question.filled(), Priority: e.Priority, DueAt: e.DueAt, ExpiresAt: e.ExpiresAt, OnExpiry: e.OnExpiry,
		Source: map[string]string{"agent": e.Agent}, Askers: []string{}, HeldUntil: e.HeldUntil, Votes: []string{}, Quorum: 1,
		Proof:    proof{Asked: e.CreatedAt, Seen: e.SeenAt, Answered: e.AnsweredAt},
		Decision: e.Decision, CreatedAt: e.CreatedAt,
	}
	if e.Trigger != "" {
		w.Trigger = &e.Trigger
	}
	if !e.Session.IsZero() {
		w.Session = &e.Session
		if e.Call > 0 {
			w.Call = &id.Call{Session: e.Session, N: e.Call}
		}
	}
	if e.Group != "" {
		w.Group = &e.Group
	}
	if e.Status == Applied {
		w.Proof.Applied = e.ClosedAt
	}
	return json.Marshal(w)
}

// Decides says whether the actor is somebody who can decide: a person, in a
// browser or by their own key. What they may decide is for auth.Can to say.
func Decides(actor auth.Actor) bool {
	return (actor.Kind == auth.KindPerson || actor.Kind == auth.KindKey) && !actor.Person.IsZero()
}
