package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// cpu adds what an operation takes of a processor, which a crowded machine
// changes less than how long it takes. The result is to be deferred.
func cpu(b *testing.B) func() {
	b.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64((used()-before).Nanoseconds())/1000/float64(b.N), "cpu-us/op") }
}

// The exact fingerprint of 1 KB of arguments, from the text that a model wrote.
// R: Z6, X4
func BenchmarkExactHash(b *testing.B) {
	args := json.RawMessage(`{"to":["ana@example.org","ben@example.org"],"subject":"Order 4711","limit":20,"dry_run":false,"items":[` +
		strings.TrimSuffix(strings.Repeat(`{"sku":"TEA-01-GRN","quantity":2,"price":12.50,"note":"no hurry"},`, 13), ",") + `]}`)
	k := Keys{Fingerprint: NewKey([]byte("k"))}
	b.SetBytes(int64(len(args)))
	b.ReportAllocs()
	defer cpu(b)()
	for b.Loop() {
		c, err := canonical(args)
		if err != nil {
			b.Fatal(err)
		}
		exactFingerprint(k, "send_email", c)
	}
}

// What is made of a full capture of 1 MiB: cleaned, redacted, cut or summarised.
// R: Z6, F4
func BenchmarkForm(b *testing.B) {
	fill := func(line string) string { return strings.Repeat(line+"\n", 1<<20/(len(line)+1)) }
	for name, text := range map[string]string{
		"text":    fill("The order was shipped on Monday; the customer has not answered yet."),
		"log":     fill("2026-11-02T09:41:07.218Z INFO  order.shipped order=ORD-2026-00012 took=12ms"),
		"matches": fill("internal/shop/order.go:128:\treturn fmt.Errorf(\"ship order: %w\", err)"),
		"objects": fill(`{"level":"info","msg":"order 12 shipped","took_ms":12,"customer":{"id":"C0012"}}`),
	} {
		b.Run(name, func(b *testing.B) {
			p := testPresenter(b, Format{})
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			defer cpu(b)()
			for b.Loop() {
				p.output(Output{Text: text}, Captured{})
			}
		})
	}
}

// R: Z6, L5
func BenchmarkCapture(b *testing.B) {
	chunk := bytes.Repeat([]byte("a line of text that a program writes\n"), 886)[:32<<10] // as a pipe brings it
	b.SetBytes(int64(len(chunk)))
	var c Capture
	for b.Loop() {
		_, _ = c.Write(chunk)
	}
}

// A stream of 1 GB costs its buffer: what was allocated for it from the first
// byte to the formed result.
// R: Z6, L5
func TestAGigabyteTakesSixteenMegabytes(t *testing.T) { //nolint:paralleltest // measures the process
	p := testPresenter(t, Format{})
	line := bytes.Repeat([]byte(strings.Repeat("x", 79)+"\n"), 400)
	p.output(Output{Text: strings.Repeat("warm\n", 300)}, Captured{}) // what is made once isn't the stream's
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var c Capture
	for range 1 << 30 / len(line) {
		_, _ = c.Write(line)
	}
	out, kept := p.output(Output{}, c.Read())
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 16<<20 {
		t.Errorf("%d KiB were allocated", made>>10)
	}
	if out.Truncated == nil || len(kept) > CaptureHead+CaptureTail || !strings.Contains(fmt.Sprint(out.Notices), "lines") {
		t.Errorf("%+v", out.Truncated)
	}
}
