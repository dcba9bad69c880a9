package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"baton/internal/postgres/migrate"
	"baton/internal/problem"
)

// Limits of the HTTP server. A reply may take long (a page on a busy database,
// a long poll), a request may not.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	drainTimeout      = 20 * time.Second
)

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the pages, the API and the workers (the default command)",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return serve(cmd) },
	}
}

func serve(cmd *cobra.Command) error {
	c, installation, err := wholeConfig(cmd)
	if err != nil {
		return err
	}
	log := c.logger(cmd.ErrOrStderr())
	// First of all: whoever can't have the port should not start a database.
	listener, err := listen(cmd.Context(), c.addr())
	if err != nil {
		return err
	}
	defer listener.Close()
	d, err := openAsOwner(cmd.Context(), c, log)
	if err != nil {
		return err
	}
	defer d.close()
	// Before the schema is touched: who lacks the key can't go on.
	if _, err := openKeyring(c); err != nil {
		return err
	}
	if _, err := migrate.Up(cmd.Context(), d.pool, log); err != nil {
		return err
	}
	addr := listener.Addr().String()
	if d.own != nil {
		if err := d.own.Announce(addr, offers(installation, nil)); err != nil {
			return err
		}
	}
	h, err := build(cmd.Context(), c, installation, nil, d.pool, addr, log)
	if err != nil {
		return err
	}
	w, err := startWorkers(cmd.Context(), c, h, log)
	if err != nil {
		return err
	}
	defer h.toolbox.close()
	defer w.end()
	h.hintFirstAccount(cmd.Context(), cmd.ErrOrStderr())
	fmt.Fprintf(cmd.OutOrStdout(), "Listening: %s\n", h.url)
	return serveUntilDone(cmd.Context(), listener, h.handler, d.exited(), log)
}

// listen takes the port. The error is the problem addr_in_use or
// addr_unusable.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, problem.Wrap(err, problem.Unavailable, "addr_in_use", problem.Params{"addr": addr})
	case err != nil:
		return nil, problem.Wrap(err, problem.Unavailable, "addr_unusable", problem.Params{"addr": addr})
	}
	return listener, nil
}

// serveUntilDone serves until the context ends (a signal), then lets the
// requests in flight finish. It fails if the server or the own Postgres ends
// by itself.
func serveUntilDone(ctx context.Context, listener net.Listener, handler http.Handler, databaseExited <-chan struct{}, log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()

	var failure error
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-databaseExited:
		failure = problem.New(problem.Unavailable, "postgres_ended", nil)
	case <-ctx.Done():
		log.Info("stopping", "drain", drainTimeout)
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		_ = server.Close() // cuts what does not end
		log.Warn("cut the requests that did not end", "after", drainTimeout)
	}
	return failure
}
