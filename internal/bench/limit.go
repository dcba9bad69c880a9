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
func limit(ctx context.Context, url string, w W1) error {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return err
	}
	cfg.MaxConns = int32(max(4, w.Concurrency+2))
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, sqlLimitTable); err != nil {
		return fmt.Errorf("make table: %w", err)
	}
	work := make(chan int)
	failed := make(chan error, w.Concurrency)
	var workers sync.WaitGroup
	for range w.Concurrency {
		workers.Go(func() {
			for session := range work {
				if err := w.limitSession(ctx, pool, session); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for i := range w.Sessions {
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

func (w W1) limitSession(ctx context.Context, pool *pgxpool.Pool, session int) error {
	for n := range w.Calls + 1 {
		reply := fmt.Sprintf(`{"tool": "noop", "args": {"i": %d}}`, n)
		if _, err := pool.Exec(ctx, sqlLimitInsert, session, 2*n, "model", reply); err != nil {
			return err
		}
		if n == w.Calls {
			return nil
		}
		if _, err := pool.Exec(ctx, sqlLimitInsert, session, 2*n+1, "tool", w.Result(n)); err != nil {
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

// Result is what this workload's tool returns.
func (w W1) Result(n int) string {
	if w.Rows {
		return Rows(n)
	}
	return Result(n)
}

// Rows is a result of 1,024 bytes that looks like rows of a shop: names, dates,
// money, mail and ids, and no secret.
func Rows(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"ok": true, "i": %d, "rows": [`, n)
	for i := 0; ; i++ {
		row := fmt.Sprintf(`{"id": "ord_01jd%04x9f3a2b1c", "customer": "Jane Meyer", "email": "jane.meyer%d@example.org", "total": "1,2%02d.50",`+
			` "currency": "EUR", "state": "shipped", "placed_at": "2026-11-%02dT09:41:07Z", "trace": "0b9f1c2e-7d4a-4c1e-9a51-2f64d1b0a%03x"}, `, n, i, i, i%28+1, i)
		if b.Len()+len(row) > 1000 {
			break
		}
		b.WriteString(row)
	}
	fmt.Fprintf(&b, `{"note": "%s"}]}`, strings.Repeat("and so on. ", 40)[:1024-b.Len()-len(`{"note": ""}]}`)])
	return b.String()
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
