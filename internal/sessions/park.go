package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/postgres"
)

// Parking is how a worker lets go of a session that has not ended.
type Parking struct {
	To     Status // Waiting, Paused or Queued
	Raised int    // questions raised with it, in the same transaction
	Step   Step   // what is written with it
}

const (
	sqlParkRow = `
with s as (
    update sessions
    set last_seq = last_seq + $5, write_no = write_no + 1,
        turn = $6, steps = $7, calls = $8, tokens = $9, cost_micros = $10, working_ms = $11,
        status = $17, replica_id = null, open_questions = open_questions + $18,
        pause_requested = pause_requested and $17 <> 'paused'
    where id = $1 and replica_id = $2 and epoch = $3 and write_no = $4 and inbox_seq = $19
    returning last_seq - $5 as base, inbox_seq, cancel_requested, pause_requested
)`
	sqlPark = sqlParkRow + sqlStepEvents + sqlStepTell
)

// ParkTx lets go of the session. Errors: ErrInbox if something came from
// outside that the worker has not read, ErrLost.
func ParkTx(ctx context.Context, tx pgx.Tx, lease *Lease, p Parking) error {
	return park(ctx, tx, lease, p)
}

// Park is ParkTx as a statement of its own.
func (s *Store) Park(ctx context.Context, lease *Lease, p Parking) error {
	err := park(ctx, s.db, lease, p)
	s.tell(lease.Session, err)
	return err
}

func park(ctx context.Context, db postgres.DB, lease *Lease, p Parking) error {
	args, err := p.Step.args(lease)
	if err != nil {
		return err
	}
	var w Written
	err = db.QueryRow(ctx, sqlPark, append(args, p.To, p.Raised, lease.Seen)...).Scan(&w.Inbox, &w.CancelRequested, &w.PauseRequested)
	if errors.Is(err, pgx.ErrNoRows) {
		return whyNot(ctx, db, lease)
	}
	if err != nil {
		return fmt.Errorf("park %s: %w", lease.Session, err)
	}
	return nil
}

const sqlWhyNot = `select inbox_seq from sessions where id = $1 and replica_id = $2 and epoch = $3 and write_no = $4`

// whyNot tells the two reasons apart for which a conditional write finds no
// row.
func whyNot(ctx context.Context, db postgres.DB, lease *Lease) error {
	var inbox int64
	err := db.QueryRow(ctx, sqlWhyNot, lease.Session, lease.Replica, lease.Epoch, lease.writeNo).Scan(&inbox)
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrLost
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", lease.Session, err)
	}
	return ErrInbox
}

// Ending is how a session ends.
type Ending struct {
	Status     Status // Completed, Failed or Cancelled
	Outcome    Outcome
	Summary    string
	Evidence   json.RawMessage
	Unresolved json.RawMessage
	Failure    json.RawMessage
	Withdrawn  int // open questions withdrawn in the same transaction
	Step       Step
}

const (
	sqlEndRow = `
with s as (
    update sessions
    set last_seq = last_seq + $5, write_no = write_no + 1,
        turn = $6, steps = $7, calls = $8, tokens = $9, cost_micros = $10, working_ms = $11,
        status = $31, replica_id = null, ended_at = now(), wake_at = null, open_questions = open_questions - $32,
        outcome = nullif($33, ''), summary = nullif($34, ''), evidence = $35, unresolved = $36, failure = $37
    where id = $1 and replica_id = $2 and epoch = $3 and write_no = $4
      and (inbox_seq = $38 or $31 = 'cancelled') and open_questions = $32
    returning last_seq - $5 as base, inbox_seq, cancel_requested, pause_requested
)`
	// Nothing of it runs any more, so nothing that was sealed for it is kept.
	sqlEndWipe = `, a as (
    delete from sealed_args w using s where w.session_id = $1
), k as (
    delete from session_tokens w using s where w.session_id = $1
)`
	sqlEnd = sqlEndRow + sqlStepEvents + sqlStepCalls + sqlEndWipe + sqlStepTell
)

// EndTx ends the session for good. Errors: ErrInbox if something came from
// outside that the worker has not read (a cancellation doesn't mind), ErrLost.
// It also does not end a session with more open questions than are withdrawn
// with it: that is ErrInbox too, since one must have been undone meanwhile.
func EndTx(ctx context.Context, tx pgx.Tx, lease *Lease, e Ending) error {
	return end(ctx, tx, lease, e)
}

// End is EndTx as a statement of its own, for a session without open questions.
func (s *Store) End(ctx context.Context, lease *Lease, e Ending) error {
	err := end(ctx, s.db, lease, e)
	s.tell(lease.Session, err)
	return err
}

func end(ctx context.Context, db postgres.DB, lease *Lease, e Ending) error {
	args, err := e.Step.args(lease)
	if err != nil {
		return err
	}
	args = append(args, callColumns(e.Step.Ended)...)
	args = append(args, e.Status, e.Withdrawn, e.Outcome, e.Summary, e.Evidence, e.Unresolved, e.Failure, lease.Seen)
	var w Written
	err = db.QueryRow(ctx, sqlEnd, args...).Scan(&w.Inbox, &w.CancelRequested, &w.PauseRequested)
	if errors.Is(err, pgx.ErrNoRows) {
		return whyNot(ctx, db, lease)
	}
	if err != nil {
		return fmt.Errorf("end %s: %w", lease.Session, err)
	}
	return nil
}
