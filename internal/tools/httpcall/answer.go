package httpcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

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

// Answer is what a service said, with a status below 400.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte // at most maxAnswer bytes
	Long   bool   // there was more
	Cut    error  // the connection ended before all of it came
}

// answered adds what the service said to a failure.
func answered(f *tools.Failure, header http.Header, body []byte) *tools.Failure {
	f.With("headers", matter(header))
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

// Kind is the media type that the service named, empty if it named none.
func (a *Answer) Kind() string {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	return kind
}

// Notices say what is missing of the answer.
func (a *Answer) Notices() (list []string) {
	switch {
	case a.Long:
		list = append(list, fmt.Sprintf("The answer is longer than %d bytes; the rest was not read.", maxAnswer))
	case a.Cut != nil:
		list = append(list, "The service answered, so the request was done; the connection was cut before the whole answer came.")
	}
	return list
}

// Output is what the model gets: JSON as JSON, text as text under its head.
func (a *Answer) Output() (tools.Output, error) {
	out := tools.Output{Notices: a.Notices()}
	body := a.Body
	head := map[string]any{"status": a.Status, "headers": matter(a.Header)}
	kind := a.Kind()
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
		fmt.Fprintf(&b, "HTTP %d\n", a.Status)
		for _, name := range slices.Sorted(maps.Keys(matter(a.Header))) {
			fmt.Fprintf(&b, "%s: %s\n", name, matter(a.Header)[name])
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
func (h Host) errorIn(status int, body []byte) *tools.Failure {
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
		v := Pointer(doc, e.Field)
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
		return tools.Fail(t, fmt.Sprintf("%s answered %d, but the answer is an error: %s is %s.", h.Name, status, e.Field, clip(string(got)))).With("status", status)
	}
	return nil
}

// Pointer is what stands at a JSON pointer in a decoded document, nil if nothing
// does.
func Pointer(doc any, p string) any {
	if p == "" {
		return doc
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
		switch d := doc.(type) {
		case map[string]any:
			doc = d[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(d) {
				return nil
			}
			doc = d[n]
		default:
			return nil
		}
	}
	return doc
}

// clip shortens what is quoted in a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 200 {
		return string(r[:100]) + "..." + string(r[len(r)-80:])
	}
	return s
}
