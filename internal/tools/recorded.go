package tools

import (
	"encoding/json"
	"fmt"
)

// Recorded is a result as the ledger has it: without what goes without saying,
// since there is one of them for every call for ever. Result reads both forms.
type Recorded struct{ Result }

// recordedMeta is Meta in the ledger. Left out are a duration of 0 ms, the one
// attempt of a success, and the type of output that is plain JSON.
type recordedMeta struct {
	DurationMS  int64      `json:"duration_ms,omitempty"`
	Attempts    *int       `json:"attempts,omitempty"`
	Truncated   *Truncated `json:"truncated,omitempty"`
	ContentType string     `json:"content_type,omitempty"`
	Degraded    *Degraded  `json:"degraded,omitempty"`
}

// MarshalJSON writes the form of the ledger. The zero Result is an error.
func (r Recorded) MarshalJSON() ([]byte, error) {
	if err := r.w.check(); err != nil {
		return nil, fmt.Errorf("marshal result: %w", err)
	}
	m := r.w.Meta
	meta := recordedMeta{m.DurationMS, &m.Attempts, m.Truncated, m.ContentType, m.Degraded}
	if m.Attempts == usualAttempts(r.w) {
		meta.Attempts = nil
	}
	if m.ContentType == plainType(r.w.Data) {
		meta.ContentType = ""
	}
	return marshal(struct {
		wire
		Notices []string     `json:"notices,omitempty"`
		Meta    recordedMeta `json:"meta,omitzero"`
	}{r.w, r.w.Notices, meta})
}

// whole is what was recorded, with what was left out.
func (m recordedMeta) whole(w wire) Meta {
	meta := Meta{DurationMS: m.DurationMS, Attempts: usualAttempts(w), Truncated: m.Truncated, ContentType: m.ContentType, Degraded: m.Degraded}
	if m.Attempts != nil {
		meta.Attempts = *m.Attempts
	}
	if meta.ContentType == "" {
		meta.ContentType = plainType(w.Data)
	}
	return meta
}

// usualAttempts is how often the tool of such a result was run, if nothing else
// is said: for an output once, for a failure not at all.
func usualAttempts(w wire) int {
	if w.Status == Error {
		return 0
	}
	return 1
}

// plainType is the content type that JSON has which nothing else is said of. A
// string may be a text of any type.
func plainType(data json.RawMessage) string {
	if len(data) > 0 && (data[0] == '{' || data[0] == '[') {
		return "application/json"
	}
	return ""
}
