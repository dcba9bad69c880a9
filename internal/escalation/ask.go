package escalation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"baton/internal/definition"
	"baton/internal/i18n"
	"baton/internal/redact"
	"baton/internal/tools"
)

// Limits of a question. Texts are in characters.
const (
	MaxOptions     = 6
	maxTitle       = 160
	maxQuestion    = 2000
	maxProblem     = 4000
	maxReason      = 1000
	maxLabel       = 120
	maxConsequence = 500
	maxFacts       = 12
	maxValue       = 300
	maxFields      = 12 // of a form
)

// Ask is what a model says that it wants to know: the arguments of ask_human.
type Ask struct {
	Question       string              `json:"question"`
	Options        []AskOption         `json:"options"`
	Title          string              `json:"title"`
	Problem        string              `json:"problem"`
	Recommended    string              `json:"recommended"` // an option's id or letter
	Reason         string              `json:"reason"`      // for the recommendation
	ReasonCode     string              `json:"reason_code"`
	Parameters     json.RawMessage     `json:"parameters"`
	Facts          []AskFact           `json:"facts"`
	Kind           Kind                `json:"kind"` // options, input or failed
	AllowOther     bool                `json:"allow_other"`
	Trigger        Trigger             `json:"trigger"`
	Priority       definition.Priority `json:"priority"`
	ResponseSchema json.RawMessage     `json:"response_schema"` // of an input

	// Sentences are those of the texts above that the harness wrote, by the
	// field's path; a model can't set them.
	Sentences map[string]i18n.Message `json:"-"`
}

// AskOption is an option as a model gives it.
type AskOption struct {
	Label       string     `json:"label"`
	Consequence string     `json:"consequence"`
	ID          string     `json:"id"`
	Action      *AskAction `json:"action"`
	Recommended bool       `json:"recommended"`
}

// UnmarshalJSON also takes a bare label.
func (o *AskOption) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &o.Label)
	}
	type plain AskOption
	return json.Unmarshal(b, (*plain)(o))
}

// AskAction is the call that choosing an option would approve.
type AskAction struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// AskFact is a value that the decision rests on, as a model gives it.
type AskFact struct {
	Label string          `json:"label"`
	Value json.RawMessage `json:"value"` // text, number or true/false
	Call  string          `json:"call_id"`
}

// Fault is something wrong with a question.
type Fault struct {
	tools.FieldError
	// Vague faults are of a question that could be asked, but not well: after
	// two tries it is asked as it is, completed from the log.
	Vague bool
}

// Refusal tells a model what is wrong with its question.
func Refusal(faults []Fault) *tools.Failure {
	f := tools.Fail(tools.InvalidArguments, "The question was not asked. "+named(faults),
		"Mend every field listed in errors and ask again.",
		"Ask so that somebody who has not followed can choose within half a minute.")
	for _, fault := range faults {
		f.Errors = append(f.Errors, fault.FieldError)
	}
	f.Example = json.RawMessage(AskExample)
	return f
}

// faultsNamed is how many faults are named in one sentence; all stand in the
// list of errors.
const faultsNamed = 4

// named says in one line what is wrong.
func named(faults []Fault) string {
	var parts []string
	for _, f := range faults[:min(len(faults), faultsNamed)] {
		at := f.Path
		if at == "" {
			at = "the question"
		}
		parts = append(parts, fmt.Sprintf("%s: want %s, got %s", at, f.Expected, f.Got))
	}
	if more := len(faults) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	head := "It has a fault: "
	if len(faults) != 1 {
		head = fmt.Sprintf("It has %d faults: ", len(faults))
	}
	return head + strings.Join(parts, "; ") + "."
}

// Vague says whether all of the faults are of vagueness.
func Vague(faults []Fault) bool {
	return !slices.ContainsFunc(faults, func(f Fault) bool { return !f.Vague })
}

// ParseAsk reads the arguments of ask_human, cleans and redacts their texts,
// names the options, and lists what is wrong. args are the exact ones: bound
// actions keep theirs, since what is approved is what runs. The Ask is whole if
// all faults are vague.
func ParseAsk(args json.RawMessage, r *redact.Redactor) (Ask, []Fault) {
	var a Ask
	if err := readAsk(args, r, &a); err != nil {
		return a, []Fault{{FieldError: tools.FieldError{Path: "", Expected: "arguments that fit the schema", Got: err.Error()}}}
	}
	c := checker{ask: &a}
	c.texts()
	if a.Kind == KindFailed && len(a.Options) == 0 {
		a.offerWaysOut()
	}
	c.options()
	c.recommendation()
	c.rest()
	return a, c.faults
}

// readAsk takes the texts from the redacted arguments, and from the exact ones
// what must stay so.
func readAsk(args json.RawMessage, r *redact.Redactor, a *Ask) error {
	if err := json.Unmarshal(args, a); err != nil || r == nil {
		return err
	}
	exact := *a
	*a = Ask{}
	if err := json.Unmarshal(r.JSON(args), a); err != nil || len(a.Options) != len(exact.Options) {
		return errors.New("a secret stands where only other values can")
	}
	for i := range a.Options {
		a.Options[i].Action = exact.Options[i].Action
	}
	a.ResponseSchema = redactTexts(exact.ResponseSchema, r)
	return nil
}

// redactTexts redacts the texts of a document by what they say alone: in a
// schema, a field called password is no secret.
func redactTexts(doc json.RawMessage, r *redact.Redactor) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	b, err := json.Marshal(eachText(v, r.String))
	if err != nil {
		return nil
	}
	return b
}

func eachText(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = eachText(v[i], change)
		}
	case map[string]any:
		for k := range v {
			v[k] = eachText(v[k], change)
		}
	}
	return v
}
