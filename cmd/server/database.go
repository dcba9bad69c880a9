package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/postgres"
	"baton/internal/postgres/embedded"
	"baton/internal/postgres/migrate"
	"baton/internal/problem"
)

// poolSize is the knee measured for one process: more connections make a
// two-core database slower, not faster.
const poolSize = 16

// database is an open pool and what must be ended after it.
type database struct {
	pool   *pgxpool.Pool
	own    *embedded.Server // nil: somebody else's server
	beside *embedded.Run    // the server of this machine that has it open, if one was found
}

func (d database) close() {
	d.pool.Close()
	if d.own != nil {
		d.own.Stop()
	}
}

// exited is closed when the own Postgres ends by itself; never, for another's.
func (d database) exited() <-chan struct{} {
	if d.own == nil {
		return nil
	}
	return d.own.Exited()
}

// openAsOwner opens DATABASE_URL, or starts the data directory's own Postgres
// for as long as this process serves.
func openAsOwner(ctx context.Context, c config, log *slog.Logger) (database, error) {
	var d database
	url := c.databaseURL()
	if url == "" {
		own, err := embedded.Start(ctx, embedded.Config{DataDir: c.dataDir(), Log: log})
		if err != nil {
			return d, err
		}
		d.own, url = own, own.URL()
	}
	pool, err := postgres.Open(ctx, url, poolSize)
	if err != nil {
		if d.own != nil {
			d.own.Stop()
		}
		return d, err
	}
	d.pool = pool
	return d, nil
}

// need is what a command needs of the data directory.
type need bool

// A command that only reads, or goes by what exists, is refused where no
// installation is: it would make an empty one, and then find nothing in it. One
// that adds something makes it, and says so.
const (
	anInstallation need = true
	noInstallation need = false
)

// demoDir is the data directory of the demo, inside the installation's.
func demoDir(c config) string { return filepath.Join(c.dataDir(), "demo") }

// installed says whether a data directory holds an installation.
func installed(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "postgres", "PG_VERSION"))
	return err == nil
}

// openBeside opens the database for a command: DATABASE_URL; else that of the
// server which runs on the data directory; else, when only a demo runs, the
// demo's; else the own Postgres for the command's own duration. Problems, beside
// those of opening it: nothing_installed, demo_stopped.
func openBeside(ctx context.Context, c config, log *slog.Logger, stderr io.Writer, needs need) (database, error) {
	if c.databaseURL() == "" {
		run, running := embedded.Owner(c.dataDir())
		if !running {
			if run, running = embedded.Owner(demoDir(c)); running {
				fmt.Fprintln(stderr, "Using the demo that is running.")
			}
		}
		if running {
			pool, err := postgres.Open(ctx, run.DatabaseURL, 4)
			return database{pool: pool, beside: &run}, err
		}
		if err := orMake(c, stderr, needs); err != nil {
			return database{}, err
		}
	}
	return openAsOwner(ctx, c, log)
}

// orMake lets a command go on that finds no installation, if it may make one.
func orMake(c config, stderr io.Writer, needs need) error {
	dir, demo := c.dataDir(), installed(demoDir(c))
	switch {
	case installed(dir):
		return nil
	case needs == noInstallation:
		fmt.Fprintf(stderr, "Making a new installation in %s.\n", dir)
		if demo {
			fmt.Fprintln(stderr, "The demo beside it is stopped, and keeps what is its.")
		}
		return nil
	case demo:
		return problem.New(problem.NotFound, "demo_stopped", problem.Params{"dir": dir})
	}
	return problem.New(problem.NotFound, "nothing_installed", problem.Params{"dir": dir})
}

// offers are the names that agents may use of an installation, and of its own
// tools, as a server announces them.
func offers(i definition.Installation, more map[string]toolMaker) map[string][]string {
	known := i.Known(nil)
	return map[string][]string{"data_sources": known.DataSources, "mcp_servers": known.MCPServers, "tools": slices.Sorted(maps.Keys(more))}
}

// moreTools are the tools of the server that runs, beside those that come with
// Baton. Only their names are known here, and they can't be run.
func (d database) moreTools() map[string]toolMaker {
	more := map[string]toolMaker{}
	if d.beside != nil {
		for _, name := range d.beside.Offers["tools"] {
			more[name] = nil
		}
	}
	return more
}

// installation is what agents may name. Beside a running server that is what
// the server has, whatever file the command would read: the agents run there.
// Only the names are known then, which is all that a command needs.
func (d database) installation(c config) (definition.Installation, error) {
	if d.beside == nil {
		return c.installation()
	}
	i := definition.Installation{DataSources: map[string]definition.DataSource{}, MCPServers: map[string]definition.MCPServer{}}
	for _, name := range d.beside.Offers["data_sources"] {
		i.DataSources[name] = definition.DataSource{}
	}
	for _, name := range d.beside.Offers["mcp_servers"] {
		i.MCPServers[name] = definition.MCPServer{}
	}
	return i, nil
}

// withDatabase runs a command's work on the database, with the schema applied.
func withDatabase(cmd *cobra.Command, needs need, work func(ctx context.Context, c config, d database) error) error {
	ctx := cmd.Context()
	c, err := commandConfig(cmd)
	if err != nil {
		return err
	}
	log := c.logger(cmd.ErrOrStderr())
	d, err := openBeside(ctx, c, log, cmd.ErrOrStderr(), needs)
	if err != nil {
		return err
	}
	defer d.close()
	if _, err := migrate.Up(ctx, d.pool, log); err != nil {
		return err
	}
	return work(ctx, c, d)
}

// commandActor is whoever typed the command, by the name of the OS user; under
// sudo by that of the one who called it.
func commandActor() auth.Actor {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return auth.CLI(name)
	}
	if me, err := user.Current(); err == nil {
		return auth.CLI(me.Username)
	}
	return auth.CLI(fmt.Sprintf("uid %d", os.Getuid()))
}
