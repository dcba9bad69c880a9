package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
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
