package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
)

// crew is a house with sessions at work.
type crew struct {
	house
	leases []*sessions.Lease
}

func hire(t *testing.T, h house, n int) crew {
	t.Helper()
	c := crew{house: h}
	replica := h.join(t)
	for range n {
		c.leases = append(c.leases, h.claim(t, replica, h.start(t).ID))
	}
	return c
}

// told is what WriteStep returned.
type told struct {
	sessions.Written
	err error
}

// together writes a step of each session at the same moment, so that all go out
// in one statement. While they are under way it calls meanwhile, if there is
// one.
func (c crew) together(t *testing.T, steps []sessions.Step, meanwhile func()) []told {
	t.Helper()
	release := c.store.HoldWriters()
	all := make([]told, len(steps))
	var group sync.WaitGroup
	for i, step := range steps {
		group.Go(func() { all[i].Written, all[i].err = c.store.WriteStep(t.Context(), c.leases[i], step) })
		c.waitInLine(i + 1)
	}
	release()
	if meanwhile != nil {
		meanwhile()
	}
	group.Wait()
	if taken, inLine := c.store.Writing(); taken != 0 || inLine != 0 {
		t.Errorf("%d places are taken and %d in line after all is written", taken, inLine)
	}
	return all
}

func (c crew) waitInLine(n int) {
	for {
		if _, inLine := c.store.Writing(); inLine == n {
			return
		}
		runtime.Gosched()
	}
}

// transactions counts the transactions that wrote the sessions' notices.
func (c crew) transactions(t *testing.T) (n int) {
	t.Helper()
	const sql = `select count(distinct xmin::text) from session_events where type = 'notice.given'`
	if err := c.pool.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// notes are steps of one notice each.
func notes(n int) []sessions.Step {
	steps := make([]sessions.Step, n)
	for i := range steps {
		steps[i] = sessions.Step{Events: []sessions.NewEvent{note(fmt.Sprint("step of ", i))}, Counters: sessions.Counters{Turn: 1, Steps: i}}
	}
	return steps
}

// R: L1, Z1
func TestStepsAtTheSameTimeAreWrittenByOneStatement(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 5)
	for i, got := range c.together(t, notes(5), nil) {
		if got.err != nil {
			t.Errorf("step %d: %v", i, got.err)
		}
	}
	if n := c.transactions(t); n != 1 {
		t.Errorf("%d transactions wrote the steps, want 1", n)
	}
	// The leases have moved on: each can write its next step.
	for i, got := range c.together(t, notes(5), nil) {
		if got.err != nil {
			t.Errorf("second step %d: %v", i, got.err)
		}
	}
	for _, lease := range c.leases {
		if got := c.ledger(t, lease.Session); len(got) != 3 {
			t.Errorf("ledger is %v", got)
		}
	}
}

