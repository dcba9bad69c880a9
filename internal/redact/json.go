package redact

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// JSON masks the secrets of a JSON document: fields that a pointer marks, fields
// whose name says so, and everything that String finds in keys and values. The
// result is JSON; what was not masked keeps its bytes. Text that is no JSON
// comes back as a JSON string.
//
// A pointer such as /card/number marks the field wherever its steps end a path,
// at any depth; steps into arrays may be left out, and * stands for any one
// step. The whole value is masked, also an object; null, an empty text and an
// object or array with nothing in it stay.
func (r *Redactor) JSON(doc json.RawMessage) json.RawMessage {
	if !json.Valid(doc) {
		return json.RawMessage(quote(r.text(string(doc))))
	}
	return r.Document(doc)
}

// Document is JSON for what is known to be JSON.
func (r *Redactor) Document(doc json.RawMessage) json.RawMessage {
	s := string(doc)
	if !r.takeApart(s, r.signs(s)) {
		return doc
	}
	return json.RawMessage(r.document(s, r.fallback))
}

// takeApart says whether a document with these signs must be taken apart to be
// masked. If nothing in its whole text is a sign, then nothing in a part of it
// is, unless what is written there is not what is meant.
func (r *Redactor) takeApart(doc string, found sign) bool {
	return found != 0 || len(r.pointers) > 0 || r.patterns || r.policy != nil || r.holdsKnown(doc)
}

// Sensitive lists the values that pointers, or their own names, mark in a
// document, so that they can be known wherever else they turn up.
func Sensitive(doc json.RawMessage, pointers []string) []Known {
	s := string(doc)
	if len(pointers) == 0 && signs(s)&(signKey|signBackslash) == 0 || !json.Valid(doc) {
		return nil
	}
	r := &Redactor{}
	r.addPointers(pointers)
	w := &walker{r: r, s: s, collect: true}
	w.value("", false, Pass)
	return w.found
}

// document is String for a valid JSON document. rule is for fields that no
// pointer of the data policy names.
func (r *Redactor) document(s string, rule Rule) string {
	before := r.tokens.Len()
	w := &walker{r: r, s: s}
	s = w.masked(rule)
	// What came late may stand in what came first.
	if len(w.dropped) > 0 {
		s = (&walker{r: &Redactor{only: true, tokens: NewTokens(nil, w.dropped...)}, s: s}).masked(Pass)
	}
	if r.tokens.Len() > before {
		s = (&walker{r: r, s: s}).masked(rule)
	}
	return s
}

// masked reads the whole document.
func (w *walker) masked(rule Rule) string {
	w.space()
	w.value("", false, rule)
	return w.done()
}

// walker reads a valid document, scalar by scalar, and puts what is masked in its
// place. It can rely on the syntax; json.Valid has also bounded the depth.
type walker struct {
	r    *Redactor
	s    string
	i    int
	out  []byte // the document with its changes, as far as copied; nil before the first
	upTo int    // of s that is in out
	path []step

	collect bool
	found   []Known

	dropped []Kept   // values that a policy took out
	columns []string // of the table whose rows are read
	conceal bool     // what fills a field and is one of the tokens is masked, and all else as always

	// back are the tokens whose values are put in place of their placeholders;
	// nothing is masked then.
	back      *Tokens
	at        []string
	misplaced []Misplaced
}

// put writes text in place of what stands from start to where the walker is.
func (w *walker) put(start int, text string) {
	w.out = append(append(w.out, w.s[w.upTo:start]...), text...)
	w.upTo = w.i
}

func (w *walker) done() string {
	if w.out == nil {
		return w.s
	}
	return string(append(w.out, w.s[w.upTo:]...))
}

type step struct {
	name  string
	index bool // of an array
	n     int  // of an element
}

func (w *walker) space() {
	for w.i < len(w.s) && (w.s[w.i] == ' ' || w.s[w.i] == '\n' || w.s[w.i] == '\t' || w.s[w.i] == '\r') {
		w.i++
	}
}

// value reads the next value. key is the name that it stands under; marked says
// that a pointer or a name marks it as secret, rule is the data policy's for what
// it is a part of.
func (w *walker) value(key string, marked bool, rule Rule) {
	marked = marked || w.marked()
	rule = w.rule(rule)
	switch c := w.s[w.i]; {
	case marked && (c == '{' || c == '['):
		start, mark, upTo := w.i, len(w.out), w.upTo
		w.container(key, w.collect, Pass)
		if raw := w.s[start:w.i]; strings.Trim(raw, "[]{} \t\r\n") != "" {
			w.out, w.upTo = w.out[:mark], upTo // the whole is masked, not its parts
			w.put(start, quote(w.r.placeholder("field", raw)))
		}
	case c == '{' || c == '[':
		w.container(key, false, rule)
	case c == '"':
		w.text(key, marked, rule)
	default:
		w.bare(key, marked, rule)
	}
}

