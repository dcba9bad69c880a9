package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	sqlLimitTable = `
create table bench_limit (session int not null, seq int not null, kind text not null, body jsonb not null,
    at timestamptz not null default now(), primary key (session, seq))`
	sqlLimitInsert = `insert into bench_limit (session, seq, kind, body) values ($1, $2, $3, $4)`
)

// limit does the least that keeps a session's promises: one insert for each
// reply of the model, committed before its call runs, and one for each result.
// Nothing is read, decided, checked or shown.
func limit(ctx context.Context, url string, sessions, calls, concurrency int) error {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.MaxConns = int32(max(4, concurrency+2))
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, sqlLimitTable); err != nil {
		return fmt.Errorf("make table: %w", err)
	}
	work := make(chan int)
	failed := make(chan error, concurrency)
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for session := range work {
				if err := limitSession(ctx, pool, session, calls); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for i := range sessions {
		select {
		case work <- i:
		case err := <-failed:
			return err
		}
	}
	close(work)
	workers.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func limitSession(ctx context.Context, pool *pgxpool.Pool, session, calls int) error {
	for n := range calls + 1 {
		reply := fmt.Sprintf(`{"tool": "noop", "args": {"i": %d}}`, n)
		if _, err := pool.Exec(ctx, sqlLimitInsert, session, 2*n, "model", reply); err != nil {
			return err
		}
		if n == calls {
			return nil
		}
		if _, err := pool.Exec(ctx, sqlLimitInsert, session, 2*n+1, "tool", Result(n)); err != nil {
			return err
		}
	}
	return nil
}

// Result is what the workload's tool returns: 1,024 bytes of JSON.
func Result(n int) string {
	head := fmt.Sprintf(`{"ok": true, "i": %d, "data": "`, n)
	return head + strings.Repeat("x", 1024-len(head)-2) + `"}`
}

// limitResume is the least that takes an answered session to its next call: one
// after the other, each durable, that a worker has it, what the answer was, and
// the model's reply to it. n tells the sessions apart.
func limitResume(ctx context.Context, conn *pgx.Conn, n int) (time.Duration, error) {
	began := time.Now()
	for i, body := range []string{`{"worker": 1}`, `{"answer": "full"}`, `{"tool": "noop", "args": {"i": 1}}`} {
		if _, err := conn.Exec(ctx, sqlLimitInsert, n, i, "step", body); err != nil {
			return 0, fmt.Errorf("measure the limit: %w", err)
		}
	}
	return time.Since(began), nil
}
