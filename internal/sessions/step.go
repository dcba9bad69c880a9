package sessions

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/live"
	"baton/internal/postgres"
	"baton/internal/secrets"
)

// ErrLost says that the session is no longer the worker's: another has claimed
// it, or the row is gone. The worker drops what it was doing.
var ErrLost = errors.New("the session has been given to another worker")

// ErrInbox says that something came from outside since the worker last looked;
// it reads the events after Lease.Seen and decides anew.
var ErrInbox = errors.New("the session's inbox has something unread")

// Lease is a worker's right to write a session. One worker holds it and uses it
// from one goroutine; each write moves it on.
type Lease struct {
	Session id.Session
	Replica id.Replica
	Epoch   int64
	writeNo int64
	// Seen is the last event from outside that the worker has read.
	Seen int64
	// ClaimedAt is the database's time of the claim: answers held until later
	// have not gone out yet.
	ClaimedAt time.Time

	generation int64 // of the replica's beats, when the session was claimed
}

// Counters are a session's totals after a step.
type Counters struct {
	Turn, Steps, Calls int
	Tokens             int64
	CostMicros         int64 // millionths of a US dollar
	WorkingMS          int64
}

// EndedCall is a call that has its result: the row for lists. The event with
// the result is one of the same step; Event is its index there.
type EndedCall struct {
	N, Turn, Step int
	Event         int
	Tool, Service string
	Status        string
	ErrorType     string
	Effect        string
	Attempts      int
	Queued        time.Duration
	Duration      time.Duration
	Bytes         int64
	StartedAt     time.Time // zero: it was never run
}

// Step is what one step write holds.
type Step struct {
	Events   []NewEvent
	Ended    []EndedCall
	Counters Counters
}

// Written is what the database said to a step write.
type Written struct {
	Inbox           int64 // the last event from outside; read on if it is over Lease.Seen
	CancelRequested bool
	PauseRequested  bool
}

// Store keeps sessions.
type Store struct {
	db     postgres.DB
	hub    *live.Hub
	ring   *secrets.Keyring // see SealWith
	writer stepWriter
	drafts sync.Map // of sessions that run in this process: id.Session to Draft
}

// NewStore works on db, and tells hub what it has changed.
func NewStore(db postgres.DB, hub *live.Hub) *Store {
	return &Store{db: db, hub: hub, writer: stepWriter{patience: linePatience}}
}

// The step write is composed of parts, so that a step without ended calls
// doesn't pay for a list of them. The row's update comes first and holds the
// fence; where it finds nothing, nothing is inserted.
const (
	sqlStepRow = `
with s as (
    update sessions
    set last_seq = last_seq + $5, write_no = write_no + 1,
        turn = $6, steps = $7, calls = $8, tokens = $9, cost_micros = $10, working_ms = $11
    where id = $1 and replica_id = $2 and epoch = $3 and write_no = $4
    returning last_seq - $5 as base, inbox_seq, cancel_requested, pause_requested
)`
	sqlStepEvents = `, e as (
    insert into session_events (session_id, seq, turn, step, call, type, data)
    select $1, s.base + v.i, v.turn, v.step, nullif(v.call, 0), v.type, v.data::json
    from s, unnest($12::int[], $13::int[], $14::int[], $15::text[], $16::text[]) with ordinality
         as v(turn, step, call, type, data, i)
)`
	sqlStepCalls = `, c as (
    insert into tool_calls (session_id, n, turn, step, seq, tool, service, status, error_type, effect,
                            attempts, queued_ms, duration_ms, bytes, started_at)
    select $1, v.n, v.turn, v.step, s.base + 1 + v.event, v.tool, v.service, v.status, v.error_type, v.effect,
           v.attempts, v.queued_ms, v.duration_ms, v.bytes, v.started_at
    from s, unnest($17::int[], $18::int[], $19::int[], $20::int[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[],
                   $26::int[], $27::int[], $28::int[], $29::bigint[], $30::timestamptz[])
         as v(n, turn, step, event, tool, service, status, error_type, effect, attempts, queued_ms, duration_ms, bytes, started_at)
)`
	// Most steps are one event, with or without one ended call. Without arrays
	// they cost the database half: it keeps their plan, where it plans each time
	// anew for an array of yet another length.
	sqlStepEvent = `, e as (
    insert into session_events (session_id, seq, turn, step, call, type, data)
    select $1, s.base + 1, $12::int, $13::int, nullif($14::int, 0), $15::text, $16::text::json from s
)`
	sqlStepCall = `, c as (
    insert into tool_calls (session_id, n, turn, step, seq, tool, service, status, error_type, effect,
                            attempts, queued_ms, duration_ms, bytes, started_at)
    select $1, $17::int, $18::int, $19::int, s.base + 1 + $20::int, $21::text, $22::text, $23::text, $24::text, $25::text,
           $26::int, $27::int, $28::int, $29::bigint, $30::timestamptz from s
)`
	sqlStepTell = `
select inbox_seq, cancel_requested, pause_requested from s`

	sqlStep      = sqlStepRow + sqlStepEvents + sqlStepTell
	sqlStepEnded = sqlStepRow + sqlStepEvents + sqlStepCalls + sqlStepTell

	sqlStepOne      = sqlStepRow + sqlStepEvent + sqlStepTell
	sqlStepOneEnded = sqlStepRow + sqlStepEvent + sqlStepCall + sqlStepTell
)

