package bench

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// Live is the workload live: viewers of one session in whose ledger events are
// written, and what it takes until each of them has each event. Beside it, in
// the same run, goes the least that does as much: a loop that writes messages of
// the same size to as many connections.
type Live struct {
	Viewers int
	Rate    float64 // events a second
	For     time.Duration
	Rounds  int

	// Database makes a fresh database and returns its address.
	Database func(ctx context.Context, round string) (url string, drop func(), err error)
	// Prepare serves pages on it, with a session to be watched.
	Prepare func(ctx context.Context, url string) (Stage, error)
	Report  func(format string, args ...any)
}

// Stage is a served session and its viewers, who are another process.
type Stage interface {
	// Watch brings viewers before the session, and returns when all of them are
	// up to date. Each frame comes back with the event up to which it tells.
	Watch(ctx context.Context, viewers int) (frames <-chan Received, leave func(), err error)
	// Write writes an event, durable, and returns its number.
	Write(ctx context.Context) (seq int64, err error)
	// Browse opens the session in a browser, and brings each event's row once it
	// stands in the page. Nil frames: there is no browser here.
	Browse(ctx context.Context) (rows <-chan Received, leave func(), err error)
	// Bare brings viewers to a loop that does nothing but write to them.
	Bare(ctx context.Context, viewers, bytes int) (send func() error, frames <-chan Received, leave func(), err error)
	End()
}

// Received is a frame that a viewer has.
type Received struct {
	Viewer int
	Seq    int64
	At     time.Time
	Bytes  int
}

// LiveReport is what Live measured: medians of the rounds, which are on fresh
// databases. Times are from the return of the write that made an event durable.
type LiveReport struct {
	Workload       string  `json:"workload"` // "live"
	Viewers        int     `json:"viewers"`
	Rate           float64 `json:"rate"`
	Events         int     `json:"events"`
	Frames         int     `json:"frames"` // received by all viewers together
	BytesPerFrame  float64 `json:"bytes_per_frame"`
	FrameP50MS     float64 `json:"frame_p50_ms"`
	FrameP99MS     float64 `json:"frame_p99_ms"`
	DOMP50MS       float64 `json:"dom_p50_ms"` // until the event's row stands in a browser's page; 0 without a browser
	DOMP99MS       float64 `json:"dom_p99_ms"`
	CPUPerFrame    float64 `json:"cpu_us_per_frame"` // of the serving process
	BareCPU        float64 `json:"bare_cpu_us_per_frame"`
	CPURatio       float64 `json:"cpu_ratio"`
	BareP50MS      float64 `json:"bare_p50_ms"`
	BareP99MS      float64 `json:"bare_p99_ms"`
	BytesPerViewer float64 `json:"rss_per_viewer_b"`
	Rounds         int     `json:"rounds"`
	Load1          float64 `json:"load1"`
	Judged         bool    `json:"judged"` // as W1Report's
}

// Measure runs the rounds.
func (l Live) Measure(ctx context.Context) (LiveReport, error) {
	r := LiveReport{Workload: "live", Viewers: l.Viewers, Rate: l.Rate, Rounds: l.Rounds, Load1: Load1()}
	r.Judged = r.Load1 <= quietLoad
	if l.Viewers < 1 || l.Rate <= 0 || l.For <= 0 || l.Rounds < 1 {
		return r, fmt.Errorf("viewers, rate, time and rounds have to be above zero")
	}
	var all []LiveReport
	for round := range l.Rounds {
		one, err := l.round(ctx, round)
		if err != nil {
			return r, err
		}
		l.Report("round %d: %d frames, p50 %.1f ms, p99 %.1f ms (in a page %.1f, %.1f; bare %.1f, %.1f), %.1f us of CPU a frame (bare %.1f), %.0f B a viewer\n",
			round+1, one.Frames, one.FrameP50MS, one.FrameP99MS, one.DOMP50MS, one.DOMP99MS, one.BareP50MS, one.BareP99MS, one.CPUPerFrame, one.BareCPU, one.BytesPerViewer)
		all = append(all, one)
	}
	median := func(of func(LiveReport) float64) float64 {
		values := make([]float64, len(all))
		for i, one := range all {
			values[i] = of(one)
		}
		return percentile(values, 50)
	}
	r.Events, r.Frames = all[0].Events, all[0].Frames
	r.BytesPerFrame = median(func(o LiveReport) float64 { return o.BytesPerFrame })
	r.FrameP50MS = median(func(o LiveReport) float64 { return o.FrameP50MS })
	r.FrameP99MS = median(func(o LiveReport) float64 { return o.FrameP99MS })
	r.DOMP50MS = median(func(o LiveReport) float64 { return o.DOMP50MS })
	r.DOMP99MS = median(func(o LiveReport) float64 { return o.DOMP99MS })
	r.CPUPerFrame = median(func(o LiveReport) float64 { return o.CPUPerFrame })
	r.BareCPU = median(func(o LiveReport) float64 { return o.BareCPU })
	r.CPURatio = median(func(o LiveReport) float64 { return o.CPUPerFrame / o.BareCPU })
	r.BareP50MS = median(func(o LiveReport) float64 { return o.BareP50MS })
	r.BareP99MS = median(func(o LiveReport) float64 { return o.BareP99MS })
	r.BytesPerViewer = median(func(o LiveReport) float64 { return o.BytesPerViewer })
	return r, nil
}

