package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"baton/internal/redact"
)

// In whatever pieces a text comes, what comes out is what comes of it at once.
// R: O3
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"password=hunter2 and more\nnext", "Authorization: Bearer abcdef0123456789abcdef", "ghp_" + strings.Repeat("Ab3", 12), "a known value here", "known\nvalue", "card 4111 1111 1111 1111.",
		"-----BEGIN RSA PRIVATE KEY-----\nc2VjcmV0\n-----END RSA PRIVATE KEY-----\n", "postgres://u:pw@h/db", "curl -u bob:pw https://x", "[redacted:jwt:3f9a1c]", "%70assword%3Dhunter22", "plain words, and more of them, until it is long enough to be cut somewhere in between words",
		"DE89 3704 0044 0532 0130 00", "eyJhbGciOi.eyJzdWIi.x", "\xff\xfepassword=\xff",
	} {
		for _, size := range []uint16{1, 7, 40} {
			f.Add(s, size)
		}
	}
	r := session(f, redact.Options{MaskEmail: true, Known: []redact.Known{{Name: "k", Value: "known value"}, {Name: "lines", Value: "known\nvalue"}}})
	f.Fuzz(func(t *testing.T, s string, size uint16) {
		if len(s) > 8<<10 || json.Valid([]byte(s)) {
			t.Skip()
		}
		st := r.Stream()
		var got strings.Builder
		for rest := s; rest != ""; {
			n := min(len(rest), max(int(size%512)+1, len(s)/512)) // each piece looks at all that is held
			got.WriteString(st.Write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(st.Close())
		if want := r.String(s); got.String() != want {
			t.Fatalf("%q in pieces of %d:\n%q, at once\n%q", s, size%512+1, got.String(), want)
		}
	})
}

// A document stays one, what is marked is gone, and masking twice changes nothing.
// R: O3
func FuzzDocument(f *testing.F) {
	for _, s := range []string{`{"password":"x y z","a":{"b":"marked-secret"}}`, `{"a":{"b":["marked-secret",{"c":1}]}}`, `["token=abcdefgh12345678"]`, `{"card":4111111111111111}`, `{"t":"{\"password\":\"hunter22\"}"}`, `{"a":{"b":null}}`, `{"a":{"b":[]}}`, `"known value"`, `{"known value":1}`, `{"\u0061":{"\u0062":"marked-secret"}}`} {
		f.Add([]byte(s))
	}
	r := session(f, redact.Options{Pointers: []string{"/a/b"}, Known: []redact.Known{{Name: "k", Value: "known value"}}})
	f.Fuzz(func(t *testing.T, doc []byte) {
		out := r.JSON(doc)
		if !json.Valid(out) || strings.Contains(string(out), "known value") {
			t.Fatalf("%q -> %q", doc, out)
		}
		if again := r.JSON(out); json.Valid(doc) && string(again) != string(out) {
			t.Fatalf("not the same twice: %q -> %q -> %q", doc, out, again)
		}
		if before := strings.Trim(marked(doc), "[]{} \t\r\n"); before != "" && before != "null" && before != `""` && !strings.HasPrefix(marked(out), `"[redacted:`) {
			t.Fatalf("%q -> %q", doc, out)
		}
	})
}

// marked is what stands at /a/b.
func marked(doc []byte) string {
	var whole, a map[string]json.RawMessage
	if json.Unmarshal(doc, &whole) != nil || json.Unmarshal(whole["a"], &a) != nil {
		return ""
	}
	return string(a["b"])
}
