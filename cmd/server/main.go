// Command server is Baton: the pages, the API and the workers in one process,
// and the commands of those who run it.
//
// It is the only room that knows all others: config.go and setting.go read the
// configuration, database.go finds or starts the database, wire.go builds the
// house top to bottom, and each subcommand is a file. Standard output carries
// what a script wants, standard error the rest; the exit code is 0, 1 for a
// failure and 2 for a command line that can't be understood.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

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
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "%v\nTry: server --help\n", err)
		return 2
	default:
		explain(stderr, err)
		return 1
	}
}

// explain says a problem in words, and adds the cause for the operator.
func explain(w io.Writer, err error) {
	p := problem.From(err)
	words := i18n.Explain(i18n.With(context.Background(), i18n.English), p)
	fmt.Fprintf(w, "%s\n%s\n%s\n", words.What, words.Why, words.Do)
	if cause := errors.Unwrap(p); cause != nil {
		fmt.Fprintf(w, "Cause: %v\n", cause)
	}
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
	return loadConfig(cmd.Flags(), os.LookupEnv)
}
