package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"baton/internal/id"
	"baton/internal/postgres"
)

// stepWriter merges the step writes of a process that are in flight at the same
// time into one statement with one commit. Each session still waits for the
// commit of its own step.
//
// It has no goroutine and no timer that collects. At most writersAtOnce
// statements run. Who comes while a place is free writes at once, alone; who
// comes while none is stands in line, and the first in line who gets a place
// writes for all that stand there by then. So a session by itself pays nothing,
// and the busier the database, the larger the batches.
//
// A merged statement tells of each row whether it was written. A row of which it
// tells nothing (locked by another transaction, or its lease is lost) and every
// row of a statement that failed is written alone by whoever brought it: one
// step can neither hold up nor spoil another.
type stepWriter struct {
	patience time.Duration // how long to stand in line
	mu       sync.Mutex
	taken    int // places
	line     []*waiting
}

const (
	writersAtOnce = 2
	mergedRows    = 64        // in one statement
	mergedBytes   = 512 << 10 // of events in one statement
	aloneBytes    = 64 << 10  // a step with more is written alone
	// mergedFor bounds a merged statement; the server's own limit comes first.
	mergedFor = 40 * time.Second
	// A row that is written alone waits while another transaction holds its lock,
	// and keeps its place meanwhile. Those in line go on by themselves after this.
	linePatience = 250 * time.Millisecond
)

// waiting is a step in line.
type waiting struct {
	row  stepRow
	told chan verdict // one
}

// verdict is what became of a waiting step.
type verdict struct {
	fate fate
	w    Written
	err  error
}

type fate int

const (
	unconfirmed fate = iota // it may have been written or not
	done                    // as the verdict's error, if any, says
	alone                   // it was not written, and is to be written by itself
	lead                    // it has a place, and writes for those in line
)

// write writes a step, with others or alone. Errors as those of stepRow.write,
// and errUnconfirmed.
func (q *stepWriter) write(ctx context.Context, db postgres.DB, r stepRow) (Written, error) {
	v := q.wait(ctx, r)
	if v.fate == lead {
		v = q.lead(ctx, db, r)
	}
	switch v.fate {
	case done:
		return v.w, v.err
	case alone:
		if err := ctx.Err(); err != nil {
			return Written{}, err
		}
		return r.write(ctx, db)
	default:
		return Written{}, fmt.Errorf("%w: %w", errUnconfirmed, v.err)
	}
}

// wait takes a free place, or stands in line until somebody has written the
// step or gives up a place to it.
func (q *stepWriter) wait(ctx context.Context, r stepRow) verdict {
	q.mu.Lock()
	if q.taken < writersAtOnce {
		q.taken++
		q.mu.Unlock()
		return verdict{fate: lead}
	}
	me := &waiting{row: r, told: make(chan verdict, 1)}
	q.line = append(q.line, me)
	q.mu.Unlock()
	impatient := time.NewTimer(q.patience)
	defer impatient.Stop()
	select {
	case v := <-me.told:
		return v
	case <-ctx.Done():
	case <-impatient.C:
	}
	if q.leave(me) {
		return verdict{fate: alone}
	}
	return <-me.told // somebody is writing it, and will not be long
}

// leave takes a step out of the line, unless somebody has taken it up.
func (q *stepWriter) leave(me *waiting) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.line, me)
	if i < 0 {
		return false
	}
	q.line = slices.Delete(q.line, i, i+1)
	return true
}

// take takes up those in line that fit into a statement with a step of so many
// bytes.
func (q *stepWriter) take(bytes int) []*waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.line) && n < mergedRows-1 {
		if bytes += q.line[n].row.events.bytes; bytes > mergedBytes {
			break
		}
		n++
	}
	taken := slices.Clone(q.line[:n])
	q.line = slices.Delete(q.line, 0, n)
	return taken
}

// giveUp gives a place to the first in line, or back.
func (q *stepWriter) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.line) == 0 {
		q.taken--
		return
	}
	q.line[0].told <- verdict{fate: lead}
	q.line = slices.Delete(q.line, 0, 1)
}

// lead writes a step and all that stand in line, tells these what became of
// theirs, and gives the place up.
func (q *stepWriter) lead(ctx context.Context, db postgres.DB, r stepRow) verdict {
	others := q.take(r.events.bytes)
	verdicts := make([]verdict, 1+len(others)) // unconfirmed, should this panic
	defer func() {
		for i, other := range others {
			other.told <- verdicts[i+1]
		}
		q.giveUp()
	}()
	if len(others) == 0 {
		w, err := r.write(ctx, db)
		return verdict{fate: done, w: w, err: err}
	}
	rows := make([]stepRow, 1, len(verdicts))
	rows[0] = r
	for _, other := range others {
		rows = append(rows, other.row)
	}
	// Whoever leads may be cancelled; those it leads are not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), mergedFor)
	defer cancel()
	verdicts = writeMerged(ctx, db, rows)
	return verdicts[0]
}

