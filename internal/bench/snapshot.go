package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
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
	databaseUS float64       // CPU of Postgres, in microseconds; -1: it runs elsewhere
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
  and query not like '%pg_stat_statements%' and query not like '%pg_current_wal_lsn%' and query not like '%pg_read_file%'`
	sqlPidFile = `select pg_read_file('postmaster.pid')`
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
	s.databaseUS = -1
	var pidFile string
	if err := conn.QueryRow(ctx, sqlPidFile).Scan(&pidFile); err == nil {
		s.databaseUS = cpuOfTree(strings.Split(pidFile, "\n")[0])
	}
	s.at = time.Now()
	return s, nil
}

// measured is what a workload cost, per call.
type measured struct {
	callsPerS, statements, writes, wal, cpuUS, databaseUS float64
}

func (before snapshot) until(after snapshot, calls int) measured {
	n := float64(calls)
	m := measured{
		callsPerS: n / after.at.Sub(before.at).Seconds(),
		writes:    (after.writes - before.writes) / n,
		wal:       (after.wal - before.wal) / n,
		cpuUS:     float64((after.cpu - before.cpu).Microseconds()) / n,
	}
	m.databaseUS = -1
	if before.databaseUS >= 0 && after.databaseUS >= 0 {
		m.databaseUS = (after.databaseUS - before.databaseUS) / n
	}
	m.statements = -1
	if before.statements >= 0 && after.statements >= 0 {
		m.statements = (after.statements - before.statements) / n
	}
	return m
}

// cpuOfTree is the CPU time of a process and its children, those that have
// ended too, in microseconds; -1 where it can't be read.
func cpuOfTree(pid string) float64 {
	const tick = 10_000 // microseconds: USER_HZ is 100 on Linux
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return -1
	}
	var ticks float64
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended meanwhile, and its parent has its time
		}
		// The name of the program may hold anything; what follows has no brackets.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		own := strings.Split(name, "/")[2] == pid
		if len(fields) < 15 || !own && fields[1] != pid {
			continue
		}
		times := fields[11:13] // utime, stime
		if own {
			times = fields[11:15] // and those of children that have ended
		}
		for _, t := range times {
			n, _ := strconv.ParseFloat(t, 64) // the kernel's own number
			ticks += n
		}
	}
	return ticks * tick
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
