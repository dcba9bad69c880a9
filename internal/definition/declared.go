package definition

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"baton/internal/tools"
)

// DeclaredTool is a tool that is described in a file: one request to a service.
type DeclaredTool struct {
	Name        string
	Words       map[string]tools.Words
	Description string
	Params      []Param
	Example     json.RawMessage // nil: made of the parameters
	Effect      tools.Effect

	Request Request
	Auth    Auth
	// Result is a JSON pointer to what the model gets of the answer; empty: all.
	Result string
	// AnyContent takes answers that are no JSON. Without it they are failures: a
	// page of HTML where data was due is some other server's.
	AnyContent bool
	Errors     []ErrorForm
	Statuses   map[string]tools.ErrorType // by HTTP status, in place of what it usually means
	Verify     Verify
	Undo       Undo

	Alternatives []string
	Claims       []string
	ReasonCodes  []string
	Timeout      Duration
	Deadline     Duration
	RateLimit    RateLimit
	Polling      bool

	File string // where it stands
}

// Request is a template: {name} in it is a parameter, {key} the idempotency key.
type Request struct {
	Method  string
	URL     string
	Query   map[string]string
	Headers map[string]string
	JSON    any               // nil: none
	Form    map[string]string // nil: none
}

// Auth is what a request is signed with; zero: what baton.yaml says of its host.
type Auth struct {
	Header string
	Secret string // a name
	Prefix string // before the secret's value, such as "Bearer "
	OAuth  string // a name under oauth in baton.yaml
}

// ErrorForm is how a failure looks that comes with a good status.
type ErrorForm struct {
	Field  string // JSON pointer
	Equals any    // nil: anything but null, false, 0 and ""
	Type   tools.ErrorType
}

// Verify asks by GET whether a call has happened. Zero: nothing tells.
type Verify struct {
	URL    string
	Query  map[string]string
	Field  string // JSON pointer: it has happened if something stands there
	Equals string // a template, or empty: anything
}

// Undo is the call that takes a call back. Its arguments are templates, with
// {result.a.b} for what the call brought. Zero: none.
type Undo struct {
	Tool string
	Args map[string]string
}

// RateLimit is how often a tool is called by one server; zero: as often as wanted.
type RateLimit struct {
	Calls int64
	Per   Duration
}

var (
	pointerForm  = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)
	statusForm   = regexp.MustCompile(`^[1-5][0-9]{2}$`)
	templatePart = regexp.MustCompile(`\{([^{}]*)\}`)
)

// TemplateKey is the name of the idempotency key in templates.
const TemplateKey = "key"

// TemplateAddress is the address of a template with something in its places, for
// whoever wants to know its host.
func TemplateAddress(template string) string { return templatePart.ReplaceAllString(template, "x") }

// failureTypes are those that a declared tool may say.
var failureTypes = []tools.ErrorType{
	tools.ExecutionError, tools.NotFound, tools.Conflict, tools.Unavailable, tools.RateLimited, tools.InvalidArguments, tools.PermissionDenied, tools.Timeout,
}

// ParseTool reads a declared tool. Every fault is found at once.
func ParseTool(name string, source []byte) (DeclaredTool, Faults) {
	r := &reader{file: name}
	t := DeclaredTool{Effect: tools.EffectSide, File: name}
	root := r.document(source)
	if root == nil {
		return t, r.faults.sorted()
	}
	seen := r.mapping(root, "", map[string]read{
		"name":        r.matching(&t.Name, paramForm, "small letters, digits and underscores, such as refund_payment"),
		"words":       func(n *yaml.Node, path string) { t.Words = named(r, n, path, r.wordsIn) },
		"description": r.text(&t.Description, 5000),
		"params":      func(n *yaml.Node, path string) { t.Params = r.params(n, path, named(r, n, path, r.param)) },
		"example":     r.json(&t.Example),
		"effect":      oneOf(r, &t.Effect, effects...),
		"request":     func(n *yaml.Node, path string) { r.request(n, path, &t.Request) },
		"auth":        func(n *yaml.Node, path string) { r.auth(n, path, &t.Auth) },
		"result":      r.matching(&t.Result, pointerForm, "a JSON pointer, such as /data/items"),
		"any_content": r.boolean(&t.AnyContent),
		"errors": r.list(20, func(n *yaml.Node, path string) {
			t.Errors = append(t.Errors, r.errorForm(n, path))
		}),
		"statuses":     func(n *yaml.Node, path string) { t.Statuses = r.statuses(n, path) },
		"verify":       func(n *yaml.Node, path string) { r.verify(n, path, &t.Verify) },
		"undo":         func(n *yaml.Node, path string) { r.undo(n, path, &t.Undo) },
		"alternatives": r.names(&t.Alternatives, toolForm, "a tool's name"),
		"claims":       r.list(20, r.append(&t.Claims, 40)),
		"reason_codes": r.names(&t.ReasonCodes, reasonForm, "small letters, digits and underscores, such as over_limit"),
		"timeout":      r.duration(&t.Timeout, time.Second, maxTimeout),
		"deadline":     r.duration(&t.Deadline, time.Second, maxTimeout),
		"rate_limit":   func(n *yaml.Node, path string) { r.rateLimit(n, path, &t.RateLimit) },
		"polling":      r.boolean(&t.Polling),
	})
	r.required(root, "", seen, "name", "words", "description", "request")
	if len(r.faults) == 0 {
		r.consistent(root, t)
	}
	return t, r.faults.sorted()
}

