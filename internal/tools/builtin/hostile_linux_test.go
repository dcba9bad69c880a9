package builtin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"baton/internal/process"
	"baton/internal/tools"
)

// hostile is a tool with a short patience, made of a body.
func hostile(t *testing.T, run func(ctx context.Context) (tools.Output, error)) *bench {
	t.Helper()
	tool, err := tools.Func(tools.Spec{
		Name: "hostile", Effect: tools.EffectSide, Timeout: 30 * time.Second, Grace: 10 * time.Second, Retry: tools.RetryPolicy{Attempts: 1},
	}, func(ctx context.Context, _ struct{}) (tools.Output, error) { return run(ctx) })
	return newBench(t, tool, err)
}

// sh is a tool that runs a script, as a tool for shells would.
func sh(script string) func(ctx context.Context) (tools.Output, error) {
	return func(ctx context.Context) (tools.Output, error) {
		exit, err := process.Run(ctx, process.Command{Path: "sh", Args: []string{"-c", script}, Output: tools.Writer(ctx), Grace: 50 * time.Millisecond})
		switch {
		case err != nil:
			return tools.Output{}, err
		case exit.Stopped:
			return tools.Output{}, context.Cause(ctx)
		case !exit.OK():
			return tools.Output{}, tools.Fail(tools.ExecutionError, "The command failed: "+exit.String()+".")
		}
		return tools.Output{}, nil
	}
}

// Each kind of hostile tool has its defined result, and the process hardly grows.
// R: L1, L4, L5, L6, F6, F10
// case: fault F30
// case: harness A8
func TestHostileToolsHaveTheirResults(t *testing.T) { //nolint:paralleltest // measures the process
	const gigabyte = 1 << 30
	for name, c := range map[string]struct {
		run  func(ctx context.Context) (tools.Output, error)
		want tools.ErrorType // empty: success
		says string
	}{
		"panics": {func(context.Context) (tools.Output, error) { panic("no") }, tools.Internal, "crashed"},
		"panics in its own goroutine": {func(ctx context.Context) (tools.Output, error) {
			tools.Go(ctx, func() { panic("there") })
			<-ctx.Done()
			return tools.Output{}, ctx.Err()
		}, tools.Internal, "crashed"},
		"writes a gigabyte": {func(ctx context.Context) (tools.Output, error) {
			line := bytes.Repeat([]byte(strings.Repeat("x", 99)+"\n"), 10000)
			for range gigabyte / len(line) {
				_, _ = tools.Writer(ctx).Write(line)
			}
			return tools.Output{}, nil
		}, "", "bytes that were not kept"},
		"a program prints a lot of text":    {sh(fmt.Sprintf("yes 'a line of text' | head -c %d; echo the end", gigabyte/8)), "", "the end"},
		"a program prints a gigabyte":       {sh(fmt.Sprintf("head -c %d /dev/zero", gigabyte)), "", `"binary":true`},
		"a program reads what nobody wrote": {sh("cat; echo read"), "", `"read\n"`},
		"a program leaves children":         {sh("(setsid sleep 300 &) ; sleep 300 & echo left"), "", `"left\n"`},
		"a program fails":                   {sh("echo broken >&2; exit 3"), tools.ExecutionError, "exit code 3"},
		"a program writes odd bytes":        {sh(`printf 'a\377b\033[31mred\342\200\256\r\n'`), "", `"a�bred[U+202E]\n"`},
		"returns broken JSON": {func(context.Context) (tools.Output, error) {
			return tools.Output{Data: json.RawMessage("{\"a\":\"\xff")}, nil
		}, "", `{\"a\":\"�`},
		"returns deep JSON": {func(context.Context) (tools.Output, error) {
			return tools.Output{Data: json.RawMessage(strings.Repeat("[", 1<<18) + strings.Repeat("]", 1<<18))}, nil
		}, "", "nested too deep"},
		"returns nothing": {func(context.Context) (tools.Output, error) { return tools.Output{}, nil }, "", `"data":""`},
	} {
		t.Run(name, func(t *testing.T) {
			b := hostile(t, c.run)
			grew := growth(t, func() {
				o := b.call(t.Context(), "hostile", m{})
				if text := o.Result.ForModel(); o.Result.ErrorType() != c.want || !strings.Contains(text, c.says) || len(text) > 100000 {
					t.Errorf("%s: %.2000s", o.Status, text)
				}
			})
			if grew > 64<<20 {
				t.Errorf("the process grew by %d MiB", grew>>20)
			}
		})
	}
}

// A program that is stopped says what it said, and its outcome is not known.
// R: L4, E4, X7
// case: harness A7
func TestAProgramIsStoppedWithItsCall(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b := hostile(t, func(ctx context.Context) (tools.Output, error) {
		_, _ = fmt.Fprintln(tools.Writer(ctx), "begun")
		cancel()
		return sh("trap '' TERM; setsid sleep 300 & sleep 300; wait")(ctx)
	})
	o := b.call(ctx, "hostile", m{})
	if text := o.Result.ForModel(); o.Result.ErrorType() != tools.OutcomeUnknown || !strings.Contains(text, "begun") {
		t.Errorf("%s", text)
	}
}

// growth is by how much the process was larger, at the most, than before.
func growth(t *testing.T, do func()) int64 {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak is that of now
		t.Skip("the peak of memory can't be measured here: ", err)
	}
	before := peak(t)
	do()
	return peak(t) - before
}

// peak is the largest resident set so far, in bytes.
func peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
