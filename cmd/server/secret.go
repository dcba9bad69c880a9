package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

func secretCommand() *cobra.Command {
	return group("secret", "Keep secrets that tools use and nobody sees", secretSetCommand(), secretListCommand())
}

func secretSetCommand() *cobra.Command {
	return &cobra.Command{
		Use: "set NAME", Short: "Store a secret; its value is read from standard input", Args: exactly(1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			// One line: what a pipe or a paste ends with is not part of the value.
			value, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
			if err != nil && !errors.Is(err, io.EOF) {
				return fmt.Errorf("read the value: %w", err)
			}
			return withHouse(cmd, noInstallation, func(ctx context.Context, h house) error {
				return h.secrets.Set(ctx, commandActor(), args[0], strings.TrimRight(value, "\r\n"))
			})
		},
	}
}

func secretListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the names of the secrets", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHouse(cmd, anInstallation, func(ctx context.Context, h house) error {
				names, err := h.secrets.Names(ctx, commandActor())
				for _, name := range names {
					fmt.Fprintln(cmd.OutOrStdout(), name)
				}
				return err
			})
		},
	}
}
