package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of the values that a session keeps behind placeholders. What lies
// beyond is withheld, and says why.
const (
	MaxTokens     = 5000    // of a session
	MaxTokenBytes = 1 << 20 // of JSON, of all of them
	MaxTokenValue = 4 << 10 // of JSON, of one
	tokenDigits   = 12      // of a placeholder: 48 bits
	leastWord     = 3       // bytes of a word that is known outside its own field
	mostEncoded   = 512     // bytes of a value that is known in other spellings, too
)

// What stands for a value that is not kept.
const (
	Withheld        = "[withheld]"
	withheldMany    = "[withheld:too-many]" // the session has as many as it may
	withheldLong    = "[withheld:too-long]" // it is longer than MaxTokenValue
	tokenBegins     = "[masked:"
	withheldBegins  = "[withheld"
	withheldPattern = `\[withheld(?::too-(?:many|long))?\]`
	tokenPattern    = `\[masked:[a-z0-9_-]+:[0-9a-f]{12}\]`
)

var (
	tokenRE    = regexp.MustCompile(tokenPattern)
	withheldRE = regexp.MustCompile(`^` + withheldPattern + `$`)
)

// Kept is a value and the placeholder that stands for it.
type Kept struct {
	Placeholder string
	Value       json.RawMessage // a text, a number, true or false
}

// text is the value as it stands inside a text.
func (k Kept) text() string {
	var s string
	if json.Unmarshal(k.Value, &s) == nil {
		return s
	}
	return string(k.Value)
}

// Tokens are the values of one session for which a model is given placeholders
// such as [masked:email:3f9a1c20b7d4]. A value has one placeholder, wherever and
// by whomever it is met: it is made of the value with the session's key. Tokens
// are safe for concurrent use.
type Tokens struct {
	key []byte

	mu    sync.RWMutex
	by    map[string]Kept   // by placeholder
	of    map[string]string // the placeholder of a value, by its JSON
	bytes int               // of the values
	fresh []Kept
	known knownTokens
}

// NewTokens are a session's tokens with those that it has already. The key must
// be the session's own.
func NewTokens(key []byte, kept ...Kept) *Tokens {
	t := &Tokens{key: key, by: map[string]Kept{}, of: map[string]string{}}
	for _, k := range kept {
		t.add(k)
	}
	return t
}

func (t *Tokens) add(k Kept) {
	t.by[k.Placeholder], t.of[string(k.Value)] = k, k.Placeholder
	t.bytes += len(k.Value)
	t.known.add(k)
}

// Fresh are the values that came since Saved was told of the last.
func (t *Tokens) Fresh() []Kept {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.fresh[:len(t.fresh):len(t.fresh)]
}

// Saved notes that the first n of Fresh are stored.
func (t *Tokens) Saved(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh = t.fresh[n:]
}

// Len is how many values there are.
func (t *Tokens) Len() int {
	if t == nil {
		return 0
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.by)
}

// HoldsToken says whether a text holds what looks like a placeholder of Tokens.
func HoldsToken(s string) bool { return strings.Contains(s, tokenBegins) && tokenRE.MatchString(s) }

// has says whether a JSON value is one of them.
func (t *Tokens) has(value string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	_, known := t.of[value]
	return known
}

