package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"baton/internal/postgres/migrate"
)

func migrateCommand() *cobra.Command {
	up := &cobra.Command{
		Use: "up", Short: "Apply what is missing (serving does so too)", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return migrateDatabase(cmd, true) },
	}
	status := &cobra.Command{
		Use: "status", Short: "Say where the database's schema stands", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return migrateDatabase(cmd, false) },
	}
	cmd := group("migrate", "Bring the database's schema up to date", up, status)
	cmd.RunE = up.RunE
	return cmd
}

func migrateDatabase(cmd *cobra.Command, apply bool) error {
	c, err := commandConfig(cmd)
	if err != nil {
		return err
	}
	log := c.logger(cmd.ErrOrStderr())
	d, err := openBeside(cmd.Context(), c, log, cmd.ErrOrStderr(), noInstallation)
	if err != nil {
		return err
	}
	defer d.close()
	if apply {
		if _, err := migrate.Up(cmd.Context(), d.pool, log); err != nil {
			return err
		}
	}
	status, err := migrate.Read(cmd.Context(), d.pool)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "schema %d of %d, job engine %d of %d\n", status.Current, status.Wanted, status.JobsCurrent, status.JobsWanted)
	for _, pending := range status.Pending {
		fmt.Fprintf(out, "pending %s\n", pending)
	}
	return nil
}
