package bench

import (
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"baton/internal/id"

	"github.com/jackc/pgx/v5"
)

// W2 is the workload w2: sessions suspended by a question, of which some are
// answered. What counts is how soon a session goes on, and what it costs while
// it waits.
type W2 struct {
	Sessions, Answers, Concurrency int
	// Database makes a fresh database and returns its URL, and what drops it.
	Database func(ctx context.Context, round string) (url string, drop func(), err error)
	// Prepare brings the schema, the agent and the workers.
	Prepare func(ctx context.Context, url string, w W2) (Desk, error)
	Report  func(format string, args ...any) // progress, for people
}

// Desk is where w2's sessions are suspended and their questions answered.
type Desk struct {
	// Suspend starts n further sessions and returns when each waits for a person.
	Suspend func(ctx context.Context, n int) error
	// Questions lists open questions and counts the suspended sessions.
	Questions func(ctx context.Context, most int) (open []id.Escalation, suspended int, err error)
	// Answer answers a question as a person, without a hold, and returns when the
	// session has been let go of again.
	Answer func(ctx context.Context, question id.Escalation) (Resumed, error)
	End    func()
}

// Resumed is how long after its answer was accepted a session was taken up by a
// worker, and its next tool call started.
type Resumed struct{ TakenUp, Called time.Duration }

// W2Report is the line that w2 prints.
type W2Report struct {
	Workload    string  `json:"workload"`
	Suspended   int     `json:"suspended"`
	Answered    int     `json:"answered"`
	ResumeP50MS float64 `json:"resume_p50_ms"` // answer accepted to next call started
	ResumeP99MS float64 `json:"resume_p99_ms"`
	PickupP50MS float64 `json:"pickup_p50_ms"` // the part of it until a worker takes the session up
	PickupP99MS float64 `json:"pickup_p99_ms"`
	// What three commits one after the other took, measured after each answer:
	// the least that takes a session from its answer to its next call.
	LimitP50MS float64 `json:"limit_resume_p50_ms"`
	LimitP99MS float64 `json:"limit_resume_p99_ms"`
	Ratio      float64 `json:"ratio"` // the resume's p50 to the limit's
	// Of this process, for each session between the two measurements.
	RSSPerSuspended        float64 `json:"rss_per_suspended_b"`
	HeapPerSuspended       float64 `json:"heap_per_suspended_b"`
	GoroutinesPerSuspended float64 `json:"goroutines_per_suspended"`
	Load1                  float64 `json:"load1"`
	Judged                 bool    `json:"judged"` // as W1Report's
}

const (
	firstMost   = 1000 // sessions suspended when the memory is first measured
	startAtOnce = 500
	// The first answers find connections without prepared statements, as no
	// server that has been up for a while does. They are not counted.
	warmUp = 20
)

// Measure suspends the sessions and answers some.
func (w W2) Measure(ctx context.Context) (W2Report, error) {
	r := W2Report{Workload: "w2", Load1: Load1()}
	r.Judged = r.Load1 <= quietLoad
	if w.Answers < 1 || w.Answers+warmUp > w.Sessions {
		return r, fmt.Errorf("%d answers need %d sessions, to warm up with %d", w.Answers, w.Answers+warmUp, warmUp)
	}
	url, drop, err := w.Database(ctx, "w2")
	if err != nil {
		return r, err
	}
	defer drop()
	desk, err := w.Prepare(ctx, url, w)
	if err != nil {
		return r, err
	}
	defer desk.End()
	if err := w.suspend(ctx, desk, &r); err != nil {
		return r, fmt.Errorf("suspend sessions: %w", err)
	}
	if err := w.answer(ctx, url, desk, &r); err != nil {
		return r, fmt.Errorf("answer questions: %w", err)
	}
	return r, nil
}

// suspend suspends the sessions and measures what each of them costs. What is
// warm after the first ones (pools, caches, code) is not theirs.
func (w W2) suspend(ctx context.Context, desk Desk, r *W2Report) error {
	first := max(1, min(firstMost, w.Sessions/10))
	var before footprint
	for n := 0; n < w.Sessions; {
		next := min(startAtOnce, w.Sessions-n)
		if n < first {
			next = min(next, first-n)
		}
		if err := desk.Suspend(ctx, next); err != nil {
			return err
		}
		if n += next; n == first {
			before = footprintNow()
		}
		w.Report("%d of %d sessions suspended\n", n, w.Sessions)
	}
	after, grown := footprintNow(), float64(w.Sessions-first)
	if grown > 0 {
		r.RSSPerSuspended = (after.rss - before.rss) / grown
		r.HeapPerSuspended = (after.heap - before.heap) / grown
		r.GoroutinesPerSuspended = (after.goroutines - before.goroutines) / grown
	}
	return nil
}

func (w W2) answer(ctx context.Context, url string, desk Desk, r *W2Report) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sqlLimitTable); err != nil {
		return err
	}
	open, suspended, err := desk.Questions(ctx, w.Answers+warmUp)
	if err != nil {
		return err
	}
	if suspended != w.Sessions || len(open) != w.Answers+warmUp {
		return fmt.Errorf("%d of %d sessions are suspended", suspended, w.Sessions)
	}
	r.Suspended = suspended
	var taken, called, limits []float64
	for i, question := range open {
		resumed, err := desk.Answer(ctx, question)
		if err != nil {
			return err
		}
		least, err := limitResume(ctx, conn, i)
		if err != nil {
			return err
		}
		if i < warmUp {
			continue
		}
		taken = append(taken, ms(resumed.TakenUp))
		called = append(called, ms(resumed.Called))
		limits = append(limits, ms(least))
	}
	r.Answered = len(called)
	r.ResumeP50MS, r.ResumeP99MS = percentile(called, 50), percentile(called, 99)
	r.PickupP50MS, r.PickupP99MS = percentile(taken, 50), percentile(taken, 99)
	r.LimitP50MS, r.LimitP99MS = percentile(limits, 50), percentile(limits, 99)
	r.Ratio = r.ResumeP50MS / r.LimitP50MS
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// percentile is the least value that so many percent are not above.
func percentile(values []float64, percent float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(percent/100*float64(len(sorted))))-1)]
}

// footprint is what this process holds.
type footprint struct{ rss, heap, goroutines float64 }

// footprintNow measures after garbage has been collected and given back.
func footprintNow() footprint {
	runtime.GC()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{rss: rss(), heap: float64(m.HeapAlloc), goroutines: float64(runtime.NumGoroutine())}
}

// rss is this process's resident memory in bytes, 0 where it can't be read.
func rss() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseFloat(fields[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize())
}
