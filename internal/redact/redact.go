// Package redact takes secrets out of text before it is stored, shown, logged
// or fed to a model.
//
// Three nets, finest first: values that are known to be secret, in every form
// they are usually encoded in; fields that somebody marked as sensitive, by JSON
// pointer, and fields whose name says so; and the shapes of keys, cards and the
// like, with their check digits where there are any. Text that was escaped or
// encoded (JSON in JSON, percent, base64) is searched in its decoded form too.
//
// What is found becomes a placeholder such as [redacted:jwt:3f9a1c]. It is the
// same for the same value in one session, so that a reader can tell one secret
// from another, says nothing about the value without the session's key, and has
// no character that breaks JSON, a URL or a command line. Redacting twice
// changes nothing.
//
// Personal and business data is no secret: what becomes of it is for a Policy to
// say (Redactor.Following). Its placeholders, such as [masked:email:3f9a1c20b7d4],
// stand for values that are kept (Tokens), so that they can be put back into what
// a tool is called with.
package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Known is a value that is known to be secret.
type Known struct {
	Name  string // shown in the placeholder: letters, digits, - and _
	Value string
}

// MinKnown is the length from which a known value is masked. Shorter ones would
// take half of every text with them.
const MinKnown = 6

// Pattern is a further shape of secrets, added by an operator.
type Pattern struct {
	Name string
	// Expr is a regular expression. Its first group is what is masked; without a
	// group, the whole match.
	Expr string
}

// Options say what is secret besides the built-in shapes.
type Options struct {
	// Key makes placeholders stable: give each session one of its own. A random
	// one is used if it is empty.
	Key      []byte
	Known    []Known
	Pointers []string // JSON pointers of sensitive fields; see JSON
	Patterns []Pattern
	// MaskEmail masks addresses as j***@host. Off by default: people who do the
	// work need them.
	MaskEmail bool
	// Pass names built-in shapes that are left alone ("iban", "phone", ...).
	Pass []string
}

// Redactor masks what it was told about. It doesn't change; it is safe for
// concurrent use.
type Redactor struct {
	key      []byte
	forms    []form
	longest  int // of the known forms, in bytes
	starts   *starts
	pointers [][]string
	rules    []rule
	patterns bool // some rules are an operator's, which have no sign
	off      sign

	// Of who follows a data policy.
	policy   *policy
	tokens   *Tokens
	fallback Rule      // for fields that nobody named
	table    bool      // what is masked is a table
	written  bool      // it is what a model wrote: see Written
	words    bool      // it is words: see Words
	only     bool      // secrets are not looked for
	secrets  *Redactor // what no value with a token may hold
}

// New makes a redactor. The error is about a pattern that does not compile.
func New(o Options) (*Redactor, error) {
	r := &Redactor{key: o.Key}
	if len(r.key) == 0 {
		r.key = make([]byte, 32)
		_, _ = rand.Read(r.key) // never fails: crypto/rand ends the process instead
	}
	for _, rule := range builtin {
		if slices.Contains(o.Pass, rule.name) || rule.name == "email" && !o.MaskEmail {
			r.off |= rule.sign
			continue
		}
		r.rules = append(r.rules, rule)
	}
	for _, rule := range r.rules {
		r.off &^= rule.sign // one sign may be for rules of several names
	}
	r.patterns = len(o.Patterns) > 0
	for _, p := range o.Patterns {
		re, err := regexp.Compile(p.Expr)
		if err != nil {
			return nil, fmt.Errorf("pattern %s: %w", p.Name, err)
		}
		r.rules = append(r.rules, rule{name: safeName(p.Name), re: re, group: min(1, re.NumSubexp())})
	}
	r.addPointers(o.Pointers)
	r.addKnown(o.Known)
	return r, nil
}

// With is r that knows further values and sensitive fields: those of one call.
func (r *Redactor) With(known []Known, pointers []string) *Redactor {
	if len(known) == 0 && len(pointers) == 0 {
		return r
	}
	c := *r
	c.forms = slices.Clone(r.forms)
	c.pointers = slices.Clone(r.pointers)
	c.addKnown(known)
	c.addPointers(pointers)
	if r.secrets != nil {
		c.secrets = r.secrets.With(known, pointers)
	}
	return &c
}

// Longest is how many bytes of context a known value may need: who cuts text
// before it is redacted must drop that much on both sides of the cut.
func (r *Redactor) Longest() int { return max(r.longest, r.tokens.longestKnown()) }

// String masks the secrets of a text. A text that is a JSON object or array stays
// one. A number by itself is a text: whoever knows that it is JSON asks JSON.
func (r *Redactor) String(s string) string {
	found := r.signs(s)
	if t := strings.TrimSpace(s); len(t) > 1 && (t[0] == '{' || t[0] == '[') {
		if !r.takeApart(s, found) {
			return s
		}
		if json.Valid([]byte(s)) {
			return r.document(s, Pass)
		}
	}
	return r.replace(s, r.findWith(s, found))
}

// text masks a text that is no JSON document.
func (r *Redactor) text(s string) string { return r.replace(s, r.find(s)) }