func (w *walker) container(key string, marked bool, rule Rule) {
	object := w.s[w.i] == '{'
	elements := marked || !object && w.r.secretField(key)
	outer := w.columns
	if object {
		w.columns = nil
	}
	w.i++
	w.space()
	for n := 0; w.s[w.i] != '}' && w.s[w.i] != ']'; n++ {
		if w.s[w.i] == ',' {
			w.i++
			w.space()
		}
		at, inside := w.cell(key, n), elements
		if object {
			at = step{name: w.key()}
			w.space()
			w.i++ // the colon
			w.space()
			inside = marked || w.r.secretField(at.name)
		}
		w.path = append(w.path, at)
		start := w.i
		w.value(at.name, inside, rule)
		w.path = w.path[:len(w.path)-1]
		if object && at.name == "columns" && w.r.policy != nil {
			w.columns = columns(w.s[start:w.i])
		}
		w.space()
	}
	w.i++
	w.columns = outer
}

// string reads the next string.
func (w *walker) string() string {
	start, plain := w.i, true
	for w.i++; w.s[w.i] != '"'; w.i++ {
		if w.s[w.i] == '\\' {
			plain = false
			w.i++
		}
	}
	w.i++
	if text := w.s[start+1 : w.i-1]; plain && utf8.ValidString(text) {
		return text
	}
	var text string
	_ = json.Unmarshal([]byte(w.s[start:w.i]), &text) // the document is valid
	return text
}

func (w *walker) key() string {
	start := w.i
	text := w.string()
	if w.back != nil {
		return text
	}
	if masked := w.r.text(text); masked != text {
		w.put(start, quote(masked))
	}
	return text
}

func (w *walker) text(key string, marked bool, rule Rule) {
	start := w.i
	text := w.string()
	switch {
	case w.back != nil:
		w.restored(start, text)
	case marked && w.collect:
		w.found = append(w.found, Known{safeName(key), text})
	case marked && text != "" && !isPlaceholder(text) && !plainValues[strings.ToLower(text)]:
		w.put(start, quote(w.r.placeholder(markedName(key), text)))
	case rule != Pass && text != "" && !isPlaceholder(text):
		w.hide(start, rule, key, quote(text))
	case w.conceal && w.r.tokens.has(quote(text)):
		w.hide(start, Token, key, quote(text))
	case !w.collect:
		if masked := w.r.under(key, text); masked != text {
			w.put(start, quote(masked))
		}
	}
}

// bare reads a number, true, false or null.
func (w *walker) bare(key string, marked bool, rule Rule) {
	start := w.i
	for w.i < len(w.s) && strings.IndexByte(",]} \t\r\n", w.s[w.i]) < 0 {
		w.i++
	}
	token := w.s[start:w.i]
	number := token[0] == '-' || token[0] >= '0' && token[0] <= '9'
	switch {
	case w.back != nil || token == "null":
	case rule != Pass && !marked, w.conceal && w.r.tokens.has(token):
		w.hide(start, max(rule, Token), key, token)
	case !number:
	case marked && w.collect:
		w.found = append(w.found, Known{safeName(key), token})
	case marked && namedOrPointed(w, key, token):
		w.put(start, quote(w.r.placeholder(markedName(key), token)))
	case !w.collect:
		if masked := w.r.text(token); masked != token {
			w.put(start, quote(masked))
		}
	}
}

// namedOrPointed keeps counters ("token": 512) that only their name marks.
func namedOrPointed(w *walker, key, token string) bool {
	return w.marked() || namedSecret(key, token)
}

// telling are keys that say what their value is, though it is no plain secret.
func telling(key string) bool {
	for i := range len(key) {
		switch key[i] | 0x20 { // the rarest letter of each
		case 'w':
			if endsFold(key[:i+1], "aw") && startsFold(key[i:], "ws") {
				return true
			}
		case 'k':
			if endsFold(key[:i+1], "cook") && startsFold(key[i:], "kie") || endsFold(key[:i+1], "accountk") && startsFold(key[i:], "key") {
				return true
			}
		case 'z':
			if endsFold(key[:i+1], "authoriz") && startsFold(key[i:], "zation") {
				return true
			}
		}
	}
	return false
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
	for _, p := range pointers {
		if steps := pointerSteps(p); steps != nil {
			r.pointers = append(r.pointers, steps)
		}
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
