package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/definition"
	"baton/internal/demo"
	"baton/internal/postgres"
	"baton/internal/postgres/embedded"
	"baton/internal/tools"
)

// shop is the sample business: its database, the services around it, and the
// tool that is its own.
type shop struct {
	pool         *pgxpool.Pool
	prices       *pgxpool.Pool // as the role that may change prices
	installation definition.Installation
	tools        map[string]toolMaker
	mailPage     string // address of the page that shows what was sent
}

func (s shop) close() {
	s.prices.Close()
	s.pool.Close()
}

const (
	sqlShopExists = `select exists (select from pg_database where datname = $1)`
	sqlMakeShop   = `create database ` + shopDatabase
)

// openShop makes the shop's database if it isn't there yet, and starts the
// services; they end with ctx.
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
	if s.prices, err = demo.OpenPrices(ctx, own.URLFor(demo.PricerRole, shopDatabase)); err != nil {
		return s, err
	}
	if s.pool, err = postgres.Open(ctx, own.URLFor("baton", shopDatabase), 4); err != nil {
		s.prices.Close()
		return s, err
	}
	if err := s.serve(ctx, own); err != nil {
		s.close()
		return s, err
	}
	s.tools = map[string]toolMaker{
		"update_prices": func(context.Context, definition.Version) (tools.Tool, error) { return demo.UpdatePrices(s.prices) },
	}
	return s, nil
}

// serve starts the services, and says to the installation where they are.
func (s *shop) serve(ctx context.Context, own *embedded.Server) error {
	payments, err := demo.NewPayments(s.pool, "").Serve(ctx)
	if err != nil {
		return err
	}
	portal, err := demo.NewPortal(s.pool).Serve(ctx)
	if err != nil {
		return err
	}
	carrier, err := demo.NewCarrier(s.pool).Serve(ctx)
	if err != nil {
		return err
	}
	mail, page, err := new(demo.MailCatcher).Serve(ctx)
	if err != nil {
		return err
	}
	s.mailPage = page
	declared, err := demo.Tools()
	if err != nil {
		return err
	}
	s.installation = definition.Installation{
		DataSources: map[string]definition.DataSource{demo.DataSource: {URL: own.URLFor(demo.ReaderRole, shopDatabase)}},
		Hosts: map[string]definition.Host{
			demo.PaymentsHost: {Address: payments, AllowPrivate: true, HonoursIdempotencyKey: true},
			demo.PortalHost:   {Address: portal, AllowPrivate: true},
			demo.CarrierHost:  {Address: carrier, AllowPrivate: true},
		},
		Tools: declared,
		SMTP:  definition.SMTP{Address: mail, From: demo.MailFrom},
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
