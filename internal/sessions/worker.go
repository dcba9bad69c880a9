package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/live"
	"baton/internal/postgres"
)

const sqlRow = `
select inbox_seq, cancel_requested, pause_requested from sessions
where id = $1 and replica_id = $2 and epoch = $3`

// Row reads what came from outside to a session that the worker holds. The
// error is ErrLost if it doesn't any more.
func (s *Store) Row(ctx context.Context, lease *Lease) (w Written, err error) {
	err = s.db.QueryRow(ctx, sqlRow, lease.Session, lease.Replica, lease.Epoch).Scan(&w.Inbox, &w.CancelRequested, &w.PauseRequested)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, ErrLost
	}
	if err != nil {
		return w, fmt.Errorf("look at %s: %w", lease.Session, err)
	}
	return w, nil
}

// ParkAndQueue is Park; a session that parks as queued gets a job in the same
// transaction, so that another worker goes on with it.
func (s *Store) ParkAndQueue(ctx context.Context, lease *Lease, inserter *jobs.Inserter, p Parking) error {
	if p.To != Queued {
		return s.Park(ctx, lease, p)
	}
	err := postgres.InTx(ctx, s.db, func(tx pgx.Tx) error {
		if err := ParkTx(ctx, tx, lease, p); err != nil {
			return err
		}
		return inserter.InsertTx(ctx, tx, RunArgs{lease.Session}, nil)
	})
	s.tell(lease.Session, err)
	return err
}

// tell says that a session has changed, unless its change failed.
func (s *Store) tell(session id.Session, err error) {
	if err == nil {
		s.hub.Tell(live.Of(session))
	}
}

const sqlRelease = `
update sessions set status = 'queued', replica_id = null, epoch = epoch + 1
where id = $1 and replica_id = $2 and epoch = $3`

// Release queues a session that the worker can't go on with, without a word in
// the ledger, to be looked at again a little later. It comes with a job of its
// own: the one that called the worker may not be this worker's any more. The
// error is ErrLost if the session isn't.
func (s *Store) Release(ctx context.Context, lease *Lease, inserter *jobs.Inserter, after time.Duration) error {
	return postgres.InTx(ctx, s.db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sqlRelease, lease.Session, lease.Replica, lease.Epoch)
		if err != nil {
			return fmt.Errorf("release %s: %w", lease.Session, err)
		}
		if tag.RowsAffected() == 0 {
			return ErrLost
		}
		return inserter.InsertTx(ctx, tx, RunArgs{lease.Session}, &river.InsertOpts{ScheduledAt: time.Now().Add(after)})
	})
}

const sqlCancelledOn = `select id from sessions where replica_id = $1 and cancel_requested`

// CancelledOn lists the sessions of a replica that people have cancelled.
func (s *Store) CancelledOn(ctx context.Context, replica *Replica) ([]id.Session, error) {
	rows, _ := s.db.Query(ctx, sqlCancelledOn, replica.ID)
	list, err := pgx.CollectRows(rows, pgx.RowTo[id.Session])
	if err != nil {
		return nil, fmt.Errorf("look for cancelled sessions: %w", err)
	}
	return list, nil
}

const sqlResult = `
select e.data from tool_calls c join session_events e on e.session_id = c.session_id and e.seq = c.seq
where c.session_id = $1 and c.n = $2`

const sqlKeepLate = `
with s as (
    update sessions set last_seq = last_seq + 1 where id = $1
    returning last_seq, turn, steps
)
insert into session_events (session_id, seq, turn, step, call, type, data)
select $1, last_seq, turn, steps, $2, 'call.late_result', $3 from s`

// KeepLate puts into the ledger what a worker found that had lost the session:
// shown, but never a result. It needs no lease.
func (s *Store) KeepLate(ctx context.Context, call id.Call, found any) error {
	data, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("keep late result of %s: %w", call, err)
	}
	if _, err := s.db.Exec(ctx, sqlKeepLate, call.Session, call.N, data); err != nil {
		return fmt.Errorf("keep late result of %s: %w", call, err)
	}
	return nil
}

