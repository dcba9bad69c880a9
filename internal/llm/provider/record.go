package provider

import (
	"bytes"
	"encoding/json"
	"strings"

	"baton/internal/llm"
)

// record is one message of the server's, as one JSON object on the wire: what
// somebody wrote stands inside a JSON text and can't be taken for another
// record, or for the end of its own. The contract teaches models to read them.
type record struct {
	Record    string          `json:"record"` // task, message, decision, notice
	From      string          `json:"from,omitempty"`
	Question  string          `json:"question,omitempty"`
	Type      string          `json:"type,omitempty"`
	Option    string          `json:"option,omitempty"`
	OptionID  string          `json:"option_id,omitempty"`
	Label     string          `json:"label,omitempty"`
	Message   string          `json:"message,omitempty"`
	Values    json.RawMessage `json:"values,omitempty"`
	DecidedBy string          `json:"decided_by,omitempty"`
	Text      string          `json:"text,omitempty"`
	Inputs    json.RawMessage `json:"inputs,omitempty"`
}

// recordOf is the record of a message that is no reply and no result.
func recordOf(m llm.Message) string {
	r := record{Text: m.Text}
	switch m.Role {
	case llm.RoleTask:
		r.Record, r.Inputs = "task", m.Inputs
	case llm.RolePerson:
		r.Record, r.From = "message", m.From
	case llm.RoleNotice:
		r.Record = "notice"
	case llm.RoleDecision:
		d := m.Decision
		r = record{Record: "decision", Question: d.Question, Type: d.Type, Option: d.Option, OptionID: d.OptionID,
			Label: d.Label, Message: d.Message, Values: d.Values, DecidedBy: d.DecidedBy}
	}
	return text(r)
}

// resultOf is a result as a model reads it: the object of the contract, with the
// name by which the call is cited.
func resultOf(r *llm.Result) string {
	whole := r.Result.ForModel()
	id := text(r.CallID)
	return `{"call_id":` + id + `,` + strings.TrimPrefix(whole, "{")
}

// text is v as JSON on one line, without the escapes that only cost tokens.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // cannot be: what is raw was checked on its way in
		return `{"record":"notice","text":"A message could not be written as JSON."}`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