func (r *reader) request(n *yaml.Node, path string, q *Request) {
	seen := r.mapping(n, path, map[string]read{
		"method":  r.method(&q.Method),
		"url":     r.text(&q.URL, 2000),
		"query":   func(n *yaml.Node, path string) { q.Query = r.templates(n, path) },
		"headers": func(n *yaml.Node, path string) { q.Headers = r.templates(n, path) },
		"json":    func(n *yaml.Node, path string) { q.JSON = r.value(n, path, 0) },
		"form":    func(n *yaml.Node, path string) { q.Form = r.templates(n, path) },
	})
	r.required(n, path, seen, "method", "url")
	if seen["json"] != nil && seen["form"] != nil {
		r.refuse(seen["form"], path+".form", Fault{Reason: "json stands there already; a request has one body"})
	}
}

func (r *reader) method(dst *string) read {
	type method string
	return func(n *yaml.Node, path string) {
		m := method("")
		oneOf(r, &m, "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")(n, path)
		*dst = string(m)
	}
}

// templates reads names with texts.
func (r *reader) templates(n *yaml.Node, path string) map[string]string {
	all := map[string]string{}
	r.entries(n, path, func(key, value *yaml.Node, keyPath string) {
		var s string
		r.text(&s, 5000)(value, keyPath)
		all[key.Value] = s
	})
	return all
}