// R: L1
func TestMergedStepsLeaveTheRowsThatSingleOnesDo(t *testing.T) {
	t.Parallel()
	h := build(t)
	replica := h.join(t)
	text := rapid.StringMatching(`[ -~äß漢"\\]{0,20}`)
	small := rapid.IntRange(0, 99)
	call := rapid.Custom(func(t *rapid.T) sessions.EndedCall {
		c := sessions.EndedCall{Turn: small.Draw(t, "turn"), Step: small.Draw(t, "step"), Event: rapid.IntRange(0, 3).Draw(t, "event"),
			Tool: text.Draw(t, "tool"), Service: text.Draw(t, "service"), Status: rapid.SampledFrom([]string{"succeeded", "failed", "denied"}).Draw(t, "status"),
			ErrorType: text.Draw(t, "error"), Effect: text.Draw(t, "effect"), Attempts: small.Draw(t, "attempts"), Bytes: int64(small.Draw(t, "bytes")),
			Queued: time.Duration(small.Draw(t, "queued")) * time.Millisecond, Duration: time.Duration(small.Draw(t, "duration")) * time.Millisecond}
		if rapid.Bool().Draw(t, "ran") {
			c.StartedAt = time.Unix(int64(small.Draw(t, "at")), 0)
		}
		return c
	})
	event := rapid.Custom(func(t *rapid.T) sessions.NewEvent {
		return sessions.NewEvent{Type: sessions.EventType(text.Draw(t, "type")), Turn: small.Draw(t, "turn"), Step: small.Draw(t, "step"),
			Call: rapid.IntRange(0, 2).Draw(t, "call"), Data: map[string]string{"text": text.Draw(t, "text")}}
	})
	step := rapid.Custom(func(t *rapid.T) sessions.Step {
		s := sessions.Step{Events: rapid.SliceOfN(event, 0, 4).Draw(t, "events"), Ended: rapid.SliceOfN(call, 0, 3).Draw(t, "ended"),
			Counters: sessions.Counters{Turn: small.Draw(t, "turn"), Steps: small.Draw(t, "steps"), Calls: small.Draw(t, "calls"),
				Tokens: int64(small.Draw(t, "tokens")), CostMicros: int64(small.Draw(t, "cost")), WorkingMS: int64(small.Draw(t, "ms"))}}
		for i := range s.Ended {
			s.Ended[i].N = i + 1
		}
		return s
	})
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(step, 2, 5).Draw(rt, "steps")
		news := make([]sessions.New, 2*len(steps))
		for i := range news {
			news[i] = sessions.New{Agent: h.agent, Task: "Do it"}
		}
		started, err := h.store.StartAll(t.Context(), auth.CLI("t"), h.inserter, news...)
		if err != nil {
			t.Fatal(err)
		}
		merged := crew{house: h}
		for i := range steps {
			merged.leases = append(merged.leases, h.claim(t, replica, started[2*i].ID))
		}
		for i, got := range merged.together(t, steps, nil) {
			h.store.SetPatience(time.Hour)
			one, err := h.store.WriteStep(t.Context(), h.claim(t, replica, started[2*i+1].ID), steps[i])
			if got.err != nil || err != nil || got.Written != one {
				rt.Errorf("step %d: %+v, %v; single: %+v, %v", i, got.Written, got.err, one, err)
			}
			if m, s := h.rows(t, started[2*i].ID), h.rows(t, started[2*i+1].ID); !reflect.DeepEqual(m, s) {
				rt.Errorf("step %d:\nmerged %v\nsingle %v", i, m, s)
			}
		}
	})
}

// rows is all that a session's step changes, as text.
func (h house) rows(t *testing.T, s id.Session) []string {
	t.Helper()
	const sql = `
select row(last_seq, write_no, turn, steps, calls, tokens, cost_micros, working_ms, status)::text from sessions where id = $1
union all
(select row(seq, turn, step, call, type, data)::text from session_events where session_id = $1 and seq > 1 order by seq)
union all
(select row(n, turn, step, seq, tool, service, status, error_type, effect, attempts, queued_ms, duration_ms, bytes, started_at)::text
 from tool_calls where session_id = $1 order by n)`
	rows, _ := h.pool.Query(t.Context(), sql, s)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// R: A2, L1
func TestALostLeaseAmongGoodOnesIsLostAlone(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 4)
	stale := *c.leases[2]
	if _, err := c.store.WriteStep(t.Context(), c.leases[2], sessions.Step{}); err != nil {
		t.Fatal(err)
	}
	c.leases[2] = &stale
	for i, got := range c.together(t, notes(4), nil) {
		if want := i == 2; errors.Is(got.err, sessions.ErrLost) != want || !want && got.err != nil {
			t.Errorf("step %d: %v", i, got.err)
		}
	}
	if n := c.transactions(t); n != 1 {
		t.Errorf("%d transactions wrote the good steps, want 1", n)
	}
	if got := c.ledger(t, stale.Session); len(got) != 1 {
		t.Errorf("the lost step is on record: %v", got)
	}
}

// R: L1
func TestABadStepAmongGoodOnesFailsAlone(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 4)
	steps := notes(4)
	steps[1].Ended = []sessions.EndedCall{{N: 1, Tool: "x", Status: "no such status"}}
	for i, got := range c.together(t, steps, nil) {
		if want := i == 1; (got.err != nil) != want || errors.Is(got.err, sessions.ErrLost) {
			t.Errorf("step %d: %v", i, got.err)
		}
	}
	for i, lease := range c.leases {
		if got, want := len(c.ledger(t, lease.Session)), 2; i != 1 && got != want || i == 1 && got != 1 {
			t.Errorf("ledger of %d has %d events", i, got)
		}
	}
}

