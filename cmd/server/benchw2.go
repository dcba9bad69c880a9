package main

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"baton/internal/bench"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
)

func benchW2Command() *cobra.Command {
	w := bench.W2{}
	var asJSON bool
	cmd := &cobra.Command{
		Use: "w2", Short: "Sessions that wait for a person: how soon they go on, and what they cost meanwhile", Args: noArguments,
		Long: "Suspends scripted sessions by a question each, on a Postgres of its own in a temporary\n" +
			"folder, then answers some of them one after the other, and prints how long it takes from\n" +
			"the answer to the next tool call's start, one durable reply of the model between them.\n" +
			"Memory is the growth from a tenth of the sessions (at most 1,000) to all of them.\n" +
			"Above a load average of 2 the times are not judged.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.Prepare = prepareW2
			return measured(cmd, asJSON, func(database benchDatabases, report func(string, ...any)) func(context.Context) (bench.W2Report, error) {
				w.Database, w.Report = database, report
				return w.Measure
			})
		},
	}
	cmd.Flags().IntVar(&w.Sessions, "sessions", 1000, "sessions to suspend")
	cmd.Flags().IntVar(&w.Answers, "answers", 200, "questions to answer")
	cmd.Flags().IntVar(&w.Concurrency, "concurrency", 16, "sessions at work at once while they are being suspended")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return cmd
}

const benchW2Playbook = `
def reply(s):
    if s.step == 0:
        return [call("noop", i = 0)]
    if s.step == 1:
        return [ask("Order 48 was charged twice. How shall I go on?", options = [
            option("Refund in full", "The whole second charge goes back.", id = "full"),
            option("Refund a part", "The part within the limit goes back.", id = "part"),
            option("Do nothing", "The case ends here.", id = "none")],
            problem = "The refund is above my limit.", recommended = "full", reason = "It is a duplicate.")]
    if s.step == 2:
        return [call("noop", i = 1)]
    return [finish("Done.", evidence = [s.last[0].call_id])]
`

// w2Moments are when the workers did what an answer leads to.
type w2Moments struct{ began, called time.Time }

// prepareW2 brings schema, agent and workers to a database.
func prepareW2(ctx context.Context, url string, w bench.W2) (bench.Desk, error) {
	var ended sync.WaitGroup
	var moments w2Moments // one session at a time goes on when they are read
	var mu sync.Mutex
	note := func(at *time.Time) {
		mu.Lock()
		defer mu.Unlock()
		*at = time.Now()
	}
	h, err := openBenchHouse(ctx, url, w.Concurrency, benchW2Playbook, benchHooks{
		ended: ended.Done,
		began: func() { note(&moments.began) },
		called: func(n int) {
			if n == 1 {
				note(&moments.called)
			}
		},
	})
	if err != nil {
		return bench.Desk{}, err
	}
	suspend := func(ctx context.Context, n int) error {
		ended.Add(n)
		if err := h.start(ctx, n, nil); err != nil {
			return err
		}
		ended.Wait()
		return nil
	}
	questions := func(ctx context.Context, most int) (open []id.Escalation, suspended int, err error) {
		if err := h.pool.QueryRow(ctx, sqlBenchWaiting).Scan(&suspended); err != nil {
			return nil, 0, err
		}
		rows, _ := h.pool.Query(ctx, sqlBenchQuestions, most)
		open, err = pgx.CollectRows(rows, pgx.RowTo[id.Escalation])
		return open, suspended, err
	}
	answer := func(ctx context.Context, question id.Escalation) (bench.Resumed, error) {
		ended.Add(1)
		none := time.Duration(0)
		_, err := h.desk.Answer(ctx, h.person, question, decide.Answer{Version: 1, Type: escalation.Choose, Option: "full", Hold: &none})
		accepted := time.Now()
		if err != nil {
			return bench.Resumed{}, err
		}
		ended.Wait()
		mu.Lock()
		defer mu.Unlock()
		// On a busy machine the session may be at work before we hear of the answer.
		return bench.Resumed{TakenUp: max(0, moments.began.Sub(accepted)), Called: max(0, moments.called.Sub(accepted))}, nil
	}
	return bench.Desk{Suspend: suspend, Questions: questions, Answer: answer, End: h.end}, nil
}

const (
	sqlBenchWaiting   = `select count(*) from sessions where status = 'waiting' and open_questions = 1`
	sqlBenchQuestions = `select id from escalations where status = 'pending' order by id limit $1`
)
