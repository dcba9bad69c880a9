package i18n

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A Unit says how a Figure is written.
type Unit string

// The units.
const (
	Nanoseconds Unit = "ns"         // as a span: 20m 00s
	MicroUSD    Unit = "micros_usd" // millionths of a US dollar, as a sum in cents
)

// A Figure is a value of a Message that each reader sees written their way,
// though it is more than a number. It can be stored as JSON within its Message.
type Figure struct {
	Unit Unit  `json:"unit"`
	N    int64 `json:"n"`
}

// In writes the figure for ctx's reader. One of no known unit is a number.
func (f Figure) In(ctx context.Context) string {
	switch f.Unit {
	case Nanoseconds:
		return Span(ctx, time.Duration(f.N))
	case MicroUSD:
		cents := (f.N + 5_000) / 10_000
		return Money(ctx, fmt.Sprintf("%d.%02d", cents/100, cents%100), "USD")
	}
	return Number(ctx, f.N)
}

// figureOf also takes the map that a stored Message's figure comes back as from
// JSON.
func figureOf(v any) (Figure, bool) {
	switch v := v.(type) {
	case Figure:
		return v, true
	case map[string]any:
		unit, named := v["unit"].(string)
		switch n := v["n"].(type) {
		case float64:
			return Figure{Unit(unit), int64(n)}, named
		case json.Number:
			whole, err := n.Int64()
			return Figure{Unit(unit), whole}, named && err == nil
		}
	}
	return Figure{}, false
}
