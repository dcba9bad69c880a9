package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/agent"
	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/jobs"
	"baton/internal/live"
	"baton/internal/postgres/migrate"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools/breaker"
	"baton/internal/tools/oauth"
	"baton/web"
)

// house is everything that runs, built from the ground up by build.
type house struct {
	pool        *pgxpool.Pool
	accounts    *auth.Accounts
	hub         *live.Hub
	definitions *definition.Store
	sessions    *sessions.Store
	inserter    *jobs.Inserter
	escalations *escalation.Store
	breakers    *breaker.Breakers
	desk        *decide.Desk
	keyring     *secrets.Keyring
	secrets     *secrets.Store
	toolbox     *toolbox
	models      *models
	handler     http.Handler
	url         string // where people reach the pages; in a command, empty if that isn't known
	alone       bool   // a command has the database to itself, so no session runs
}

// build makes the rooms, each from those below it. installation is what agents
// may name, more are tools beside those that come with Baton; ctx ends when the
// process does; addr is where the pages are served, empty in a command that
// serves none.
func build(ctx context.Context, c config, installation definition.Installation, more map[string]toolMaker, pool *pgxpool.Pool, addr string, log *slog.Logger) (h house, err error) {
	h = house{pool: pool, accounts: auth.NewAccounts(pool), hub: live.NewHub(pool, log)}
	if h.models, err = newModels(c, installation.Prices); err != nil {
		return h, err
	}
	if h.keyring, err = openKeyring(c); err != nil {
		return h, err
	}
	h.sessions = sessions.NewStore(pool, h.hub).SealWith(h.keyring)
	if h.inserter, err = jobs.NewInserter(pool, log); err != nil {
		return h, err
	}
	h.breakers = breaker.New(pool, log)
	h.escalations, h.desk = escalation.NewStore(pool).OpenWith(h.keyring), decide.NewDesk(pool, h.inserter, h.hub).OpenWith(h.keyring)
	h.secrets = secrets.NewStore(pool, h.keyring)
	h.toolbox = newToolbox(installation, c.dataDir(), h.sessions, h.secrets)
	h.toolbox.more, h.toolbox.grants = more, oauth.NewGrants(pool, h.keyring)
	h.definitions = definition.NewStore(pool, installation.Known(h.toolbox.names()), playbookFaults)
	h.url = "http://" + addr
	var public *url.URL
	if c.publicURL() != "" {
		h.url = strings.TrimRight(c.publicURL(), "/")
		public, _ = url.Parse(h.url) // checked when the setting was read
	}
	h.handler = web.New(web.Deps{
		Accounts:    h.accounts,
		Sessions:    h.sessions,
		Definitions: h.definitions,
		Escalations: h.escalations,
		Breakers:    h.breakers,
		Desk:        h.desk,
		Inserter:    h.inserter,
		Live:        h.hub,
		Tools:       h.toolbox.registry,
		Prompt:      agent.Prompt,
		PublicURL:   public,
		Log:         log,
		Stopping:    ctx.Done(),
		Ready:       func(ctx context.Context) error { return ready(ctx, pool) },
	})
	return h, nil
}

// ready says whether requests can be served: the database answers, with the
// schema that this build needs.
func ready(ctx context.Context, pool *pgxpool.Pool) error {
	status, err := migrate.Read(ctx, pool)
	if err != nil {
		return err
	}
	if !status.UpToDate() {
		return fmt.Errorf("schema %d of %d, job engine %d of %d", status.Current, status.Wanted, status.JobsCurrent, status.JobsWanted)
	}
	return nil
}

// hintFirstAccount tells whoever started an installation without accounts how
// to get in.
func (h house) hintFirstAccount(ctx context.Context, w io.Writer) {
	anybody, err := h.accounts.Anybody(ctx)
	if err == nil && !anybody {
		fmt.Fprintln(w, "There are no accounts yet. Make the first with: server user add NAME --role admin")
	}
}
