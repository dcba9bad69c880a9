package sessions

import (
	"encoding/json"
	"fmt"
	"time"

	"baton/internal/auth"
	"baton/internal/id"
)

// Status is where a session is in its life.
type Status string

// The statuses. The last three are final.
const (
	Queued    Status = "queued"    // may be claimed by a worker
	Running   Status = "running"   // a worker has it
	Waiting   Status = "waiting"   // for a person
	Paused    Status = "paused"    // by a person
	Completed Status = "completed" // through finish; see Outcome
	Failed    Status = "failed"
	Cancelled Status = "cancelled" // by a person
)

// Statuses lists all statuses in the order of a session's life.
func Statuses() []Status {
	return []Status{Queued, Running, Waiting, Paused, Completed, Failed, Cancelled}
}

// Ended says whether the status is final.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Outcome is how well an ended session did.
type Outcome string

// The outcomes.
const (
	Done       Outcome = "done"
	Partly     Outcome = "partly"
	Unable     Outcome = "unable"
	Unverified Outcome = "unverified" // the harness's word alone: its claims don't check
)

// Session is a session as it now stands.
type Session struct {
	ID              id.Session      `json:"id"`
	Status          Status          `json:"status"`
	Outcome         Outcome         `json:"outcome,omitempty"`
	Task            string          `json:"task"`
	Inputs          json.RawMessage `json:"inputs"`
	Agent           AgentRef        `json:"agent"`
	Team            id.Team         `json:"-"`
	TeamSlug        string          `json:"team"`
	Model           string          `json:"model"`
	Turn            int             `json:"turn"`
	Steps           int             `json:"steps"`
	Calls           int             `json:"calls"`
	Tokens          int64           `json:"tokens"`
	CostMicros      int64           `json:"-"` // millionths of a US dollar
	WorkingMS       int64           `json:"working_ms"`
	OpenQuestions   int             `json:"open_questions"`
	CancelRequested bool            `json:"cancel_requested"`
	PauseRequested  bool            `json:"pause_requested"`
	RequestedBy     string          `json:"requested_by"`
	Summary         string          `json:"summary,omitempty"`
	Evidence        json.RawMessage `json:"evidence"`
	Unresolved      json.RawMessage `json:"unresolved"`
	Failure         json.RawMessage `json:"failure,omitempty"` // key and parameters of a sentence
	CreatedAt       time.Time       `json:"created_at"`
	StartedAt       *time.Time      `json:"started_at"`
	EndedAt         *time.Time      `json:"ended_at"`

	LastSeq int64 `json:"-"`
}

// AgentRef names the version of an agent that a session runs.
type AgentRef struct {
	ID      id.Agent `json:"-"`
	Slug    string   `json:"slug"`
	Version int      `json:"version"`
}

// MarshalJSON writes the session as the API has it: the cost as an exact
// decimal number of dollars, and an empty list where there is none.
func (s Session) MarshalJSON() ([]byte, error) {
	type plain Session
	for _, list := range []*json.RawMessage{&s.Evidence, &s.Unresolved} {
		if len(*list) == 0 || string(*list) == "null" {
			*list = json.RawMessage("[]")
		}
	}
	return json.Marshal(struct {
		plain
		CostUSD json.Number `json:"cost_usd"`
	}{plain(s), json.Number(fmt.Sprintf("%d.%06d", s.CostMicros/1e6, s.CostMicros%1e6))})
}

// object is what auth.Can is asked about.
func (s Session) object() auth.Object {
	return auth.Object{Kind: "session", ID: s.ID.String(), Team: s.Team, Agent: s.Agent.Slug}
}
