package escalation

import (
	"encoding/json"
	"slices"
	"strings"

	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/tools"
)

// Question is the whole content of an escalation, as it was asked. It is never
// changed. Texts are clean (package clean) and, but for what is said below, the
// agent's own words; they are shown as such.
type Question struct {
	Title       string       `json:"title"`
	Question    string       `json:"question"`
	Context     Context      `json:"context"`
	Facts       []Fact       `json:"facts"`
	Tables      []Table      `json:"tables"`
	Links       []Link       `json:"links"`
	Attachments []Link       `json:"attachments"`
	Options     []Option     `json:"options"` // at most MaxOptions
	Recommended *Recommended `json:"recommended"`
	// ActionRequest is the call that the question is about: an approval's, one of
	// which nobody knows whether it happened, or one that was tried over and over.
	ActionRequest *Action         `json:"action_request"`
	ReasonCode    string          `json:"reason_code"`
	Parameters    json.RawMessage `json:"parameters"` // an object: the case's typed values
	Allowed       []DecisionType  `json:"allowed_decisions"`
	// ResponseSchema is what the values of an answer must fit, for a form.
	ResponseSchema json.RawMessage `json:"response_schema"`
	AllowOther     bool            `json:"allow_other"`
	// Sentences are those texts that the server wrote, by the field's path
	// ("question", "options.retry.label"): each reader sees them in their own
	// language. The field itself has the English text.
	Sentences map[string]i18n.Message `json:"sentences,omitempty"`
}

// Context is what a person must know before deciding.
type Context struct {
	Task    string `json:"task"`
	Done    []Line `json:"done"` // from the log
	Problem string `json:"problem"`
	Tried   []Line `json:"tried"` // from the log
}

// Line is one thing that was done or tried, as the log has it.
type Line struct {
	Text string  `json:"text"`    // English
	Call id.Call `json:"call_id"` // of the latest such call
	// What Text is made of, so that it can be said in another language.
	Words     map[string]string `json:"words,omitempty"` // what the call does, by language
	Tool      string            `json:"tool,omitempty"`
	Times     int               `json:"times,omitempty"`    // calls that ended so
	Attempts  int               `json:"attempts,omitempty"` // of all of them
	ErrorType tools.ErrorType   `json:"error_type,omitempty"`
	Error     string            `json:"error,omitempty"`
	// Of a batch that was done in part: how many items were, and were not.
	Done   int `json:"done,omitempty"`
	Undone int `json:"undone,omitempty"`
}

// Fact is a value that the decision rests on.
type Fact struct {
	Label string   `json:"label"`
	Value string   `json:"value"`
	Call  *id.Call `json:"call_id"` // where it comes from
	// Confirmed says that the value stands in what that call brought.
	Confirmed bool `json:"confirmed"`
}

// Table is a comparison shown with the question.
type Table struct {
	Title   string     `json:"title"`
	Columns []string   `json:"columns"`
	Rows    [][]string `json:"rows"`
}

// Link is something to look at.
type Link struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Option is one way to go on.
type Option struct {
	ID          string `json:"id"`  // the semantic key; what is stored
	Key         string `json:"key"` // A, B, ...: only how it is shown
	Label       string `json:"label"`
	Consequence string `json:"consequence"` // the agent's own words
	// Reversible is known only from the bound action's tool; nil: not known.
	Reversible  *bool   `json:"reversible"`
	Action      *Action `json:"action"`
	Recommended bool    `json:"recommended"`
}

// Action is exactly one call, which a decision approves. All of it but the
// arguments is the server's word.
type Action struct {
	Tool string `json:"tool"`
	// Args are the arguments for showing: secrets are masked, so is what the
	// agent's data policy names, and what can't be seen is written out. The digest
	// is of the exact ones.
	Args   json.RawMessage `json:"args"`
	Digest string          `json:"digest"`
	// Clear are the arguments without the placeholders of data, for whoever may
	// decide. They are never stored.
	Clear json.RawMessage `json:"args_in_clear,omitempty"`

	Effect tools.Effect `json:"effect"`
	// By language: the tool's name for people, what this call does, and whether
	// and how it can be taken back.
	Titles    map[string]string `json:"titles,omitempty"`
	Sentences map[string]string `json:"sentences,omitempty"`
	Reversals map[string]string `json:"reversals,omitempty"`
	// Schema is that of the arguments, in an approval: for the form to edit them,
	// and what edited ones must fit.
	Schema   json.RawMessage `json:"args_schema,omitempty"`
	ToolHash string          `json:"tool_hash,omitempty"`
}

// Recommended is the agent's recommendation.
type Recommended struct {
	OptionID string `json:"option_id"`
	Reason   string `json:"reason"`
}

// DecisionType says how a question was answered.
type DecisionType string

// The types.
const (
	Choose      DecisionType = "choose"
	Approve     DecisionType = "approve"
	Edit        DecisionType = "edit" // approve with other arguments
	Reject      DecisionType = "reject"
	Respond     DecisionType = "respond" // in words, or with values
	Acknowledge DecisionType = "acknowledge"
)

// Find is the option that is named, by its id or, if no id is so, by its letter.
func (q Question) Find(name string) (Option, bool) {
	i := slices.IndexFunc(q.Options, func(o Option) bool { return o.ID == name })
	if i < 0 {
		i = slices.IndexFunc(q.Options, func(o Option) bool { return strings.EqualFold(o.Key, name) })
	}
	if i < 0 {
		return Option{}, false
	}
	return q.Options[i], true
}

// Allows says whether the question may be answered so.
func (q Question) Allows(t DecisionType) bool { return slices.Contains(q.Allowed, t) }

// filled is q with empty lists instead of none.
func (q Question) filled() Question {
	q.Context.Done, q.Context.Tried = fill(q.Context.Done), fill(q.Context.Tried)
	q.Facts, q.Tables, q.Links, q.Attachments = fill(q.Facts), fill(q.Tables), fill(q.Links), fill(q.Attachments)
	q.Options, q.Allowed = fill(q.Options), fill(q.Allowed)
	if len(q.Parameters) == 0 {
		q.Parameters = json.RawMessage("{}")
	}
	if string(q.ResponseSchema) == "null" {
		q.ResponseSchema = nil
	}
	return q
}

func fill[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
