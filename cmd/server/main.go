// Command server is Baton: the pages, the API and the workers in one process,
// and the commands of those who run it.
//
// It is the only room that knows all others: config.go and setting.go read the
// configuration, database.go finds or starts the database, wire.go builds the
// house top to bottom, and each subcommand is a file. Standard output carries
// what a script wants, standard error the rest; the exit code is 0, 1 for a
// failure, 2 for a command line that can't be understood, and 3 if a session
// that is watched waits for a person.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"baton/internal/definition"
	"baton/internal/i18n"
	"baton/internal/problem"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program without its process, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch usage := (usageError{}); {
	case err == nil:
		return 0
	case errors.Is(err, errWaits):
		return 3 // what it waits for has been printed
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%v\nTry: server --help\n", err)
		return 2
	default:
		explain(stderr, err)
		return 1
	}
}

// explain says problems in words, and adds the cause for the operator.
func explain(w io.Writer, err error) {
	if all, ok := errors.AsType[problems](err); ok {
		for i, one := range all {
			if i > 0 {
				fmt.Fprintln(w)
			}
			explain(w, one)
		}
		return
	}
	p := problem.From(err)
	words := i18n.Explain(inEnglish(), p)
	said := words.What + "\n" + words.Why + "\n" + words.Do + "\n"
	fmt.Fprint(w, said)
	if cause := errors.Unwrap(p); cause != nil && p.Kind != problem.NotFound && !errors.Is(cause, pgx.ErrNoRows) && !strings.Contains(said, cause.Error()) {
		fmt.Fprintf(w, "Cause: %v\n", cause)
	}
}

// problems are several at once: whoever mends a file wants to know all.
type problems []error

func (p problems) Error() string { return errors.Join(p...).Error() }

// orNil is nothing, the one problem, or all of them.
func (p problems) orNil() error {
	switch len(p) {
	case 0:
		return nil
	case 1:
		return p[0]
	}
	return p
}

// usageError is a command line that can't be understood, as opposed to a
// command that failed.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "server",
		Short:         "Baton runs AI agents' sessions and hands their questions to people",
		Long:          "Baton runs AI agents' sessions and hands their questions to people.\n\nWithout a command it serves the pages, the API and the workers in one process.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return serve(cmd) },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.String("config", "", "configuration file (default ./baton.yaml if there is one)")
	for _, s := range settings {
		flags.String(s.flag(), "", s.help+" ("+s.env+")")
	}
	root.AddCommand(serveCommand(), demoCommand(), migrateCommand(), doctorCommand(), configCommand(), versionCommand(), userCommand(), keyCommand(), agentCommand(), sessionCommand(), secretCommand(), benchCommand())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// noArguments and exactly refuse a wrong number of arguments as bad usage.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command or argument %q for %q", args[0], cmd.CommandPath())}
	}
	return nil
}

func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("%q takes %s", cmd.CommandPath(), what)}
		}
		return nil
	}
}

// group is a command that only holds others: alone, or with a wrong word, it
// is bad usage.
func group(use, short string, children ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error {
		return usageError{fmt.Errorf("%q needs one of its commands: see %s --help", cmd.CommandPath(), cmd.CommandPath())}
	}}
	cmd.AddCommand(children...)
	return cmd
}

func commandConfig(cmd *cobra.Command) (config, error) {
	c, err := loadConfig(cmd.Flags(), os.LookupEnv)
	for _, warning := range c.unknownVariables(os.Environ()) {
		fmt.Fprintln(cmd.ErrOrStderr(), warning)
	}
	return c, err
}

// wholeConfig also reads what agents may name, and finds the faults of both.
func wholeConfig(cmd *cobra.Command) (config, definition.Installation, error) {
	c, err := commandConfig(cmd)
	var all problems
	if several, ok := errors.AsType[problems](err); ok {
		all = several
	} else if err != nil {
		all = problems{err}
	}
	if c.text == nil || problem.Is(err, "config_unreadable") {
		return c, definition.Installation{}, all.orNil()
	}
	installation, err := c.installation()
	if err != nil {
		all = append(all, err)
	}
	return c, installation, all.orNil()
}
