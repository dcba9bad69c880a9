package migrate_test

import (
	"io"
	"log/slog"
	"sync"
	"testing"

	"baton/internal/postgres/migrate"
	"baton/internal/postgres/pgtest"
	"baton/internal/problem"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// R: G5
func TestSeveralStartsAtOnceApplyTheSchemaOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	var starts sync.WaitGroup
	for range 3 {
		pool := pgtest.Open(t, url)
		starts.Go(func() {
			status, err := migrate.Up(t.Context(), pool, quiet)
			if err != nil || !status.UpToDate() {
				t.Errorf("status %+v, error %v", status, err)
			}
		})
	}
	starts.Wait()

	pool := pgtest.Open(t, url)
	var twice int
	const sql = `select count(*) from (select 1 from goose_db_version group by version_id having count(*) > 1) v`
	if err := pool.QueryRow(t.Context(), sql).Scan(&twice); err != nil || twice != 0 {
		t.Errorf("%d migrations were applied twice, error %v", twice, err)
	}
}

// R: G5
func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	if _, err := pool.Exec(t.Context(), `insert into goose_db_version (version_id, is_applied) values (99999, true)`); err != nil {
		t.Fatal(err)
	}
	_, err := migrate.Up(t.Context(), pool, quiet)
	if !problem.Is(err, "schema_newer") {
		t.Errorf("error is %v, want schema_newer", err)
	}
}

// R: G5
func TestReadingTheStatusChangesNothing(t *testing.T) {
	t.Parallel()
	pool := pgtest.Open(t, pgtest.Empty(t))
	status, err := migrate.Read(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if status.UpToDate() || status.Current != 0 || len(status.Pending) == 0 {
		t.Errorf("status of an empty database is %+v", status)
	}
	var tables int
	const sql = `select count(*) from pg_tables where schemaname = 'public'`
	if err := pool.QueryRow(t.Context(), sql).Scan(&tables); err != nil || tables != 0 {
		t.Errorf("%d tables were made, error %v", tables, err)
	}
}

// R: Z1
func TestJobsPayForNoIndexThatNobodyUses(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	var n int
	const sql = `select count(*) from pg_indexes where tablename = 'river_job' and indexdef ~ '(args|metadata|\(kind\))'`
	if err := pool.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != 0 {
		t.Errorf("%d indexes of what is in a job, error %v", n, err)
	}
}
