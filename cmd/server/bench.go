package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"baton/internal/postgres/embedded"
)

func benchCommand() *cobra.Command {
	return group("bench", "Measure Baton on this machine, beside what the machine can do", benchW1Command(), benchW2Command(), benchLiveCommand(), benchViewersCommand())
}

// measured runs a benchmark on a Postgres of its own and prints its report.
// begin gives the workload its databases, and a place to tell of its rounds.
func measured[R any](cmd *cobra.Command, asJSON bool, begin func(database benchDatabases, report func(string, ...any)) func(context.Context) (R, error)) error {
	server, stop, err := benchServer(cmd.Context())
	if err != nil {
		return err
	}
	defer stop()
	measure := begin(benchDatabase(server), func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format, args...) })
	report, err := measure(cmd.Context())
	if err != nil {
		return err
	}
	return printReport(cmd.OutOrStdout(), report, asJSON)
}

// benchDatabases makes the fresh database of a round, and drops it.
type benchDatabases = func(ctx context.Context, round string) (url string, drop func(), err error)

func printReport(w io.Writer, report any, asJSON bool) error {
	b, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if asJSON {
		_, err = fmt.Fprintf(w, "%s\n", b)
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		return err
	}
	for name, value := range fields {
		fmt.Fprintf(w, "%-24s %v\n", name, value)
	}
	return nil
}

// benchServer starts a Postgres with stock durability, which counts statements.
func benchServer(ctx context.Context) (*embedded.Server, func(), error) {
	dir, err := os.MkdirTemp("", "baton-bench-")
	if err != nil {
		return nil, nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // an unprivileged Postgres passes it
		return nil, nil, err
	}
	server, err := embedded.Start(ctx, embedded.Config{DataDir: dir, Log: slog.New(slog.DiscardHandler),
		Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements", "shared_buffers": "256MB", "max_connections": "200"}})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, err
	}
	return server, func() {
		server.Stop()
		_ = os.RemoveAll(dir)
	}, nil
}

// benchDatabase makes fresh databases on a server.
func benchDatabase(server *embedded.Server) func(ctx context.Context, round string) (string, func(), error) {
	admin := func(ctx context.Context, url, sql string) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql)
		return err
	}
	return func(ctx context.Context, round string) (string, func(), error) {
		name := "bench_" + round
		if err := admin(ctx, server.URL(), "create database "+name); err != nil {
			return "", nil, err
		}
		url := server.URLFor("baton", name)
		if err := admin(ctx, url, "create extension pg_stat_statements"); err != nil {
			return "", nil, err
		}
		if err := admin(ctx, url, "checkpoint"); err != nil {
			return "", nil, err
		}
		return url, func() {
			_ = admin(context.WithoutCancel(ctx), server.URL(), "drop database "+name+" with (force)") // the server goes at the end
		}, nil
	}
}
