package redact

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Rule says what becomes of a field of personal or business data before
// anything is stored or shown.
type Rule uint8

// The rules, the strictest last.
const (
	Pass  Rule = iota // it stays
	Token             // a placeholder, for which the value is put back when a tool is called
	Drop              // nothing is left but a mark that it was withheld
)

// Policy says what becomes of data that is no secret. The zero Policy lets
// everything pass.
type Policy struct {
	// Default is for fields of what tools bring back that no pointer names.
	Default Rule
	// Fields are rules by JSON pointer. As with sensitive fields, a pointer names
	// the field wherever its steps end a path, and * is any one step. A rule holds
	// for all that is below the field, but for what is named there in turn; of two
	// pointers that end at one field the longer counts. A column of a table is a
	// field of each row.
	Fields map[string]Rule
}

// Masks says whether there is anything that doesn't pass.
func (p Policy) Masks() bool {
	if p.Default != Pass {
		return true
	}
	for _, rule := range p.Fields {
		if rule != Pass {
			return true
		}
	}
	return false
}

// policy is a Policy ready for use.
type policy struct {
	fields   []ruled
	fallback Rule
}

type ruled struct {
	steps []string
	rule  Rule
}

// Following is r that also follows a data policy. The values that it replaces
// with placeholders are those of tokens, and known from then on: they are masked
// wherever they turn up. Secrets come first: no value that is kept holds one. But
// what only has the form of a card, an account, a phone or the like is data where
// the policy speaks of it.
func (r *Redactor) Following(p Policy, tokens *Tokens) *Redactor {
	c := *r
	c.tokens, c.policy, c.secrets = tokens, &policy{fallback: p.Default}, r.credentials()
	for pointer, rule := range p.Fields {
		if steps := pointerSteps(pointer); steps != nil {
			c.policy.fields = append(c.policy.fields, ruled{steps, rule})
		}
	}
	// Where several pointers end at one field, the first that is found counts.
	slices.SortFunc(c.policy.fields, func(a, b ruled) int {
		if len(a.steps) != len(b.steps) {
			return len(b.steps) - len(a.steps)
		}
		return int(b.rule) - int(a.rule)
	})
	return &c
}

// Follows says whether r follows a data policy.
func (r *Redactor) Follows() bool { return r.policy != nil }

// Written is r for the arguments that a model writes. It knows their values, and
// whoever decides about the call must be able to see them: what is to be dropped
// gets a token there.
func (r *Redactor) Written() *Redactor {
	if r.policy == nil {
		return r
	}
	c := *r
	c.written = true
	return &c
}

// Words is r for what a model says to the harness itself. The fields of that are
// not business data, whatever their names, but for the arguments ("args") of
// calls that it proposes there. Known values are masked as everywhere.
func (r *Redactor) Words() *Redactor {
	if r.policy == nil {
		return r
	}
	c := r.Written()
	c.words = true
	return c
}

// Output is r for what a tool brought back: there the policy's default holds for
// fields that nobody named. Of a table the default is for its rows alone.
func (r *Redactor) Output(table bool) *Redactor {
	if r.policy == nil || r.policy.fallback == Pass {
		return r
	}
	c := *r
	c.fallback, c.table = r.policy.fallback, table
	return &c
}

// Text is String for the output of a tool that may be no document: there are no
// fields in it, so that the policy's default is for the whole of it.
func (r *Redactor) Text(s string) string {
	switch {
	case r.fallback == Pass || s == "":
		return r.String(s)
	case json.Valid([]byte(s)):
		return r.document(s, r.fallback)
	}
	return r.hidden(r.fallback, "text", json.RawMessage(quote(r.secrets.text(s))))
}

// credentials is r that leaves alone what only has the form of people's numbers.
func (r *Redactor) credentials() *Redactor {
	c := *r
	c.rules = slices.DeleteFunc(slices.Clone(r.rules), func(known rule) bool {
		return slices.ContainsFunc(numbers, func(n rule) bool { return n.name == known.name })
	})
	return &c
}

// hidden is what stands in place of a JSON value under a rule other than Pass.
func (r *Redactor) hidden(rule Rule, key string, value json.RawMessage) string {
	if rule == Drop || r.tokens == nil {
		return Withheld
	}
	return r.tokens.placeholder(key, value)
}

// hide puts what stands for a JSON value in its place. What is dropped is looked
// for in the rest of the document, too.
func (w *walker) hide(start int, rule Rule, key, value string) {
	if rule == Drop && w.r.written {
		rule = Token
	}
	if rule == Drop {
		w.dropped = append(w.dropped, Kept{Withheld, json.RawMessage(value)})
	}
	if masked := w.r.secretsIn(rule, key, value); masked != value {
		if value = masked; isPlaceholder(strings.Trim(masked, `"`)) {
			w.put(start, masked)
			return
		}
	}
	w.put(start, quote(w.r.hidden(rule, key, json.RawMessage(value))))
}

// secretsIn takes the secrets out of a JSON value that is to be kept.
func (r *Redactor) secretsIn(rule Rule, key, value string) string {
	var text string
	if rule == Drop || r.secrets == nil {
		return value
	}
	if json.Unmarshal([]byte(value), &text) != nil {
		if masked := r.secrets.text(value); masked != value {
			return quote(masked)
		}
		return value
	}
	return quote(r.secrets.under(key, text))
}

// rule is that of the field at which the walker stands; inherited is that of
// what it is a part of.
func (w *walker) rule(inherited Rule) Rule {
	if w.r.policy == nil || len(w.path) == 0 || w.r.words && !slices.ContainsFunc(w.path, func(s step) bool { return s.name == "args" }) {
		return inherited
	}
	for _, f := range w.r.policy.fields {
		if ends(w.path, f.steps) {
			return f.rule
		}
	}
	if w.r.table && len(w.path) == 1 {
		switch w.path[0].name {
		case "columns", "row_count", "complete":
			return Pass
		}
	}
	return inherited
}

// columns are the names of a table's columns, as tools write them: texts, or
// objects with a name.
func columns(raw string) []string {
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) != nil {
		return nil
	}
	names := make([]string, len(list))
	for i, item := range list {
		var named struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(item, &names[i]) != nil && json.Unmarshal(item, &named) == nil {
			names[i] = named.Name
		}
	}
	return names
}

// cell is the step to an element of an array: in a row of a table its column.
func (w *walker) cell(key string, n int) step {
	if at := len(w.path); at > 0 && n < len(w.columns) && w.path[at-1].index && w.path[at-1].name == "rows" && key == "rows" {
		return step{name: w.columns[n]}
	}
	return step{name: key, index: true, n: n}
}

func pointerSteps(pointer string) (steps []string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if pointer == "" {
		return nil
	}
	for s := range strings.SplitSeq(pointer, "/") {
		steps = append(steps, pointerEscapes.Replace(s))
	}
	return steps
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// secretField is the rule of that name, where secrets are looked for.
func (r *Redactor) secretField(name string) bool { return !r.only && secretField(name) }

// pointer is where the walker stands, as a JSON pointer.
func (w *walker) pointer() string {
	var b strings.Builder
	for _, s := range w.path {
		b.WriteByte('/')
		if s.index {
			b.WriteString(strconv.Itoa(s.n))
		} else {
			b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(s.name))
		}
	}
	return b.String()
}