// WriteStep appends the step's events and ended calls, sets the counters, and
// moves the lease on. The error is ErrLost if the lease no longer holds. A
// commit whose fate is unknown (the connection broke) is settled by asking.
//
// Steps that are written at the same time go out together (see stepWriter), but
// each is written, refused or lost by itself.
func (s *Store) WriteStep(ctx context.Context, lease *Lease, step Step) (w Written, err error) {
	r, err := step.row(lease)
	if err != nil {
		return w, err
	}
	if r.events.bytes > aloneBytes {
		w, err = r.write(ctx, s.db)
	} else {
		w, err = s.writer.write(ctx, s.db, r)
	}
	if uncertain(err) {
		w, err = s.settle(ctx, r, err)
	}
	if err == nil {
		lease.writeNo++
		s.hub.Tell(live.Of(lease.Session))
	}
	return w, err
}

// WriteStepTx is WriteStep within a transaction. The lease is moved on by
// Lease.Committed, which the caller calls after the commit.
func WriteStepTx(ctx context.Context, tx pgx.Tx, lease *Lease, step Step) (Written, error) {
	r, err := step.row(lease)
	if err != nil {
		return Written{}, err
	}
	return r.write(ctx, tx)
}

// Committed moves the lease on after the commit of a transaction that wrote
// with it once.
func (l *Lease) Committed() { l.writeNo++ }

// stepRow is a step ready to be written: the fence, and the columns of all that
// it holds. It shares nothing with the lease.
type stepRow struct {
	session        id.Session
	replica        id.Replica
	epoch, writeNo int64
	counters       Counters
	events         eventColumns
	ended          endedColumns
}

func (step Step) row(lease *Lease) (r stepRow, err error) {
	r = stepRow{session: lease.Session, replica: lease.Replica, epoch: lease.Epoch, writeNo: lease.writeNo, counters: step.Counters}
	if r.events, err = columns(step.Events); err != nil {
		return r, err
	}
	r.ended = columnsOfEnded(step.Ended)
	return r, nil
}

func (r stepRow) write(ctx context.Context, db postgres.DB) (w Written, err error) {
	sql, args := sqlStepEnded, r.rowArgs()
	switch one := len(r.events.types) == 1; {
	case one && len(r.ended.ns) == 1:
		sql, args = sqlStepOneEnded, slices.Concat(args, r.events.first(), r.ended.first())
	case one && len(r.ended.ns) == 0:
		sql, args = sqlStepOne, slices.Concat(args, r.events.first())
	case len(r.ended.ns) == 0:
		sql, args = sqlStep, r.args()
	default:
		args = slices.Concat(r.args(), r.ended.args())
	}
	err = db.QueryRow(ctx, sql, args...).Scan(&w.Inbox, &w.CancelRequested, &w.PauseRequested)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, ErrLost
	}
	if err != nil {
		return w, fmt.Errorf("write step of %s: %w", r.session, err)
	}
	return w, nil
}

func (r stepRow) rowArgs() []any {
	c := r.counters
	return []any{r.session, r.replica, r.epoch, r.writeNo, len(r.events.types),
		c.Turn, c.Steps, c.Calls, c.Tokens, c.CostMicros, c.WorkingMS}
}

