package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// form is one way in which a known value is written.
type form struct{ name, text string }

func (r *Redactor) addKnown(known []Known) {
	for _, k := range known {
		if len(k.Value) < MinKnown {
			continue
		}
		name := safeName(k.Name)
		for _, text := range encodings(k.Value) {
			r.forms = append(r.forms, form{name, text})
			r.longest = max(r.longest, len(text))
		}
	}
	// Longest first, so that a value inside another does not name it.
	slices.SortStableFunc(r.forms, func(a, b form) int { return len(b.text) - len(a.text) })
	r.forms = slices.CompactFunc(r.forms, func(a, b form) bool { return a.text == b.text })
	if len(r.forms) > 0 {
		r.starts = newStarts(r.forms)
	}
}

// starts finds out in one reading whether a text holds any of many forms. It has
// them by a hash of their first four bytes.
type starts struct {
	first [1 << startBits]uint16 // 1 + the index of the first form of a hash
	next  []uint16               // of each form: 1 + the next of its hash
}

const startBits = 11

func newStarts(forms []form) *starts {
	st := &starts{next: make([]uint16, len(forms))}
	for i, f := range forms[:min(len(forms), math.MaxUint16-1)] {
		h := startHash(uint32(f.text[0])<<24 | uint32(f.text[1])<<16 | uint32(f.text[2])<<8 | uint32(f.text[3]))
		st.next[i], st.first[h] = st.first[h], uint16(i+1)
	}
	return st
}

func startHash(first uint32) uint32 { return first * 2654435769 >> (32 - startBits) }

// holdsKnown says whether any known value is in s, in any form.
func (r *Redactor) holdsKnown(s string) bool {
	if len(r.forms) == 0 {
		return false
	}
	if len(r.forms) > math.MaxUint16-1 {
		return true // more than starts can hold: they are searched one by one
	}
	var four uint32
	for i := range len(s) {
		four = four<<8 | uint32(s[i])
		if i < 3 {
			continue
		}
		for f := r.starts.first[startHash(four)]; f != 0; f = r.starts.next[f-1] {
			if strings.HasPrefix(s[i-3:], r.forms[f-1].text) {
				return true
			}
		}
	}
	return false
}

func (r *Redactor) findKnown(s string) []span {
	var spans []span
	for _, f := range r.forms {
		for i := 0; ; {
			k := strings.Index(s[i:], f.text)
			if k < 0 {
				break
			}
			spans = append(spans, span{i + k, i + k + len(f.text), f.name})
			i += k + len(f.text)
		}
	}
	return spans
}

// Mask replaces known values, in all their encoded forms, and nothing else: for
// who holds secrets of its own and passes text on to be redacted. The placeholder
// is the same for all of them.
func Mask(s string, known []Known) string {
	r := &Redactor{}
	r.addKnown(known)
	for _, f := range r.forms {
		s = strings.ReplaceAll(s, f.text, "[redacted:"+f.name+":000000]")
	}
	return s
}

// encodings are the forms in which v turns up: as it is, escaped for a URL, for
// JSON, for HTML, in hex and in base64, there also inside a longer text, at each
// of the three alignments.
func encodings(v string) []string {
	forms := []string{v, url.QueryEscape(v), url.PathEscape(v), percent(v), html.EscapeString(v), hex.EncodeToString([]byte(v))}
	forms = append(forms, strings.ToUpper(forms[5]))
	if b, err := json.Marshal(v); err == nil {
		forms = append(forms, strings.Trim(string(b), `"`))
	}
	for _, p := range forms[1:4] {
		forms = append(forms, percentEscape.ReplaceAllStringFunc(p, strings.ToLower))
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		forms = append(forms, enc.EncodeToString([]byte(v)))
		for shift := range 3 {
			if b := aligned(enc, v, shift); len(b) >= 8 {
				forms = append(forms, b)
			}
		}
	}
	forms = slices.DeleteFunc(forms, func(f string) bool { return len(f) < MinKnown })
	slices.Sort(forms)
	return slices.Compact(forms)
}

// aligned is the part of v's base64 that does not depend on what stands before
// and after it, if v begins shift bytes after a group's start.
func aligned(enc *base64.Encoding, v string, shift int) string {
	drop := (3 - shift) % 3
	if len(v) < drop+3 {
		return ""
	}
	inner := v[drop:]
	return enc.EncodeToString([]byte(inner[:len(inner)/3*3]))
}

func percent(v string) string {
	var b strings.Builder
	for i := range len(v) {
		b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{v[i]})))
	}
	return b.String()
}

var percentEscape = regexp.MustCompile(`%[0-9A-F]{2}`)

var secretVariable = regexp.MustCompile(`(?i)(KEY|TOKEN|SECRET|PASS|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PRIVATE|AUTH|DSN|COOKIE)$|(KEY|TOKEN|SECRET|PASSWORD)_`)

// FromEnviron picks the secrets out of an environment ("NAME=value"): variables
// whose name says so, and the passwords in those that hold a URL.
func FromEnviron(env []string) []Known {
	var known []Known
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if u, err := url.Parse(value); err == nil && u.User != nil {
			if pw, ok := u.User.Password(); ok {
				known = append(known, Known{safeName(name), pw})
			}
		}
		if secretVariable.MatchString(name) && len(value) >= MinKnown {
			known = append(known, Known{safeName(name), value})
		}
	}
	return known
}
