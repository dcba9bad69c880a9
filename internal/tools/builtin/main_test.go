package builtin_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"

	"baton/internal/id"
	"baton/internal/permission"
	"baton/internal/postgres/pgtest"
	"baton/internal/redact"
	"baton/internal/tools"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// bench runs a tool as a session does: prepared, executed, presented.
type bench struct {
	t     testing.TB
	facts tools.Facts
	run   tools.Runner
	n     int
}

func newBench(t testing.TB, tool tools.Tool, err error) *bench {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return newBenchOf(t, tool)
}

func newBenchOf(t testing.TB, list ...tools.Tool) *bench {
	t.Helper()
	reg, err := tools.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	red, err := redact.New(redact.Options{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{
		t:     t,
		facts: tools.Facts{Tools: reg, Policy: permission.Policy{Mode: permission.Auto}},
		run:   tools.Runner{Session: id.New[id.Session](), Tools: reg, Redactor: red, Retries: &tools.RetryBudgets{}, Stuck: &atomic.Int64{}, Log: slog.New(slog.DiscardHandler)},
	}
}

// call runs one call; args are any value that marshals.
func (b *bench) call(ctx context.Context, tool string, args any) tools.Outcome {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	b.n++
	p := tools.Prepare(tools.Call{N: b.n, Tool: tool, Args: raw}, b.facts)
	if p.Verdict == tools.Ended {
		return tools.Outcome{Result: *p.Result, Status: p.Status()}
	}
	if p.Verdict != tools.Ready {
		b.t.Fatalf("%s: %s", raw, p.Verdict)
	}
	return b.run.Execute(ctx, p)
}

type m map[string]any
