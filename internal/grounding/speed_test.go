package grounding_test

import (
	"fmt"
	"strings"
	"testing"

	"baton/internal/grounding"
)

// R: A5
func BenchmarkReport(b *testing.B) {
	var report strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&report, "2026-11-%02d 08:%02d parcel X-%05d scanned at depot %d\n", n%30+1, n%60, n, n%17)
	}
	b.SetBytes(int64(report.Len()))
	for b.Loop() {
		new(grounding.Ground).Add(report.String())
	}
}
