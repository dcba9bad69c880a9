package llm

import (
	"encoding/json"

	"baton/internal/tools"
)

// Role says who a message is from. It is set by the server, never taken from
// text.
type Role string

// The roles, and the fields of Message that each one uses.
const (
	RoleTask      Role = "task"      // what the session is for: Text, Inputs
	RolePerson    Role = "person"    // a supervisor's message: Text, From
	RoleAssistant Role = "assistant" // an earlier reply: Text, Calls
	RoleResult    Role = "result"    // what a call led to: Result
	RoleDecision  Role = "decision"  // a person's answer, recorded by the server: Decision
	RoleNotice    Role = "notice"    // a reminder by the harness: Text
)

// Message is one entry of the conversation. Which fields it uses depends on
// its Role; the others are zero.
type Message struct {
	Role Role
	Text string
	// From is the display name of the person who wrote a RolePerson message.
	From string
	// Inputs is the task's JSON object of named values; nil if it has none.
	Inputs json.RawMessage
	// Calls are those of an assistant message. Args are valid JSON or nil; what
	// could not be parsed is not sent to a model again.
	Calls    []tools.Call
	Result   *Result
	Decision *Decision
}

// Result is the one result of one call.
type Result struct {
	// CallID is the call's id as the model cites it in evidence.
	CallID string
	// ProviderID pairs the result with its call on the wire. The agent loop
	// makes it unique, whatever the provider sent.
	ProviderID string
	Tool       string
	Args       json.RawMessage // nil if the call had no readable arguments
	Result     tools.Result
}

// Decision is a person's (or a rule's) answer to a question of this session.
// Only the server makes one.
type Decision struct {
	Type     string          // choose, approve, edit, reject, respond, acknowledge, expired
	Option   string          // the option's letter as people saw it, or empty
	OptionID string          // its semantic key, or empty
	Label    string          // its label, or empty
	Message  string          // the person's words to the agent, or empty
	Values   json.RawMessage // a JSON object filled in by the person, or nil
	Question string          // what was asked
	// DecidedBy is the display name of who decided: a person, or a rule.
	DecidedBy string
}