// value reads any value; numbers stay as they are written.
func (r *reader) value(n *yaml.Node, path string, depth int) any {
	if depth > 20 {
		r.refuse(n, path, Fault{Reason: "the value is nested too deep"})
		return nil
	}
	switch n = resolve(n); n.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		r.entries(n, path, func(key, value *yaml.Node, keyPath string) { all[key.Value] = r.value(value, keyPath, depth+1) })
		return all
	case yaml.SequenceNode:
		all := []any{}
		for i, e := range n.Content {
			all = append(all, r.value(e, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
		return all
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
		r.want(n, path, "a number as JSON writes it, or a text in quotes")
		return nil
	}
	s, _ := r.scalar(n, path, "a text")
	return s
}

// json reads any value as JSON.
func (r *reader) json(dst *json.RawMessage) read {
	return func(n *yaml.Node, path string) {
		b, err := json.Marshal(r.value(n, path, 0))
		if err != nil {
			r.refuse(n, path, Fault{Reason: "it can't be written as JSON"})
			return
		}
		*dst = b
	}
}

func (r *reader) auth(n *yaml.Node, path string, a *Auth) {
	seen := r.mapping(n, path, map[string]read{
		"header": r.matching(&a.Header, headerForm, "a header's name"),
		"secret": r.matching(&a.Secret, nameForm, "a secret's name"),
		"prefix": r.text(&a.Prefix, 40),
		"oauth":  r.matching(&a.OAuth, nameForm, "a name under oauth in baton.yaml"),
	})
	if (seen["secret"] == nil) == (seen["oauth"] == nil) {
		r.refuse(n, path, Fault{Reason: "one of the keys secret and oauth is due, not both"})
	}
	if a.Secret != "" && a.Header == "" {
		a.Header = "Authorization"
	}
}

func (r *reader) errorForm(n *yaml.Node, path string) (e ErrorForm) {
	e.Type = tools.ExecutionError
	seen := r.mapping(n, path, map[string]read{
		"field":  r.matching(&e.Field, pointerForm, "a JSON pointer, such as /error"),
		"equals": func(n *yaml.Node, path string) { e.Equals = r.value(n, path, 0) },
		"type":   oneOf(r, &e.Type, failureTypes...),
	})
	r.required(n, path, seen, "field")
	return e
}

func (r *reader) statuses(n *yaml.Node, path string) map[string]tools.ErrorType {
	all := map[string]tools.ErrorType{}
	r.entries(n, path, func(key, value *yaml.Node, keyPath string) {
		if !statusForm.MatchString(key.Value) {
			r.refuse(key, keyPath, Fault{Expected: "an HTTP status, such as 409", Got: shown(key)})
			return
		}
		var t tools.ErrorType
		oneOf(r, &t, failureTypes...)(value, keyPath)
		all[key.Value] = t
	})
	return all
}

func (r *reader) verify(n *yaml.Node, path string, v *Verify) {
	seen := r.mapping(n, path, map[string]read{
		"url":    r.text(&v.URL, 2000),
		"query":  func(n *yaml.Node, path string) { v.Query = r.templates(n, path) },
		"field":  r.matching(&v.Field, pointerForm, "a JSON pointer, such as /refunds/0/id"),
		"equals": r.text(&v.Equals, 500),
	})
	r.required(n, path, seen, "url", "field")
}

func (r *reader) undo(n *yaml.Node, path string, u *Undo) {
	seen := r.mapping(n, path, map[string]read{
		"tool": r.matching(&u.Tool, toolForm, "a tool's name"),
		"args": func(n *yaml.Node, path string) { u.Args = r.templates(n, path) },
	})
	r.required(n, path, seen, "tool", "args")
}

func (r *reader) rateLimit(n *yaml.Node, path string, l *RateLimit) {
	seen := r.mapping(n, path, map[string]read{
		"calls": r.whole(&l.Calls, 1, 1_000_000),
		"per":   r.duration(&l.Per, time.Second, 24*time.Hour),
	})
	r.required(n, path, seen, "calls", "per")
}

// consistent checks what the parts of a tool say of each other.
func (r *reader) consistent(root *yaml.Node, t DeclaredTool) {
	r.checkWords(root, "words", t.Words, t.Params)
	fields, optional := append(Fields(t.Params), TemplateKey), map[string]bool{}
	for _, p := range t.Params {
		optional[p.Name] = p.Optional
		if p.Name == TemplateKey {
			r.refuse(root, "params.key", Fault{Reason: "key is the name of the idempotency key; take another"})
		}
	}
	check := func(path, template string, needed bool, more ...string) {
		for _, m := range templatePart.FindAllStringSubmatch(template, -1) {
			name, _, _ := strings.Cut(m[1], ".")
			switch {
			case !slices.Contains(fields, m[1]) && !slices.Contains(more, name):
				r.refuse(root, path, Fault{Reason: fmt.Sprintf("there is no parameter %q", m[1]), Nearest: nearest(m[1], fields)})
			case needed && optional[name]:
				r.refuse(root, path, Fault{Reason: fmt.Sprintf("the parameter %s is optional, and an address can't do without it", name)})
			}
		}
	}
	r.checkURL(root, "request.url", t.Request.URL, check)
	for _, part := range []struct {
		path string
		of   map[string]string
	}{{"request.query", t.Request.Query}, {"request.headers", t.Request.Headers}, {"request.form", t.Request.Form}, {"verify.query", t.Verify.Query}} {
		for name, template := range part.of {
			check(part.path+"."+name, template, false)
		}
	}
	eachText(t.Request.JSON, func(s string) { check("request.json", s, false) })
	if t.Verify.URL != "" {
		r.checkURL(root, "verify.url", t.Verify.URL, check)
		check("verify.equals", t.Verify.Equals, false)
	}
	for name, template := range t.Undo.Args {
		check("undo.args."+name, template, false, "result")
	}
	reads := t.Request.Method == "GET" || t.Request.Method == "HEAD"
	switch {
	case reads && (t.Request.JSON != nil || t.Request.Form != nil):
		r.refuse(root, "request", Fault{Reason: "a " + t.Request.Method + " has no body"})
	case reads && t.Effect != tools.EffectRead:
		r.refuse(root, "effect", Fault{Reason: "a " + t.Request.Method + " only reads; say effect: read_only, or use another method"})
	case t.Deadline != 0 && t.Deadline < t.Timeout:
		r.refuse(root, "deadline", Fault{Expected: "at least the timeout, " + t.Timeout.String(), Got: t.Deadline.String()})
	}
}

// checkURL checks an address whose host no model chooses.
func (r *reader) checkURL(root *yaml.Node, path, address string, check func(path, template string, needed bool, more ...string)) {
	check(path, address, true)
	u, err := url.Parse(TemplateAddress(address))
	host := address
	if _, after, found := strings.Cut(address, "://"); found {
		host, _, _ = strings.Cut(after, "/")
	}
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "":
		r.refuse(root, path, Fault{Expected: "an address such as https://api.example.com/orders/{order}", Got: strconv.Quote(address)})
	case strings.ContainsAny(host, "{}?"):
		r.refuse(root, path, Fault{Reason: "the host must be written out: no parameter may choose it"})
	case u.RawQuery != "":
		r.refuse(root, path, Fault{Reason: "what stands behind the ? goes under query"})
	}
}

// eachText calls fn for every text in a value.
func eachText(v any, fn func(string)) {
	switch v := v.(type) {
	case string:
		fn(v)
	case []any:
		for _, e := range v {
			eachText(e, fn)
		}
	case map[string]any:
		for _, e := range v {
			eachText(e, fn)
		}
	}
}