func (l Live) round(ctx context.Context, round int) (r LiveReport, err error) {
	url, drop, err := l.Database(ctx, fmt.Sprintf("live%d", round))
	if err != nil {
		return r, err
	}
	defer drop()
	stage, err := l.Prepare(ctx, url)
	if err != nil {
		return r, err
	}
	defer stage.End()
	// The first viewer costs what is there once for all: statements, words, and
	// what measuring itself needs.
	_, leave, err := stage.Watch(ctx, 1)
	if err != nil {
		return r, err
	}
	leave()
	before := footprintNow()
	frames, leave, err := stage.Watch(ctx, l.Viewers)
	if err != nil {
		return r, err
	}
	r.BytesPerViewer = (footprintNow().rss - before.rss) / float64(l.Viewers)
	events := new(moments)
	tape := record(frames)
	cpu, err := l.drive(ctx, func() error { return events.write(ctx, stage) })
	if err != nil {
		return r, err
	}
	got := tape.until(l.Viewers, events.last)
	leave()
	took := events.took(got)
	r.Events, r.Frames = len(events.at), len(got)
	for _, f := range got {
		r.BytesPerFrame += float64(f.Bytes) / float64(len(got))
	}
	r.FrameP50MS, r.FrameP99MS = percentile(took, 50), percentile(took, 99)
	r.CPUPerFrame = cpu / float64(len(got))
	if err := l.browse(ctx, stage, &r); err != nil {
		return r, err
	}

	send, bare, leave, err := stage.Bare(ctx, l.Viewers, int(r.BytesPerFrame))
	if err != nil {
		return r, err
	}
	defer leave()
	sent := new(moments)
	tape = record(bare)
	// As many messages in as much time as there were frames for each viewer.
	paced := l
	paced.Rate = l.Rate * float64(r.Frames) / float64(r.Events*l.Viewers)
	cpu, err = paced.drive(ctx, func() error {
		sent.note(sent.last + 1)
		return send()
	})
	if err != nil {
		return r, err
	}
	got = tape.until(l.Viewers, sent.last)
	took = sent.took(got)
	r.BareP50MS, r.BareP99MS = percentile(took, 50), percentile(took, 99)
	r.BareCPU = cpu / float64(len(got))
	return r, nil
}

// browse measures the way into a page, with one browser alone.
func (l Live) browse(ctx context.Context, stage Stage, r *LiveReport) error {
	rows, leave, err := stage.Browse(ctx)
	if err != nil || rows == nil {
		return err
	}
	defer leave()
	events := new(moments)
	tape := record(rows)
	if _, err := l.drive(ctx, func() error { return events.write(ctx, stage) }); err != nil {
		return err
	}
	took := events.took(tape.until(1, events.last))
	r.DOMP50MS, r.DOMP99MS = percentile(took, 50), percentile(took, 99)
	return nil
}

// drive calls write at the rate, and returns the microseconds of CPU that this
// process used meanwhile.
func (l Live) drive(ctx context.Context, write func() error) (float64, error) {
	began, used := time.Now(), cpuUsed()
	tick := time.NewTicker(time.Duration(float64(time.Second) / l.Rate))
	defer tick.Stop()
	for time.Since(began) < l.For {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-tick.C:
		}
		if err := write(); err != nil {
			return 0, err
		}
	}
	return float64((cpuUsed() - used).Microseconds()), nil
}

// moments are when events happened, by their numbers.
type moments struct {
	at   map[int64]time.Time
	last int64
}

func (m *moments) note(seq int64) {
	if m.at == nil {
		m.at = map[int64]time.Time{}
	}
	m.at[seq], m.last = time.Now(), seq
}

func (m *moments) write(ctx context.Context, stage Stage) error {
	seq, err := stage.Write(ctx)
	m.note(seq)
	return err
}

// took is how long each event took to each viewer, in ms.
func (m *moments) took(got []Received) (took []float64) {
	has := map[int]int64{}
	for _, f := range got {
		for seq := has[f.Viewer] + 1; seq <= f.Seq; seq++ {
			if at, known := m.at[seq]; known {
				took = append(took, ms(max(0, f.At.Sub(at))))
			}
		}
		has[f.Viewer] = max(has[f.Viewer], f.Seq)
	}
	return took
}

// tape takes down what viewers have as it comes, so that they never wait.
type tape struct {
	mu   sync.Mutex
	more sync.Cond
	got  []Received
	over bool
}

func record(frames <-chan Received) *tape {
	t := &tape{}
	t.more.L = &t.mu
	go func() {
		for f := range frames {
			t.mu.Lock()
			t.got = append(t.got, f)
			t.more.Signal()
			t.mu.Unlock()
		}
		t.mu.Lock()
		t.over = true
		t.more.Signal()
		t.mu.Unlock()
	}()
	return t
}

// until returns all frames up to those with which each viewer has the last event.
func (t *tape) until(viewers int, last int64) []Received {
	t.mu.Lock()
	defer t.mu.Unlock()
	has := make(map[int]bool, viewers)
	for next := 0; len(has) < viewers; next++ {
		for next == len(t.got) && !t.over {
			t.more.Wait()
		}
		if next == len(t.got) {
			break
		}
		if f := t.got[next]; f.Seq >= last {
			has[f.Viewer] = true
		}
	}
	return t.got
}

func cpuUsed() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
