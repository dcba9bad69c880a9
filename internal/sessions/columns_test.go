package sessions

import (
	"math"
	"testing"
	"time"
)

// A time that is longer than its column holds is the longest that it holds, and
// never a negative one.
// R: A2
func TestTimesThatDontFitTheirColumnAreTheLongestThatDo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int32{
		math.MaxInt64: math.MaxInt32, math.MinInt64: 0, 100 * 24 * time.Hour: math.MaxInt32, -time.Second: 0, 0: 0, 1500 * time.Microsecond: 1,
	} {
		cols := columnsOfEnded([]EndedCall{{Queued: d, Duration: d}})
		if cols.queued[0] != want || cols.duration[0] != want {
			t.Errorf("%s is %d and %d ms, want %d", d, cols.queued[0], cols.duration[0], want)
		}
	}
}