// span is a secret in a text.
type span struct {
	start, end int
	name       string // what it is; of a value of Tokens, its placeholder
}

// signs are those of s, without those of rules that are not in force.
func (r *Redactor) signs(s string) sign { return signs(s) &^ r.off }

// find lists the secrets of s, apart from each other and in order.
func (r *Redactor) find(s string) []span { return r.findWith(s, r.signs(s)) }

func (r *Redactor) findWith(s string, found sign) []span {
	spans := r.findIn(s, found)
	if found&(signPercent|signEscape) != 0 {
		for _, v := range views(s) {
			for _, sp := range r.findIn(v.text, r.signs(v.text)) {
				spans = append(spans, span{v.at[sp.start], v.at[sp.end], sp.name})
			}
		}
	}
	if found&signEncoded != 0 && !r.only {
		spans = append(spans, r.findEncoded(s)...)
	}
	if len(spans) == 0 {
		return nil
	}
	return merge(around(s, spans))
}

// findIn searches a text of these signs as it is written.
func (r *Redactor) findIn(s string, found sign) []span {
	var spans []span
	if r.holdsKnown(s) {
		spans = r.findKnown(s)
	}
	if r.tokens != nil {
		spans = append(spans, r.tokens.find(s)...)
	}
	if found == 0 && !r.patterns {
		return spans
	}
	for i := range r.rules {
		if rule := &r.rules[i]; rule.sign == 0 || found&rule.sign != 0 {
			spans = append(spans, rule.find(s)...)
		}
	}
	return spans
}

// merge joins spans that overlap; the longer one names the whole.
func merge(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		if a.end != b.end {
			return b.end - a.end
		}
		return strings.Compare(a.name, b.name) // the placeholder of a value that is known, which begins with [
	})
	var out []span
	for _, sp := range spans {
		if sp.end <= sp.start {
			continue
		}
		if n := len(out); n > 0 && sp.start < out[n-1].end {
			if sp.end-sp.start > out[n-1].end-out[n-1].start {
				out[n-1].name = sp.name
			}
			out[n-1].end = max(out[n-1].end, sp.end)
			continue
		}
		out = append(out, sp)
	}
	return out
}

func (r *Redactor) replace(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.start])
		mask := r.placeholder(sp.name, s[sp.start:sp.end])
		if bareJSON(s, sp) {
			mask = `"` + mask + `"`
		}
		b.WriteString(mask)
		at = sp.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// bareJSON says whether the span is a bare value in what looks like a piece of
// JSON ("card":4111...), where a placeholder needs quotes.
func bareJSON(s string, sp span) bool {
	before := strings.TrimRight(s[max(0, sp.start-8):sp.start], " ")
	return strings.HasSuffix(before, `":`) && (sp.end == len(s) || strings.IndexByte(" ,}]\r\n", s[sp.end]) >= 0)
}

// placeholder stands for value. Addresses keep what tells them apart to people.
func (r *Redactor) placeholder(name, value string) string {
	if name[0] == '[' {
		return name
	}
	if name == "email" {
		local, host, _ := strings.Cut(value, "@")
		return local[:1] + "***@" + host
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(value))
	return "[redacted:" + name + ":" + hex.EncodeToString(mac.Sum(nil)[:3]) + "]"
}

var placeholderRE = regexp.MustCompile(`\[redacted:[a-z0-9_-]+:[0-9a-f]{6}\]|` + tokenPattern + `|` + withheldPattern)

// Brief is a masked text for a list or a heading: of each placeholder stands what
// it hides, [email], without what tells one value from another.
func Brief(s string) string {
	if !strings.Contains(s, "[redacted:") && !strings.Contains(s, tokenBegins) {
		return s
	}
	return placeholderRE.ReplaceAllStringFunc(s, func(mark string) string {
		if parts := strings.Split(mark, ":"); len(parts) == 3 {
			return "[" + parts[1] + "]"
		}
		return mark
	})
}

// isPlaceholder says whether all of s is one placeholder.
func isPlaceholder(s string) bool {
	at := placeholderRE.FindStringIndex(s)
	return at != nil && at[0] == 0 && at[1] == len(s)
}

// around takes the placeholders of an earlier pass out of the spans, so that
// redacting twice changes nothing. What is left of a span is kept if it can be a
// secret by itself.
func around(s string, spans []span) []span {
	done := placeholderRE.FindAllStringIndex(s, -1)
	if done == nil {
		return spans
	}
	var out []span
	for _, sp := range spans {
		at := sp.start
		keep := func(end int) {
			part := s[at:max(at, end)]
			trimmed := strings.Trim(part, " \t\r\n\"'\\,;:=&[]{}()<>")
			if len(trimmed) >= MinKnown || len(trimmed) > 0 && end-at == sp.end-sp.start {
				out = append(out, span{at, end, sp.name})
			}
		}
		for _, d := range done {
			if d[1] <= at || d[0] >= sp.end {
				continue
			}
			keep(d[0])
			at = d[1]
		}
		keep(sp.end)
	}
	return out
}

func safeName(s string) string {
	s = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, strings.ToLower(s))
	if s == "" {
		return "secret"
	}
	return s
}
