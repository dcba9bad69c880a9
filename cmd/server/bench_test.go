package main

import (
	"context"
	"testing"

	"baton/internal/bench"
	"baton/internal/postgres/pgtest"
)

// benchOn has a workload run on the tests' databases.
func benchOn(t *testing.T) func(context.Context, string) (string, func(), error) {
	return func(context.Context, string) (string, func(), error) { return pgtest.Empty(t), func() {}, nil }
}

// R: Z1
func TestBenchW1RunsItsSessionsBesideTheLimit(t *testing.T) {
	t.Parallel()
	w := bench.W1{Sessions: 3, Calls: 4, Concurrency: 2, Rounds: 1, Database: benchOn(t), Prepare: prepareW1, Report: t.Logf}
	r, err := w.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Workload != "w1" || r.Calls != 4 || r.CallsPerS <= 0 || r.LimitCallsPerS <= 0 || r.Ratio <= 0 || r.WALBytesPerCall < 1024 {
		t.Errorf("report is %+v", r)
	}
}

// R: Z2
func TestBenchW2SuspendsSessionsAndAnswersThem(t *testing.T) {
	t.Parallel()
	w := bench.W2{Sessions: 25, Answers: 5, Concurrency: 4, Database: benchOn(t), Prepare: prepareW2, Report: t.Logf}
	r, err := w.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Workload != "w2" || r.Suspended != 25 || r.Answered != 5 || r.LimitP50MS <= 0 || r.ResumeP99MS < r.ResumeP50MS || r.PickupP50MS > r.ResumeP50MS {
		t.Errorf("report is %+v", r)
	}
	w.Answers = 6
	if _, err := w.Measure(t.Context()); err == nil {
		t.Error("more answers than sessions to warm up and answer are taken")
	}
}
