package wiretest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"baton/internal/llm"
)

// Dialect is a wire format.
type Dialect string

// The dialects.
const (
	Anthropic Dialect = "anthropic"
	OpenAI    Dialect = "openai"
)

// Dialects are all of them.
var Dialects = []Dialect{Anthropic, OpenAI}

// Key is what requests have to carry.
const Key = "sk-test-0123456789abcdefghijklmnop"

// Answer is what the provider does with one request.
type Answer struct {
	// Reply is streamed. StopCut breaks the connection in its middle.
	Reply llm.Reply
	// Err is answered instead, as the error that it would be read as; without a
	// status the connection is closed without a word.
	Err *llm.Error
	// Within has Err come in the middle of the reply's stream.
	Within bool
	// Silent says nothing, before the reply (or after its beginning, with Within)
	// until the asker leaves.
	Silent bool
	// Raw is answered as it is, with its headers, in place of all this.
	Raw *Raw
}

// Raw is an answer to the letter.
type Raw struct {
	Status int
	Header map[string]string
	Body   string
}

// Server is a provider. It ends with its test.
type Server struct {
	// URL is its base URL, as it is configured.
	URL string

	t       testing.TB
	dialect Dialect
	answer  func(Request) Answer
}

// Serve starts a provider whose every answer is made by a function, which has to
// be safe for concurrent use. A request that a strict provider would refuse
// fails the test.
func Serve(t testing.TB, dialect Dialect, answer func(Request) Answer) *Server {
	t.Helper()
	s := &Server{t: t, dialect: dialect, answer: answer}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.reply)
	mux.HandleFunc("POST /v1/chat/completions", s.reply)
	mux.HandleFunc("GET /v1/models", s.models)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	if dialect == OpenAI {
		s.URL += "/v1"
	}
	return s
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the asker has left
	}
	if !s.knows(r) {
		s.fail(w, &llm.Error{Kind: llm.InvalidRequest, Status: http.StatusUnauthorized, Message: "no such key: " + r.Header.Get("Authorization")})
		return
	}
	read := readAnthropic
	if s.dialect == OpenAI {
		read = readOpenAI
	}
	request, fault := read(body)
	if fault != "" {
		s.t.Errorf("%s would not take this: %s\n%s", s.dialect, fault, body)
		s.fail(w, &llm.Error{Kind: llm.InvalidRequest, Status: http.StatusBadRequest, Message: fault})
		return
	}
	s.send(w, r, s.answer(request), request.Model)
}

func (s *Server) knows(r *http.Request) bool {
	if s.dialect == Anthropic && r.Header.Get("Anthropic-Version") == "" {
		return false
	}
	return r.Header.Get("Authorization") == "Bearer "+Key
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, a Answer, model string) {
	switch {
	case a.Raw != nil:
		for name, value := range a.Raw.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.Raw.Status)
		_, _ = io.WriteString(w, a.Raw.Body)
		return
	case a.Silent && !a.Within:
		<-r.Context().Done()
		return
	case a.Err != nil && !a.Within:
		s.fail(w, a.Err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := stream{w: w, model: model, answer: a}
	if s.dialect == Anthropic {
		out.anthropic()
	} else {
		out.openai()
	}
	_ = http.NewResponseController(w).Flush()
	switch {
	case a.Silent:
		<-r.Context().Done()
	case a.Reply.Stop == llm.StopCut:
		panic(http.ErrAbortHandler) // the connection breaks
	}
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if !s.knows(r) {
		s.fail(w, &llm.Error{Kind: llm.InvalidRequest, Status: http.StatusUnauthorized, Message: "invalid key"})
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if s.dialect == Anthropic {
		_, _ = io.WriteString(w, `{"data":[{"id":"test-model","type":"model","display_name":"Test","created_at":"2026-01-01T00:00:00Z"}],"has_more":false,"first_id":"test-model","last_id":"test-model"}`)
		return
	}
	_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"test-model","object":"model","created":1767225600,"owned_by":"test"}]}`)
}

// fail answers with an error in the words of the dialect's provider.
func (s *Server) fail(w http.ResponseWriter, e *llm.Error) {
	if statusOf(e) == 0 {
		panic(http.ErrAbortHandler)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds())))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusOf(e))
	_, _ = io.WriteString(w, s.dialect.errorBody(e))
}

// statusOf is the status of an error; 0 is none at all.
func statusOf(e *llm.Error) int {
	if e.Status == 0 && (e.Kind == llm.ContextTooLong || e.Kind == llm.Refused) {
		return http.StatusBadRequest
	}
	return e.Status
}

func (d Dialect) errorBody(e *llm.Error) string {
	if d == Anthropic {
		kind, message := anthropicError(e)
		return fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s},"request_id":"req_011CSHoEeqs5C35K2UUqR7Fy"}`, text(kind), text(message))
	}
	kind, code, message := openaiError(e)
	return fmt.Sprintf(`{"error":{"message":%s,"type":%s,"param":null,"code":%s}}`, text(message), text(kind), code)
}

func anthropicError(e *llm.Error) (kind, message string) {
	switch {
	case e.Status == http.StatusRequestEntityTooLarge:
		return "request_too_large", "Request exceeds the maximum size"
	case e.Kind == llm.ContextTooLong:
		return "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"
	case e.Kind == llm.Refused:
		return "invalid_request_error", "Output blocked by content filtering policy"
	}
	kinds := map[int]string{401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error",
		429: "rate_limit_error", 529: "overloaded_error"}
	switch {
	case kinds[e.Status] != "":
		return kinds[e.Status], first(e.Message, "Error "+strconv.Itoa(e.Status))
	case e.Status >= 500:
		return "api_error", "Internal server error"
	}
	return "invalid_request_error", first(e.Message, "Bad request")
}

func openaiError(e *llm.Error) (kind, code, message string) {
	switch {
	case e.Kind == llm.ContextTooLong:
		return "invalid_request_error", `"context_length_exceeded"`, "This model's maximum context length is 128000 tokens. However, your messages resulted in 150123 tokens. Please reduce the length of the messages."
	case e.Kind == llm.Refused:
		return "invalid_request_error", `"content_filter"`, "The response was filtered due to the prompt triggering our content management policy."
	case e.Status == 401:
		return "invalid_request_error", `"invalid_api_key"`, "Incorrect API key provided. " + e.Message
	case e.Status == 429:
		return "requests", `"rate_limit_exceeded"`, "Rate limit reached for requests"
	case e.Status >= 500:
		return "server_error", "null", "The server had an error while processing your request. Sorry about that!"
	}
	return "invalid_request_error", "null", first(e.Message, "Bad request")
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

func text(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a text is JSON
	return string(b)
}
