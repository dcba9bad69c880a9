package bench

import (
	"context"
	"fmt"
	"slices"
)

// W1 is the workload w1: sessions of the scripted model that make calls with
// 1 KB results, each reply and each result durable before the next step.
type W1 struct {
	Sessions, Calls, Concurrency, Rounds int
	Rows                                 bool // results look like rows of a shop; else they are one letter
	// Database makes a fresh database and returns its URL, and what drops it.
	Database func(ctx context.Context, round string) (url string, drop func(), err error)
	// Run runs the sessions on a database and returns when all have ended, each
	// completed. Prepare has brought the schema, the agent and the workers.
	Prepare func(ctx context.Context, url string, w W1) (run func(ctx context.Context) error, end func(), err error)
	Report  func(format string, args ...any) // progress, for people
	// Statements reports what each statement cost, too.
	Statements bool
}

// W1Report is the line that w1 prints. Figures are medians of the rounds.
type W1Report struct {
	Workload          string  `json:"workload"`
	Concurrency       int     `json:"concurrency"`
	Sessions          int     `json:"sessions"`
	Calls             int     `json:"calls_per_session"`
	CallsPerS         float64 `json:"calls_per_s"`
	LimitCallsPerS    float64 `json:"limit_calls_per_s"`
	Ratio             float64 `json:"ratio"`
	StatementsPerCall float64 `json:"statements_per_call"`
	WriteTxPerCall    float64 `json:"write_tx_per_call"`
	WALBytesPerCall   float64 `json:"wal_bytes_per_call"`
	CPUUSPerCall      float64 `json:"cpu_us_per_call"`
	LimitCPUUSPerCall float64 `json:"limit_cpu_us_per_call"`
	// The same of Postgres, with whose processes the machine is shared; -1 where
	// it can't be read.
	DatabaseCPUUSPerCall      float64 `json:"database_cpu_us_per_call"`
	LimitDatabaseCPUUSPerCall float64 `json:"limit_database_cpu_us_per_call"`
	Rounds                    int     `json:"rounds"`
	Load1                     float64 `json:"load1"`
	// Judged says whether the machine was quiet enough for the ratio to mean
	// something: a load average of 2 or less when the run began.
	Judged bool `json:"judged"`
}

// quietLoad is the load average above which times are not judged.
const quietLoad = 2.0

// Measure runs the rounds: the limit, then Baton, each on a fresh database.
func (w W1) Measure(ctx context.Context) (W1Report, error) {
	r := W1Report{Workload: "w1", Concurrency: w.Concurrency, Sessions: w.Sessions, Calls: w.Calls, Rounds: w.Rounds, Load1: Load1()}
	r.Judged = r.Load1 <= quietLoad
	var ours, limits []measured
	var ratios []float64
	for round := range w.Rounds {
		l, err := w.limitRound(ctx, round)
		if err != nil {
			return r, fmt.Errorf("measure the limit: %w", err)
		}
		o, err := w.ownRound(ctx, round)
		if err != nil {
			return r, fmt.Errorf("measure w1: %w", err)
		}
		ours, limits, ratios = append(ours, o), append(limits, l), append(ratios, o.callsPerS/l.callsPerS)
		w.Report("round %d: %.0f calls/s of %.0f (%.2f), %.2f statements, %.2f writing transactions, %.0f bytes of WAL, %.0f + %.0f us of CPU (%.0f + %.0f) a call\n",
			round+1, o.callsPerS, l.callsPerS, o.callsPerS/l.callsPerS, o.statements, o.writes, o.wal, o.cpuUS, o.databaseUS, l.cpuUS, l.databaseUS)
	}
	pick := func(list []measured, f func(measured) float64) float64 {
		values := make([]float64, len(list))
		for i, m := range list {
			values[i] = f(m)
		}
		return median(values)
	}
	r.Ratio = median(ratios)
	r.CallsPerS = pick(ours, func(m measured) float64 { return m.callsPerS })
	r.LimitCallsPerS = pick(limits, func(m measured) float64 { return m.callsPerS })
	r.StatementsPerCall = pick(ours, func(m measured) float64 { return m.statements })
	r.WriteTxPerCall = pick(ours, func(m measured) float64 { return m.writes })
	r.WALBytesPerCall = pick(ours, func(m measured) float64 { return m.wal })
	r.CPUUSPerCall = pick(ours, func(m measured) float64 { return m.cpuUS })
	r.LimitCPUUSPerCall = pick(limits, func(m measured) float64 { return m.cpuUS })
	r.DatabaseCPUUSPerCall = pick(ours, func(m measured) float64 { return m.databaseUS })
	r.LimitDatabaseCPUUSPerCall = pick(limits, func(m measured) float64 { return m.databaseUS })
	return r, nil
}

func (w W1) limitRound(ctx context.Context, round int) (measured, error) {
	url, drop, err := w.Database(ctx, fmt.Sprintf("limit_%d", round))
	if err != nil {
		return measured{}, err
	}
	defer drop()
	return w.between(ctx, url, func() error { return limit(ctx, url, w) })
}

func (w W1) ownRound(ctx context.Context, round int) (measured, error) {
	url, drop, err := w.Database(ctx, fmt.Sprintf("w1_%d", round))
	if err != nil {
		return measured{}, err
	}
	defer drop()
	run, end, err := w.Prepare(ctx, url, w)
	if err != nil {
		return measured{}, err
	}
	defer end()
	m, err := w.between(ctx, url, func() error { return run(ctx) })
	if err == nil && w.Statements {
		err = reportStatements(ctx, url, float64(w.Sessions*w.Calls), w.Report)
	}
	return m, err
}

func (w W1) between(ctx context.Context, url string, work func() error) (measured, error) {
	before, err := take(ctx, url)
	if err != nil {
		return measured{}, err
	}
	if err := work(); err != nil {
		return measured{}, err
	}
	after, err := take(ctx, url)
	return before.until(after, w.Sessions*w.Calls), err
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		return 0
	}
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}
