package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

type ring struct {
	Next *ring `json:"next"`
}

type angry struct{}

func (angry) MarshalJSON() ([]byte, error) { panic("no JSON for you") }

// What a tool returns that is no JSON is told so; that it has done its work
// stands. Whoever were told of an error would do it again.
// R: L8, L6, S1
// case: fault F31
func TestAnswersThatCantBeWrittenAreNoFailures(t *testing.T) {
	t.Parallel()
	loop := &ring{}
	loop.Next = loop
	list := []any{nil}
	list[0] = list
	table := map[string]any{}
	table["self"] = table
	var none *ring
	for name, c := range map[string]struct {
		answer any
		want   string
	}{
		"pointer to itself": {loop, "could not be written as JSON"},
		"list in itself":    {list, "could not be written as JSON"},
		"map in itself":     {table, "could not be written as JSON"},
		"function":          {func() {}, "could not be written as JSON"},
		"panic":             {angry{}, "could not be written as JSON (a fault of the tool)"},
		"nil":               {nil, `"data":null`},
		"typed nil":         {none, `"data":null`},
		"nil list":          {[]string(nil), `"data":null`},
		"nil raw":           {json.RawMessage(nil), `"data":null`},
		"not a number":      {1 / zero, "could not be written as JSON"},
		"invalid text":      {map[string]string{"a\xff": "b\xff\x00\u202e"}, `"a�":"b�␀[U+202E]"`},
		"invalid raw":       {json.RawMessage("{\"a\":\"\xff\"}"), `{"a":"�"}`},
		"no JSON":           {json.RawMessage(`{"a":`), "could not be written as JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, err := Func(Spec{Name: "x", Effect: EffectSide}, func(context.Context, struct{}) (any, error) { return c.answer, nil })
			if err != nil {
				t.Fatal(err)
			}
			b := newBench(t, EffectSide, tool.Run)
			o := b.do(t.Context())
			if text := o.Result.ForModel(); o.Status != StatusSucceeded || !strings.Contains(text, c.want) || !utf8.ValidString(text) {
				t.Errorf("%s: %s", o.Status, text)
			}
		})
	}
}

var zero float64

// R: L6, L5, F10
func TestFailuresOfAnyMakeAreShown(t *testing.T) {
	t.Parallel()
	loop := &ring{}
	loop.Next = loop
	f := Fail(ExecutionError, "bad\x00\xff\u202e"+strings.Repeat("m", 1<<20)).With("a cycle", loop).With("a panic", angry{}).With("fine", 1).With("long", strings.Repeat("l", 1<<20))
	for i := range 500 {
		f.With(fmt.Sprint("fact", i), strings.Repeat("f", 500))
		f.Errors = append(f.Errors, FieldError{"/a", strings.Repeat("e", 5000), "g"})
		f.Alternatives = append(f.Alternatives, "tool\x1b[1m")
	}
	f.Example = angry{}
	b := newBench(t, EffectRead, func(context.Context, json.RawMessage) (Output, error) { return Output{}, f })
	text := b.do(t.Context()).Result.ForModel()
	wantAll(t, text, `bad␀`, `"a cycle":"(a value that is not JSON was left out)"`, `"a panic":"(a value that can't be written as JSON was left out)"`, "left out")
	if len(text) > 300000 || strings.Contains(text, "\u202e") || strings.Contains(text, "u001b") {
		t.Errorf("%d bytes: %.500s", len(text), text)
	}
}

// Whatever a tool returns, what is made of it is bounded.
// R: L5, F2, F10
func TestEveryResultIsBounded(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "界", "a \n", "{\"k\":\"v\"}\n", "\x1b[31m", "\xff", "\u202e", "\x00", "2026-11-02 10:00:00 ERROR x\n", "\"", "<&>", "password=hunter2 "} {
		t.Run(fmt.Sprintf("%q", unit), func(t *testing.T) {
			t.Parallel()
			long := strings.Repeat(unit, 100000/len(unit))
			var items []Item
			for range 600 {
				items = append(items, Item{Item: strings.Repeat(unit, 450/len(unit)), Reason: strings.Repeat(unit, 60/len(unit)), Data: jsonString(unit)})
			}
			out := Output{Text: long, State: long, ContentType: long, Notices: []string{long, "b"}, Failed: items, Completed: items[:2]}
			data := out
			data.Data = jsonAny(map[string]any{"k": strings.Split(long, " ")})
			for _, o := range []Output{out, data, {Text: strings.Repeat(unit, 1200000/len(unit))}} {
				got, kept := testPresenter(t, Format{}).output(o, Captured{})
				res, err := Succeed(got, Meta{})
				if err != nil {
					t.Fatal(err)
				}
				text := res.ForModel()
				if n := utf8.RuneCountInString(text); n > 150000 || !utf8.ValidString(text) || !json.Valid([]byte(text)) {
					t.Errorf("%d characters", n)
				}
				if len(kept) > 4*maxData {
					t.Errorf("%d bytes are kept", len(kept))
				}
				for _, bad := range []string{"\u202e", "\x1b", "\x00", `\u0000`, `\u001b`, "hunter2"} {
					if strings.Contains(text, bad) || strings.Contains(kept, bad) {
						t.Errorf("%q came through", bad)
					}
				}
			}
		})
	}
}

// R: L5, L8
func TestDataThatIsTooLongIsDescribed(t *testing.T) {
	t.Parallel()
	b := newBench(t, EffectSide, func(context.Context, json.RawMessage) (Output, error) {
		return Output{Data: jsonString(strings.Repeat("x", maxData))}, nil
	})
	o := b.do(t.Context())
	wantAll(t, o.Result.ForModel(), `"data":{"bytes":8388610,"left_out":true}`, "it was not kept")
	if o.Status != StatusSucceeded {
		t.Error(o.Status)
	}
	text := strings.Repeat("line of text\n", 500000) + "the end"
	out, kept := testPresenter(t, Format{}).output(Output{Text: text}, Captured{})
	if got := dataText(t, out); !strings.HasSuffix(got, "the end") || !strings.Contains(got, "not kept") || len(kept) > CaptureHead+CaptureTail || out.Truncated.TotalLines != 500001 {
		t.Errorf("%d bytes kept: %+v", len(kept), out.Truncated)
	}
}
