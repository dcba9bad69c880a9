package clean_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"baton/internal/clean"
)

// R: F10
// case: abuse A04
// case: abuse A29
// case: harness A9
func TestTextComesOutCleanAndSafe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":                   {"two lines\n\tof text", "two lines\n\tof text"},
		"other scripts":           {"退款 für Zoë — ✓", "退款 für Zoë — ✓"},
		"invalid utf-8":           {"a\xff\xfeb", "a\uFFFDb"},
		"nul":                     {"a\x00b", "a\u2400b"},
		"colours":                 {"\x1b[31mred\x1b[0m", "red"},
		"c1 colours":              {"\u009b31mred", "red"},
		"title":                   {"\x1b]0;own you\x07text", "text"},
		"link keeps its text":     {"\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"},
		"clipboard":               {"\x1b]52;c;cm0gLXJm\x07x", "x"},
		"device string":           {"\x1bPq#0~\x1b\\x", "x"},
		"charset":                 {"\x1b(Bx", "x"},
		"open title eats nothing": {"\x1b]0;never ends\nthe error", "0;never ends\nthe error"},
		"open csi eats nothing":   {"\x1b[12;\nthe error", "\nthe error"},
		"escape at the end":       {"x\x1b", "x"},
		"crlf":                    {"a\r\nb\r\n", "a\nb\n"},
		"progress bar":            {"10%\r50%\r100%\ndone", "100%\ndone"},
		"cleared bar":             {"10%\r100%\r    \ndone", "100%\ndone"},
		"backspace":               {"_\bbold", "bold"},
		"bell and delete":         {"a\a\x7fb", "ab"},
		"form feed":               {"a\fb", "a\nb"},
		"line separator":          {"a\u2028b", "a\nb"},
		"rtl override":            {"invoice\u202Efdp.exe", "invoice[U+202E]fdp.exe"},
		"isolates":                {"\u2066x\u2069", "[U+2066]x[U+2069]"},
		"zero width":              {"re\u200bfund", "re[U+200B]fund"},
		"byte order mark":         {"\uFEFFx", "x"},
		"smuggled tags":           {"hi\U000E0041\U000E0042\U000E0043\U000E0044", "hi[4 invisible characters]"},
		"smuggled selectors":      {"hi\uFE01\uFE02", "hi[U+FE01][U+FE02]"},
		"family emoji stays":      {"👩\u200d👧 ❤\ufe0f", "👩\u200d👧 ❤\ufe0f"},
		"persian joiner stays":    {"می\u200cروم", "می\u200cروم"},
		"joiner between latin":    {"a\u200db", "a[U+200D]b"},
		"not a character":         {"a\uFFFEb", "a\uFFFDb"},
	} {
		if got := clean.Text(c.in); got != c.want {
			t.Errorf("%s: %q -> %q, want %q", name, c.in, got, c.want)
		}
	}
}

// R: F10
func TestLineStaysOnOneLine(t *testing.T) {
	t.Parallel()
	if got := clean.Line("  Refund\r\n\tthe\u2028order \x1b[1m7 "); got != "Refund the order 7" {
		t.Errorf("got %q", got)
	}
}

// R: F10
// case: harness A9
func TestJSONIsCleanedAndKeepsItsNumbers(t *testing.T) {
	t.Parallel()
	got, err := clean.JSON(json.RawMessage(`{"a\u0000b":"x\u001b[31my", "n":[9007199254740993, 1.0, 1e2], "k":1,"k\u0007":2,"t":true,"z":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a␀b":"xy","n":[9007199254740993,1.0,1e2],"k":1,"k (2)":2,"t":true,"z":null}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, bad := range []string{``, `{`, `{"a":1}}`, `[1,]`, `nul`, `{"a" 1}`} {
		if _, err := clean.JSON(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was taken for JSON", bad)
		}
	}
}

// R: F10
func TestDeepJSONIsCutNotCrashed(t *testing.T) {
	t.Parallel()
	const n = 200000
	got, err := clean.JSON(json.RawMessage(strings.Repeat(`[`, n) + strings.Repeat(`]`, n)))
	if err != nil || len(got) > 300 || !json.Valid(got) || !strings.Contains(string(got), "nested too deep") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// R: F10
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\x1b[1mb", "\x1b]0;x", "\u202e\u200b", "\xff\x00\r\b\n", "❤\ufe0f\u200d🔥", "\u0085\u009b\u009d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := clean.Text(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q -> %q is not UTF-8", s, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool {
			return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r >= 0xe0000 && r <= 0xe0fff
		}); i >= 0 {
			t.Fatalf("%q -> %q keeps %q", s, got, got[i:])
		}
		if again := clean.Text(got); again != got {
			t.Fatalf("not idempotent: %q -> %q -> %q", s, got, again)
		}
		if len(got) > 8*len(s)+8 {
			t.Fatalf("%d bytes became %d", len(s), len(got))
		}
		doc, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := clean.JSON(doc); err != nil || !json.Valid(out) {
			t.Fatalf("%s -> %s (%v)", doc, out, err)
		}
	})
}
