package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Outcomes of a result.
const (
	Success = "success"
	Partial = "partial"
	Error   = "error"
)

// Result is what came of one call, as it is stored, shown and fed to the model.
// It holds either an output or a failure, never both and never neither: it can
// only be made by Succeed and Refuse (and read back from JSON, which checks the
// same). The zero Result is not a result; its Status is empty and it does not
// marshal.
type Result struct{ w wire }

// wire is the one JSON shape of results.
type wire struct {
	Status       string          `json:"status"`
	ErrorType    ErrorType       `json:"error_type,omitempty"`
	Class        Class           `json:"class,omitempty"`
	Origin       Origin          `json:"origin,omitempty"`
	Message      string          `json:"message,omitempty"`
	Causes       []string        `json:"causes,omitempty"`
	Retryable    Retryable       `json:"retryable,omitempty"`
	Hint         []string        `json:"hint,omitempty"`
	Context      json.RawMessage `json:"context,omitempty"`
	Errors       []FieldError    `json:"errors,omitempty"`
	Example      json.RawMessage `json:"example,omitempty"`
	Alternatives []string        `json:"alternatives,omitempty"`
	Data         json.RawMessage `json:"data,omitempty"`
	State        string          `json:"state,omitempty"`
	Completed    []Item          `json:"completed,omitempty"`
	Failed       []Item          `json:"failed,omitempty"`
	Skipped      []Item          `json:"skipped,omitempty"`
	Notices      []string        `json:"notices"`
	Meta         Meta            `json:"meta"`
}

// Succeed makes the result of a call whose tool returned out: success, or
// partial if items failed or were skipped. Text becomes a JSON string; an empty
// output's data is null. It fails only if Data is not JSON.
func Succeed(out Output, meta Meta) (Result, error) {
	if out.Data != nil {
		var b bytes.Buffer
		b.Grow(len(out.Data))
		if json.Compact(&b, out.Data) != nil {
			return Result{}, errors.New("make result: data is not JSON")
		}
		out.Data = b.Bytes()
	}
	return succeed(out, meta), nil
}

// succeed is Succeed for data that is JSON without space, as presenters give it.
func succeed(out Output, meta Meta) Result {
	data := out.Data
	if data == nil {
		data = jsonString(out.Text)
	}
	if meta.Degraded == nil {
		meta.Degraded = out.Degraded
	}
	if meta.Truncated == nil {
		meta.Truncated = out.Truncated
	}
	if meta.ContentType == "" {
		meta.ContentType = out.ContentType
	}
	if meta.ContentType == "" {
		meta.ContentType = plainType(data)
	}
	w := wire{
		Status: Success, Data: data, State: out.State,
		Completed: out.Completed, Failed: out.Failed, Skipped: out.Skipped,
		Notices: append([]string{}, out.Notices...), Meta: meta,
	}
	if len(out.Failed)+len(out.Skipped) > 0 {
		w.Status = Partial
	}
	return Result{w}
}

// Refuse makes the result of a call that failed or was never run. Missing parts
// of the failure are filled with what its type implies.
func Refuse(f *Failure, meta Meta) Result {
	full := f.full()
	return Result{wire{
		Status: Error, ErrorType: full.Type, Class: full.Type.Class(), Origin: full.Origin,
		Message: full.Message, Causes: append([]string{}, full.Causes...), Retryable: full.Retryable,
		Hint: append([]string{}, full.Hint...), Context: jsonObject(full.Context), Errors: full.Errors,
		Example: jsonAny(full.Example), Alternatives: full.Alternatives,
		Notices: []string{}, Meta: meta,
	}}
}

// WithItems adds to a failure what became of a batch's items before it. On a
// result that is no error it changes nothing.
func (r Result) WithItems(completed, failed, skipped []Item) Result {
	if r.w.Status == Error {
		r.w.Completed, r.w.Failed, r.w.Skipped = completed, failed, skipped
	}
	return r
}

// WithNotices is r with further notices.
func (r Result) WithNotices(notices ...string) Result {
	r.w.Notices = append(append([]string{}, r.w.Notices...), notices...)
	return r
}

// Status is success, partial or error; empty for the zero Result.
func (r Result) Status() string { return r.w.Status }

// IsZero says whether r is no result at all.
func (r Result) IsZero() bool { return r.w.Status == "" }

// OK says whether r carries an output (success or partial).
func (r Result) OK() bool { return r.w.Status == Success || r.w.Status == Partial }

// ErrorType is empty unless the status is error.
func (r Result) ErrorType() ErrorType { return r.w.ErrorType }

// Class is empty unless the status is error.
func (r Result) Class() Class { return r.w.Class }

// Origin is empty unless the status is error.
func (r Result) Origin() Origin { return r.w.Origin }

// Retryable is empty unless the status is error.
func (r Result) Retryable() Retryable { return r.w.Retryable }

// Message is empty unless the status is error.
func (r Result) Message() string { return r.w.Message }

