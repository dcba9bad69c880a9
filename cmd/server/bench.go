package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/spf13/cobra"

	"baton/internal/agent"
	"baton/internal/auth"
	"baton/internal/bench"
	"baton/internal/definition"
	"baton/internal/jobs"
	"baton/internal/postgres"
	"baton/internal/postgres/embedded"
	"baton/internal/postgres/migrate"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools"
)

func benchCommand() *cobra.Command {
	return group("bench", "Measure Baton on this machine, beside what the machine can do", benchW1Command())
}

func benchW1Command() *cobra.Command {
	w := bench.W1{}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "w1", Short: "Sessions of tool calls: each reply and each result durable before the next step", Args: noArguments,
		Long: "Runs scripted sessions on a Postgres of its own in a temporary folder, round after round\n" +
			"beside the least that keeps the same promises (two inserts a call), and prints medians.\n" +
			"Above a load average of 2 the times are not judged.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, stop, err := benchServer(cmd.Context())
			if err != nil {
				return err
			}
			defer stop()
			w.Database = benchDatabase(server)
			w.Prepare = prepareW1
			w.Report = func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format, args...) }
			report, err := w.Measure(cmd.Context())
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), report, asJSON)
		},
	}
	cmd.Flags().IntVar(&w.Sessions, "sessions", 100, "sessions in a round")
	cmd.Flags().IntVar(&w.Concurrency, "concurrency", 16, "sessions at work at once")
	cmd.Flags().IntVar(&w.Calls, "calls", 20, "tool calls in a session")
	cmd.Flags().IntVar(&w.Rounds, "rounds", 5, "rounds, of which the medians are reported")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	cmd.Flags().BoolVar(&w.Statements, "statements", false, "also tell what each statement cost")
	return cmd
}

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

const benchPlaybook = `
def reply(s):
    if s.step < s.inputs["calls"]:
        return [call("noop", i = s.step)]
    return [finish("Done.", evidence = [s.last[0].call_id])]
`

const benchAgent = `
slug: bench
model: scripted/bench
playbook: ./bench.star
permission: {mode: auto}
budgets: {steps_per_turn: 100000, calls_per_turn: 100000, calls: 100000, working_time: 10h}
`

// ended is a worker that tells when a session has been let go of.
type benchWorker struct {
	*agent.Worker
	done func()
}

func (w benchWorker) Work(ctx context.Context, job *river.Job[sessions.RunArgs]) error {
	defer w.done()
	return w.Worker.Work(ctx, job)
}

// prepareW1 brings schema, agent and workers to a database.
func prepareW1(ctx context.Context, url string, w bench.W1) (run func(context.Context) error, end func(), err error) {
	log := slog.New(slog.DiscardHandler)
	pool, err := postgres.Open(ctx, url, int32(max(4, w.Concurrency+2)))
	if err != nil {
		return nil, nil, err
	}
	if _, err := migrate.Up(ctx, pool, log); err != nil {
		return nil, nil, err
	}
	if _, err := auth.NewAccounts(pool).AddPerson(ctx, auth.System(), auth.NewPerson{Name: "bench", Role: auth.Admin}); err != nil {
		return nil, nil, err
	}
	store, definitions := sessions.NewStore(pool), definition.NewStore(pool, definition.Known{}, playbookFaults)
	if _, err := definitions.Apply(ctx, auth.System(), definition.File{Name: "bench.yaml", Source: []byte(benchAgent), Playbook: []byte(benchPlaybook)}); err != nil {
		return nil, nil, err
	}
	version, err := definitions.Get(ctx, auth.System(), "bench", 0)
	if err != nil {
		return nil, nil, err
	}
	inserter, err := jobs.NewInserter(pool, log)
	if err != nil {
		return nil, nil, err
	}
	slots, err := os.MkdirTemp("", "baton-bench-slots-")
	if err != nil {
		return nil, nil, err
	}
	replica, err := sessions.Join(ctx, pool, slots, log)
	if err != nil {
		return nil, nil, err
	}
	keyring, err := secrets.NewKeyring(secrets.NewKey())
	if err != nil {
		return nil, nil, err
	}
	registry, err := benchRegistry(store)
	if err != nil {
		return nil, nil, err
	}
	var ended sync.WaitGroup
	worker := benchWorker{done: ended.Done, Worker: agent.NewWorker(agent.Deps{
		DB: pool, Store: store, Definitions: definitions, Inserter: inserter, Replica: replica,
		Keys: toolKeys(keyring), Keyring: keyring, Retries: new(tools.RetryBudgets), Stuck: new(atomic.Int64),
		Tools: func(definition.Version) (*tools.Registry, error) { return registry, nil },
		Model: (&models{}).model, Redactor: sessionRedactor(keyring, secrets.NewStore(pool, keyring)), Log: log,
	})}
	list := river.NewWorkers()
	river.AddWorker(list, worker)
	client, err := jobs.NewClientOf(pool, replica.ID.String(), list, log, w.Concurrency)
	if err != nil {
		return nil, nil, err
	}
	running, stop := context.WithCancel(ctx)
	if err := client.Start(running); err != nil {
		stop()
		return nil, nil, err
	}
	inputs := json.RawMessage(fmt.Sprintf(`{"calls": %d}`, w.Calls))
	run = func(ctx context.Context) error {
		ended.Add(w.Sessions)
		news := make([]sessions.New, w.Sessions)
		for i := range news {
			news[i] = sessions.New{Agent: version, Task: "bench", Inputs: inputs}
		}
		if _, err := store.StartAll(ctx, auth.System(), inserter, news...); err != nil {
			return err
		}
		ended.Wait()
		return allCompleted(ctx, store, w.Sessions)
	}
	end = func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = client.StopAndCancel(stopping) // the database is dropped next
		stop()
		replica.Leave(stopping, pool)
		_ = os.RemoveAll(slots)
		pool.Close()
	}
	return run, end, nil
}

func benchRegistry(store *sessions.Store) (*tools.Registry, error) {
	noop, err := tools.Func(tools.Spec{Name: "noop", Description: "returns 1 KB", Effect: tools.EffectRead},
		func(_ context.Context, args struct {
			I int `json:"i"`
		}) (tools.Output, error) {
			return tools.Output{Data: json.RawMessage(bench.Result(args.I))}, nil
		})
	if err != nil {
		return nil, err
	}
	return tools.NewRegistry(append(agent.Own(store), noop)...)
}

// allCompleted checks that the workload did what it is measured for.
func allCompleted(ctx context.Context, store *sessions.Store, want int) error {
	list, err := store.List(ctx, auth.System(), sessions.Filter{Status: sessions.Completed, Limit: want + 1})
	if err != nil {
		return err
	}
	if len(list) != want {
		return fmt.Errorf("%d of %d sessions completed", len(list), want)
	}
	return nil
}
