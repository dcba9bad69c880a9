package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"baton/internal/definition"
	"baton/internal/problem"
)

func agentCommand() *cobra.Command {
	return group("agent", "Define agents", agentApplyCommand(), agentListCommand())
}

func agentApplyCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "apply -f FILE", Short: "Make a definition the agent's current version", Args: noArguments,
		Long: "Make a definition, with the playbook it names, the agent's current version. The same\n" +
			"content twice is one version. A file with faults is refused, with a line for each.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return usageError{fmt.Errorf("agent apply needs -f FILE")}
			}
			f, err := definition.ReadFile(file)
			if err != nil {
				return problem.Wrap(err, problem.Invalid, "file_unreadable", problem.Params{"file": file, "said": err.Error()})
			}
			return withHouse(cmd, noInstallation, func(ctx context.Context, h house) error {
				applied, err := h.definitions.Apply(ctx, commandActor(), f)
				if err != nil {
					printFaults(cmd, err)
					return err
				}
				what := "unchanged"
				if applied.Created {
					what = "new"
				} else if applied.Changed {
					what = "current again"
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s version %d (%s)\n", applied.Slug, applied.Version, what)
				return err
			})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "the definition, a YAML file")
	return cmd
}

// printFaults writes a line for each fault of a file before the problem itself
// is explained, which names a single fault by itself.
func printFaults(cmd *cobra.Command, err error) {
	faults, _ := problem.From(err).Members["errors"].([]definition.Fault)
	if len(faults) == 1 {
		return
	}
	for _, f := range faults {
		fmt.Fprintln(cmd.ErrOrStderr(), f.Error())
	}
}

func agentListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the agents and their current versions", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withHouse(cmd, anInstallation, func(ctx context.Context, h house) error {
				for after := ""; ; {
					page, err := h.definitions.List(ctx, commandActor(), after, 100)
					if err != nil || len(page) == 0 {
						return err
					}
					for _, a := range page {
						fmt.Fprintf(cmd.OutOrStdout(), "%s\tversion %d\t%s\t%s\n", a.Slug, a.Version, a.TeamSlug, a.Model)
						after = a.Slug
					}
				}
			})
		},
	}
}

// withHouse runs a command's work with the rooms built over the database.
func withHouse(cmd *cobra.Command, needs need, work func(ctx context.Context, h house) error) error {
	return withDatabase(cmd, needs, func(ctx context.Context, c config, d database) error {
		installation, err := d.installation(c)
		if err != nil {
			return err
		}
		h, err := build(ctx, c, installation, d.moreTools(), d.pool, "", c.logger(cmd.ErrOrStderr()))
		if err != nil {
			return err
		}
		h.url, h.alone = servedURL(c), d.own != nil
		return work(ctx, h)
	})
}