func (r stepRow) args() []any {
	e := r.events
	return append(r.rowArgs(), e.turns, e.steps, e.calls, e.types, e.data)
}

func (step Step) args(lease *Lease) ([]any, error) {
	r, err := step.row(lease)
	return r.args(), err
}

func callColumns(ended []EndedCall) []any { return columnsOfEnded(ended).args() }

// endedColumns are ended calls as the arrays that one statement unnests.
type endedColumns struct {
	ns, turns, steps, events                       []int32
	tools, services, statuses, errorTypes, effects []string
	attempts, queued, duration                     []int32
	sizes                                          []int64
	started                                        []*time.Time
}

func columnsOfEnded(ended []EndedCall) (cols endedColumns) {
	for i := range ended {
		c := &ended[i]
		cols.ns, cols.turns, cols.steps = append(cols.ns, int32(c.N)), append(cols.turns, int32(c.Turn)), append(cols.steps, int32(c.Step))
		cols.events = append(cols.events, int32(c.Event))
		cols.tools, cols.services = append(cols.tools, c.Tool), append(cols.services, c.Service)
		cols.statuses, cols.errorTypes = append(cols.statuses, c.Status), append(cols.errorTypes, c.ErrorType)
		cols.effects, cols.attempts = append(cols.effects, c.Effect), append(cols.attempts, int32(c.Attempts))
		cols.queued = append(cols.queued, fits(c.Queued))
		cols.duration = append(cols.duration, fits(c.Duration))
		cols.sizes = append(cols.sizes, c.Bytes)
		if c.StartedAt.IsZero() {
			cols.started = append(cols.started, nil)
		} else {
			cols.started = append(cols.started, &c.StartedAt)
		}
	}
	return cols
}

// fits is a span in milliseconds as its column holds it, 24 days at most.
func fits(d time.Duration) int32 {
	return int32(min(max(0, d.Milliseconds()), math.MaxInt32))
}

func (c endedColumns) args() []any {
	return []any{c.ns, c.turns, c.steps, c.events, c.tools, c.services, c.statuses, c.errorTypes, c.effects,
		c.attempts, c.queued, c.duration, c.sizes, c.started}
}

// first is the first of the calls, not in arrays.
func (c endedColumns) first() []any {
	return []any{c.ns[0], c.turns[0], c.steps[0], c.events[0], c.tools[0], c.services[0], c.statuses[0], c.errorTypes[0], c.effects[0],
		c.attempts[0], c.queued[0], c.duration[0], c.sizes[0], c.started[0]}
}

const sqlSettle = `
select inbox_seq, cancel_requested, pause_requested, write_no = $3 + 1
from sessions where id = $1 and epoch = $2 and write_no in ($3, $3 + 1)`

const settleFor = 20 * time.Second

// errUnconfirmed says that nobody knows yet whether a write took place.
var errUnconfirmed = errors.New("the write was not confirmed")

// uncertain says whether a write that failed with err may have taken place all
// the same, or would if it were made again.
func uncertain(err error) bool { return errors.Is(err, errUnconfirmed) || postgres.Unreachable(err) }

// settle finds out whether a write whose commit was not confirmed took place,
// and makes it again if it didn't. While the database does not answer it asks
// on for a while; the lease, if it lapses meanwhile, is ErrLost.
func (s *Store) settle(ctx context.Context, r stepRow, cause error) (Written, error) {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		select {
		case <-ctx.Done():
			return Written{}, errors.Join(cause, ctx.Err())
		case <-time.After(wait):
		}
		w, applied, err := r.applied(ctx, s.db)
		if err == nil && !applied {
			w, err = r.write(ctx, s.db)
			if errors.Is(err, ErrLost) {
				// The first try may have been on its way still, and taken place
				// since the look: look again before the session is given up.
				continue
			}
		}
		if !uncertain(err) {
			return w, err
		}
	}
}

// applied asks whether the step has been written. ErrLost says that the fence
// has moved on past it.
func (r stepRow) applied(ctx context.Context, db postgres.DB) (w Written, applied bool, err error) {
	err = db.QueryRow(ctx, sqlSettle, r.session, r.epoch, r.writeNo).
		Scan(&w.Inbox, &w.CancelRequested, &w.PauseRequested, &applied)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, false, ErrLost
	}
	if err != nil {
		return w, false, fmt.Errorf("settle step of %s: %w", r.session, err)
	}
	return w, applied, nil
}
