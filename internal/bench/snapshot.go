package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// snapshot is what this process and the database have done so far.
type snapshot struct {
	at         time.Time
	cpu        time.Duration // of this process
	wal        float64       // bytes
	statements float64       // of this database, by pg_stat_statements; -1: not there
	writes     float64       // transactions that wrote, from the transaction counter
}

const (
	sqlProgress = `select (pg_current_wal_lsn() - '0/0')::float8, pg_snapshot_xmax(pg_current_snapshot())::text::float8`
	// The instrument's own statements are not the workload's.
	sqlStatements = `
select coalesce(sum(calls), 0)::float8 from pg_stat_statements
where dbid = (select oid from pg_database where datname = current_database())
  and query not like '%pg_stat_statements%' and query not like '%pg_current_wal_lsn%'`
)

// take reads the counters on a connection of its own.
func take(ctx context.Context, url string) (s snapshot, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return s, fmt.Errorf("take snapshot: %w", err)
	}
	defer conn.Close(ctx)
	if err := conn.QueryRow(ctx, sqlProgress).Scan(&s.wal, &s.writes); err != nil {
		return s, fmt.Errorf("take snapshot: %w", err)
	}
	if err := conn.QueryRow(ctx, sqlStatements).Scan(&s.statements); err != nil {
		s.statements = -1 // the extension is not loaded: the figure is left out
	}
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return s, fmt.Errorf("take snapshot: %w", err)
	}
	s.cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	s.at = time.Now()
	return s, nil
}

// measured is what a workload cost, per call.
type measured struct {
	callsPerS, statements, writes, wal, cpuUS float64
}

func (before snapshot) until(after snapshot, calls int) measured {
	n := float64(calls)
	m := measured{
		callsPerS: n / after.at.Sub(before.at).Seconds(),
		writes:    (after.writes - before.writes) / n,
		wal:       (after.wal - before.wal) / n,
		cpuUS:     float64((after.cpu - before.cpu).Microseconds()) / n,
	}
	m.statements = -1
	if before.statements >= 0 && after.statements >= 0 {
		m.statements = (after.statements - before.statements) / n
	}
	return m
}

// Load1 is the machine's load average over the last minute, 0 where it can't be
// read.
func Load1() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	load, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		return 0
	}
	return load
}

const sqlByStatement = `
select calls::float8, wal_bytes::float8, wal_fpi::float8, total_exec_time, regexp_replace(query, '\s+', ' ', 'g')
from pg_stat_statements
where dbid = (select oid from pg_database where datname = current_database()) and query not like '%pg_stat_statements%'
order by wal_bytes desc, calls desc limit 25`

// reportStatements tells what each statement cost, per call of the workload.
func reportStatements(ctx context.Context, url string, calls float64, report func(format string, args ...any)) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("report statements: %w", err)
	}
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, sqlByStatement)
	var n, wal, pages, ms float64
	var query string
	_, err = pgx.ForEachRow(rows, []any{&n, &wal, &pages, &ms, &query}, func() error {
		report("%7.3f a call  %6.0f B of WAL  %5.2f page images  %6.3f ms  %.90s\n", n/calls, wal/calls, pages/calls, ms/calls, query)
		return nil
	})
	return err
}
