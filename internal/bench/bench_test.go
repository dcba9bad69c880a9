package bench

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// R: Z1
func TestAMedianStandsInTheMiddle(t *testing.T) {
	t.Parallel()
	for want, values := range map[float64][]float64{0: nil, 3: {9, 3, 1}, 2.5: {4, 1, 2, 3}} {
		if got := median(values); got != want {
			t.Errorf("median of %v is %v, want %v", values, got, want)
		}
	}
}

// R: Z2
func TestAPercentileIsAMeasuredValueThatSoManyAreNotAbove(t *testing.T) {
	t.Parallel()
	values := make([]float64, 200)
	for i := range values {
		values[i] = float64(200 - i)
	}
	for percent, want := range map[float64]float64{50: 100, 99: 198, 100: 200, 0: 1} {
		if got := percentile(values, percent); got != want {
			t.Errorf("percentile %v is %v, want %v", percent, got, want)
		}
	}
	if got := percentile([]float64{7}, 99); got != 7 {
		t.Errorf("percentile of one value is %v", got)
	}
}

// R: Z1
func TestFiguresAreWhatHappenedBetweenForEachCall(t *testing.T) {
	t.Parallel()
	at := time.Now()
	before := snapshot{at: at, cpu: time.Second, databaseUS: 100, wal: 1000, statements: 5, writes: 7}
	after := snapshot{at: at.Add(2 * time.Second), cpu: 3 * time.Second, databaseUS: 300, wal: 5000, statements: 25, writes: 17}
	want := measured{callsPerS: 5, statements: 2, writes: 1, wal: 400, cpuUS: 200_000, databaseUS: 20}
	if got := before.until(after, 10); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	before.statements, before.databaseUS = -1, -1
	if got := before.until(after, 10); got.statements != -1 || got.databaseUS != -1 {
		t.Errorf("what can't be read is told as %v and %v", got.statements, got.databaseUS)
	}
}

// R: Z1
func TestResultsAreAKilobyteOfJSON(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 7, 19, 199} {
		for name, result := range map[string]string{"letters": W1{}.Result(n), "rows": W1{Rows: true}.Result(n)} {
			if len(result) != 1024 || !json.Valid([]byte(result)) {
				t.Errorf("%s: %d bytes: %s", name, len(result), result)
			}
		}
	}
}

// R: Z1
func TestCPUOfAProcessIsRead(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	pid := strconv.Itoa(os.Getpid())
	// What is counted are ticks of 10 ms: work until there are some.
	for before := cpuOfTree(pid); cpuOfTree(pid) <= before; {
	}
}

// R: Z4
func TestEachViewerIsMeasuredForEachEventOnce(t *testing.T) {
	t.Parallel()
	at := time.Now()
	events := moments{at: map[int64]time.Time{1: at, 2: at.Add(10 * time.Millisecond), 3: at.Add(20 * time.Millisecond)}, last: 3}
	frames := make(chan Received, 10)
	later := func(ms int) time.Time { return at.Add(time.Duration(ms) * time.Millisecond) }
	for _, f := range []Received{
		{Viewer: 0, Seq: 1, At: later(4)}, {Viewer: 1, Seq: 2, At: later(15)}, // a frame that tells of two events
		{Viewer: 0, Seq: 2, At: later(16)}, {Viewer: 0, Seq: 2, At: later(90)}, // and one of nothing new
		{Viewer: 1, Seq: 3, At: later(27)}, {Viewer: 0, Seq: 3, At: later(28)},
	} {
		frames <- f
	}
	got := record(frames).until(2, 3)
	took := events.took(got)
	want := []float64{4, 15, 5, 6, 7, 8}
	if !slices.Equal(took, want) {
		t.Errorf("took %v, want %v", took, want)
	}
	// Viewers who are gone are not waited for.
	close(frames)
	if got := record(frames).until(3, 3); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