// Causes are 1 to 3 for an error, else none.
func (r Result) Causes() []string { return r.w.Causes }

// Hint are 1 to 3 for an error, else none.
func (r Result) Hint() []string { return r.w.Hint }

// Context is a JSON object, or nil.
func (r Result) Context() json.RawMessage { return r.w.Context }

// Errors are the wrong arguments.
func (r Result) Errors() []FieldError { return r.w.Errors }

// Alternatives are tools that may do instead.
func (r Result) Alternatives() []string { return r.w.Alternatives }

// Data is the output, nil for an error.
func (r Result) Data() json.RawMessage { return r.w.Data }

// Completed are the items of a batch that were done.
func (r Result) Completed() []Item { return r.w.Completed }

// Failed are the items of a batch that were not.
func (r Result) Failed() []Item { return r.w.Failed }

// Skipped are the items of a batch that were not tried.
func (r Result) Skipped() []Item { return r.w.Skipped }

// Notices are what the harness wants the model to know besides.
func (r Result) Notices() []string { return r.w.Notices }

// Meta is what the harness says about the result.
func (r Result) Meta() Meta { return r.w.Meta }

// CallStatus is the ended status of a call with this result.
func (r Result) CallStatus() Status {
	switch {
	case r.w.Status == Success:
		return StatusSucceeded
	case r.w.Status == Partial:
		return StatusPartial
	case r.w.ErrorType == PermissionDenied:
		return StatusDenied
	case r.w.ErrorType == Cancelled:
		return StatusCancelled
	case r.w.ErrorType == OutcomeUnknown:
		return StatusOutcomeUnknown
	}
	return StatusFailed
}

// ForModel is the text that the model is fed: one JSON object, in which all
// that a tool said stands inside JSON values, so that no output can forge its
// own end. Class and origin are left out: they tell the model nothing.
func (r Result) ForModel() string {
	w := r.w
	w.Class, w.Origin = "", ""
	b, err := marshal(w)
	if err != nil { // cannot be: every part was checked on the way in
		return `{"status":"error","error_type":"internal","message":"The result could not be written as JSON."}`
	}
	return string(b)
}

// MarshalJSON writes the shape of the API. The zero Result is an error.
func (r Result) MarshalJSON() ([]byte, error) {
	if err := r.w.check(); err != nil {
		return nil, fmt.Errorf("marshal result: %w", err)
	}
	return marshal(r.w)
}

// UnmarshalJSON reads what MarshalJSON writes, and what Recorded writes, and
// checks it.
func (r *Result) UnmarshalJSON(b []byte) error {
	var read struct {
		wire
		Meta recordedMeta `json:"meta"`
	}
	if err := json.Unmarshal(b, &read); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	w := read.wire
	w.Meta = read.Meta.whole(w)
	if w.Notices == nil {
		w.Notices = []string{}
	}
	if err := w.check(); err != nil {
		return fmt.Errorf("read result: %w", err)
	}
	r.w = w
	return nil
}

// check holds the rule: output or failure, one of them.
func (w wire) check() error {
	switch w.Status {
	case Success, Partial:
		if w.ErrorType != "" || w.Message != "" || len(w.Causes) > 0 {
			return fmt.Errorf("%s carries a failure", w.Status)
		}
		if w.Data == nil {
			return fmt.Errorf("%s carries no data", w.Status)
		}
		if (w.Status == Partial) != (len(w.Failed)+len(w.Skipped) > 0) {
			return fmt.Errorf("%s does not fit its items", w.Status)
		}
	case Error:
		switch {
		case w.Data != nil:
			return errors.New("error carries data")
		case !w.ErrorType.Valid():
			return unknownValue("error type", string(w.ErrorType))
		case w.Class != "" && w.Class != w.ErrorType.Class():
			return fmt.Errorf("class %q is not that of %s", w.Class, w.ErrorType)
		case w.Message == "":
			return errors.New("error carries no message")
		}
	default:
		return unknownValue("status", w.Status)
	}
	return nil
}

// marshal writes JSON without the HTML escapes that only cost a model tokens.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

func jsonString(s string) json.RawMessage {
	b, err := marshal(s)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return b
}

func jsonObject(m map[string]any) json.RawMessage {
	if len(m) == 0 {
		return nil
	}
	return jsonAny(m)
}

// jsonAny is v as JSON, nil for nil; a value that does not marshal is said to
// be so rather than losing the failure that it belongs to.
func jsonAny(v any) (out json.RawMessage) {
	if v == nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil { // in a MarshalJSON of a tool's
			out = jsonString("(a value that can't be written as JSON was left out)")
		}
	}()
	if raw, ok := v.(json.RawMessage); ok && len(raw) == 0 {
		return nil
	}
	b, err := marshal(v)
	if err != nil {
		return jsonString("(a value that is not JSON was left out)")
	}
	return b
}

func compact(b json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}
