package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"baton/internal/agent"
	"baton/internal/auth"
	"baton/internal/demo"
	"baton/internal/postgres"
	"baton/internal/postgres/embedded"
	"baton/internal/postgres/migrate"
	"baton/internal/problem"
)

func demoCommand() *cobra.Command {
	var fresh bool
	cmd := &cobra.Command{
		Use: "demo", Short: "Start everything with a sample shop, agents at work and a question for you", Args: noArguments,
		Long: "Starts a server on a data directory of its own, with a sample shop, services that\n" +
			"really fail, and sample agents on the scripted model. Prints a sign-in link, and the\n" +
			"address of a page with the mail that the agents sent: it goes nowhere else.\n" +
			"Nothing has to be set up. DATABASE_URL is not used. --fresh starts over.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, fresh) },
	}
	cmd.Flags().BoolVar(&fresh, "fresh", false, "throw away what an earlier demo left, and start over")
	return cmd
}

// shopDatabase is the database of the sample shop, beside Baton's own.
const shopDatabase = "shop"

func runDemo(cmd *cobra.Command, fresh bool) error {
	c, err := commandConfig(cmd)
	if err != nil {
		return err
	}
	if c.databaseURL() != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "The demo runs on a Postgres of its own; DATABASE_URL is not used.")
		c.values["database_url"] = ""
	}
	c.values["data_dir"] = filepath.Join(c.dataDir(), "demo")
	untold := c.sources["log_level"] == "default"
	if untold {
		c.values["log_level"] = "error" // the link should not drown in what goes on
	}
	log := c.logger(cmd.ErrOrStderr())
	if untold {
		log = slog.New(unplayed{log.Handler()})
	}
	if fresh {
		if err := forget(c.dataDir()); err != nil {
			return err
		}
	}
	listener, err := listen(cmd.Context(), c.addr())
	if problem.Is(err, "addr_in_use") && c.sources["addr"] == "default" {
		// Whoever tries the demo should not have to know what a port is.
		listener, err = listen(cmd.Context(), "127.0.0.1:0")
	}
	if err != nil {
		return err
	}
	defer listener.Close()
	own, err := embedded.Start(cmd.Context(), embedded.Config{DataDir: c.dataDir(), Roles: []string{demo.ReaderRole, demo.PricerRole}, Log: log})
	if err != nil {
		return err
	}
	pool, err := postgres.Open(cmd.Context(), own.URL(), poolSize)
	if err != nil {
		own.Stop()
		return err
	}
	d := database{pool: pool, own: own}
	defer d.close()
	if _, err := migrate.Up(cmd.Context(), pool, log); err != nil {
		return err
	}
	sample, err := openShop(cmd.Context(), own)
	if err != nil {
		return err
	}
	defer sample.close()
	addr := listener.Addr().String()
	if err := own.Announce(addr, offers(sample.installation, sample.tools)); err != nil {
		return err
	}
	h, err := build(cmd.Context(), c, sample.installation, sample.tools, pool, addr, log)
	if err != nil {
		return err
	}
	w, err := startWorkers(cmd.Context(), c, h, log)
	if err != nil {
		return err
	}
	defer h.toolbox.close()
	defer w.end()
	link, err := sampleAccounts(cmd.Context(), h)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Mail: http://%s\n", sample.mailPage)
	fmt.Fprintf(cmd.OutOrStdout(), "Sign in: %s\n", signInURL(h.url, link))
	go workDemo(cmd.Context(), h, sample, log)
	return serveUntilDone(cmd.Context(), listener, h.handler, d.exited(), log)
}

// unplayed keeps calls that fail out of the log. They are what the demo is there
// to show, and stand in its timelines.
type unplayed struct{ slog.Handler }

func (u unplayed) Handle(ctx context.Context, r slog.Record) error {
	switch r.Message {
	case "tool call failed", agent.UnresolvedAsked, agent.UnresolvedEnded:
		return nil
	}
	return u.Handler.Handle(ctx, r)
}

func (u unplayed) WithAttrs(attrs []slog.Attr) slog.Handler {
	return unplayed{u.Handler.WithAttrs(attrs)}
}
func (u unplayed) WithGroup(name string) slog.Handler { return unplayed{u.Handler.WithGroup(name)} }

// forget removes what an earlier demo left. A demo that runs keeps what is its.
func forget(dir string) error {
	if run, running := embedded.Owner(dir); running {
		return problem.New(problem.Conflict, "data_dir_in_use", problem.Params{"dir": dir, "pid": fmt.Sprint(run.PID), "addr": run.Addr})
	}
	if err := os.RemoveAll(dir); err != nil {
		return problem.Wrap(err, problem.Unavailable, "data_dir_unwritable", problem.Params{"dir": dir})
	}
	return nil
}

// demoPeople are the sample accounts; the first is an operator.
var demoPeople = []auth.NewPerson{
	{Name: "admin", Role: auth.Admin, Team: "support", Operator: true},
	{Name: "supervisor", Role: auth.Supervisor, Team: "support"},
	{Name: "responder", Role: auth.Responder, Team: "support"},
	{Name: "responder-2", Role: auth.Responder, Team: "support"},
	{Name: "viewer", Role: auth.Viewer, Team: "support"},
	{Name: "responder-finance", Role: auth.Responder, Team: "finance"},
}

// sampleAccounts makes the accounts that aren't there yet and returns a sign-in
// link for admin.
func sampleAccounts(ctx context.Context, h house) (link string, err error) {
	for _, p := range demoPeople {
		if _, err := h.accounts.AddPerson(ctx, auth.System(), p); err != nil && !problem.Is(err, "person_exists") {
			return "", err
		}
	}
	return h.accounts.MakeLink(ctx, auth.System(), "admin")
}
