package definition

import (
	"strings"
	"time"

	"baton/internal/permission"
)

// Agent is an agent's definition with every default filled in. Its JSON form is
// what a version keeps.
type Agent struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
	Team string `json:"team"` // slug
	// Model is provider/model: scripted/duplicate-charge. See Providers.
	Model string `json:"model"`
	// Playbook is the path as written; the text is in the version.
	Playbook     string   `json:"playbook,omitempty"`
	Instructions string   `json:"instructions,omitempty"`
	Tools        []string `json:"tools"`
	DataSource   string   `json:"data_source,omitempty"` // what query_db reads
	// Hosts are what http_request reaches, and web_fetch; to the latter AnyHost
	// gives all public ones.
	Hosts      []string          `json:"hosts,omitempty"`
	Secrets    []string          `json:"secrets,omitempty"`
	MCPServers []string          `json:"mcp_servers,omitempty"`
	Permission permission.Policy `json:"permission"`
	Budgets    Budgets           `json:"budgets"`
	Escalation Escalation        `json:"escalation"`
	Data       DataPolicy        `json:"data"`
	Language   string            `json:"language"`
	Retention  Retention         `json:"retention"`
}

// AnyHost among an agent's hosts stands for all at public addresses.
const AnyHost = "*"

// Scripted says whether the agent's model is its playbook.
func (a Agent) Scripted() bool { return Scripted(a.Model) }

// Scripted says whether a model is a playbook.
func Scripted(model string) bool { return strings.HasPrefix(model, scriptedProvider+"/") }

// Budgets bound an agent's work. 0 means no limit for Tokens and CostMicros,
// and the tool's own limit for Timeout and Deadline; the others are above 0.
type Budgets struct {
	StepsPerTurn int64 `json:"steps_per_turn"`
	CallsPerTurn int64 `json:"calls_per_turn"`
	Calls        int64 `json:"calls"` // of the whole session
	// SameToolInARow is how many calls of one tool in a row may bring nothing
	// new before a question is asked; a reminder comes at half of it.
	SameToolInARow int64    `json:"same_tool_in_a_row"`
	Tokens         int64    `json:"tokens"`
	CostMicros     int64    `json:"cost_micros"`  // millionths of a US dollar
	WorkingTime    Duration `json:"working_time"` // waiting for people not counted
	// Window is how many tokens the model can read at once.
	Window int64 `json:"window,omitempty"`
	// Timeout (of an attempt) and Deadline (of a call) may only shorten what a
	// tool allows itself.
	Timeout  Duration `json:"timeout,omitempty"`
	Deadline Duration `json:"deadline,omitempty"`
}

// Escalation is how an agent's questions are handled.
type Escalation struct {
	Priority Priority `json:"priority"`
	// OnExpiry is fail, continue, reject or option:<id>.
	OnExpiry       string   `json:"on_expiry"`
	ExpiresAfter   Duration `json:"expires_after"`
	Hold           Duration `json:"hold"` // how long an answer can be taken back
	Quorum         int64    `json:"quorum"`
	NoSelfApproval bool     `json:"no_self_approval"`
	ReasonCodes    []string `json:"reason_codes,omitempty"`
}

// Priority says how soon a question is due.
type Priority string

// The priorities.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
)

// DataPolicy says what a model may see of personal and business data.
type DataPolicy struct {
	Default DataRule `json:"default"`
	// Fields are exceptions by JSON pointer.
	Fields map[string]DataRule `json:"fields,omitempty"`
}

// DataRule is what happens to one field before a model sees it.
type DataRule string

// The rules.
const (
	DataPass  DataRule = "pass"  // shown as it is
	DataToken DataRule = "token" // a placeholder that is put back at dispatch
	DataDrop  DataRule = "drop"  // left out
)

// Retention is how long things are kept; 0 leaves it to the installation.
type Retention struct {
	Outputs  Duration `json:"outputs,omitempty"`
	Events   Duration `json:"events,omitempty"`
	Sessions Duration `json:"sessions,omitempty"`
}

// DefaultWindow is how many tokens a model can read at once of which nothing is
// said.
const DefaultWindow = 128_000

// Bounds of what a definition may ask for.
const (
	maxHold    = 30 * time.Minute
	maxTimeout = time.Hour
	maxSpan    = 10 * 365 * Day
)

// defaults is an agent that says nothing but its name.
func defaults() Agent {
	return Agent{
		Team:       "main",
		Tools:      []string{},
		Permission: permission.Policy{Mode: permission.AskFirst},
		Budgets: Budgets{
			StepsPerTurn: 40, CallsPerTurn: 50, Calls: 200, SameToolInARow: 20,
			WorkingTime: Duration(20 * time.Minute), Window: DefaultWindow,
		},
		Escalation: Escalation{
			Priority: PriorityNormal, OnExpiry: "fail",
			ExpiresAfter: Duration(72 * time.Hour), Hold: Duration(10 * time.Second), Quorum: 1,
		},
		Data:     DataPolicy{Default: DataPass},
		Language: "en",
	}
}
