package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/postgres"
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
type Store struct{ db postgres.DB }

// NewStore works on db.
func NewStore(db postgres.DB) *Store { return &Store{db} }

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
	sqlStepTell = `
select inbox_seq, cancel_requested, pause_requested from s`

	sqlStep      = sqlStepRow + sqlStepEvents + sqlStepTell
	sqlStepEnded = sqlStepRow + sqlStepEvents + sqlStepCalls + sqlStepTell
)

// WriteStep appends the step's events and ended calls, sets the counters, and
// moves the lease on. The error is ErrLost if the lease no longer holds. A
// commit whose fate is unknown (the connection broke) is settled by asking.
func (s *Store) WriteStep(ctx context.Context, lease *Lease, step Step) (Written, error) {
	w, err := writeStep(ctx, s.db, lease, step)
	if err != nil && postgres.Unreachable(err) {
		return s.settle(ctx, lease, step, err)
	}
	if err == nil {
		lease.writeNo++
	}
	return w, err
}

// WriteStepTx is WriteStep within a transaction. The lease is moved on by
// Lease.Committed, which the caller calls after the commit.
func WriteStepTx(ctx context.Context, tx pgx.Tx, lease *Lease, step Step) (Written, error) {
	return writeStep(ctx, tx, lease, step)
}

// Committed moves the lease on after the commit of a transaction that wrote
// with it once.
func (l *Lease) Committed() { l.writeNo++ }

func writeStep(ctx context.Context, db postgres.DB, lease *Lease, step Step) (w Written, err error) {
	args, err := step.args(lease)
	if err != nil {
		return w, err
	}
	sql := sqlStep
	if len(step.Ended) > 0 {
		sql, args = sqlStepEnded, append(args, callColumns(step.Ended)...)
	}
	err = db.QueryRow(ctx, sql, args...).Scan(&w.Inbox, &w.CancelRequested, &w.PauseRequested)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, ErrLost
	}
	if err != nil {
		return w, fmt.Errorf("write step of %s: %w", lease.Session, err)
	}
	return w, nil
}

func (step Step) args(lease *Lease) ([]any, error) {
	e, err := columns(step.Events)
	if err != nil {
		return nil, err
	}
	c := step.Counters
	return []any{lease.Session, lease.Replica, lease.Epoch, lease.writeNo, len(step.Events),
		c.Turn, c.Steps, c.Calls, c.Tokens, c.CostMicros, c.WorkingMS,
		e.turns, e.steps, e.calls, e.types, e.data}, nil
}

func callColumns(ended []EndedCall) []any {
	var ns, turns, steps, events, attempts, queued, duration []int32
	var tools, services, statuses, errorTypes, effects []string
	var sizes []int64
	var started []*time.Time
	for _, c := range ended {
		ns, turns, steps = append(ns, int32(c.N)), append(turns, int32(c.Turn)), append(steps, int32(c.Step))
		events = append(events, int32(c.Event))
		tools, services = append(tools, c.Tool), append(services, c.Service)
		statuses, errorTypes, effects = append(statuses, c.Status), append(errorTypes, c.ErrorType), append(effects, c.Effect)
		attempts = append(attempts, int32(c.Attempts))
		queued, duration = append(queued, int32(c.Queued.Milliseconds())), append(duration, int32(c.Duration.Milliseconds()))
		sizes = append(sizes, c.Bytes)
		if c.StartedAt.IsZero() {
			started = append(started, nil)
		} else {
			started = append(started, &c.StartedAt)
		}
	}
	return []any{ns, turns, steps, events, tools, services, statuses, errorTypes, effects, attempts, queued, duration, sizes, started}
}

const sqlSettle = `
select inbox_seq, cancel_requested, pause_requested, write_no = $3 + 1
from sessions where id = $1 and epoch = $2 and write_no in ($3, $3 + 1)`

const settleFor = 20 * time.Second

// settle finds out whether a write whose commit was not confirmed took place,
// and makes it again if it didn't. While the database does not answer it asks
// on for a while; the lease, if it lapses meanwhile, is ErrLost.
func (s *Store) settle(ctx context.Context, lease *Lease, step Step, cause error) (Written, error) {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		select {
		case <-ctx.Done():
			return Written{}, errors.Join(cause, ctx.Err())
		case <-time.After(wait):
		}
		var w Written
		var applied bool
		err := s.db.QueryRow(ctx, sqlSettle, lease.Session, lease.Epoch, lease.writeNo).
			Scan(&w.Inbox, &w.CancelRequested, &w.PauseRequested, &applied)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return w, ErrLost
		case err == nil && applied:
			lease.writeNo++
			return w, nil
		case err == nil:
			w, err = writeStep(ctx, s.db, lease, step)
			if err == nil {
				lease.writeNo++
			}
			if err == nil || !postgres.Unreachable(err) {
				return w, err
			}
		case !postgres.Unreachable(err):
			return w, fmt.Errorf("settle step of %s: %w", lease.Session, err)
		}
	}
}