// R: Q6, L1
func TestALockedSessionHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 3)
	tx, err := c.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := sessions.LockTx(t.Context(), tx, c.leases[0].Session)
	if err != nil {
		t.Fatal(err)
	}
	all := c.together(t, notes(3), func() {
		for _, lease := range c.leases[1:] {
			c.until(t, `select last_seq = 2 from sessions where id = $1`, lease.Session)
		}
		o := sessions.Outside{Event: sessions.NewEvent{Type: sessions.CancelRequested}, Cancel: true}
		if err := sessions.OutsideTx(t.Context(), tx, c.inserter, l, o); err != nil {
			t.Error(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for i, got := range all {
		if got.err != nil || got.CancelRequested != (i == 0) || (got.Inbox == 2) != (i == 0) {
			t.Errorf("step %d: %+v, %v", i, got.Written, got.err)
		}
	}
	if got := c.ledger(t, c.leases[0].Session); len(got) != 3 {
		t.Errorf("ledger is %v", got)
	}
}

// until waits for a condition of the database's.
func (h house) until(t *testing.T, sql string, args ...any) {
	t.Helper()
	for yes := false; !yes; runtime.Gosched() {
		if err := h.pool.QueryRow(t.Context(), sql, args...).Scan(&yes); err != nil {
			t.Fatal(err)
		}
	}
}

// block keeps steps from being written until it is called off, and returns once
// a statement waits.
func (c crew) block(t *testing.T) (off func()) {
	t.Helper()
	tx, err := c.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `lock table session_events`); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

const sqlBlocked = `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into session_events%')`

// R: A1, L1
// case: fault F13
func TestAConnectionThatBreaksInTheMiddleOfABatchIsSettledForEachStep(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 4)
	off := c.block(t)
	all := c.together(t, notes(4), func() {
		defer off()
		c.until(t, sqlBlocked)
		const sql = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
		if _, err := c.pool.Exec(t.Context(), sql); err != nil {
			t.Error(err)
		}
	})
	for i, got := range all {
		if got.err != nil {
			t.Errorf("step %d: %v", i, got.err)
		}
		if got := c.ledger(t, c.leases[i].Session); len(got) != 2 {
			t.Errorf("ledger of %d is %v", i, got)
		}
	}
}

// cutter breaks a connection when the reply to a step is due: the step takes
// place, and nobody is told. It does so once.
type cutter struct{ done atomic.Bool }

func (c *cutter) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if n, ok := conn.PgConn().Conn().(*cutConn); ok {
		n.armed = strings.Contains(data.SQL, "insert into session_events")
	}
	return ctx
}

func (c *cutter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

type cutConn struct {
	net.Conn
	c     *cutter
	armed bool
	cut   atomic.Bool // the driver reads and writes by hands of its own
}

func (n *cutConn) Write(b []byte) (int, error) {
	// The message Bind comes with the statement's execution, Parse before it.
	n.cut.Store(n.armed && b[0] == 'B' && n.c.done.CompareAndSwap(false, true))
	return n.Conn.Write(b)
}

func (n *cutConn) Read(b []byte) (int, error) {
	if !n.cut.Load() {
		return n.Conn.Read(b)
	}
	_, _ = n.Conn.Read(b) // the server has done it
	_ = n.Close()
	return 0, io.ErrUnexpectedEOF
}

// R: A1, L1
// case: fault F13
func TestAStepWhoseCommitIsNotConfirmedIsNotWrittenTwice(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"one": 1, "merged": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := hire(t, build(t), size)
			cutter := &cutter{}
			cfg, err := pgxpool.ParseConfig(pgtest.URL(c.pool))
			if err != nil {
				t.Fatal(err)
			}
			cfg.ConnConfig.Tracer = cutter
			dial := cfg.ConnConfig.DialFunc
			cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return &cutConn{Conn: conn, c: cutter}, err
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			c.store = sessions.NewStore(pool, nil)
			for i, got := range c.together(t, notes(size), nil) {
				if got.err != nil {
					t.Errorf("step %d: %v", i, got.err)
				}
				if got := c.ledger(t, c.leases[i].Session); len(got) != 2 {
					t.Errorf("ledger of %d is %v", i, got)
				}
				if _, err := c.store.WriteStep(t.Context(), c.leases[i], sessions.Step{}); err != nil {
					t.Errorf("the step after %d: %v", i, err)
				}
			}
			if !cutter.done.Load() {
				t.Error("no connection was cut")
			}
			if n := c.transactions(t); n != 1 {
				t.Errorf("%d transactions wrote the steps, want 1", n)
			}
		})
	}
}

