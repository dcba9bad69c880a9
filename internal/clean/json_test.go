package clean

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var parts = []string{"a", "b", "key", "k", " ", "  ", "ä", "Ł", "ÿ", "日本", "退", "\u0301", "\u00ad", "я", "❤️", "\u2028", "\u0085", "\u00a0", "\u202e", "\u200b", "\u3000", "\x7f", "\xff", `\n`, `\u0041`, `\"`, "<&>", "'", "(2)", "k (2)"}

func jsonText(t *rapid.T, depth int) string {
	quoted := func(label string) string {
		return `"` + strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 3).Draw(t, label), "") + `"`
	}
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	var members []string
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0 && depth < 4:
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			members = append(members, space.Draw(t, "space")+quoted("key")+space.Draw(t, "space")+":"+jsonText(t, depth+1))
		}
		return "{" + strings.Join(members, ",") + "}"
	case kind == 1 && depth < 4:
		for range rapid.IntRange(0, 4).Draw(t, "elements") {
			members = append(members, jsonText(t, depth+1)+space.Draw(t, "space"))
		}
		return "[" + strings.Join(members, ",") + "]"
	case kind == 2:
		return rapid.SampledFrom([]string{"1", "-0.50", "1e2", "true", "false", "null", "9007199254740993"}).Draw(t, "bare")
	}
	return quoted("text")
}

// R: F10
func TestCleanDocumentsAreSparedAndNoOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := json.RawMessage(jsonText(t, 0))
		got, err := JSON(doc)
		want, wrong := rewritten(doc)
		if string(got) != string(want) || (err == nil) != (wrong == nil) {
			t.Fatalf("%q\nbecame %q (%v)\nwant   %q (%v)", doc, got, err, want, wrong)
		}
	})
	many := strings.Repeat(`{"a":`, MaxDepth-1) + `{}` + strings.Repeat(`}`, MaxDepth-1)
	for _, doc := range []string{many, `{"a":` + many + `}`, `[` + strings.TrimSuffix(strings.Repeat(`{"a":1,"b":"x"},`, 100), ",") + `]`} {
		got, err := JSON(json.RawMessage(doc))
		want, _ := rewritten(json.RawMessage(doc))
		if err != nil || string(got) != string(want) {
			t.Errorf("%.80s became %.80s (%v)", want, got, err)
		}
	}
}

// R: Z6
func BenchmarkJSON(b *testing.B) {
	doc := json.RawMessage("[" + strings.TrimSuffix(strings.Repeat(`{"id": 4711, "amount": "12.50", "name": "Jane Köhler", "state": "open"}, `, 20), ", ") + "]")
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := JSON(doc); err != nil {
			b.Fatal(err)
		}
	}
}
