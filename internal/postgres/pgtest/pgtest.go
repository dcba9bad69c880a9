// Package pgtest gives tests real Postgres databases with Baton's schema.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
// which starts one Postgres for the package's tests, by the product's own
// starter, and stops it afterwards (or uses the server at
// BATON_TEST_DATABASE_URL). Tx is for most tests: a transaction that is rolled
// back. New is for tests that need commits, notifications, workers or crashes,
// and for those that insert rows with names of their own (two transactions that
// insert the same team wait for each other): a database of its own, copied from
// a template.
package pgtest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/postgres"
	"baton/internal/postgres/embedded"
	"baton/internal/postgres/migrate"
)

var (
	running  server
	sequence atomic.Int64
)

// server is the one Postgres of this test binary, started when a test first
// asks for a database.
type server struct {
	once     sync.Once
	err      error
	url      string // the maintenance database's
	template string
	shared   *pgxpool.Pool // to a database that only rolled-back transactions touch
	stop     func()
}

// Main runs a package's tests and stops the server that they used.
func Main(m *testing.M) {
	code := m.Run()
	Stop()
	os.Exit(code)
}

// Stop ends the server if one runs; for packages with a TestMain of their own.
func Stop() {
	if running.stop != nil {
		running.stop()
	}
}

// Tx begins a transaction on a database with Baton's schema; it is rolled back
// at the end of the test.
func Tx(t testing.TB) pgx.Tx {
	t.Helper()
	start(t)
	tx, err := running.shared.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	return tx
}

// New makes a database with Baton's schema and a pool to it; both go at the end
// of the test.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return open(t, create(t, " template "+template(t)))
}

// Empty makes a database without a schema and returns its URL.
func Empty(t testing.TB) string {
	t.Helper()
	start(t)
	return create(t, "")
}

// Open connects a pool to a database made by this package; it is closed at the
// end of the test.
func Open(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	return open(t, url)
}

// URL is the address of the database that a pool is connected to.
func URL(pool *pgxpool.Pool) string { return pool.Config().ConnString() }

func template(t testing.TB) string {
	t.Helper()
	start(t)
	return running.template
}

func open(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url, 12)
	if err != nil {
		t.Fatalf("open %s: %v", url, err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func create(t testing.TB, from string) string {
	t.Helper()
	name := fmt.Sprintf("t%d_%d", os.Getpid(), sequence.Add(1))
	if err := admin(t.Context(), "create database "+name+from); err != nil {
		t.Fatalf("create database: %v", err)
	}
	t.Cleanup(func() {
		// WITH (FORCE): a test may have killed a process that held connections.
		if err := admin(context.WithoutCancel(t.Context()), "drop database if exists "+name+" with (force)"); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return named(running.url, name)
}

func admin(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, running.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

// named is the server's URL with another database.
func named(server, database string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // it was made by the starter, or connected with already
	}
	u.Path = "/" + database
	return u.String()
}

func start(t testing.TB) {
	t.Helper()
	running.once.Do(func() { running.err = running.start() })
	if running.err != nil {
		t.Fatalf("start Postgres for tests: %v", running.err)
	}
}

func (s *server) start() error {
	ctx := context.Background()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	s.url = os.Getenv("BATON_TEST_DATABASE_URL")
	stopServer := func() {}
	if s.url == "" {
		dir, err := os.MkdirTemp("", "baton-test-")
		if err != nil {
			return err
		}
		if err := os.Chmod(dir, 0o755); err != nil { // the child's user passes it
			return err
		}
		own, err := embedded.Start(ctx, embedded.Config{
			DataDir: dir, Log: quiet, Roles: []string{"reader"},
			// Tests kill processes, not machines: what fsync protects from
			// doesn't happen here.
			Settings: map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "300"},
		})
		if err != nil {
			_ = os.RemoveAll(dir)
			return err
		}
		s.url = own.URL()
		stopServer = func() {
			own.Stop()
			_ = os.RemoveAll(dir)
		}
	}
	s.template = fmt.Sprintf("template_%d", os.Getpid())
	shared := fmt.Sprintf("shared_%d", os.Getpid())
	s.stop = func() {
		if s.shared != nil {
			s.shared.Close()
		}
		for _, name := range []string{shared, s.template} {
			_ = admin(ctx, "drop database if exists "+name+" with (force)") // the server goes next, mostly
		}
		stopServer()
	}
	if err := admin(ctx, "create database "+s.template); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, named(s.url, s.template), 4)
	if err != nil {
		return err
	}
	_, err = migrate.Up(ctx, pool, quiet)
	pool.Close() // a template that is in use can't be copied
	if err != nil {
		return err
	}
	if err := admin(ctx, "create database "+shared+" template "+s.template); err != nil {
		return err
	}
	s.shared, err = postgres.Open(ctx, named(s.url, shared), 24)
	return err
}

// Reader is the URL of a database for the role "reader", which exists on the
// server that this package starts and owns nothing: for tests of what a role
// with few rights can do. Tests are skipped on a foreign server.
func Reader(t testing.TB, databaseURL string) string {
	t.Helper()
	start(t)
	if os.Getenv("BATON_TEST_DATABASE_URL") != "" {
		t.Skip("the server at BATON_TEST_DATABASE_URL has no role reader")
	}
	const sql = `do $$ begin
		if not exists (select from pg_roles where rolname = 'reader') then create role reader login; end if;
	exception when duplicate_object or unique_violation then null; end $$`
	if err := admin(t.Context(), sql); err != nil {
		t.Fatalf("create role reader: %v", err)
	}
	return strings.Replace(databaseURL, "user=baton", "user=reader", 1)
}
