package redact

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"
)

// slow is the plain meaning of redaction, which the scan for signs must not
// change: every rule is searched in every text, in every reading of it, and every
// document is taken apart.
type slow struct{ *Redactor }

func (r slow) String(s string) string {
	if t := strings.TrimSpace(s); len(t) > 1 && (t[0] == '{' || t[0] == '[') {
		if out, ok := r.document(s); ok {
			return out
		}
	}
	return r.text(s)
}

func (r slow) JSON(doc json.RawMessage) json.RawMessage {
	if out, ok := r.document(string(doc)); ok {
		return json.RawMessage(out)
	}
	return json.RawMessage(quote(r.text(string(doc))))
}

func (r slow) text(s string) string { return r.replace(s, r.find(s)) }

// find lists the secrets of s, apart from each other and in order.
func (r slow) find(s string) []span {
	spans := r.findIn(s)
	for _, v := range views(s) {
		for _, sp := range r.findIn(v.text) {
			spans = append(spans, span{v.at[sp.start], v.at[sp.end], sp.name})
		}
	}
	spans = append(spans, r.findEncoded(s)...)
	return merge(around(s, spans))
}

func (r slow) findIn(s string) []span {
	spans := r.findKnown(s)
	for _, rule := range r.rules {
		switch rule.name {
		case "card":
			spans = append(spans, slowCards(s)...)
		case "iban":
			spans = append(spans, slowIBANs(s)...)
		case "ssn":
			spans = append(spans, standing(s, "ssn", ssnRE, validSSN)...)
		case "phone":
			spans = append(spans, standing(s, "phone", phoneRE, func(string) bool { return true })...)
		default:
			spans = append(spans, rule.find(s)...)
		}
	}
	return spans
}

var (
	ssnRE   = regexp.MustCompile(`(?:^|[^\w.-])([0-9]{3}-[0-9]{2}-[0-9]{4})(?:$|[^\w-])`)
	phoneRE = regexp.MustCompile(`(?:^|[^\w+./-])(\+[1-9](?:[ .()-]{0,2}[0-9]){9,14})(?:$|[^\w])`)
)

// standing finds values by themselves. What stands between two of them is the
// border of both.
func standing(s, name string, re *regexp.Regexp, valid func(string) bool) []span {
	var spans []span
	for at := 0; ; {
		m := re.FindStringSubmatchIndex(s[at:])
		if m == nil {
			return spans
		}
		if start, end := at+m[2], at+m[3]; valid(s[start:end]) {
			spans = append(spans, span{start, end, name})
		}
		at += m[3] - 1 // so that the next one does not stand at the start of a text
	}
}

var base64RE = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)

func (r slow) findEncoded(s string) []span {
	var spans []span
	for _, at := range base64RE.FindAllStringIndex(s, -1) {
		raw := standard.Replace(strings.TrimRight(s[at[0]:at[1]], "="))
		if len(raw)%4 == 1 {
			raw = raw[:len(raw)-1]
		}
		b, err := base64.RawStdEncoding.DecodeString(raw)
		if err != nil {
			continue
		}
		for _, rule := range tokens {
			if len(rule.find(string(b))) > 0 {
				spans = append(spans, span{at[0], at[1], rule.name})
				break
			}
		}
	}
	return spans
}

// document is String for a JSON document; ok is false if s is none.
func (r slow) document(s string) (string, bool) {
	if !json.Valid([]byte(s)) {
		return "", false
	}
	w := &slowWalker{r: r, s: s}
	w.space()
	w.value("", false)
	w.space()
	return string(w.out), true
}

// walker copies a valid document, scalar by scalar. It can rely on the syntax;
// json.Valid has also bounded the depth.
type slowWalker struct {
	r    slow
	s    string
	i    int
	out  []byte
	path []step
}

func (w *slowWalker) space() {
	for w.i < len(w.s) && strings.IndexByte(" \t\r\n", w.s[w.i]) >= 0 {
		w.out = append(w.out, w.s[w.i])
		w.i++
	}
}

func (w *slowWalker) byte() { w.out = append(w.out, w.s[w.i]); w.i++ }

