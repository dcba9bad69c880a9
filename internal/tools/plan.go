package tools

// Verdict is what Prepare found about a call.
type Verdict string

// The verdicts.
const (
	Ended    Verdict = "ended"             // refused: Plan.Result says why
	Awaiting Verdict = "awaiting_approval" // a person must approve it first
	Held     Verdict = "requested"         // allowed, but a hold keeps it back
	Ready    Verdict = "ready"             // may run
)

// Plan is what the harness decided about a call before anything runs. It is
// stored with the model's reply, and enough to run the call, to ask about it,
// or to settle it after a crash. If redaction changed the call's arguments on
// the way to the store, the caller puts the sealed ones back into Call.Args
// before it prepares or executes it again.
type Plan struct {
	Call    Call    `json:"call"`
	Verdict Verdict `json:"verdict"`
	// Result is set exactly when Verdict is Ended.
	Result *Result `json:"result,omitempty"`

	Effect   Effect `json:"effect,omitempty"`
	Service  string `json:"service,omitempty"`
	Lane     string `json:"lane,omitempty"`      // concurrency key; calls in one lane run one after the other
	ToolHash string `json:"tool_hash,omitempty"` // of the spec it was planned with
	Polling  bool   `json:"polling,omitempty"`   // its tool may be asked the same again and again
	Degraded bool   `json:"degraded,omitempty"`  // its service is down: the tool's fallback answers at once

	// Exact and Loose are keyed fingerprints. Exact tells apart all that could
	// mean another thing; Loose folds case, space and punctuation.
	Exact string `json:"exact,omitempty"`
	Loose string `json:"loose,omitempty"`

	// Digest names exactly what a person approves: tool, its hash, arguments and
	// policy version. Set whenever the arguments are valid.
	Digest string `json:"digest,omitempty"`
	// Approval is the decision that this call uses up, if it needed one.
	Approval string `json:"approval,omitempty"`
	// Policy says why it may run, must be asked, or may not.
	Policy        string `json:"policy,omitempty"`
	PolicyVersion string `json:"policy_version,omitempty"`
	Mode          string `json:"mode,omitempty"` // permission mode in force
}

// Status is the call status that the plan stands for, before it runs.
func (p Plan) Status() Status {
	switch p.Verdict {
	case Awaiting:
		return StatusAwaitingApproval
	case Ended:
		if p.Result != nil {
			return p.Result.CallStatus()
		}
		return StatusFailed
	}
	return StatusRequested
}
