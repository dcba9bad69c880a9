package tools

import (
	"encoding/json"

	"baton/internal/id"
)

// Call is what a model asked for: one use of one tool. It is stored as it is.
type Call struct {
	// N is the call's number in its session, from 1. It never changes and is
	// never given twice, so that (session, N) names the call everywhere.
	N int `json:"n"`
	// ProviderID is the model provider's name for the call, if it gave one.
	ProviderID string `json:"provider_id,omitempty"`
	Tool       string `json:"tool"`
	// Args are the arguments, valid JSON, as the model wrote them. Nil if they
	// were not JSON; then Raw has the text.
	Args json.RawMessage `json:"args,omitempty"`
	Raw  string          `json:"raw,omitempty"`
	// Cut says that the model's output limit ended the arguments early.
	Cut bool `json:"cut,omitempty"`
	// Reason is the model's stated reason: the text it wrote with the call.
	Reason string `json:"reason,omitempty"`
}

// text is the arguments as the model wrote them.
func (c Call) text() []byte {
	if c.Raw != "" {
		return []byte(c.Raw)
	}
	return c.Args
}

// ID is the call's name on the outside.
func (c Call) ID(s id.Session) id.Call { return id.Call{Session: s, N: c.N} }
