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

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/gjson"

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
	JSON   bool   // it is one JSON value
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

// matters are the names of the headers that tell something.
var matters = []string{"Content-Type", "Content-Length", "Location", "Etag", "Last-Modified", "Retry-After", "Link", "X-Request-Id", "Ratelimit-Remaining", "X-Ratelimit-Remaining", "Allow", "Www-Authenticate"}

// matter are the headers that tell something.
func matter(h http.Header) map[string]string {
	out := map[string]string{}
	for _, name := range matters {
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
	kind := a.Kind()
	switch desc := tools.DescribeBinary(body); {
	case len(body) == 0:
		body = []byte("null")
	case desc != nil:
		body = desc
	case !a.JSON || !strings.HasSuffix(kind, "json") && kind != "":
		var b strings.Builder
		fmt.Fprintf(&b, "HTTP %d\n", a.Status)
		told := matter(a.Header)
		for _, name := range slices.Sorted(maps.Keys(told)) {
			fmt.Fprintf(&b, "%s: %s\n", name, told[name])
		}
		out.Text, out.ContentType = b.String()+"\n"+string(body), kind
		return out, nil
	}
	data := make([]byte, 0, len(body)+200)
	data = append(append(append(data, `{"body":`...), body...), `,"headers":{`...)
	first := true
	for _, name := range matters {
		if v := a.Header.Get(name); v != "" {
			if !first {
				data = append(data, ',')
			}
			first = false
			data = append(strconv.AppendQuote(data, strings.ToLower(name)), ':')
			data, _ = jsontext.AppendQuote(data, v) // what is no text is replaced
		}
	}
	data = strconv.AppendInt(append(data, `},"status":`...), int64(a.Status), 10)
	data = append(data, '}')
	out.Data, out.ContentType = data, "application/json"
	return out, nil
}

// errorIn finds an error in a body of JSON with a good status.
func (h Host) errorIn(status int, body []byte) *tools.Failure {
	for _, e := range h.Errors {
		got := At(body, e.Field)
		if e.Equals == nil && nothing(got) || e.Equals != nil && !same(got, e.Equals) {
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

// nothing says whether a value says that there is no error.
func nothing(v json.RawMessage) bool {
	switch string(v) {
	case "", "null", "false", `""`, "0":
		return true
	}
	return false
}

// same compares two values but for white space between their parts.
func same(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// At is what stands at a JSON pointer in valid JSON, as it is written there; nil if
// nothing does. Nothing else of the document is read.
func At(doc []byte, pointer string) json.RawMessage {
	if pointer == "" {
		return doc
	}
	var path strings.Builder
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if path.Len() > 0 {
			path.WriteByte('.')
		}
		path.WriteString(gjson.Escape(pointerStep.Replace(step)))
	}
	found := gjson.GetBytes(doc, path.String())
	if !found.Exists() {
		return nil
	}
	return json.RawMessage(found.Raw)
}

var pointerStep = strings.NewReplacer("~1", "/", "~0", "~")

// clip shortens what is quoted in a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 200 {
		return string(r[:100]) + "..." + string(r[len(r)-80:])
	}
	return s
}