// The merged statement locks what is free, so that nobody's lock holds up the
// others, in the order of ids that everybody keeps. The fence is compared with
// what was locked: rows are then found by their key alone.
const sqlMerged = `
with free as (
    select id, replica_id, epoch, write_no from sessions where id = any($1) order by id for no key update skip locked
), s as (
    update sessions t
    set last_seq = t.last_seq + v.events, write_no = t.write_no + 1,
        turn = v.turn, steps = v.steps, calls = v.calls, tokens = v.tokens, cost_micros = v.cost_micros, working_ms = v.working_ms
    from free, unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::int[],
                      $6::int[], $7::int[], $8::int[], $9::bigint[], $10::bigint[], $11::bigint[]) with ordinality
         as v(id, replica_id, epoch, write_no, events, turn, steps, calls, tokens, cost_micros, working_ms, i)
    where t.id = free.id
      and v.id = free.id and v.replica_id = free.replica_id and v.epoch = free.epoch and v.write_no = free.write_no
    returning v.i, t.id, t.last_seq - v.events as base, t.inbox_seq, t.cancel_requested, t.pause_requested
), e as (
    insert into session_events (session_id, seq, turn, step, call, type, data)
    select s.id, s.base + v.nth, v.turn, v.step, nullif(v.call, 0), v.type, v.data::json
    from s join unnest($12::int[], $13::int[], $14::int[], $15::int[], $16::int[], $17::text[], $18::text[])
         as v(i, nth, turn, step, call, type, data) using (i)
), c as (
    insert into tool_calls (session_id, n, turn, step, seq, tool, service, status, error_type, effect,
                            attempts, queued_ms, duration_ms, bytes, started_at)
    select s.id, v.n, v.turn, v.step, s.base + 1 + v.event, v.tool, v.service, v.status, v.error_type, v.effect,
           v.attempts, v.queued_ms, v.duration_ms, v.bytes, v.started_at
    from s join unnest($19::int[], $20::int[], $21::int[], $22::int[], $23::int[], $24::text[], $25::text[], $26::text[], $27::text[], $28::text[],
                       $29::int[], $30::int[], $31::int[], $32::bigint[], $33::timestamptz[])
         as v(i, n, turn, step, event, tool, service, status, error_type, effect, attempts, queued_ms, duration_ms, bytes, started_at) using (i)
)
select i, inbox_seq, cancel_requested, pause_requested from s`

// writeMerged writes steps in one statement and tells what became of each.
func writeMerged(ctx context.Context, db postgres.DB, rows []stepRow) []verdict {
	verdicts := make([]verdict, len(rows))
	for i := range verdicts {
		verdicts[i].fate = alone
	}
	found, _ := db.Query(ctx, sqlMerged, mergedArgs(rows)...)
	var i int
	var w Written
	_, err := pgx.ForEachRow(found, []any{&i, &w.Inbox, &w.CancelRequested, &w.PauseRequested}, func() error {
		verdicts[i-1] = verdict{fate: done, w: w}
		return nil
	})
	if err == nil {
		return verdicts
	}
	v := verdict{fate: unconfirmed, err: fmt.Errorf("write %d steps: %w", len(rows), err)}
	if _, refused := errors.AsType[*pgconn.PgError](err); refused && !postgres.Unreachable(err) {
		v = verdict{fate: alone} // nothing of it took place; the one at fault will say so itself
	}
	for i := range verdicts {
		verdicts[i] = v
	}
	return verdicts
}

// mergedArgs are the columns of steps one below the other, with the number of
// the step where there are several rows of one.
func mergedArgs(rows []stepRow) []any {
	n := len(rows)
	ids, replicas := make([]id.Session, n), make([]id.Replica, n)
	epochs, writeNos, tokens, costs, working := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	events, turns, steps, calls := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n)
	var eventOf, nth, callOf []int32
	var e eventColumns
	var c endedColumns
	for i, r := range rows {
		ids[i], replicas[i], epochs[i], writeNos[i] = r.session, r.replica, r.epoch, r.writeNo
		events[i], turns[i], steps[i], calls[i] = int32(len(r.events.types)), int32(r.counters.Turn), int32(r.counters.Steps), int32(r.counters.Calls)
		tokens[i], costs[i], working[i] = r.counters.Tokens, r.counters.CostMicros, r.counters.WorkingMS
		for k := range r.events.types {
			eventOf, nth = append(eventOf, int32(i+1)), append(nth, int32(k+1))
		}
		for range r.ended.ns {
			callOf = append(callOf, int32(i+1))
		}
		e.add(r.events)
		c.add(r.ended)
	}
	return append([]any{ids, replicas, epochs, writeNos, events, turns, steps, calls, tokens, costs, working,
		eventOf, nth, e.turns, e.steps, e.calls, e.types, e.data, callOf}, c.args()...)
}

func (c *eventColumns) add(o eventColumns) {
	c.turns, c.steps, c.calls = append(c.turns, o.turns...), append(c.steps, o.steps...), append(c.calls, o.calls...)
	c.types, c.data = append(c.types, o.types...), append(c.data, o.data...)
	c.bytes += o.bytes
}

func (c *endedColumns) add(o endedColumns) {
	c.ns, c.turns, c.steps, c.events = append(c.ns, o.ns...), append(c.turns, o.turns...), append(c.steps, o.steps...), append(c.events, o.events...)
	c.tools, c.services = append(c.tools, o.tools...), append(c.services, o.services...)
	c.statuses, c.errorTypes, c.effects = append(c.statuses, o.statuses...), append(c.errorTypes, o.errorTypes...), append(c.effects, o.effects...)
	c.attempts, c.queued, c.duration = append(c.attempts, o.attempts...), append(c.queued, o.queued...), append(c.duration, o.duration...)
	c.sizes, c.started = append(c.sizes, o.sizes...), append(c.started, o.started...)
}
