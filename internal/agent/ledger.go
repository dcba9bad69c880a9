package agent

import (
	"encoding/json"
	"time"

	"baton/internal/escalation"
	"baton/internal/llm"
	"baton/internal/tools"
)

// The data of the events that the loop writes. They are the format of the
// ledger: a field may be added, but none may change its meaning.

// replied is model.replied: one response of the model, and what the harness
// decided about each call in it before anything ran.
type replied struct {
	Text  string       `json:"text,omitempty"`
	Plans []tools.Plan `json:"plans,omitempty"`
	Start []int        `json:"start,omitempty"` // numbers of the calls that start with this write
	// Stop is left out if it is what the calls, or their lack, say anyway.
	Stop  llm.StopReason `json:"stop,omitempty"`
	Usage usage          `json:"usage,omitzero"`
	Model string         `json:"model,omitempty"` // what answered, if it isn't the session's model
	MS    int64          `json:"ms,omitempty"`    // how long the model took
}

// slim leaves out of a plan what is made again before the call is run again. A
// call that starts with the write of its plan and may be repeated is planned
// anew if its worker is lost; of all others it is on record what was decided.
func slim(p tools.Plan) tools.Plan {
	if p.Verdict != tools.Ready || !p.Effect.Repeatable() {
		return p
	}
	p.ToolHash, p.Digest, p.Policy, p.PolicyVersion, p.Mode = "", "", "", "", ""
	if p.Service == p.Call.Tool {
		p.Service = ""
	}
	return p
}

type usage struct {
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
	Micros int64 `json:"cost_micros,omitempty"`
}

func usageOf(u llm.Usage) usage { return usage{u.InputTokens, u.OutputTokens, u.CostMicros} }

func (u usage) model() llm.Usage {
	return llm.Usage{InputTokens: u.Input, OutputTokens: u.Output, CostMicros: u.Micros}
}

// retried is call.retried: an attempt of a call failed, and the harness waits
// before it makes the next one. Short waits are told by the result alone.
type retried struct {
	tools.Attempt        // the one that failed
	Message       string `json:"message,omitempty"`
	// NextMS is how long after the event the next attempt is due.
	NextMS int64 `json:"next_ms"`
}

// ended is call.ended: the one result of a call.
type ended struct {
	Result tools.Recorded `json:"result"`
	// Attempts are told if there was more than one, or if the one failed: of a
	// plain success the row of the call tells all that there is.
	Attempts []tools.Attempt `json:"attempts,omitempty"`
	// Where the time went: before it ran, in the tool, between attempts, in forming
	// the output; TotalMS is all of it but the first.
	QueuedMS int64 `json:"queued_ms,omitempty"`
	RunMS    int64 `json:"run_ms,omitempty"`
	WaitMS   int64 `json:"wait_ms,omitempty"`
	FormatMS int64 `json:"format_ms,omitempty"`
	TotalMS  int64 `json:"total_ms,omitempty"`
	Stored   bool  `json:"stored,omitempty"` // more of the output can be read
}

// modelFailed is model.failed: the model gave no usable reply.
type modelFailed struct {
	Kind    llm.ErrorKind `json:"kind"`
	Status  int           `json:"status,omitempty"`
	Message string        `json:"message,omitempty"`
	Attempt int           `json:"attempt"`
	WaitMS  int64         `json:"wait_ms,omitempty"` // before the next try
	Usage   usage         `json:"usage,omitzero"`    // of a reply that broke off
	// Ask is what people are asked about, if there is no next try.
	Ask *escalation.Trouble `json:"ask,omitempty"`
}

// notice is notice.given: what the harness tells the model with its next input.
type notice struct {
	Code string `json:"code"`
	Text string `json:"text,omitempty"` // English, for the model; empty: it is for people alone
	// What it is about: what was done against a loop; a limit, as it stands with
	// this notice; a model that doesn't go on.
	Loop    *tools.Measure      `json:"loop,omitempty"`
	Limit   *escalation.Limit   `json:"limit,omitempty"`
	Trouble *escalation.Trouble `json:"trouble,omitempty"`
	// Left counts the results that are left out of what the model is sent.
	Left int `json:"left,omitempty"`
	// Said is the option's id that a person chose when they were asked about it,
	// End why the session ends with that.
	Said string   `json:"said,omitempty"`
	End  *failure `json:"end,omitempty"`
}

// sessionEnded is session.ended.
type sessionEnded struct {
	Status     string          `json:"status"`
	Outcome    string          `json:"outcome,omitempty"`
	Summary    string          `json:"summary,omitempty"`
	Evidence   json.RawMessage `json:"evidence,omitempty"`
	Unresolved json.RawMessage `json:"unresolved,omitempty"`
	Failed     []failedCall    `json:"failed,omitempty"` // listed by the harness, from the ledger
	Failure    *failure        `json:"failure,omitempty"`
}

// failedCall is a call that failed and that no later success of the same tool
// made good.
type failedCall struct {
	Call    string          `json:"call"`
	Tool    string          `json:"tool"`
	Type    tools.ErrorType `json:"error_type"`
	Message string          `json:"message"`
}

// failure is why a session failed: a sentence's key and parameters, said in
// each reader's language.
type failure struct {
	Code   string         `json:"code"` // failure.<code> in the catalogue
	Params map[string]any `json:"params,omitempty"`
}

func encode(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic("agent: a ledger type does not marshal: " + err.Error()) // a defect, found by any test
	}
	return b
}

func millis(d time.Duration) int64 { return d.Milliseconds() }
