// Package breaker keeps calls away from services that are down. It is the
// installation's, not a session's: what one session meets, all are spared.
//
// Calls that fail for a reason that is the service's (it is away, overloaded,
// too slow) are counted by service, in rows that every replica shares. After
// five in a row the breaker opens: for half a minute, then for twice as long
// each time, at most five minutes, calls are refused before they are made
// (tools.Prepare, by Facts.Breakers). Then calls go there again; the first that
// succeeds closes it, the first that fails opens it again.
//
//	closed --fifth failure--> open --time passes--> half open --failure--> open
//	  ^-------------------------------success--------------'
//
// Each replica looks at a copy, which is a second old at most; what it did itself
// it sees at once. While all is well nothing is written.
package breaker

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/postgres"
	"baton/internal/tools"
)

const (
	refreshEvery = time.Second
	openAfter    = 5 // failures in a row
	openFor      = 30 * time.Second
	openMost     = 5 * time.Minute
	maxReason    = 300 // characters
	// apart is how far failures may lie apart to be a row of them.
	apart = 10 * time.Minute
)

// Breaker is a service that calls have failed at.
type Breaker struct {
	Service  string
	Tool     string // of the last call that failed
	Failures int    // in a row
	// Until is when calls go there again, by this process's clock; zero while the
	// breaker is closed.
	Until    time.Time
	Reason   string // of the last failure
	FailedAt time.Time
}

// Open says whether calls are kept away at that time.
func (b Breaker) Open(now time.Time) bool { return now.Before(b.Until) }

// Breakers are those of the installation. A nil *Breakers knows of none and
// keeps none.
type Breakers struct {
	db  postgres.DB
	log *slog.Logger
	// copied are the rows as they were last read.
	copied atomic.Pointer[map[string]Breaker]
}

// New keeps the breakers in db.
func New(db postgres.DB, log *slog.Logger) *Breakers { return &Breakers{db: db, log: log} }

// Run renews the copy until ctx ends.
func (b *Breakers) Run(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		if err := b.Refresh(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("breakers could not be read; the last copy stays in use", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const sqlRead = `
select service, tool, failures, reason, failed_at, coalesce(extract(epoch from until - now()), 0)::float8
from breakers order by service`

// Refresh reads the rows.
func (b *Breakers) Refresh(ctx context.Context) error {
	list, err := b.read(ctx)
	if err != nil {
		return err
	}
	rows := make(map[string]Breaker, len(list))
	for _, r := range list {
		rows[r.Service] = r
	}
	b.copied.Store(&rows)
	return nil
}

func (b *Breakers) read(ctx context.Context) ([]Breaker, error) {
	rows, _ := b.db.Query(ctx, sqlRead)
	now := time.Now()
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Breaker, err error) {
		var left float64
		err = row.Scan(&r.Service, &r.Tool, &r.Failures, &r.Reason, &r.FailedAt, &left)
		if left > 0 {
			r.Until = now.Add(time.Duration(left * float64(time.Second)))
		}
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read breakers: %w", err)
	}
	return list, nil
}

// Facts are the open ones, as tools.Prepare takes them.
func (b *Breakers) Facts(now time.Time) (list []tools.Breaker) {
	for _, r := range b.known() {
		if r.Open(now) {
			list = append(list, tools.Breaker{Service: r.Service, Until: r.Until, Reason: r.Reason})
		}
	}
	return list
}

func (b *Breakers) known() map[string]Breaker {
	if b == nil {
		return nil
	}
	if rows := b.copied.Load(); rows != nil {
		return *rows
	}
	return nil
}

// Ended takes into account how a call of a service came out. Calls that were not
// made, and failures that are the call's own, say nothing of the service. It
// gives up quietly if the database is away: the next call counts again.
func (b *Breakers) Ended(ctx context.Context, service, tool string, r tools.Result) {
	if b == nil || r.Meta().Attempts == 0 || service == "" {
		return
	}
	var err error
	_, failing := b.known()[service]
	switch d := r.Meta().Degraded; {
	case d != nil: // answered, but from elsewhere
		err = b.failed(ctx, service, tool, d.Reason)
	case down(r):
		err = b.failed(ctx, service, tool, r.Message())
	case failing && (r.OK() || r.ErrorType() != tools.Cancelled):
		err = b.succeeded(ctx, service)
	default:
		return
	}
	if err == nil {
		err = b.Refresh(ctx)
	}
	if err != nil && ctx.Err() == nil {
		b.log.Warn("a breaker could not be set", "service", service, "err", err)
	}
}

// down says whether a result tells that its service is: an unknown outcome is
// one that the service did not confirm.
func down(r tools.Result) bool {
	return r.ErrorType().Outage() || r.ErrorType() == tools.OutcomeUnknown
}

const sqlFailed = `
insert into breakers as b (service, tool, failures, reason) values ($1, $2, 1, $3)
on conflict (service) do update set
    tool = excluded.tool, reason = excluded.reason, failed_at = now(),
    failures = case when b.until is null and b.failed_at < now() - $4::interval then 1 else b.failures + 1 end,
    opened = case
        when b.until > now() then b.opened
        when b.until <= now() then b.opened + 1
        when b.failed_at >= now() - $4::interval and b.failures + 1 >= $5 then 1
        else b.opened end,
    until = case
        when b.until > now() then b.until
        when b.until <= now() then now() + least($6::interval * power(2, least(b.opened, 20)), $7::interval)
        when b.failed_at >= now() - $4::interval and b.failures + 1 >= $5 then now() + $6::interval
        else b.until end`

func (b *Breakers) failed(ctx context.Context, service, tool, reason string) error {
	if r := []rune(reason); len(r) > maxReason {
		reason = string(r[:maxReason]) + "…"
	}
	_, err := b.db.Exec(ctx, sqlFailed, service, tool, reason, apart, openAfter, openFor, openMost)
	return err
}

const sqlSucceeded = `delete from breakers where service = $1`

func (b *Breakers) succeeded(ctx context.Context, service string) error {
	_, err := b.db.Exec(ctx, sqlSucceeded, service)
	return err
}

// List are all services that calls have failed at lately, by name. The problem
// is not_allowed.
func (b *Breakers) List(ctx context.Context, actor auth.Actor) ([]Breaker, error) {
	if err := auth.Can(actor, auth.ResetTool, auth.Object{Kind: "tool"}); err != nil {
		return nil, err
	}
	list, err := b.read(ctx)
	return list, postgres.Problem(err, "")
}

const sqlReset = `delete from breakers where tool = $1 returning service`

// Reset lets calls of a tool go to its services again, at once here and within
// a second elsewhere, and returns those that they were kept away from. The
// problem is not_allowed.
func (b *Breakers) Reset(ctx context.Context, actor auth.Actor, tool string) (services []string, err error) {
	if err := auth.Can(actor, auth.ResetTool, auth.Object{Kind: "tool", ID: tool}); err != nil {
		return nil, err
	}
	err = postgres.InTx(ctx, b.db, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlReset, tool)
		if services, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(services) == 0 {
			return err
		}
		return auth.AuditTx(ctx, tx, actor, auth.Entry{Verb: auth.ResetTool, Kind: "tool", ID: tool, Before: map[string]any{"services": services}})
	})
	if err == nil {
		err = b.Refresh(ctx)
	}
	return services, postgres.Problem(err, "")
}
