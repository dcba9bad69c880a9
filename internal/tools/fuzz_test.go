package tools

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"baton/internal/clean"
	"baton/internal/redact"
)

// What runs is what was written: the same values under the same keys, each
// number and text to the byte, once. No two documents that differ have one form.
// R: X4, A6
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `{"b":1,"a":{"d":[],"c":null}}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `9007199254740993`, `-0`, `1e400`, `1.50`, `"\ud800"`, `"\u0000\u2028"`,
		`{"":{"":0}}`, `{"a/b":{"~":1}}`, "\"\xff\"", `[1] [2]`, strings.Repeat("[", 70) + strings.Repeat("]", 70), `{"é":1,"e\u0301":2}`, ` {"a" : "<&>"} `, `{"a"`, "nul",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		c, err := canonical(json.RawMessage(doc))
		if err != nil {
			return
		}
		if !json.Valid(c) || !utf8.Valid(c) {
			t.Fatalf("%q -> %q is no JSON", doc, c)
		}
		if again, err := canonical(c); err != nil || !bytes.Equal(again, c) {
			t.Fatalf("%q -> %q -> %q, %v", doc, c, again, err)
		}
		if before, after := meaning(t, doc), meaning(t, string(c)); !reflect.DeepEqual(before, after) {
			t.Fatalf("%q means something else than %q", c, doc)
		}
		k := Keys{Fingerprint: NewKey([]byte("k"))}
		if exactFingerprint(k, "x", c) == exactFingerprint(k, "x", append(c, ' ')) || looseFingerprint(k, "x", c) == "" {
			t.Fatal("a fingerprint that tells nothing")
		}
	})
}

// meaning is what a document says, with numbers as they are written.
func meaning(t *testing.T, doc string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	return v
}

// R: E2, L6
func TestNumbersOutOfAllBoundsAreWrongArguments(t *testing.T) {
	t.Parallel()
	reg, err := NewRegistry(bodyTool{spec: Spec{Name: "x", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number","multipleOf":0.01,"minimum":0}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"1e999999", "1e9999999", "1E+99999999999999999999", "1e-9999999", "1e401"} {
		_, wrong := decoded(Call{Tool: "x", Args: json.RawMessage(`{"n":` + n + `}`)}, reg.tools["x"], nil)
		if wrong == nil || wrong.Type != InvalidArguments || len(wrong.Errors) != 1 || wrong.Errors[0].Path != "/n" {
			t.Errorf("%s: %+v", n, wrong)
		}
	}
	if _, wrong := decoded(Call{Tool: "x", Args: json.RawMessage(`{"n":1e300}`)}, reg.tools["x"], nil); wrong != nil {
		t.Errorf("a number: %+v", wrong)
	}
}

func decoded(c Call, e entry, tokens *redact.Tokens) (arguments, *Failure) {
	return decode(c, formOf(c.text()), e, tokens)
}

// A tool reads the arguments that the schema was asked about, or says no.
// R: E2, L6
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"order":7,"to":["a"],"at":{"x":1.5}}`, `{"order":7,"ORDER":8}`, `{"order":7.0}`, `{"order":1e2}`, `{"order":-0}`, `{"order":9007199254740993}`, `{"order":7,"to":null}`, `{"order":"7"}`, `{"Order":7}`, `[]`, `null`, "{\"order\":7,\"to\":[\"\xff\"]}"} {
		f.Add(s)
	}
	type args struct {
		Order int64    `json:"order"`
		To    []string `json:"to,omitempty"`
		At    struct {
			X float64 `json:"x"`
		} `json:"at,omitzero"`
	}
	schema, err := SchemaFor[args]()
	if err != nil {
		f.Fatal(err)
	}
	reg, err := NewRegistry(bodyTool{spec: Spec{Name: "x", Schema: schema}})
	if err != nil {
		f.Fatal(err)
	}
	e := reg.tools["x"]
	f.Fuzz(func(t *testing.T, doc string) {
		for _, call := range []Call{{Tool: "x", Raw: doc}, {Tool: "x", Args: json.RawMessage(doc)}} {
			read, wrong := decoded(call, e, nil)
			if wrong != nil {
				if full := wrong.full(); full.Message == "" || !json.Valid([]byte(Refuse(wrong, Meta{}).ForModel())) {
					t.Fatalf("%q: %+v", doc, full)
				}
				continue
			}
			got := read.clear
			var a args
			d := json.NewDecoder(bytes.NewReader(got))
			d.DisallowUnknownFields()
			if err := d.Decode(&a); err != nil && !strings.Contains(err.Error(), "cannot unmarshal number") { // 7.0 is an integer to a schema
				t.Fatalf("%q fits the schema and not the tool: %v", got, err)
			}
			if !reflect.DeepEqual(meaning(t, doc), meaning(t, string(got))) {
				t.Fatalf("%q became %q", doc, got)
			}
		}
	})
}

