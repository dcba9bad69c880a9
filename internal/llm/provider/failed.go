package provider

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"baton/internal/llm"
)

// maxSaid bounds what is kept of a provider's words, in characters.
const maxSaid = 1000

// said is an error as providers write it. OpenAI's, Anthropic's and those of
// servers that speak like one of them differ in where they put what.
type said struct {
	Type    string
	Code    string
	Message string
}

// codes are the types and codes of errors that say more than their status.
var codes = map[string]llm.ErrorKind{
	// OpenAI, and what speaks like it.
	"context_length_exceeded":    llm.ContextTooLong,
	"string_above_max_length":    llm.ContextTooLong,
	"exceed_context_size_error":  llm.ContextTooLong, // llama.cpp
	"content_filter":             llm.Refused,        // Azure
	"content_policy_violation":   llm.Refused,
	"rate_limit_exceeded":        llm.RateLimited,
	"server_error":               llm.Overloaded,
	"insufficient_quota":         llm.InvalidRequest, // 429, and waiting brings nothing
	"billing_hard_limit_reached": llm.InvalidRequest,
	// Anthropic.
	"request_too_large": llm.ContextTooLong,
	"rate_limit_error":  llm.RateLimited,
	"overloaded_error":  llm.Overloaded,
	"api_error":         llm.Overloaded,
	"timeout_error":     llm.Overloaded,
	"billing_error":     llm.InvalidRequest,
}

// phrases are what providers say where no code of theirs tells it.
var phrases = []struct {
	text string
	kind llm.ErrorKind
}{
	{"prompt is too long", llm.ContextTooLong},
	{"exceed context limit", llm.ContextTooLong},
	{"maximum context length", llm.ContextTooLong},
	{"context window", llm.ContextTooLong},
	{"context size", llm.ContextTooLong},
	{"request too large for", llm.ContextTooLong}, // more at once than a minute's tokens
	{"content filtering policy", llm.Refused},
	{"content management policy", llm.Refused},
}

// Failed is the error for an answer that is an error: by its code, then by its
// words, then by its status. Status 0 is one that came within a stream.
func (c *Connection) Failed(status int, header http.Header, body []byte) *llm.Error {
	s := read(body)
	e := &llm.Error{Kind: llm.KindOfStatus(status), Status: status, RetryAfter: retryAfter(header)}
	if status == 0 {
		e.Kind = llm.Overloaded
	}
	words := strings.ToLower(s.Message)
	for _, p := range phrases {
		if slices.Contains([]int{0, 400, 413, 422, 429, 500}, status) && strings.Contains(words, p.text) {
			e.Kind = p.kind
		}
	}
	for _, code := range []string{s.Type, s.Code} {
		if kind, ok := codes[code]; ok && e.Kind != llm.ContextTooLong {
			e.Kind = kind
		}
	}
	e.Message = strings.TrimSpace(first(s.Code, s.Type) + " " + s.Message)
	e.Message = clip(c.clean(first(e.Message, http.StatusText(status))), maxSaid)
	return e
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// read finds what an error says, wherever it stands.
func read(body []byte) said {
	type fields struct {
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"` // a text, or a number with some
		Message string          `json:"message"`
	}
	var whole struct {
		fields
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &whole) != nil {
		return said{Message: string(body)}
	}
	f := whole.fields
	var text string
	switch {
	case json.Unmarshal(whole.Error, &text) == nil && text != "":
		f.Message = text
	case len(whole.Error) > 0:
		var inner fields
		if json.Unmarshal(whole.Error, &inner) == nil {
			f = inner
		}
	}
	s := said{Type: f.Type, Message: f.Message}
	if json.Unmarshal(f.Code, &s.Code) != nil {
		s.Code = "" // a number is the status again
	}
	if s.Message == "" {
		s.Message = string(body)
	}
	return s
}

// retryAfter is how long an answer asks to wait: in milliseconds, in seconds or
// until a date, which is by the clock of the sender. 0 if it doesn't say.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return bounded(ms, time.Millisecond)
	}
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		return bounded(seconds, time.Second)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, until.Sub(now))
}

// bounded is n units, at least 0 and at most a year.
func bounded(n float64, unit time.Duration) time.Duration {
	const year = 365 * 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	return time.Duration(min(n*float64(unit), float64(year)))
}

// clip cuts a text on a character border.
func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
