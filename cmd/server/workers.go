package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"baton/internal/agent"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/redact"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// workers are what runs sessions in this process.
type workers struct {
	pool    *pgxpool.Pool
	replica *sessions.Replica
	agent   *agent.Worker
	client  *river.Client[pgx.Tx]
	log     *slog.Logger

	stop context.CancelFunc
	loop sync.WaitGroup
}

// drainFor is how long the sessions in hand get to reach their next step when
// the process ends; then their work is cut, and another worker settles it.
const drainFor = 10 * time.Second

// startWorkers joins the replicas, takes back what this one's former life held,
// and begins to work.
func startWorkers(ctx context.Context, c config, h house, log *slog.Logger) (*workers, error) {
	replica, err := sessions.Join(ctx, h.pool, c.dataDir(), log)
	if err != nil {
		return nil, err
	}
	w := &workers{pool: h.pool, replica: replica, log: log}
	w.agent = agent.NewWorker(agent.Deps{
		DB: h.pool, Store: h.sessions, Definitions: h.definitions, Inserter: h.inserter, Replica: replica, Live: h.hub,
		Keys: toolKeys(h.keyring), Keyring: h.keyring, Retries: new(tools.RetryBudgets), Breakers: h.breakers, Stuck: new(atomic.Int64),
		Tools: h.toolbox.registry, Model: h.models.model, Redactor: sessionRedactor(h.keyring, h.secrets, c.modelKeys()...), Log: log,
	})
	list := river.NewWorkers()
	river.AddWorker(list, w.agent)
	river.AddWorker(list, decide.NewExpireWorker(h.desk))
	if w.client, err = jobs.NewClient(h.pool, replica.ID.String(), list, log); err != nil {
		replica.Leave(ctx, h.pool)
		return nil, err
	}
	if n, err := sessions.Reclaim(ctx, h.pool, h.inserter, replica); err != nil {
		replica.Leave(ctx, h.pool)
		return nil, err
	} else if n > 0 {
		log.Info("took back sessions of this server's former life", "sessions", n)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	w.stop = stop
	if err := w.client.Start(running); err != nil {
		stop()
		replica.Leave(ctx, h.pool)
		return nil, fmt.Errorf("start the job engine: %w", err)
	}
	w.loop.Go(func() { sessions.Sweep(running, h.pool, h.inserter, log) })
	w.loop.Go(func() { w.agent.Watch(running) })
	w.loop.Go(func() { h.breakers.Run(running) })
	w.loop.Go(func() { h.hub.Run(running) })
	return w, nil
}

// end lets the sessions in hand reach their next step and gives them to others.
func (w *workers) end() {
	w.agent.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), drainFor)
	defer cancel()
	if err := w.client.Stop(ctx); err != nil {
		w.log.Warn("cutting the sessions that did not reach their next step", "after", drainFor)
		hard, cancel := context.WithTimeout(context.Background(), drainFor)
		defer cancel()
		if err := w.client.StopAndCancel(hard); err != nil {
			w.log.Error("the job engine did not stop", "err", err)
		}
	}
	w.stop()
	w.loop.Wait()
	w.replica.Leave(context.Background(), w.pool)
}

func toolKeys(k *secrets.Keyring) tools.Keys {
	return tools.Keys{Fingerprint: tools.NewKey(k.Derive("fingerprint")), Approval: tools.NewKey(k.Derive("approval"))}
}

// sessionRedactor gives each session a redactor whose placeholders are its own.
// What it knows besides shapes are the installation's secrets, those in this
// process's environment, and more.
func sessionRedactor(k *secrets.Keyring, store *secrets.Store, more ...redact.Known) func(context.Context, id.Session) (*redact.Redactor, error) {
	environment := append(redact.FromEnviron(os.Environ()), more...)
	return func(ctx context.Context, session id.Session) (*redact.Redactor, error) {
		values, err := store.Values(ctx)
		if err != nil {
			return nil, err
		}
		known := slices.Clone(environment)
		for name, value := range values {
			known = append(known, redact.Known{Name: name, Value: value})
		}
		return redact.New(redact.Options{Key: k.Derive("redact " + session.String()), Known: known})
	}
}
