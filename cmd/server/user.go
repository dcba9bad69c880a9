package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"baton/internal/auth"
	"baton/internal/postgres/embedded"
)

func userCommand() *cobra.Command {
	return group("user", "Make accounts and sign-in links", userAddCommand(), userLinkCommand())
}

func userAddCommand() *cobra.Command {
	var p auth.NewPerson
	var role string
	cmd := &cobra.Command{
		Use:   "add NAME --role ROLE",
		Short: "Make an account, or give one a role in a further team; prints a sign-in link",
		Long: "Make an account, or give an existing one a role in a further team. Prints a one-time\n" +
			"sign-in link that works for 15 minutes. The first account is an operator in any case.",
		Args: exactly(1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Name, p.Role = args[0], auth.Role(role)
			return withDatabase(cmd, noInstallation, func(ctx context.Context, c config, d database) error {
				link, err := auth.NewAccounts(d.pool).AddPerson(ctx, commandActor(), p)
				return printLink(cmd, c, link, err)
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "viewer, responder, supervisor or admin")
	cmd.Flags().StringVar(&p.Team, "team", auth.DefaultTeam, "the team's name; one that doesn't exist is made")
	cmd.Flags().StringVar(&p.Email, "email", "", "e-mail address")
	cmd.Flags().BoolVar(&p.Operator, "operator", false, "may also do what belongs to the whole installation")
	return cmd
}

func userLinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "link NAME",
		Short: "Print a new one-time sign-in link for an account",
		Args:  exactly(1, "one name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withDatabase(cmd, anInstallation, func(ctx context.Context, c config, d database) error {
				link, err := auth.NewAccounts(d.pool).MakeLink(ctx, commandActor(), args[0])
				return printLink(cmd, c, link, err)
			})
		},
	}
}

func printLink(cmd *cobra.Command, c config, token string, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Sign in: %s\n", signInURL(pagesURL(c), token))
	return err
}

func signInURL(base, token string) string {
	return base + "/sign-in?" + url.Values{"token": {token}}.Encode()
}

// pagesURL is where people reach the pages: as configured, or where the server
// (or the demo) that runs on the data directory says that it serves.
func pagesURL(c config) string {
	if u := servedURL(c); u != "" {
		return u
	}
	return "http://" + c.addr()
}

// servedURL is pagesURL where that is known for sure, else empty.
func servedURL(c config) string {
	if u := c.publicURL(); u != "" {
		return strings.TrimRight(u, "/")
	}
	for _, dir := range []string{c.dataDir(), demoDir(c)} {
		if run, running := embedded.Owner(dir); running && run.Addr != "" {
			return "http://" + run.Addr
		}
	}
	return ""
}