// Result reads the data of the event that holds a call's result, for the
// session's own tools: it asks for no actor. The error is pgx.ErrNoRows in the
// chain if the call has none.
func (s *Store) Result(ctx context.Context, call id.Call) (data json.RawMessage, err error) {
	if err := s.db.QueryRow(ctx, sqlResult, call.Session, call.N).Scan(&data); err != nil {
		return nil, fmt.Errorf("read result of %s: %w", call, err)
	}
	return data, nil
}

const (
	chunkBytes = 64 << 10

	sqlAddOutput = `
insert into call_outputs (session_id, n, chunk, first_line, body)
select $1, $2, v.i, v.first_line, v.body
from unnest($3::bigint[], $4::text[]) with ordinality as v(first_line, body, i)`
)

// WriteStepAnd is WriteStep in a transaction with more: what also does, on other
// tables, takes place exactly if the step does.
func (s *Store) WriteStepAnd(ctx context.Context, lease *Lease, step Step, also ...func(ctx context.Context, tx pgx.Tx) error) (w Written, err error) {
	err = postgres.InTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		if w, err = WriteStepTx(ctx, tx, lease, step); err != nil {
			return err
		}
		for _, do := range also {
			if err := do(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		lease.Committed()
		s.hub.Tell(live.Of(lease.Session))
	}
	return w, err
}

// StoreOutputTx stores the whole output of a call whose result shows only a
// part of it.
func StoreOutputTx(ctx context.Context, tx pgx.Tx, call id.Call, output string) error {
	firstLines, bodies := chunks(output)
	if _, err := tx.Exec(ctx, sqlAddOutput, call.Session, call.N, firstLines, bodies); err != nil {
		return fmt.Errorf("store output of %s: %w", call, err)
	}
	return nil
}

const (
	sqlSealArgs   = `insert into sealed_args (session_id, n, sealed) values ($1, $2, $3)`
	sqlDropSealed = `delete from sealed_args where session_id = $1 and n = $2`
	sqlSealedArgs = `select n, sealed from sealed_args where session_id = $1`
)

// SealArgsTx keeps the sealed arguments of a call that the ledger has only in
// redacted form, until DropSealedTx.
func SealArgsTx(ctx context.Context, tx pgx.Tx, call id.Call, sealed []byte) error {
	if _, err := tx.Exec(ctx, sqlSealArgs, call.Session, call.N, sealed); err != nil {
		return fmt.Errorf("seal arguments of %s: %w", call, err)
	}
	return nil
}

// DropSealedTx wipes the sealed arguments of a call that is settled.
func DropSealedTx(ctx context.Context, tx pgx.Tx, call id.Call) error {
	if _, err := tx.Exec(ctx, sqlDropSealed, call.Session, call.N); err != nil {
		return fmt.Errorf("drop sealed arguments of %s: %w", call, err)
	}
	return nil
}

// SealedArgs reads what is sealed of a session's calls.
func (s *Store) SealedArgs(ctx context.Context, session id.Session) (map[int][]byte, error) {
	rows, _ := s.db.Query(ctx, sqlSealedArgs, session)
	all := map[int][]byte{}
	var n int
	var sealed []byte
	_, err := pgx.ForEachRow(rows, []any{&n, &sealed}, func() error { all[n] = sealed; return nil })
	if err != nil {
		return nil, fmt.Errorf("read sealed arguments of %s: %w", session, err)
	}
	return all, nil
}

// chunks cuts a text into parts of at most 64 KiB, at line ends where a line
// fits, else on a character border, and says the number of each part's first
// line. A line longer than a chunk goes on in the next one, which then begins
// with the same line number.
func chunks(text string) (firstLines []int64, bodies []string) {
	line := int64(0)
	for len(text) > 0 {
		cut := min(len(text), chunkBytes)
		if cut < len(text) {
			if end := strings.LastIndexByte(text[:cut], '\n'); end >= 0 {
				cut = end + 1
			} else {
				for cut > 1 && !utf8.RuneStart(text[cut]) {
					cut--
				}
			}
		}
		firstLines, bodies = append(firstLines, line), append(bodies, text[:cut])
		line += int64(strings.Count(text[:cut], "\n"))
		text = text[cut:]
	}
	return firstLines, bodies
}
