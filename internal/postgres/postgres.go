// Package postgres is the leaf below every room that keeps something: the one
// interface that stores take, how a pool is opened, and what an SQLSTATE means
// to a person.
//
// Stores take a DB. In the product that is a pool; in most tests it is a
// transaction that is rolled back. A verb that needs more than one statement
// begins its own transaction and commits it; a helper that joins one says so
// with Tx in its name and takes a pgx.Tx as its second argument. No transaction
// travels in a context, and none is open while a model or a tool is working.
//
// Three rooms stand below: migrate (the schema), embedded (a Postgres of our
// own) and pgtest (databases for tests).
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/problem"
)

// DB is what stores work on: a pool, or a transaction (then Begin makes a
// savepoint).
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// MinVersion is the oldest server that Baton works on, as server_version_num.
const MinVersion = 140000

// Limits of a connection. A database that stalls must not hold a request or a
// worker for ever; the server ends what the client can't.
const (
	connectTimeout   = 5 * time.Second
	statementTimeout = 30 * time.Second
	idleInTxTimeout  = 60 * time.Second
)

// Open connects a pool of at most conns connections to url and asks the server
// for its version. Errors are problems: database_url_invalid,
// database_unreachable, database_too_old.
func Open(ctx context.Context, url string, conns int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, problem.Wrap(err, problem.Invalid, "database_url_invalid", nil)
	}
	cfg.MaxConns = conns
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	set := func(name, value string) {
		if cfg.ConnConfig.RuntimeParams[name] == "" {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
	}
	set("application_name", "baton")
	set("statement_timeout", fmt.Sprint(statementTimeout.Milliseconds()))
	set("idle_in_transaction_session_timeout", fmt.Sprint(idleInTxTimeout.Milliseconds()))
	set("timezone", "UTC")
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, problem.Wrap(err, problem.Unavailable, "database_unreachable", nil)
	}
	var version int
	err = pool.QueryRow(ctx, sqlServerVersion).Scan(&version)
	if err != nil {
		pool.Close()
		return nil, problem.Wrap(err, problem.Unavailable, "database_unreachable", problem.Params{"host": cfg.ConnConfig.Host})
	}
	if version < MinVersion {
		pool.Close()
		return nil, problem.New(problem.Unavailable, "database_too_old",
			problem.Params{"version": version / 10000, "oldest": MinVersion / 10000})
	}
	return pool, nil
}

const sqlServerVersion = `select current_setting('server_version_num')::int`

// InTx runs fn in a transaction on db and commits it; any error, and any
// panic, rolls it back. A savepoint if db is a transaction already.
func InTx(ctx context.Context, db DB, fn func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, fn)
}

// Unique says whether err is a violation of the named unique constraint or
// index. Constraint names are part of the schema; message texts are not.
func Unique(err error, constraint string) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "23505" && pg.ConstraintName == constraint
}

// Unreachable says whether err means that the database did not answer, or
// refuses work for now: such a failure is not the caller's, and passes.
func Unreachable(err error) bool {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code[:2] {
		case "08", "53", "58": // connection, resources, system
			return true
		case "57": // operator intervention, but for a cancelled statement
			return pg.Code != "57014"
		}
		return pg.Code == "25006" // a standby
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	// A connection that ended without a last word (the server was killed, or
	// something on the way cut it) is neither of the above.
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, pgconn.ErrConnClosed) {
		return !errors.Is(err, context.Canceled)
	}
	_, ok := errors.AsType[net.Error](err)
	return ok && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// Problem turns a database error into a problem: no rows is NotFound under the
// given code, an unreachable database is database_unreachable; all else keeps
// its cause and stays Internal. Nil stays nil.
func Problem(err error, notFound string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Wrap(err, problem.NotFound, notFound, nil)
	case Unreachable(err):
		return problem.Wrap(err, problem.Unavailable, "database_unreachable", nil)
	}
	return err
}
