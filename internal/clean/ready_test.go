package clean_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"baton/internal/clean"
)

// R: F10
// case: abuse A04
func TestATextThatComesInPiecesIsCleanedAsIfAtOnce(t *testing.T) {
	t.Parallel()
	parts := []string{"AKIA", "\x1b[0m", "IOSFODNN7", "\x1b]8;;https://evil.example\x1b\\", "link", "\x1b]8;;\x07", "\u009b31m", "é", "退款", "\n", "\r\n", " ", "\u202e", "\x1b", "[", "end", "\x1bPq", "\u009c"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var b strings.Builder
		for range rnd.IntN(12) {
			b.WriteString(parts[rnd.IntN(len(parts))])
		}
		text := b.String()
		var got strings.Builder
		held := ""
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(len(rest))
			held += rest[:n]
			rest = rest[n:]
			ready := clean.Ready(held)
			got.WriteString(clean.Text(held[:ready]))
			held = held[ready:]
		}
		got.WriteString(clean.Text(held))
		if want := clean.Text(text); got.String() != want {
			t.Fatalf("%q in pieces is %q, at once %q", text, got.String(), want)
		}
	}
}
