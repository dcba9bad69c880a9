package tools

import (
	"encoding/json"
	"time"
)

// Output is what a tool brought back when it did not fail. Data or Text holds
// the answer; with neither, what the tool wrote to its Writer is the answer.
type Output struct {
	Data        json.RawMessage // structured answer
	Text        string          // or text, any bytes; the harness cleans and cuts it
	ContentType string          // of Text or of what was written; found out if empty

	// For a batch: what became of each item, and one sentence on the state now.
	// Any failed or skipped item makes the result partial.
	Completed []Item
	Failed    []Item
	Skipped   []Item
	State     string

	// Degraded says that the answer comes from a fallback.
	Degraded *Degraded
	// Notices are short sentences that may change what the model does next.
	Notices []string
	// Truncated says that the tool itself held something back (its own limits
	// come before the harness's).
	Truncated *Truncated
}

// Item is one element of a batch.
type Item struct {
	Item   string          `json:"item"`           // the name by which the caller asked for it
	Data   json.RawMessage `json:"data,omitempty"` // what came of it
	Type   ErrorType       `json:"error_type,omitempty"`
	Reason string          `json:"reason,omitempty"` // why it failed or was skipped
	// Retryable is set on failed items.
	Retryable Retryable `json:"retryable,omitempty"`
}

// Degraded describes a fallback's answer.
type Degraded struct {
	Source string `json:"source"`                // where the answer comes from instead
	Reason string `json:"reason"`                // why the proper source was not used
	AgeS   int64  `json:"age_seconds,omitempty"` // how old it is, in seconds
	// Missing says what it lacks, if it is incomplete.
	Missing string `json:"missing,omitempty"`
}

// Truncated says how much there was and how much is shown. Totals of -1 are
// not known.
type Truncated struct {
	TotalBytes int64 `json:"total_bytes"`
	TotalLines int64 `json:"total_lines"`
	Shown      int64 `json:"shown"`                 // lines shown (rows for tables)
	NextOffset int64 `json:"next_offset,omitempty"` // where to read on, in lines from 0; 0 if nowhere
}

// Meta is what the harness says about a result.
type Meta struct {
	DurationMS  int64      `json:"duration_ms"`
	Attempts    int        `json:"attempts"` // 0: the tool was not run
	Truncated   *Truncated `json:"truncated,omitempty"`
	ContentType string     `json:"content_type,omitempty"`
	Degraded    *Degraded  `json:"degraded,omitempty"`
}

// Attempt is one run of a tool within a call.
type Attempt struct {
	N          int       `json:"n"`
	StartedAt  time.Time `json:"started_at"`
	DurationMS int64     `json:"duration_ms"`
	ErrorType  ErrorType `json:"error_type,omitempty"`
	WaitMS     int64     `json:"wait_ms"` // waited before this attempt
}
