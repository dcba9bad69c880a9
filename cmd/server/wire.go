package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/auth"
	"baton/web"
)

// house is everything that runs, built from the ground up by build.
type house struct {
	accounts *auth.Accounts
	handler  http.Handler
	url      string // where people reach the pages
}

func build(c config, pool *pgxpool.Pool, addr string, log *slog.Logger) house {
	var h house
	h.url = c.publicURL()
	if h.url == "" {
		h.url = "http://" + addr
	}
	h.accounts = auth.NewAccounts(pool)
	h.handler = web.New(web.Deps{
		DB:        pool,
		Accounts:  h.accounts,
		PublicURL: h.url,
		Log:       log,
	})
	return h
}

// hintFirstAccount tells whoever started an installation without accounts how
// to get in.
func (h house) hintFirstAccount(ctx context.Context, w io.Writer) {
	anybody, err := h.accounts.Anybody(ctx)
	if err == nil && !anybody {
		fmt.Fprintln(w, "There are no accounts yet. Make the first with: server user add NAME --role admin")
	}
}
