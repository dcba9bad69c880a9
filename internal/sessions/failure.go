package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"baton/internal/i18n"
)

// ExplainFailure says why a session failed, in ctx's reader's language. said is
// what the failing part said of itself, exactly: it is for those who look after
// agents. A code that this build doesn't know has words, too.
func ExplainFailure(ctx context.Context, failure json.RawMessage) (words i18n.Problem, said string) {
	var f struct {
		Code   string         `json:"code"`
		Params map[string]any `json:"params"`
	}
	if json.Unmarshal(failure, &f) != nil || f.Code == "" {
		f.Code = "unknown"
	}
	if f.Params == nil {
		f.Params = map[string]any{}
	}
	if limit, ok := strings.CutPrefix(f.Code, "budget_"); ok {
		for _, name := range []string{"used", "max"} {
			f.Params[name] = figure(ctx, limit, fmt.Sprint(f.Params[name]))
		}
	}
	part := func(name string) string {
		key := "failure." + f.Code + name
		if s := (i18n.Message{Key: key, Params: f.Params}).In(ctx); s != key {
			return s
		}
		return i18n.Message{Key: "failure.unknown" + name, Params: f.Params}.In(ctx)
	}
	said, _ = f.Params["said"].(string)
	return i18n.Problem{What: part(".what"), Why: part(".why"), Do: part(".do")}, said
}

// figure writes what a limit counts in its unit.
func figure(ctx context.Context, limit, text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return text
	case limit == "cost_usd":
		cents := (n + 5_000) / 10_000 // of millionths
		return i18n.Money(ctx, fmt.Sprintf("%d.%02d", cents/100, cents%100), "USD")
	case limit == "working_time":
		return i18n.Span(ctx, time.Duration(n))
	}
	return i18n.Number(ctx, n)
}
