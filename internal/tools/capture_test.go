package tools

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the sizes of the writes: true totals, the first and the last bytes.
// R: L5
func TestCaptureKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var c Capture
		var all []byte
		for i, n := range rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 3000), rapid.IntRange(0, 900<<10)), 1, 6).Draw(t, "writes") {
			p := bytes.Repeat([]byte{byte('a' + i), '\n', byte('A' + i)}, n/3+1)[:n]
			all = append(all, p...)
			if got, err := c.Write(p); got != n || err != nil {
				t.Fatal(got, err)
			}
		}
		got := c.Read()
		lines := int64(bytes.Count(all, []byte{'\n'}))
		if len(all) > 0 && all[len(all)-1] != '\n' {
			lines++
		}
		if got.TotalBytes != int64(len(all)) || got.TotalLines != lines || int64(len(got.Head)+len(got.Tail))+got.Lost != got.TotalBytes {
			t.Fatalf("totals %d bytes, %d lines, %d lost; want %d, %d", got.TotalBytes, got.TotalLines, got.Lost, len(all), lines)
		}
		if !bytes.HasPrefix(all, got.Head) || !bytes.HasSuffix(all, got.Tail) {
			t.Fatal("not the head and the tail")
		}
		if len(all) <= CaptureHead+CaptureTail && got.Lost != 0 || len(got.Head)+len(got.Tail) > CaptureHead+CaptureTail {
			t.Fatalf("lost %d of %d", got.Lost, len(all))
		}
	})
}

// However often the tail has gone round, it is what came last.
// R: L5
func TestTheTailOfACaptureIsWhatCameLast(t *testing.T) {
	t.Parallel()
	var all []byte
	for n := range 400_000 {
		all = fmt.Appendf(all, "%07d\n", n) // no part is like another
	}
	for _, piece := range []int{7_001, 100_003, 500_009} {
		var c Capture
		for at := 0; at < len(all); at += piece {
			end := min(at+piece, len(all))
			_, _ = c.Write(all[at:end])
			got := c.Read()
			if !bytes.HasPrefix(all, got.Head) || !bytes.HasSuffix(all[:end], got.Tail) || got.Lost > 0 && len(got.Tail) != CaptureTail {
				t.Fatalf("after %d bytes in pieces of %d: not the head and the tail", end, piece)
			}
		}
	}
}

// R: L5
func TestCaptureDropsWhatComesAfterItsEnd(t *testing.T) {
	t.Parallel()
	var c Capture
	_, _ = c.Write([]byte("in time"))
	c.Close()
	_, _ = c.Write([]byte("late"))
	if got := c.Read(); string(got.Head) != "in time" || got.TotalBytes != 7 {
		t.Errorf("%+v", got)
	}
}

// A secret that the gap cuts in half is dropped on both sides.
// R: L5, O3
func TestNothingHalfStandsAtTheGap(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]string{
		"line":      "password: hun" + strings.Repeat("t", 200) + "er2 with words\n",
		"key block": "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("c2VjcmV0c2VjcmV0\n", 2000) + "-----END RSA PRIVATE KEY-----\n",
	} {
		for _, at := range []int{1, 20, len(secret) / 2, len(secret) - 5} {
			var c Capture
			filler := []byte(strings.Repeat("harmless line\n", CaptureHead/14+1))
			_, _ = c.Write(filler[:CaptureHead-at])
			_, _ = c.Write([]byte(secret))
			_, _ = c.Write(bytes.Repeat([]byte("between\n"), 100))
			_, _ = c.Write([]byte(secret))
			_, _ = c.Write(bytes.Repeat([]byte("harmless line\n"), CaptureTail/14+1)[:CaptureTail-at])
			got := c.Read()
			if got.Lost == 0 {
				t.Fatal("nothing was lost")
			}
			got = got.trimSeam(0)
			all := string(got.Head) + string(got.Tail)
			if strings.Contains(all, "er2") || strings.Contains(all, "hunt") || strings.Contains(all, "c2VjcmV0") {
				t.Errorf("%s at %d: a piece stayed", name, at)
			}
			if int64(len(all))+got.Lost != got.TotalBytes || len(all) < CaptureHead {
				t.Errorf("%s at %d: %d kept, %d lost of %d", name, at, len(all), got.Lost, got.TotalBytes)
			}
		}
	}
}
