package redact

import (
	"encoding/json"
	"strings"
)

// JSON masks the secrets of a JSON document: fields that a pointer marks, fields
// whose name says so, and everything that String finds in keys and values. The
// result is JSON; what was not masked keeps its bytes. Text that is no JSON
// comes back as a JSON string.
//
// A pointer such as /card/number marks the field wherever its steps end a path,
// at any depth; steps into arrays may be left out, and * stands for any one
// step. The whole value is masked, also an object; null stays.
func (r *Redactor) JSON(doc json.RawMessage) json.RawMessage {
	if out, ok := r.document(string(doc)); ok {
		return json.RawMessage(out)
	}
	return json.RawMessage(quote(r.text(string(doc))))
}

// Sensitive lists the values that pointers mark in a document, so that they can
// be known wherever else they turn up.
func Sensitive(doc json.RawMessage, pointers []string) []Known {
	r := &Redactor{}
	r.addPointers(pointers)
	w := &walker{r: r, s: string(doc), collect: true}
	if !json.Valid(doc) {
		return nil
	}
	w.value("", false)
	return w.found
}

// document is String for a JSON document; ok is false if s is none.
func (r *Redactor) document(s string) (string, bool) {
	if !json.Valid([]byte(s)) {
		return "", false
	}
	w := &walker{r: r, s: s}
	w.space()
	w.value("", false)
	w.space()
	return string(w.out), true
}

// walker copies a valid document, scalar by scalar. It can rely on the syntax;
// json.Valid has also bounded the depth.
type walker struct {
	r    *Redactor
	s    string
	i    int
	out  []byte
	path []step

	collect bool
	found   []Known
}

type step struct {
	name  string
	index bool // of an array
}

func (w *walker) space() {
	for w.i < len(w.s) && strings.IndexByte(" \t\r\n", w.s[w.i]) >= 0 {
		w.out = append(w.out, w.s[w.i])
		w.i++
	}
}

func (w *walker) byte() { w.out = append(w.out, w.s[w.i]); w.i++ }

// value copies the next value. key is the name that it stands under; marked says
// that a pointer or a name marks it.
func (w *walker) value(key string, marked bool) {
	marked = marked || w.marked()
	switch c := w.s[w.i]; {
	case marked && (c == '{' || c == '['):
		start, mark := w.i, len(w.out)
		w.container(key, w.collect)
		if raw := w.s[start:w.i]; strings.Trim(raw, "[]{} \t\r\n") != "" {
			w.out = append(w.out[:mark], quote(w.r.placeholder("field", raw))...)
		}
	case c == '{' || c == '[':
		w.container(key, false)
	case c == '"':
		w.text(key, marked)
	default:
		w.bare(key, marked)
	}
}

func (w *walker) container(key string, marked bool) {
	object := w.s[w.i] == '{'
	w.byte()
	w.space()
	for n := 0; w.s[w.i] != '}' && w.s[w.i] != ']'; n++ {
		if w.s[w.i] == ',' {
			w.byte()
			w.space()
		}
		name := key
		if object {
			name = w.key()
			w.space()
			w.byte() // the colon
			w.space()
		}
		w.path = append(w.path, step{name, !object})
		w.value(name, marked || object && secretField(name) || !object && secretField(key))
		w.path = w.path[:len(w.path)-1]
		w.space()
	}
	w.byte()
}

// raw takes the next string token.
func (w *walker) raw() (token, text string) {
	start := w.i
	for w.i++; w.s[w.i] != '"'; w.i++ {
		if w.s[w.i] == '\\' {
			w.i++
		}
	}
	w.i++
	token = w.s[start:w.i]
	_ = json.Unmarshal([]byte(token), &text) // the document is valid
	return token, text
}

func (w *walker) key() string {
	token, text := w.raw()
	if masked := w.r.text(text); masked != text {
		token = quote(masked)
	}
	w.out = append(w.out, token...)
	return text
}

func (w *walker) text(key string, marked bool) {
	token, text := w.raw()
	switch {
	case marked && w.collect:
		w.found = append(w.found, Known{safeName(key), text})
	case marked && text != "" && !isPlaceholder(text) && !plainValues[strings.ToLower(text)]:
		token = quote(w.r.placeholder(markedName(key), text))
	case !w.collect:
		if masked := w.r.under(key, text); masked != text {
			token = quote(masked)
		}
	}
	w.out = append(w.out, token...)
}

// bare copies a number, true, false or null.
func (w *walker) bare(key string, marked bool) {
	start := w.i
	for w.i < len(w.s) && strings.IndexByte(",]} \t\r\n", w.s[w.i]) < 0 {
		w.i++
	}
	token := w.s[start:w.i]
	number := token[0] == '-' || token[0] >= '0' && token[0] <= '9'
	switch {
	case !number:
	case marked && w.collect:
		w.found = append(w.found, Known{safeName(key), token})
	case marked && namedOrPointed(w, key, token):
		token = quote(w.r.placeholder(markedName(key), token))
	case !w.collect && len(w.r.find(token)) > 0:
		token = quote(w.r.text(token))
	}
	w.out = append(w.out, token...)
}

// namedOrPointed keeps counters ("token": 512) that only their name marks.
func namedOrPointed(w *walker, key, token string) bool {
	return w.marked() || namedSecret(key, token)
}

// telling are keys that say what their value is, though it is no plain secret.
func telling(key string) bool {
	lower := asciiLower(key)
	return strings.Contains(lower, "authorization") || strings.Contains(lower, "cookie") || strings.Contains(lower, "aws") || strings.Contains(lower, "accountkey")
}

// under masks a string that stands under a key, so that what the key says of it
// (Cookie, Authorization) counts.
func (r *Redactor) under(key, text string) string {
	masked := r.String(text)
	if masked != text || !telling(key) {
		return masked
	}
	lead := key + ": "
	var spans []span
	for _, sp := range r.find(lead + text) {
		if sp.end > len(lead) {
			spans = append(spans, span{max(sp.start-len(lead), 0), sp.end - len(lead), sp.name})
		}
	}
	return r.replace(text, spans)
}

func markedName(key string) string {
	if secretField(key) {
		return "password"
	}
	return "field"
}

func (r *Redactor) addPointers(pointers []string) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, p := range pointers {
		p = strings.TrimPrefix(p, "/")
		if p == "" {
			continue
		}
		var steps []string
		for _, s := range strings.Split(p, "/") {
			steps = append(steps, unescape.Replace(s))
		}
		r.pointers = append(r.pointers, steps)
	}
}

// marked says whether a pointer ends where the walker stands.
func (w *walker) marked() bool {
	for _, p := range w.r.pointers {
		if ends(w.path, p) {
			return true
		}
	}
	return false
}

func ends(path []step, pointer []string) bool {
	if len(path) == 0 || path[len(path)-1].index && pointer[len(pointer)-1] != "*" {
		return false // an element is marked with its array
	}
	i := len(path) - 1
	for j := len(pointer) - 1; j >= 0; j-- {
		for i >= 0 && path[i].index && pointer[j] != "*" && pointer[j] != path[i].name {
			i--
		}
		if i < 0 || pointer[j] != "*" && pointer[j] != path[i].name {
			return false
		}
		i--
	}
	return true
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
