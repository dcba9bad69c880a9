// Package migrate brings a database to the schema that this build needs:
// Baton's own migrations (goose, from the migrations folder) and River's, under
// one lock, so that any number of servers may start at once.
//
// Migrations only go forward. A server that meets a schema newer than its own
// refuses: an older build must not write where it doesn't know the rules.
package migrate

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"baton/internal/problem"
	"baton/migrations"
)

// Status says where a database stands.
type Status struct {
	Current, Wanted         int64 // Baton's own schema
	JobsCurrent, JobsWanted int   // the job engine's
	Pending                 []string
}

// UpToDate says whether nothing is left to apply.
func (s Status) UpToDate() bool { return s.Current == s.Wanted && s.JobsCurrent == s.JobsWanted }

// lockID names the advisory lock that serialises migrations: "baton" in ASCII.
const lockID int64 = 0x6261746f6e

const (
	sqlLock   = `select pg_advisory_lock($1)`
	sqlUnlock = `select pg_advisory_unlock($1)`
	// The job engine has these for who looks for jobs by kind or by what is in
	// them. Nobody here does, and each job would pay for them three times over.
	sqlUnused = `drop index if exists river_job_args_index, river_job_metadata_index, river_job_kind`
)

// Up applies what is missing and returns the status afterwards. Of several
// callers one works and the others wait for it. The error is the problem
// schema_newer if the database is ahead of this build.
func Up(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) (Status, error) {
	// Connections of its own: waiting for another server's migration, or
	// building an index, is not the stalled statement that the pool's timeout
	// is there to end.
	cfg := pool.Config()
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = "0"
	cfg.MaxConns = 3
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return Status{}, fmt.Errorf("migrate: %w", err)
	}
	defer pool.Close()

	conn, err := pool.Acquire(ctx)
	if err != nil {
		return Status{}, problem.Wrap(err, problem.Unavailable, "database_unreachable", problem.Params{"host": cfg.ConnConfig.Host})
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, sqlLock, lockID); err != nil {
		return Status{}, fmt.Errorf("lock migrations: %w", err)
	}
	// Should the unlock fail, the lock goes with the connection.
	defer func() { _, _ = conn.Exec(context.WithoutCancel(ctx), sqlUnlock, lockID) }()

	before, err := Read(ctx, pool)
	if err != nil || before.UpToDate() {
		return before, err
	}
	if err := apply(ctx, pool); err != nil {
		return before, err
	}
	after, err := Read(ctx, pool)
	if err == nil {
		log.Info("schema applied", "from", before.Current, "to", after.Current, "jobs", after.JobsCurrent)
	}
	return after, err
}

func apply(ctx context.Context, pool *pgxpool.Pool) error {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	own, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	if _, err := own.Up(ctx); err != nil {
		return fmt.Errorf("apply migrations: %w", err)
	}
	jobs, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return fmt.Errorf("read the job engine's migrations: %w", err)
	}
	if _, err := jobs.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("apply the job engine's migrations: %w", err)
	}
	if _, err := pool.Exec(ctx, sqlUnused); err != nil {
		return fmt.Errorf("drop the job engine's unused indexes: %w", err)
	}
	return nil
}

// Read looks where the database stands and changes nothing. The error is the
// problem schema_newer if the database is ahead of this build.
func Read(ctx context.Context, pool *pgxpool.Pool) (Status, error) {
	var s Status
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	own, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		return s, fmt.Errorf("read migrations: %w", err)
	}
	if s.Current, err = current(ctx, pool); err != nil {
		return s, err
	}
	for _, source := range own.ListSources() {
		s.Wanted = max(s.Wanted, source.Version)
		if source.Version > s.Current {
			s.Pending = append(s.Pending, source.Path)
		}
	}
	jobs, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		return s, fmt.Errorf("read the job engine's migrations: %w", err)
	}
	for _, m := range jobs.AllVersions() {
		s.JobsWanted = max(s.JobsWanted, m.Version)
	}
	applied, err := jobs.ExistingVersions(ctx)
	if err != nil {
		return s, fmt.Errorf("read the job engine's schema version: %w", err)
	}
	for _, m := range applied {
		s.JobsCurrent = max(s.JobsCurrent, m.Version)
	}
	if s.Current > s.Wanted || s.JobsCurrent > s.JobsWanted {
		return s, problem.New(problem.Unavailable, "schema_newer",
			problem.Params{"current": fmt.Sprint(s.Current), "wanted": fmt.Sprint(s.Wanted)})
	}
	return s, nil
}

const (
	sqlGooseTable   = `select to_regclass('goose_db_version') is not null`
	sqlGooseVersion = `select coalesce(max(version_id), 0) from goose_db_version where is_applied`
)

func current(ctx context.Context, pool *pgxpool.Pool) (version int64, err error) {
	var exists bool
	if err := pool.QueryRow(ctx, sqlGooseTable).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	if err := pool.QueryRow(ctx, sqlGooseVersion).Scan(&version); err != nil {
		return 0, fmt.Errorf("read schema version: %w", err)
	}
	return version, nil
}
