package redact

import (
	"encoding/json"
	"fmt"
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

// samples are texts as tools bring them back, of about 16 KB each and without a
// secret, but the last.
func samples() map[string]string {
	row := `{"id": "ord_01jd%04x9f3a2b1c", "customer": "Jane Meyer-O'Neill", "email": "jane.meyer%d@example.org", "total": "1,2%02d.50", "currency": "EUR",` +
		` "state": "shipped", "placed_at": "2026-11-%02dT09:41:07.218Z", "shipping_address": {"street": "Lindenstr. 1%d", "city": "Köln", "postcode": "506%02d"},` +
		` "items": [{"sku": "TEA-0%d-GRN", "quantity": 2, "price": 12.5}], "trace": "0b9f1c2e-7d4a-4c1e-9a51-2f64d1b0a%03x", "epoch_ms": 17180000%05d, "url": "https://shop.example/orders/%d?page=2&sort=date"}`
	log := "2026-11-%02dT09:41:07.218Z INFO  order.shipped order=ORD-2026-%05d customer=C%04d carrier=DHL took=%dms bytes=%d path=/var/lib/shop/orders/%d.json\n"
	table := "%d,Jane Meyer,jane.meyer@example.org,2026-11-%02d,EUR,1%02d.50,shipped,0b9f1c2e-7d4a-4c1e-9a51-2f64d1b0a%03x,0%d\n"
	fill := func(format, between string, n int) string {
		var b strings.Builder
		for i := 0; b.Len() < 16<<10; i++ {
			args := make([]any, n)
			for k := range args {
				args[k] = i%28 + 1
			}
			if i > 0 {
				b.WriteString(between)
			}
			fmt.Fprintf(&b, format, args...)
		}
		return b.String()
	}
	rows := "[" + fill(row, ",\n ", 10) + "]"
	return map[string]string{
		"one-run":      strings.Repeat("x", 16<<10),
		"prose":        strings.Repeat("The order was shipped on Monday; the customer has not answered yet. ", 240),
		"rows":         rows,
		"rows-escaped": strings.ReplaceAll(rows, "Jane Meyer-O'Neill", `Jane\nMeyer`),
		"log":          fill(log, "", 6),
		"table":        fill(table, "", 5),
		"one-secret":   strings.Replace(rows, "Lindenstr. 11", "ghp_"+strings.Repeat("a", 36), 1),
	}
}

// R: Z6
func TestCleanTextTakesNoMemory(t *testing.T) { //nolint:paralleltest // counts the whole process's allocations
	r, err := New(Options{Key: []byte("k"), Known: []Known{{"known", "a value that nobody wrote"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range samples() {
		if got := r.String(s); (got != s) != (name == "one-secret") {
			t.Errorf("%s: changed: %v", name, got != s)
		}
	}
	for _, name := range []string{"one-run", "prose", "rows", "log", "table"} {
		s := samples()[name]
		if n := testing.AllocsPerRun(5, func() { r.String(s) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// R: Z6
func BenchmarkRedact(b *testing.B) {
	var environment []Known
	for i := range 8 {
		environment = append(environment, Known{"known", fmt.Sprintf("%dvalue/of an-environment%d", i, i*i)})
	}
	r, err := New(Options{Key: []byte("k"), Known: environment})
	if err != nil {
		b.Fatal(err)
	}
	for name, s := range samples() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				r.String(s)
			}
		})
	}
	doc := json.RawMessage(samples()["rows"])
	b.Run("rows-as-json", func(b *testing.B) {
		b.SetBytes(int64(len(doc)))
		b.ReportAllocs()
		for b.Loop() {
			r.JSON(doc)
		}
	})
}
