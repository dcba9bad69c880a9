package redact

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// R: O3
func TestBase64IsFoundAsItsExpressionFindsIt(t *testing.T) {
	t.Parallel()
	expression := regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			b.WriteString(rapid.StringMatching(`[A-Za-z0-9+/_-]{0,60}={0,3}[ .ä]?`).Draw(t, "piece"))
		}
		s := b.String()
		want := expression.FindAllStringIndex(s, -1)
		at := 0
		for _, w := range want {
			start, end, ok := base64Run(s, at)
			if !ok || start != w[0] || end != w[1] {
				t.Fatalf("in %q from %d: %d to %d, %v; want %v", s, at, start, end, ok, w)
			}
			at = end
		}
		if start, end, ok := base64Run(s, at); ok {
			t.Fatalf("in %q: %d to %d is too much", s, start, end)
		}
	})
}

// R: Z6
func BenchmarkJSON(b *testing.B) {
	r, err := New(Options{Key: []byte("k")})
	if err != nil {
		b.Fatal(err)
	}
	prose := strings.Repeat("The order was shipped on Monday; the customer has not answered yet. ", 15)
	rows := strings.Repeat(`{"id": 4711, "amount": "12.50", "state": "open"}, `, 20)
	for name, doc := range map[string]string{
		"one-run": `{"data": "` + strings.Repeat("x", 1000) + `"}`,
		"prose":   `{"data": "` + prose + `"}`,
		"rows":    `[` + strings.TrimSuffix(rows, ", ") + `]`,
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				r.JSON(json.RawMessage(doc))
			}
		})
	}
}