// value copies the next value. key is the name that it stands under; marked says
// that a pointer or a name marks it.
func (w *slowWalker) value(key string, marked bool) {
	marked = marked || w.marked()
	switch c := w.s[w.i]; {
	case marked && (c == '{' || c == '['):
		start, mark := w.i, len(w.out)
		w.container(key, false)
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

func (w *slowWalker) container(key string, marked bool) {
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
		w.path = append(w.path, step{name: name, index: !object})
		w.value(name, marked || object && secretField(name) || !object && secretField(key))
		w.path = w.path[:len(w.path)-1]
		w.space()
	}
	w.byte()
}

// raw takes the next string token.
func (w *slowWalker) raw() (token, text string) {
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

func (w *slowWalker) key() string {
	token, text := w.raw()
	if masked := w.r.text(text); masked != text {
		token = quote(masked)
	}
	w.out = append(w.out, token...)
	return text
}

func (w *slowWalker) text(key string, marked bool) {
	token, text := w.raw()
	switch {
	case marked && text != "" && !isPlaceholder(text) && !plainValues[strings.ToLower(text)]:
		token = quote(w.r.placeholder(markedName(key), text))
	default:
		if masked := w.r.under(key, text); masked != text {
			token = quote(masked)
		}
	}
	w.out = append(w.out, token...)
}

// bare copies a number, true, false or null.
func (w *slowWalker) bare(key string, marked bool) {
	start := w.i
	for w.i < len(w.s) && strings.IndexByte(",]} \t\r\n", w.s[w.i]) < 0 {
		w.i++
	}
	token := w.s[start:w.i]
	number := token[0] == '-' || token[0] >= '0' && token[0] <= '9'
	switch {
	case !number:
	case marked && (w.marked() || namedSecret(key, token)):
		token = quote(w.r.placeholder(markedName(key), token))
	case len(w.r.find(token)) > 0:
		token = quote(w.r.text(token))
	}
	w.out = append(w.out, token...)
}

// under masks a string that stands under a key, so that what the key says of it
// (Cookie, Authorization) counts.
func (r slow) under(key, text string) string {
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

// marked says whether a pointer ends where the walker stands.
func (w *slowWalker) marked() bool {
	for _, p := range w.r.pointers {
		if ends(w.path, p) {
			return true
		}
	}
	return false
}

var digitsRE = regexp.MustCompile(`[0-9](?:[ -]?[0-9]){12,}`)

// cards finds payment card numbers: of a known kind, right in length and check
// digit, and standing alone or in the groups that cards are printed in.
func slowCards(s string) []span {
	var spans []span
	for _, at := range digitsRE.FindAllStringIndex(s, -1) {
		start, end := at[0], at[1]
		if start > 0 && wordByte(s[start-1]) || end < len(s) && wordByte(s[end]) {
			continue
		}
		if start > 1 && (s[start-1] == '.' || s[start-1] == '-') && wordByte(s[start-2]) && s[start-2] >= '0' && s[start-2] <= '9' {
			continue // the rest of a longer number
		}
		spans = append(spans, slowCardGroups(s, start, end)...)
	}
	return spans
}

// cardGroups looks for cards in one run of digits and single separators.
func slowCardGroups(s string, start, end int) []span {
	type group struct{ start, end int }
	var groups []group
	g := group{start, start}
	for i := start; i <= end; i++ {
		if i == end || s[i] == ' ' || s[i] == '-' {
			g.end = i
			groups = append(groups, g)
			g = group{i + 1, i + 1}
		}
	}
	var spans []span
	for i := 0; i < len(groups); i++ {
		for j := min(len(groups)-1, i+4); j >= i; j-- {
			a, b := groups[i].start, groups[j].end
			part := s[a:b]
			if j > i && strings.Contains(part, "-") && strings.Contains(part, " ") {
				continue // mixed separators: two things side by side
			}
			// With dashes on the outside it is a part of some other code.
			if i > 0 && s[a-1] == '-' || j < len(groups)-1 && s[b] == '-' {
				continue
			}
			var sizes []int
			for _, g := range groups[i : j+1] {
				sizes = append(sizes, g.end-g.start)
			}
			digits := strings.NewReplacer(" ", "", "-", "").Replace(part)
			if printedAs(sizes) && cardKind([]byte(digits)) && luhn([]byte(digits)) {
				spans = append(spans, span{a, b, "card"})
				i = j
				break
			}
		}
	}
	return spans
}

var ibanStart = regexp.MustCompile(`(?:^|[^A-Za-z0-9_])([A-Z]{2}[0-9]{2})[ ]?[A-Z0-9]`)

// ibans finds account numbers by country, length and the remainder of 97.
func slowIBANs(s string) []span {
	var spans []span
	for at := 0; at < len(s); {
		m := ibanStart.FindStringSubmatchIndex(s[at:])
		if m == nil {
			break
		}
		start := at + m[2]
		at = start + 4
		var digits []byte
		i := start
		for want := ibanLength[s[start:start+2]]; i < len(s) && len(digits) < want; i++ {
			c := s[i]
			if c == ' ' && i > start && s[i-1] != ' ' {
				continue
			}
			if !(c >= '0' && c <= '9' || c >= 'A' && c <= 'Z') {
				break
			}
			digits = append(digits, c)
		}
		if len(digits) > 0 && len(digits) == ibanLength[s[start:start+2]] && (i == len(s) || !wordByte(s[i])) && mod97(digits) {
			spans = append(spans, span{start, i, "iban"})
			at = i
		}
	}
	return spans
}
