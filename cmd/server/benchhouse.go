package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"baton/internal/agent"
	"baton/internal/auth"
	"baton/internal/bench"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/jobs"
	"baton/internal/postgres"
	"baton/internal/postgres/migrate"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools"
)

const benchAgent = `
slug: bench
model: scripted/bench
playbook: ./bench.star
permission: {mode: auto}
budgets: {steps_per_turn: 100000, calls_per_turn: 100000, calls: 100000, same_tool_in_a_row: 100000, window: 100000000, working_time: 10h}
`

// benchHouse is what runs a workload's sessions: the product's rooms, with a
// scripted agent and a tool that returns 1 KB at once.
type benchHouse struct {
	pool     *pgxpool.Pool
	sessions *sessions.Store
	agent    definition.Version
	inserter *jobs.Inserter
	// What answers questions, and whoever it is that does.
	escalations *escalation.Store
	desk        *decide.Desk
	person      auth.Actor

	replica *sessions.Replica
	client  *river.Client[pgx.Tx]
	stop    context.CancelFunc
	slots   string
}

// benchHooks are called by the workers: when one takes up a session, when its
// tool is called, and when it has let go of the session. Nil ones are not.
type benchHooks struct {
	began, ended func()
	called       func(n int)
	result       func(n int) string // of the tool; nil: bench.Result
}

// benchWorker is the worker with the hooks on it.
type benchWorker struct {
	*agent.Worker
	hooks benchHooks
}

func (w benchWorker) Work(ctx context.Context, job *river.Job[sessions.RunArgs]) error {
	if w.hooks.began != nil {
		w.hooks.began()
	}
	defer w.hooks.ended()
	return w.Worker.Work(ctx, job)
}

// openBenchHouse brings schema, agent and workers to a database.
func openBenchHouse(ctx context.Context, url string, concurrency int, playbook string, hooks benchHooks) (h *benchHouse, err error) {
	log := slog.New(slog.DiscardHandler)
	h = &benchHouse{stop: func() {}}
	defer func() {
		if err != nil {
			h.end()
		}
	}()
	if h.pool, err = postgres.Open(ctx, url, int32(max(4, concurrency+2))); err != nil {
		return h, err
	}
	if _, err := migrate.Up(ctx, h.pool, log); err != nil {
		return h, err
	}
	if h.person, err = benchPerson(ctx, auth.NewAccounts(h.pool)); err != nil {
		return h, err
	}
	definitions := definition.NewStore(h.pool, definition.Known{}, playbookFaults)
	if _, err := definitions.Apply(ctx, auth.System(), definition.File{Name: "bench.yaml", Source: []byte(benchAgent), Playbook: []byte(playbook)}); err != nil {
		return h, err
	}
	if h.agent, err = definitions.Get(ctx, auth.System(), "bench", 0); err != nil {
		return h, err
	}
	if h.inserter, err = jobs.NewInserter(h.pool, log); err != nil {
		return h, err
	}
	h.sessions, h.escalations, h.desk = sessions.NewStore(h.pool, nil), escalation.NewStore(h.pool), decide.NewDesk(h.pool, h.inserter, nil)
	if h.slots, err = os.MkdirTemp("", "baton-bench-slots-"); err != nil {
		return h, err
	}
	if h.replica, err = sessions.Join(ctx, h.pool, h.slots, log); err != nil {
		return h, err
	}
	keyring, err := secrets.NewKeyring(secrets.NewKey())
	if err != nil {
		return h, err
	}
	registry, err := benchRegistry(h.sessions, hooks)
	if err != nil {
		return h, err
	}
	list := river.NewWorkers()
	river.AddWorker(list, benchWorker{hooks: hooks, Worker: agent.NewWorker(agent.Deps{
		DB: h.pool, Store: h.sessions, Definitions: definitions, Inserter: h.inserter, Replica: h.replica,
		Keys: toolKeys(keyring), Keyring: keyring, Retries: new(tools.RetryBudgets), Stuck: new(atomic.Int64),
		Tools: func(definition.Version) (*tools.Registry, error) { return registry, nil },
		Model: (&models{}).model, Redactor: sessionRedactor(keyring, secrets.NewStore(h.pool, keyring)), Log: log,
	})})
	river.AddWorker(list, decide.NewExpireWorker(h.desk))
	client, err := jobs.NewClientOf(h.pool, h.replica.ID.String(), list, log, concurrency)
	if err != nil {
		return h, err
	}
	running, stop := context.WithCancel(ctx)
	h.stop = stop
	if err := client.Start(running); err != nil {
		return h, err
	}
	h.client = client
	return h, nil
}

// benchPerson makes somebody who may do everything, and signs them in.
func benchPerson(ctx context.Context, accounts *auth.Accounts) (auth.Actor, error) {
	link, err := accounts.AddPerson(ctx, auth.System(), auth.NewPerson{Name: "bench", Role: auth.Admin})
	if err != nil {
		return auth.Actor{}, err
	}
	login, err := accounts.SignIn(ctx, link, "bench")
	if err != nil {
		return auth.Actor{}, err
	}
	return accounts.ActorByLogin(ctx, login)
}

func benchRegistry(store *sessions.Store, hooks benchHooks) (*tools.Registry, error) {
	result := hooks.result
	if result == nil {
		result = bench.Result
	}
	noop, err := tools.Func(tools.Spec{Name: "noop", Description: "returns 1 KB", Effect: tools.EffectRead},
		func(_ context.Context, args struct {
			I int `json:"i"`
		}) (tools.Output, error) {
			if hooks.called != nil {
				hooks.called(args.I)
			}
			return tools.Output{Data: json.RawMessage(result(args.I))}, nil
		})
	if err != nil {
		return nil, err
	}
	return tools.NewRegistry(append(agent.Own(store), noop)...)
}

// start queues n sessions.
func (h *benchHouse) start(ctx context.Context, n int, inputs json.RawMessage) error {
	news := make([]sessions.New, n)
	for i := range news {
		news[i] = sessions.New{Agent: h.agent, Task: "bench", Inputs: inputs}
	}
	_, err := h.sessions.StartAll(ctx, auth.System(), h.inserter, news...)
	return err
}

// end ends what has begun. The database is dropped next.
func (h *benchHouse) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if h.client != nil {
		_ = h.client.StopAndCancel(ctx)
	}
	h.stop()
	if h.replica != nil {
		h.replica.Leave(ctx, h.pool)
	}
	if h.slots != "" {
		_ = os.RemoveAll(h.slots)
	}
	if h.pool != nil {
		h.pool.Close()
	}
}
