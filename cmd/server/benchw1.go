package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"baton/internal/auth"
	"baton/internal/bench"
	"baton/internal/sessions"
)

func benchW1Command() *cobra.Command {
	w := bench.W1{}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "w1", Short: "Sessions of tool calls: each reply and each result durable before the next step", Args: noArguments,
		Long: "Runs scripted sessions on a Postgres of its own in a temporary folder, round after round\n" +
			"beside the least that keeps the same promises (two inserts a call), and prints medians.\n" +
			"Above a load average of 2 the times are not judged.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.Prepare = prepareW1
			return measured(cmd, asJSON, func(database benchDatabases, report func(string, ...any)) func(context.Context) (bench.W1Report, error) {
				w.Database, w.Report = database, report
				return w.Measure
			})
		},
	}
	cmd.Flags().IntVar(&w.Sessions, "sessions", 100, "sessions in a round")
	cmd.Flags().IntVar(&w.Concurrency, "concurrency", 16, "sessions at work at once")
	cmd.Flags().IntVar(&w.Calls, "calls", 20, "tool calls in a session")
	cmd.Flags().IntVar(&w.Rounds, "rounds", 5, "rounds, of which the medians are reported")
	cmd.Flags().BoolVar(&w.Rows, "rows", false, "let results look like rows of a shop, which are searched for secrets in earnest")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	cmd.Flags().BoolVar(&w.Statements, "statements", false, "also tell what each statement cost")
	return cmd
}

const benchW1Playbook = `
def reply(s):
    if s.step < s.inputs["calls"]:
        return [call("noop", i = s.step)]
    return [finish("Done.", evidence = [s.last[0].call_id])]
`

// prepareW1 brings schema, agent and workers to a database.
func prepareW1(ctx context.Context, url string, w bench.W1) (run func(context.Context) error, end func(), err error) {
	var ended sync.WaitGroup
	h, err := openBenchHouse(ctx, url, w.Concurrency, benchW1Playbook, benchHooks{ended: ended.Done, result: w.Result})
	if err != nil {
		return nil, nil, err
	}
	inputs := json.RawMessage(fmt.Sprintf(`{"calls": %d}`, w.Calls))
	run = func(ctx context.Context) error {
		ended.Add(w.Sessions)
		if err := h.start(ctx, w.Sessions, inputs); err != nil {
			return err
		}
		ended.Wait()
		return allCompleted(ctx, h.sessions, w.Sessions)
	}
	return run, h.end, nil
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