// Whatever a tool writes, however often: what is shown is clean, bounded JSON,
// the same each time, and what was kept can be read in pages.
// R: F2, F4, F9, F10, L5
func FuzzOutput(f *testing.F) {
	for _, s := range []string{
		"plain", "a\x00b\xff\x1b[31m\u202e", "2026-11-02T09:41:07Z ERROR it broke 12", "I1102 09:41:07.1 x", "time=2026-11-02T09:41:07Z level=info msg=x", `10.0.0.1 - - [02/Nov/2026:09:41:07 +0100] "GET / HTTP/1.1" 200 1`,
		"a.go:12:3: undefined: x", `C:\a.go:1:x`, `{"level":"info","msg":"x 1","n":1.5,"o":{"p":null}}`, `{"n":-1e400}`, `{"":[]}`, "--", "error: a\r\n", "\r", strings.Repeat("x", 3000),
	} {
		f.Add(s, "", uint16(1), uint16(0))
		f.Add(s, "\n", uint16(1200), uint16(4000))
		f.Add(s, "\nother line 7\n", uint16(700), uint16(900))
	}
	f.Add(`{"a":1,"b":[{"c":"d"}]}`, ",", uint16(1100), uint16(5000))
	f.Fuzz(func(t *testing.T, unit, between string, n, chars uint16) {
		n = min(n, uint16(50000/(len(unit)+len(between)+1)))
		text := strings.TrimSuffix(strings.Repeat(unit+between, int(n)), between)
		list := "[" + text + "]"
		p := testPresenter(t, Format{MaxChars: int(chars)})
		for _, o := range []Output{{Text: text}, {Text: list}, {Data: json.RawMessage(list)}, {Data: jsonAny(map[string]any{"text": text})}} {
			got, kept := p.output(o, Captured{})
			again, keptAgain := p.output(o, Captured{})
			if !bytes.Equal(got.Data, again.Data) || kept != keptAgain || strings.Join(got.Notices, "") != strings.Join(again.Notices, "") {
				t.Fatal("not the same twice")
			}
			if !json.Valid(got.Data) || !utf8.Valid(got.Data) {
				t.Fatalf("no JSON: %q", got.Data)
			}
			room := p.spec.Format.MaxChars + errorChars + 4*p.spec.Format.MaxLines*p.spec.Format.MaxLine/1000 + 8000
			if shown := utf8.RuneCount(got.Data); got.Truncated != nil && shown > 6*room { // quoted in JSON, a character may take six
				t.Fatalf("%d characters, limit %d", shown, p.spec.Format.MaxChars)
			}
			if (got.Truncated == nil) != (kept == "") {
				t.Fatalf("cut: %+v, kept %d bytes", got.Truncated, len(kept))
			}
			if clean.Text(kept) != kept {
				t.Fatal("what is kept is not clean")
			}
			if kept != "" {
				page := PageText(kept, int(got.Truncated.NextOffset), 5)
				if page.Truncated.TotalLines < int64(len(splitLines(kept))) || !utf8.ValidString(page.Text) {
					t.Fatalf("page: %+v", page.Truncated)
				}
			}
		}
	})
}