// placeholder stands for a value from now on. key names the field that it was
// met in first.
func (t *Tokens) placeholder(key string, value json.RawMessage) string {
	if len(value) > MaxTokenValue {
		return withheldLong
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.of[string(value)]; ok {
		return known
	}
	if len(t.by) >= MaxTokens || t.bytes+len(value) > MaxTokenBytes {
		return withheldMany
	}
	k := Kept{t.unused(key, value), value}
	t.add(k)
	t.fresh = append(t.fresh, k)
	return k.Placeholder
}

// unused makes a placeholder. Should two values come to the same one, the later
// gets another: what is put back must never be somebody else's.
func (t *Tokens) unused(key string, value json.RawMessage) string {
	name := safeName(key)
	name = strings.Trim(name[:min(len(name), 24)], "-")
	if name == "" {
		name = "value"
	}
	for n := 0; ; n++ {
		mac := hmac.New(sha256.New, t.key)
		mac.Write(value)
		if n > 0 {
			mac.Write([]byte("\x00" + strconv.Itoa(n)))
		}
		p := tokenBegins + name + ":" + hex.EncodeToString(mac.Sum(nil))[:tokenDigits] + "]"
		if _, taken := t.by[p]; !taken {
			return p
		}
	}
}

// Misplaced is a placeholder in arguments for which nothing can be put back.
type Misplaced struct {
	Path string // JSON pointer to the text that holds it
	Mark string // the placeholder
}

// PutBack puts the clear values into arguments: a text that is a placeholder
// and nothing else becomes the value as it was, also a number; inside a longer
// text its digits or letters take the placeholder's place. at are the paths at
// which that was done. Arguments with misplaced placeholders must not run.
func (t *Tokens) PutBack(args json.RawMessage) (clear json.RawMessage, at []string, misplaced []Misplaced) {
	s := string(args)
	if t == nil || !strings.Contains(s, tokenBegins) && !strings.Contains(s, withheldBegins) || !json.Valid(args) {
		return args, nil, nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	w := &walker{r: &Redactor{only: true}, s: s, back: t}
	return json.RawMessage(w.masked(Pass)), w.at, w.misplaced
}

// Reveal puts clear values into the texts of a document for people, those alone
// whose placeholders stand in one of the actions that are being decided.
func (t *Tokens) Reveal(doc json.RawMessage, actions ...json.RawMessage) json.RawMessage {
	t.mu.RLock()
	defer t.mu.RUnlock()
	s := string(doc)
	for _, action := range actions {
		for _, mark := range tokenRE.FindAllString(string(action), -1) {
			if k, ok := t.by[mark]; ok {
				inside := quote(k.text())
				s = strings.ReplaceAll(s, mark, inside[1:len(inside)-1])
			}
		}
	}
	return json.RawMessage(s)
}

// Conceal puts placeholders in place of the values of a document which the
// session has, whatever their length, where they fill a field. For what a person
// has written in clear: nothing else changes, and PutBack gives the same again.
func (t *Tokens) Conceal(doc json.RawMessage) json.RawMessage {
	if t == nil || t.Len() == 0 || !json.Valid(doc) {
		return doc
	}
	w := &walker{r: &Redactor{tokens: t, only: true}, s: string(doc), conceal: true}
	return json.RawMessage(w.masked(Pass))
}

// Mask replaces what a policy names in a document, and what the session has
// already wherever it stands. It looks for secrets in the values of tokens alone.
func (t *Tokens) Mask(p Policy, doc json.RawMessage) json.RawMessage {
	r := (&Redactor{only: true}).Following(p, t)
	all, _ := New(Options{Key: t.key}) // can't fail without patterns
	r.secrets = all.credentials()
	return r.JSON(doc)
}

// MaskText is Mask for a text.
func (t *Tokens) MaskText(text string) string {
	return (&Redactor{only: true, tokens: t}).text(text)
}

// restored puts clear values into a text. It is called under the lock.
func (w *walker) restored(start int, text string) {
	if withheldRE.MatchString(text) {
		w.misplaced = append(w.misplaced, Misplaced{w.pointer(), text})
		return
	}
	marks := tokenRE.FindAllStringIndex(text, -1)
	if marks == nil {
		return
	}
	w.at = append(w.at, w.pointer())
	var b strings.Builder
	from := 0
	for _, m := range marks {
		k, ok := w.back.by[text[m[0]:m[1]]]
		if !ok {
			w.misplaced = append(w.misplaced, Misplaced{w.pointer(), text[m[0]:m[1]]})
			continue
		}
		if len(marks) == 1 && m[0] == 0 && m[1] == len(text) {
			w.put(start, string(k.Value))
			return
		}
		b.WriteString(text[from:m[0]] + k.text())
		from = m[1]
	}
	w.put(start, quote(b.String()+text[from:]))
}

// knownTokens finds values in texts. They come one by one, and there may be
// thousands that begin alike; so unlike the known secrets they are added without
// building anew, and looked up by what stands in the text.
type knownTokens struct {
	forms   map[string]tokenForm
	lengths map[[leastWord]byte][]int // of the forms that begin so
	first   [1 << 16]bool             // hashes of how they begin
	longest int
}

type tokenForm struct {
	mask string
	word bool // found only as a word of its own
}

func (k *knownTokens) add(kept Kept) {
	text := kept.text()
	if !worthKnowing(text) {
		return
	}
	forms := []string{text}
	word := len(text) < MinKnown
	if !word && len(text) <= mostEncoded {
		forms = encodings(text)
	}
	for _, f := range forms {
		if _, twice := k.forms[f]; twice {
			continue // a number, and the same digits as a text
		}
		if k.forms == nil {
			k.forms, k.lengths = map[string]tokenForm{}, map[[leastWord]byte][]int{}
		}
		k.forms[f] = tokenForm{kept.Placeholder, word}
		begin := [leastWord]byte([]byte(f))
		if !slices.Contains(k.lengths[begin], len(f)) {
			k.lengths[begin] = append(k.lengths[begin], len(f))
		}
		k.first[beginHash(f)] = true
		k.longest = max(k.longest, len(f))
	}
}

// worthKnowing says whether a value is looked for outside its field. Short
// numbers are not, and single letters: they would take half of every text with
// them.
func worthKnowing(text string) bool {
	if len(text) >= MinKnown {
		return !plainValues[strings.ToLower(text)]
	}
	letters := strings.IndexFunc(text, func(c rune) bool { return c > 0x7f || letter(byte(c)) && c != ',' && c != '.' }) >= 0
	return len(text) >= leastWord && utf8.RuneCountInString(text) > 1 && letters && !plainValues[strings.ToLower(text)]
}

func beginHash(s string) uint16 {
	return uint16((uint32(s[0])<<16 | uint32(s[1])<<8 | uint32(s[2])) * 2654435769 >> 16)
}

// find lists the values that stand in s.
func (t *Tokens) find(s string) (spans []span) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.known.forms) == 0 {
		return nil
	}
	for i := 0; i+leastWord <= len(s); i++ {
		if !t.known.first[beginHash(s[i:])] {
			continue
		}
		for _, n := range t.known.lengths[[leastWord]byte([]byte(s[i:i+leastWord]))] {
			if i+n > len(s) {
				continue
			}
			if f, known := t.known.forms[s[i:i+n]]; known && (!f.word || aWord(s, i, i+n)) {
				spans = append(spans, span{i, i + n, f.mask})
			}
		}
	}
	return spans
}

// aWord says whether no letter or digit goes on before or after a part of s that
// begins or ends with one. Scripts without spaces between words have no borders
// to look for.
func aWord(s string, start, end int) bool {
	return !(start > 0 && wordByte(s[start-1]) && wordByte(s[start])) && !(end < len(s) && wordByte(s[end]) && wordByte(s[end-1]))
}

// longestKnown is how many bytes the longest of the values has, in any form.
func (t *Tokens) longestKnown() int {
	if t == nil {
		return 0
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.known.longest
}
