package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"baton/internal/tools"
)

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 4 << 20

// ErrorBody marks answers that are errors though their status says otherwise.
type ErrorBody struct {
	// Field is a JSON pointer into the body. The answer is an error if something
	// stands there: not null, not false, not empty.
	Field string
	// Equals, if set, is the JSON value that Field must have instead.
	Equals json.RawMessage
	Type   tools.ErrorType // execution_error if empty
}

// answered adds what the service said to a failure.
func (h *httpRequest) answered(f *tools.Failure, resp *http.Response, body []byte) *tools.Failure {
	f.With("headers", matter(resp.Header))
	switch {
	case len(body) == 0:
	case json.Valid(body):
		f.With("body", json.RawMessage(body))
	case tools.DescribeBinary(body) == nil:
		f.With("body", string(body))
	}
	return f
}

// matter are the headers that tell something.
func matter(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range []string{"Content-Type", "Content-Length", "Location", "Etag", "Last-Modified", "Retry-After", "Link", "X-Request-Id", "Ratelimit-Remaining", "X-Ratelimit-Remaining", "Allow", "Www-Authenticate"} {
		if v := h.Get(name); v != "" {
			out[strings.ToLower(name)] = v
		}
	}
	return out
}

// output is what the model gets: JSON as JSON, text as text under its head.
func output(resp *http.Response, body []byte, cut error) (tools.Output, error) {
	var out tools.Output
	switch {
	case len(body) > maxAnswer:
		body = body[:maxAnswer]
		for len(body) > 0 && !utf8.RuneStart(body[len(body)-1]) {
			body = body[:len(body)-1]
		}
		out.Notices = append(out.Notices, fmt.Sprintf("The answer is longer than %d bytes; the rest was not read.", maxAnswer))
	case cut != nil:
		out.Notices = append(out.Notices, "The service answered, so the request was done; the connection was cut before the whole answer came.")
	}
	head := map[string]any{"status": resp.StatusCode, "headers": matter(resp.Header)}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	desc := tools.DescribeBinary(body)
	switch {
	case len(body) == 0:
		head["body"] = nil
	case desc != nil:
		head["body"] = desc
	case json.Valid(body) && (strings.HasSuffix(kind, "json") || kind == ""):
		head["body"] = json.RawMessage(body)
	default:
		var b strings.Builder
		fmt.Fprintf(&b, "HTTP %d\n", resp.StatusCode)
		for _, name := range slices.Sorted(maps.Keys(matter(resp.Header))) {
			fmt.Fprintf(&b, "%s: %s\n", name, matter(resp.Header)[name])
		}
		out.Text, out.ContentType = b.String()+"\n"+string(body), kind
		return out, nil
	}
	data, err := json.Marshal(head)
	if err != nil {
		return out, fmt.Errorf("marshal answer: %w", err)
	}
	out.Data, out.ContentType = data, "application/json"
	return out, nil
}

// errorIn finds an error in a body with a good status.
func (h HTTPHost) errorIn(resp *http.Response, body []byte) *tools.Failure {
	if len(h.Errors) == 0 {
		return nil
	}
	var doc any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		return nil //nolint:nilerr // no JSON, so none of these errors
	}
	for _, e := range h.Errors {
		v := pointer(doc, e.Field)
		if e.Equals == nil && (v == nil || v == false || v == "" || v == json.Number("0")) {
			continue
		}
		got, err := json.Marshal(v)
		if err != nil || e.Equals != nil && string(got) != string(e.Equals) {
			continue
		}
		t := e.Type
		if t == "" {
			t = tools.ExecutionError
		}
		return tools.Fail(t, fmt.Sprintf("%s answered %d, but the answer is an error: %s is %s.", h.Name, resp.StatusCode, e.Field, clipPath(string(got)))).With("status", resp.StatusCode)
	}
	return nil
}

// pointer is what stands at a JSON pointer, nil if nothing does.
func pointer(doc any, p string) any {
	for _, step := range strings.Split(strings.TrimPrefix(p, "/"), "/") {
		o, ok := doc.(map[string]any)
		if !ok {
			return nil
		}
		doc = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return doc
}
