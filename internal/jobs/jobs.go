// Package jobs is the one door to the job engine (River).
//
// To make something happen later in a room above, a lower room inserts a job in
// its own transaction: the arguments are the lower room's, the worker is the
// upper room's. Jobs say only "look at this row": a worker reads the row first,
// so a job that comes twice, late or for nothing does no harm, and what a
// session survives never rests on the engine's own rescue.
//
// River's defaults wait: an insert within 100 ms of another is picked up by the
// next poll, a second later. Both sides are therefore set to a cooldown of 1
// ms, and the poll behind them to 200 ms.
package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"baton/internal/postgres"
)

// Queues and how many jobs of each one process works at once. A session holds
// its job while it works, and none while it waits for a person.
const (
	QueueSessions = "sessions"
	QueueDefault  = river.QueueDefault

	SessionsAtOnce = 100
	othersAtOnce   = 10
)

const (
	fetchCooldown = time.Millisecond
	fetchPoll     = 200 * time.Millisecond
)

// Inserter inserts jobs. It is what lower rooms take.
type Inserter struct{ client *river.Client[pgx.Tx] }

// NewInserter makes a client that only inserts: a river client without queues.
func NewInserter(pool *pgxpool.Pool, log *slog.Logger) (*Inserter, error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll, Logger: quiet(log), SkipUnknownJobCheck: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make job inserter: %w", err)
	}
	return &Inserter{client}, nil
}

// InsertTx adds a job in the caller's transaction: it exists exactly if what
// the transaction did does.
func (i *Inserter) InsertTx(ctx context.Context, tx pgx.Tx, args river.JobArgs, opts *river.InsertOpts) error {
	if _, err := i.client.InsertTx(ctx, tx, args, opts); err != nil {
		return fmt.Errorf("insert job %s: %w", args.Kind(), err)
	}
	return nil
}

// InsertAllTx is InsertTx for many jobs at once.
func (i *Inserter) InsertAllTx(ctx context.Context, tx pgx.Tx, all []river.JobArgs) error {
	params := make([]river.InsertManyParams, len(all))
	for n, args := range all {
		params[n] = river.InsertManyParams{Args: args}
	}
	if _, err := i.client.InsertManyFastTx(ctx, tx, params); err != nil {
		return fmt.Errorf("insert %d jobs: %w", len(all), err)
	}
	return nil
}

// NewClient makes the client that works the jobs of the given workers. Start
// it, and Stop it to let the jobs in flight end. id is the replica's: by it the
// jobs that a dead client had fetched are found.
func NewClient(pool *pgxpool.Pool, id string, workers *river.Workers, log *slog.Logger) (*river.Client[pgx.Tx], error) {
	return NewClientOf(pool, id, workers, log, SessionsAtOnce)
}

// NewClientOf is NewClient for another number of sessions at once.
func NewClientOf(pool *pgxpool.Pool, id string, workers *river.Workers, log *slog.Logger, sessionsAtOnce int) (*river.Client[pgx.Tx], error) {
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		ID: id,
		Queues: map[string]river.QueueConfig{
			QueueSessions: {MaxWorkers: sessionsAtOnce},
			QueueDefault:  {MaxWorkers: othersAtOnce},
		},
		Workers:           workers,
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: fetchPoll,
		JobTimeout:        -1, // a session works as long as it must; its tools have limits
		Logger:            quiet(log),
		// A job that fails is seen to by the sweep of its rows; the engine's
		// retries are a second net.
		MaxAttempts: 5,
	})
	if err != nil {
		return nil, fmt.Errorf("make job client: %w", err)
	}
	return client, nil
}

const sqlGiveBack = `
update river_job set state = 'available', scheduled_at = now()
where state = 'running' and attempted_by[array_upper(attempted_by, 1)] = any($1)`

// GiveBack makes the jobs that clients had fetched before they died available
// again. The engine would notice after an hour. It returns how many there were.
// A job may then be worked twice, which does no harm.
func GiveBack(ctx context.Context, db postgres.DB, clients ...string) (int, error) {
	tag, err := db.Exec(ctx, sqlGiveBack, clients)
	if err != nil {
		return 0, fmt.Errorf("give jobs back: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// quiet keeps the engine's own talk out of the log unless something is wrong.
func quiet(log *slog.Logger) *slog.Logger { return slog.New(atLeastWarn{log.Handler()}) }

type atLeastWarn struct{ slog.Handler }

func (h atLeastWarn) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}
func (h atLeastWarn) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeastWarn{h.Handler.WithAttrs(attrs)}
}
func (h atLeastWarn) WithGroup(name string) slog.Handler {
	return atLeastWarn{h.Handler.WithGroup(name)}
}
