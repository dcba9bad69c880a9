package clean_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"baton/internal/clean"
)

// R: F10
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"x",null,true]}`, `{"a\u0000":1,"a␀":2}`, "{\"a\":\"\xff\x1b[1m\"}", `["\u202e\u001b]0;x"]`, `{"k":1,"k":2}`, `1e999`, `"\ud800"`, `[[[[]]]]`, `{} {}`, " [ 1 , 2 ] ", "\"\u2028\"", `{"a b":1,"a  b":2}`, strings.Repeat("[", 80) + strings.Repeat("]", 80)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		out, err := clean.JSON(doc)
		if err != nil {
			if json.Valid(doc) {
				t.Fatalf("%q is JSON: %v", doc, err)
			}
			return
		}
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q -> %q", doc, out)
		}
		if again, err := clean.JSON(out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not idempotent: %q -> %q -> %q, %v", doc, out, again, err)
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(out))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		allClean(t, v, 0)
	})
}

func allClean(t *testing.T, v any, depth int) {
	t.Helper()
	if depth > clean.MaxDepth {
		t.Fatal("too deep")
	}
	switch v := v.(type) {
	case string:
		if clean.Text(v) != v {
			t.Fatalf("%q is not clean", v)
		}
	case []any:
		for _, el := range v {
			allClean(t, el, depth+1)
		}
	case map[string]any:
		for key, el := range v {
			if clean.Text(key) != key {
				t.Fatalf("key %q is not clean", key)
			}
			allClean(t, el, depth+1)
		}
	}
}

// R: F10
func FuzzReady(f *testing.F) {
	for _, s := range []string{"a\x1b[1mb", "\x1b]0;x\ay\r\nz", "é退\xff\xfe", "\u009b31mred\u0085", "10%\r50%\r\n", "\u202ex", "_\b", "❤\ufe0f\u200d🔥"} {
		f.Add(s, uint16(1))
		f.Add(s, uint16(3))
	}
	f.Fuzz(func(t *testing.T, s string, size uint16) {
		var got strings.Builder
		held := ""
		for rest := s; rest != ""; {
			n := min(len(rest), int(size%64)+1)
			held, rest = held+rest[:n], rest[n:]
			ready := clean.Ready(held)
			got.WriteString(clean.Text(held[:ready]))
			held = held[ready:]
		}
		got.WriteString(clean.Text(held))
		// In pieces, what looks back or ahead may come out otherwise; nothing unclean may.
		if out := got.String(); !utf8.ValidString(out) || strings.ContainsFunc(out, func(r rune) bool {
			return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e
		}) {
			t.Fatalf("%q in pieces of %d: %q", s, size%64+1, out)
		}
	})
}
