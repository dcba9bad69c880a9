package scripted

import (
	"encoding/json"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// R: X4 (numbers as written), C (appendix): no number changes on its way
// through a playbook.
func TestNumbersStayExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"9007199254740993":                         "9007199254740993",
		"-170141183460469231731687303715884105729": "-170141183460469231731687303715884105729",
		"0":         "0",
		"-0":        "0",
		"1284.50":   "1284.5",
		"0.1":       "0.1",
		"1e3":       "1000.0",
		"99999.99":  "99999.99",
		"0.00":      "0.0",
		"-12.340e1": "-123.4",
		// no float is these numbers
		"0.1000000000000000055": `"0.1000000000000000055"`,
		"123456789012345678.90": `"123456789012345678.90"`,
		"1e400":                 `"1e400"`,
		"1e-400":                `"1e-400"`,
	} {
		v, err := fromJSON([]byte(text))
		if err != nil || v.String() != want {
			t.Errorf("%s: got %v (%v), want %s", text, v, err, want)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, `""`, `"a\"b\\c\n\u0001 ä \ud83d\ude00 <&>"`, `[]`, `{}`,
		`[1,[2,[3]],{"b":1,"a":{"z":null,"y":[0.5]}}]`,
		`{"n":12345678901234567890.123456789,"get":1,"items":[1],"keys":"k"}`,
	} {
		v, err := fromJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := toJSON(v, 1<<20)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := fromJSON(got)
		if err != nil {
			t.Fatalf("%s -> %s: %v", text, got, err)
		}
		if eq, err := starlark.Equal(v, again); err != nil || !eq {
			t.Errorf("%s -> %s", text, got)
		}
		if strings.HasPrefix(text, "{") && string(got) != text {
			t.Errorf("object changed: %s -> %s", text, got)
		}
	}
}

func TestFieldsHideMethods(t *testing.T) {
	t.Parallel()
	v, err := fromJSON([]byte(`{"items":[1],"a":2}`))
	if err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string]string{
		`o.items`: `[1]`, `o["items"]`: `[1]`, `o.keys()`: `["items", "a"]`, `o.get("a")`: `2`, `o.get("b")`: `None`,
		`[k for k in o]`: `["items", "a"]`, `len(o)`: `2`, `dict(o)["a"]`: `2`, `bool(o)`: `True`, `type(o)`: `"object"`,
		`o == o`: `True`, `"a" in o`: `True`, `dir(o)`: `["a", "items"]`,
	} {
		got, err := starlark.EvalOptions(&syntax.FileOptions{}, &starlark.Thread{}, "x", expr, starlark.StringDict{"o": v})
		if err != nil || got.String() != want {
			t.Errorf("%s: got %v (%v), want %s", expr, got, err, want)
		}
	}
	if _, err := starlark.EvalOptions(&syntax.FileOptions{}, &starlark.Thread{}, "x", `o.b`, starlark.StringDict{"o": v}); err == nil {
		t.Error("a field that isn't there was read")
	}
}

func TestJSONRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{`, `[1`, `{"a"}`, `1 2`, `nul`, `{"a":1}x`, strings.Repeat("[", 500) + strings.Repeat("]", 500)} {
		if v, err := fromJSON([]byte(text)); err == nil {
			t.Errorf("%.20s: got %v", text, v)
		}
	}
}

func TestJSONModule(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`json.decode("{\"a\": [1, 2.5]}").a`:   `[1, 2.5]`,
		`json.decode("nope", default=None)`:    `None`,
		`json.encode({"b": (1, None)})`:        `"{\"b\":[1,null]}"`,
		`json.decode(json.encode({"a": 1})).a`: `1`,
	} {
		got, err := starlark.EvalOptions(&syntax.FileOptions{}, &starlark.Thread{}, "x", expr, predeclared())
		if err != nil || got.String() != want {
			t.Errorf("%s: got %v (%v), want %s", expr, got, err, want)
		}
	}
}

// Sums of money are exact, and never rounded.
func TestMoney(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`cents("1284.00")`:                        `128400`,
		`cents(1284.1)`:                           `128410`,
		`cents(0.1) + cents(0.2)`:                 `30`,
		`cents(5)`:                                `500`,
		`cents("-0.05")`:                          `-5`,
		`cents("12.345", places=3)`:               `12345`,
		`cents("99999999999999999.99")`:           `9999999999999999999`,
		`amount(128400)`:                          `"1284.00"`,
		`amount(5)`:                               `"0.05"`,
		`amount(-5)`:                              `"-0.05"`,
		`amount(7, places=0)`:                     `"7"`,
		`amount(cents("1284.00") - cents("500"))`: `"784.00"`,
		`cents("12.345")`:                         `error: cents: 12.345 has more than 2 decimal places`,
		`cents("1,284.00")`:                       `error: cents: "1,284.00" is not an amount`,
		`cents("")`:                               `error: cents: "" is not an amount`,
		`cents("1e5")`:                            `error: cents: "1e5" is not an amount`,
		`cents(None)`:                             `error: cents: got a NoneType, want an amount`,
		`cents(1, places=99)`:                     `error: cents: places is 99, want 0 to 18`,
	} {
		var got string
		v, err := starlark.EvalOptions(&syntax.FileOptions{}, &starlark.Thread{}, "x", expr, predeclared())
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = v.String()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", expr, got, want)
		}
	}
}

// R: Y1
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,"x",null,true]}`, `1e999999999`, `-0.0`, `"\ud800"`, `{"a":1,"a":2}`, `[[[[`, "\x00", `1234567890123456789012345678901234567890`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := fromJSON(text)
		if err != nil {
			return
		}
		out, err := toJSON(v, 1<<20)
		if err != nil {
			t.Fatalf("%q was read but not written: %v", text, err)
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", text, out)
		}
	})
}

// R: Y1
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"def reply(s):\n    return [say(\"x\")]\n", "def reply(s):\n    return reply(s)\n", "reply = lambda s: [empty()]", "x = [0] * 1000\ndef reply(s): return x",
		"def reply(s):\n    return [call(\"a\", b={\"c\": [1, 2]})]", "load(\"a\", \"b\")", "\x00", "def reply(s=1): pass", "x = \"a\" * 100000", "def reply(s):\n  return [provider_error(1), slow(1)]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := Compile("fuzz.star", source)
		if (p == nil) == (err == nil) {
			t.Fatalf("%q: %v %v", source, p, err)
		}
	})
}
