package sessions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/problem"
)

// Locked is a session whose row the transaction has locked. Whoever locks a
// session and an escalation locks the session first: two people who answer two
// tied questions at the same moment must not wait for each other.
type Locked struct {
	Session
	WakeAt *time.Time
}

const sqlLock = sqlSession + `where s.id = $1 for no key update of s`

const sqlWakeAt = `select wake_at from sessions where id = $1`

// LockTx locks a session's row until the transaction ends. The problem is
// session_not_found.
func LockTx(ctx context.Context, tx pgx.Tx, session id.Session) (Locked, error) {
	var l Locked
	rows, _ := tx.Query(ctx, sqlLock, session)
	v, err := pgx.CollectExactlyOneRow(rows, scanSession)
	if errors.Is(err, pgx.ErrNoRows) {
		return l, problem.New(problem.NotFound, "session_not_found", nil)
	}
	if err != nil {
		return l, fmt.Errorf("lock %s: %w", session, err)
	}
	l.Session = v
	if err := tx.QueryRow(ctx, sqlWakeAt, session).Scan(&l.WakeAt); err != nil {
		return l, fmt.Errorf("lock %s: %w", session, err)
	}
	return l, nil
}

// Outside is a change to a session from outside its worker: an answer, a
// message, a request to stop.
type Outside struct {
	Event     NewEvent
	Questions int // added to the number of open questions: -1 for an answer, +1 for an undo
	// Wake moves the time before which the session must not go on. Nil leaves
	// it; the zero time clears it.
	Wake   *time.Time
	Cancel bool // request it
	Pause  bool
	Resume bool // of a paused session
	// Look has a worker look at a session that waits for people: what came may be
	// all that it needs of them.
	Look bool
}

const sqlOutside = `
with s as (
    update sessions
    set last_seq = last_seq + 1, inbox_seq = last_seq + 1,
        open_questions = open_questions + $2,
        wake_at = case when $3 then $4::timestamptz else wake_at end,
        cancel_requested = cancel_requested or $5,
        pause_requested = (pause_requested or $6) and not $7
    where id = $1
    returning last_seq, turn, steps, status, open_questions, wake_at, cancel_requested, pause_requested
), e as (
    insert into session_events (session_id, seq, turn, step, call, type, data)
    select $1, last_seq, turn, steps, nullif($8::int, 0), $9, $10::json from s
)
select status, open_questions, wake_at is not null and wake_at > now(), cancel_requested, pause_requested from s`

const sqlQueue = `update sessions set status = 'queued', wake_at = case when $2 then null else wake_at end where id = $1`

// OutsideTx writes a change from outside to a locked session: the event, which
// the worker reads before it may park or end, and, where nothing holds the
// session any more, its place in the queue and its job.
func OutsideTx(ctx context.Context, tx pgx.Tx, inserter *jobs.Inserter, l Locked, o Outside) error {
	columns, err := columns([]NewEvent{o.Event})
	if err != nil {
		return err
	}
	var wake *time.Time
	if o.Wake != nil && !o.Wake.IsZero() {
		wake = o.Wake
	}
	var status Status
	var open int
	var held, cancel, pause bool
	err = tx.QueryRow(ctx, sqlOutside, l.ID, o.Questions, o.Wake != nil, wake, o.Cancel, o.Pause, o.Resume,
		o.Event.Call, o.Event.Type, columns.data[0]).Scan(&status, &open, &held, &cancel, &pause)
	if err != nil {
		return fmt.Errorf("write %s to %s: %w", o.Event.Type, l.ID, err)
	}
	// A cancellation is the worker's to carry out, whatever the session waits
	// for; so is a pause of a waiting one, but not before it wakes.
	free := status == Waiting && (open == 0 && !held || cancel) ||
		status == Paused && (o.Resume || cancel)
	if !free && (!o.Look || status != Waiting || open == 0) {
		return nil
	}
	// What is held stays so for a worker that only looks.
	if _, err := tx.Exec(ctx, sqlQueue, l.ID, free); err != nil {
		return fmt.Errorf("queue %s: %w", l.ID, err)
	}
	return inserter.InsertTx(ctx, tx, RunArgs{l.ID}, nil)
}
