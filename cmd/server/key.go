package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"baton/internal/auth"
)

func keyCommand() *cobra.Command {
	return group("key", "Make keys for the API", keyCreateCommand())
}

func keyCreateCommand() *cobra.Command {
	var k auth.NewKey
	var scopes []string
	cmd := &cobra.Command{
		Use:   "create (--user NAME | --agent SLUG [--team T]) --scope S[,S...]",
		Short: "Make a key and print it, once",
		Long: "Make a key and print it alone on standard output. It can't be shown again.\n" +
			"Send it to the API under /api/v1 as Authorization: Bearer KEY; /api/v1/openapi.json\n" +
			"describes what is there, and README.md shows it with curl.\n\n" +
			"Scopes of a person's key: " + scopeList(auth.PersonScopes()) + ".\n" +
			"Scopes of an agent's key: " + scopeList(auth.AgentScopes()) + ".",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range scopes {
				k.Scopes = append(k.Scopes, auth.Scope(strings.TrimSpace(s)))
			}
			return withDatabase(cmd, noInstallation, func(ctx context.Context, _ config, d database) error {
				key, err := auth.NewAccounts(d.pool).CreateKey(ctx, commandActor(), k)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), key)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&k.Person, "user", "", "the person that the key stands for")
	cmd.Flags().StringVar(&k.Agent, "agent", "", "the agent that the key belongs to; it may be one that runs elsewhere")
	cmd.Flags().StringVar(&k.Team, "team", "", "the team of an agent's key (default "+auth.DefaultTeam+")")
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "what the key may be used for")
	return cmd
}

func scopeList(scopes []auth.Scope) string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}
