package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/demo"
	"baton/internal/postgres"
	"baton/internal/postgres/embedded"
	"baton/internal/postgres/migrate"
	"baton/internal/problem"
	"baton/internal/sessions"
)

func demoCommand() *cobra.Command {
	var fresh bool
	cmd := &cobra.Command{
		Use: "demo", Short: "Start everything with a sample shop, agents at work and a question for you", Args: noArguments,
		Long: "Starts a server on a data directory of its own, with a sample shop, a payment service\n" +
			"that really fails, and sample agents on the scripted model. Prints a sign-in link.\n" +
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
	if c.sources["log_level"] == "default" {
		c.values["log_level"] = "error" // the link should not drown in failures that are played
	}
	log := c.logger(cmd.ErrOrStderr())
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
	own, err := embedded.Start(cmd.Context(), embedded.Config{DataDir: c.dataDir(), Roles: []string{demo.ReaderRole}, Log: log})
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
	defer sample.pool.Close()
	addr := listener.Addr().String()
	if err := own.Announce(addr, offers(sample.installation)); err != nil {
		return err
	}
	h, err := build(cmd.Context(), c, sample.installation, pool, addr, log)
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
	fmt.Fprintf(cmd.OutOrStdout(), "Sign in: %s\n", signInURL(h.url, link))
	go fillDemo(cmd.Context(), h, sample, log)
	return serveUntilDone(cmd.Context(), listener, h.handler, d.exited(), log)
}

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

// shop is the sample business: its database, and the payment service.
type shop struct {
	pool         *pgxpool.Pool
	installation definition.Installation
}

const (
	sqlShopExists = `select exists (select from pg_database where datname = $1)`
	sqlMakeShop   = `create database ` + shopDatabase
)

func openShop(ctx context.Context, own *embedded.Server) (s shop, err error) {
	conn, err := pgx.Connect(ctx, own.URL())
	if err != nil {
		return s, fmt.Errorf("open the sample shop: %w", err)
	}
	defer conn.Close(ctx)
	var exists bool
	if err := conn.QueryRow(ctx, sqlShopExists, shopDatabase).Scan(&exists); err != nil {
		return s, fmt.Errorf("look for the sample shop: %w", err)
	}
	if !exists {
		if _, err := conn.Exec(ctx, sqlMakeShop); err != nil {
			return s, fmt.Errorf("make the sample shop: %w", err)
		}
	}
	if s.pool, err = postgres.Open(ctx, own.URLFor("baton", shopDatabase), 4); err != nil {
		return s, err
	}
	payments, err := demo.NewPayments(s.pool, "").Serve(ctx)
	if err != nil {
		s.pool.Close()
		return s, fmt.Errorf("start the sample payment service: %w", err)
	}
	s.installation = definition.Installation{
		DataSources: map[string]definition.DataSource{demo.DataSource: {URL: own.URLFor(demo.ReaderRole, shopDatabase)}},
		Hosts:       map[string]definition.Host{demo.PaymentsHost: {Address: payments, AllowPrivate: true, HonoursIdempotencyKey: true}},
	}
	return s, nil
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

// fillDemo loads the shop and sets the agents to work, behind the page that is
// served already. What goes wrong is said; the pages stay up.
func fillDemo(ctx context.Context, h house, s shop, log *slog.Logger) {
	if err := fill(ctx, h, s); err != nil && ctx.Err() == nil {
		log.Error("the demo's sample work could not be started", "err", err)
	}
}

func fill(ctx context.Context, h house, s shop) error {
	if err := demo.LoadShop(ctx, s.pool, time.Now()); err != nil {
		return err
	}
	files, err := demo.Agents()
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := h.definitions.Apply(ctx, auth.System(), f); err != nil {
			return err
		}
	}
	if err := writeWorkspaces(h); err != nil {
		return err
	}
	work, err := demo.Sessions(ctx, s.pool)
	if err != nil {
		return err
	}
	for _, w := range work {
		version, err := h.definitions.Get(ctx, auth.System(), w.Agent, 0)
		if err != nil {
			return err
		}
		if _, err := h.sessions.Start(ctx, auth.System(), h.inserter, sessions.New{Agent: version, Task: w.Task, Inputs: w.Inputs}); err != nil {
			return err
		}
	}
	return nil
}

// writeWorkspaces puts the sample files where the agents read.
func writeWorkspaces(h house) error {
	files, err := demo.Files()
	if err != nil {
		return err
	}
	agents, err := demo.Agents()
	if err != nil {
		return err
	}
	for _, a := range agents {
		dir := h.toolbox.workspace(strings.TrimSuffix(a.Name, ".yaml"))
		if err := os.MkdirAll(dir, 0o750); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("write sample files: %w", err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o640); err != nil {
				return fmt.Errorf("write sample files: %w", err)
			}
		}
	}
	return nil
}
