package tools

import (
	"time"

	"baton/internal/permission"
	"baton/internal/redact"
)

// Facts are all that Prepare knows besides the call. The worker folds them from
// the session's events and from its copies of the installation's rows; Prepare
// reads nothing else, and changes nothing: between two calls of one reply the
// caller advances what the first one used (a call counted, an approval used).
type Facts struct {
	Tools *Registry
	// Now is the database's time; approvals expire by it.
	Now  time.Time
	Step int // the current step, from 1, over the whole session
	// Keys make fingerprints and digests; they never leave the process.
	Keys Keys

	// Tokens are the values that the model knows by placeholders; nil is none.
	Tokens *redact.Tokens

	Policy    permission.Policy
	Approvals []Approval // unused ones of this session
	// Rejected are the digests of calls that a person said no to since the task
	// or their last message, with the decision's id: they are denied unasked.
	Rejected map[string]string
	Ceilings []Ceiling
	Circuit  *Circuit // failures of equal calls; nil is none

	Rested   []Rested  // tools given a pause
	Breakers []Breaker // services that are down now
	Holds    []Hold    // what people stopped
	// Cancelled says that the session is being cancelled: nothing starts.
	Cancelled bool
}

// Keys are secrets derived from the installation's key, one per use.
type Keys struct {
	Fingerprint Key
	Approval    Key
}

// Approval is a person's (or a standing rule's) permission for exactly one call.
type Approval struct {
	ID        string    `json:"id"` // of the decision
	Digest    string    `json:"digest"`
	ExpiresAt time.Time `json:"expires_at"` // zero: not before the turn ends
}

// Ceiling is one limit and what is used of it.
type Ceiling struct {
	Name string `json:"name"` // "calls_per_turn", "steps_per_turn", "calls", "tokens", ...
	Used int64  `json:"used"`
	Max  int64  `json:"max"` // 0: no limit
	Unit string `json:"unit,omitempty"`
}

// Rested is a tool that is not to be used for some steps.
type Rested struct {
	Tool      string `json:"tool"`
	Loose     string `json:"loose,omitempty"` // only calls with this loose fingerprint; empty: the whole tool
	UntilStep int    `json:"until_step"`      // first step at which it is back; 0: when a person speaks
	Reason    string `json:"reason"`
}

// Breaker is a service that calls are kept away from.
type Breaker struct {
	Service string    `json:"service"`
	Until   time.Time `json:"until"`
	Reason  string    `json:"reason"`
}

// Hold is a person's stop. The worker copies those that apply to this agent,
// version and team; Tool is empty for one that stops everything it applies to.
type Hold struct {
	Tool   string `json:"tool,omitempty"`
	Reason string `json:"reason,omitempty"`
	// EffectsOnly lets read-only calls pass.
	EffectsOnly bool `json:"effects_only,omitempty"`
}
