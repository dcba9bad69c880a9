package tools

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// What the harness costs around a call whose tool does nothing: deciding about
// it, running it, and forming 1 KB of result, without the database.
// R: Z6
func BenchmarkCall(b *testing.B) {
	rows := `{"ok": true, "rows": [` + strings.TrimSuffix(strings.Repeat(`{"id": "ord_01jd00019f3a2b1c", "customer": "Jane Meyer", "email": "jane.meyer@example.org",`+
		` "total": "1,201.50", "state": "shipped", "placed_at": "2026-11-02T09:41:07Z"}, `, 6), ", ") + `]}`
	for name, result := range map[string]string{"letters": `{"data": "` + strings.Repeat("x", 1000) + `"}`, "rows": rows} {
		b.Run(name, func(b *testing.B) {
			h := newBench(b, EffectRead, func(context.Context, json.RawMessage) (Output, error) {
				return Output{Data: json.RawMessage(result)}, nil
			})
			h.runner.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
			call := Call{N: 1, Tool: "x", Args: json.RawMessage(`{"order": "ord_01jd00019f3a2b1c", "limit": 20}`)}
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				plan := Prepare(call, h.facts)
				if o := h.runner.Execute(b.Context(), plan); !o.Result.OK() {
					b.Fatal(o.Result.Message())
				}
			}
		})
	}
}
