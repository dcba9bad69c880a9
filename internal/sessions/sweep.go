package sessions

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/postgres"
)

// RunArgs is the job that makes a worker look at a session. The worker is the
// agent room's.
type RunArgs struct {
	Session id.Session `json:"session"`
}

// Kind names the job.
func (RunArgs) Kind() string { return "session.run" }

// InsertOpts puts it in the sessions' queue.
func (RunArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: jobs.QueueSessions, MaxAttempts: 25}
}

// How often each replica sweeps.
const (
	wakeEvery    = 250 * time.Millisecond
	recoverEvery = time.Second
	strandEvery  = 5 * time.Second
	sweepBatch   = 100
)

// Sweep wakes what is due and takes over what dead replicas held, until ctx
// ends. Every replica sweeps; a row is taken by one of them.
func Sweep(ctx context.Context, db postgres.DB, inserter *jobs.Inserter, log *slog.Logger) {
	wake, takeOver, stranded := time.NewTicker(wakeEvery), time.NewTicker(recoverEvery), time.NewTicker(strandEvery)
	defer wake.Stop()
	defer takeOver.Stop()
	defer stranded.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-wake.C:
			_, err = WakeDue(ctx, db, inserter)
		case <-takeOver.C:
			_, err = TakeOver(ctx, db, inserter)
		case <-stranded.C:
			if _, err = Refloat(ctx, db, inserter); err == nil {
				err = ForgetDrafts(ctx, db)
			}
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("sweep failed; the next one tries again", "err", err)
		}
	}
}

const sqlDueExists = `select exists (select from sessions where wake_at <= now() and status = 'waiting' and open_questions = 0)`

const sqlWakeDue = `
update sessions set status = 'queued', wake_at = null
where id in (select id from sessions where wake_at <= now() and status = 'waiting' and open_questions = 0
             order by id limit $1 for no key update skip locked)
returning id`

// WakeDue queues the sessions whose hold has passed and returns how many. The
// look before is a plain read: most sweeps find nothing, and a read needs no
// transaction.
func WakeDue(ctx context.Context, db postgres.DB, inserter *jobs.Inserter) (int, error) {
	var due bool
	if err := db.QueryRow(ctx, sqlDueExists).Scan(&due); err != nil || !due {
		return 0, err
	}
	return requeue(ctx, db, inserter, sqlWakeDue, sweepBatch)
}

// The jobs that wait or run are found by their state and hashed; no index of
// what is in a job is needed. A session and its job are queued in one transaction; but a job can be lost to
// a client that comes back from the dead and completes it while another has it.
const sqlStranded = `
select id from sessions s
where status = 'queued' and not exists (
    select from river_job j
    where j.kind = 'session.run' and j.state in ('available', 'pending', 'retryable', 'running', 'scheduled')
      and j.args ->> 'session' = 'ses_' || replace(s.id::text, '-', ''))
order by id limit $1 for no key update skip locked`

// Refloat gives a new job to queued sessions that have none, and returns how
// many there were.
func Refloat(ctx context.Context, db postgres.DB, inserter *jobs.Inserter) (int, error) {
	return requeue(ctx, db, inserter, sqlStranded, sweepBatch)
}

const sqlDead = `
select id from replicas
where beat_at < now() - $1::interval and not gone
order by id`

const sqlGone = `update replicas set gone = true where id = any($1) and beat_at < now() - $2::interval`

// The event says from when nothing was heard, so that the timeline can show
// how long the session stood still.
const sqlTakeOver = `
with lost as (
    update sessions s
    set status = 'queued', replica_id = null, epoch = epoch + 1, last_seq = last_seq + 1
    from (select s.id, r.beat_at, r.id as replica from sessions s join replicas r on r.id = s.replica_id
          where s.replica_id is not null and r.beat_at < now() - $2::interval
          order by s.id limit $1 for no key update of s skip locked) d
    where s.id = d.id
    returning s.id, s.last_seq, s.turn, s.steps, d.beat_at, d.replica
), e as (
    insert into session_events (session_id, seq, turn, step, type, data)
    select id, last_seq, turn, steps, 'session.recovered',
           json_build_object('replica', replace(replica::text, '-', ''), 'last_beat', nullif(beat_at, '-infinity'))
    from lost
)
select id from lost`

// TakeOver queues the sessions of replicas that have fallen silent, gives their
// jobs back, and returns how many sessions there were. Looking for such
// replicas is a plain read of a few rows.
func TakeOver(ctx context.Context, db postgres.DB, inserter *jobs.Inserter) (int, error) {
	rows, _ := db.Query(ctx, sqlDead, deadAfter)
	dead, err := pgx.CollectRows(rows, pgx.RowTo[id.Replica])
	if err != nil || len(dead) == 0 {
		return 0, err
	}
	taken := 0
	for {
		n, err := requeue(ctx, db, inserter, sqlTakeOver, sweepBatch, deadAfter)
		taken += n
		if err != nil {
			return taken, err
		}
		if n < sweepBatch {
			break
		}
	}
	names := make([]string, len(dead))
	for i, replica := range dead {
		names[i] = replica.String()
	}
	if _, err := jobs.GiveBack(ctx, db, names...); err != nil {
		return taken, err
	}
	// One that beats again meanwhile is not gone; what it holds is its own.
	if _, err := db.Exec(ctx, sqlGone, dead, deadAfter); err != nil {
		return taken, fmt.Errorf("mark dead replicas: %w", err)
	}
	return taken, nil
}

const sqlReclaim = `
with lost as (
    update sessions s
    set status = 'queued', replica_id = null, epoch = epoch + 1, last_seq = last_seq + 1
    where s.id in (select id from sessions where replica_id = $2 order by id limit $1 for no key update)
    returning s.id, s.last_seq, s.turn, s.steps
), e as (
    insert into session_events (session_id, seq, turn, step, type, data)
    select id, last_seq, turn, steps, 'session.recovered',
           json_build_object('replica', replace($2::text, '-', ''), 'restarted', true)
    from lost
)
select id from lost`

// Reclaim queues what this replica's former life held: its slot was free, so
// that life has ended. It is called once, between Join and the first claim.
func Reclaim(ctx context.Context, db postgres.DB, inserter *jobs.Inserter, replica *Replica) (int, error) {
	if _, err := jobs.GiveBack(ctx, db, replica.ID.String()); err != nil {
		return 0, err
	}
	all := 0
	for {
		n, err := requeue(ctx, db, inserter, sqlReclaim, sweepBatch, replica.ID)
		all += n
		if err != nil || n < sweepBatch {
			return all, err
		}
	}
}

// requeue runs a statement that queues sessions and returns their ids, and
// inserts a job for each in the same transaction.
func requeue(ctx context.Context, db postgres.DB, inserter *jobs.Inserter, sql string, args ...any) (n int, err error) {
	err = postgres.InTx(ctx, db, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sql, args...)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[id.Session])
		if err != nil {
			return fmt.Errorf("queue sessions: %w", err)
		}
		for _, session := range ids {
			if err := inserter.InsertTx(ctx, tx, RunArgs{session}, nil); err != nil {
				return err
			}
		}
		n = len(ids)
		return nil
	})
	return n, err
}