// R: A7, L1
func TestWhoeverIsCancelledDisturbsNoOther(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 4)
	steps := notes(4)
	cancelled, cancel := context.WithCancel(t.Context())
	leading, stop := context.WithCancel(t.Context())
	release := c.store.HoldWriters()
	errs := make([]error, 4)
	var group sync.WaitGroup
	for i, ctx := range []context.Context{leading, cancelled, t.Context(), t.Context()} {
		group.Go(func() { _, errs[i] = c.store.WriteStep(ctx, c.leases[i], steps[i]) })
		c.waitInLine(i + 1)
	}
	cancel()
	c.waitInLine(3) // it left the line
	off := c.block(t)
	release()
	c.until(t, sqlBlocked)
	stop() // in the middle of the statement that it leads
	off()
	group.Wait()
	for i, err := range errs {
		if want := i == 1; errors.Is(err, context.Canceled) != want || !want && err != nil {
			t.Errorf("step %d: %v", i, err)
		}
		if got, want := len(c.ledger(t, c.leases[i].Session)), 2; i != 1 && got != want || i == 1 && got != 1 {
			t.Errorf("ledger of %d has %d events", i, got)
		}
	}
}

// R: L1
func TestNobodyStandsInLineForLong(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 1)
	release := c.store.HoldWriters()
	c.store.SetPatience(time.Millisecond)
	if _, err := c.store.WriteStep(t.Context(), c.leases[0], notes(1)[0]); err != nil {
		t.Error(err)
	}
	release()
}

// R: L1
func TestAStepTooBigToShareAStatementIsWrittenAlone(t *testing.T) {
	t.Parallel()
	c := hire(t, build(t), 1)
	defer c.store.HoldWriters()() // it needs no place
	if _, err := c.store.WriteStep(t.Context(), c.leases[0], sessions.Step{Events: []sessions.NewEvent{note(strings.Repeat("x", 65<<10))}}); err != nil {
		t.Error(err)
	}
}

// R: L1, A2
func TestManyWritersAndPeopleLeaveLedgersWithoutGaps(t *testing.T) {
	t.Parallel()
	const workers, rounds = 8, 20
	c := hire(t, build(t), workers)
	var group sync.WaitGroup
	for i, lease := range c.leases {
		group.Go(func() {
			for n := range rounds {
				step := sessions.Step{Events: []sessions.NewEvent{note("a"), note("b")}}
				if n%2 == 0 {
					step.Ended = []sessions.EndedCall{{N: n + 1, Tool: "x", Status: "succeeded", Event: 1}}
				}
				if _, err := c.store.WriteStep(t.Context(), lease, step); err != nil {
					t.Errorf("step %d of %d: %v", n, i, err)
					return
				}
			}
		})
		group.Go(func() {
			for range rounds / 4 {
				if _, err := c.store.Message(t.Context(), auth.CLI("t"), c.inserter, lease.Session, "Hello"); err != nil {
					t.Errorf("message to %d: %v", i, err)
				}
			}
		})
	}
	group.Wait()
	for _, lease := range c.leases {
		if got, want := len(c.ledger(t, lease.Session)), 1+2*rounds+rounds/4; got != want {
			t.Errorf("%d events, want %d", got, want)
		}
		calls, err := c.store.Calls(t.Context(), auth.CLI("t"), lease.Session, 0, 100)
		if err != nil || len(calls) != rounds/2 {
			t.Errorf("%d calls, %v", len(calls), err)
		}
	}
	if taken, inLine := c.store.Writing(); taken != 0 || inLine != 0 {
		t.Errorf("%d places are taken and %d in line after all is written", taken, inLine)
	}
}
