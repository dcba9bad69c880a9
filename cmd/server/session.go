package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/sessions"
)

func sessionCommand() *cobra.Command {
	return group("session", "Start and look at sessions", sessionStartCommand(), sessionShowCommand())
}

func sessionStartCommand() *cobra.Command {
	var slug, task, model string
	var inputs []string
	var watch, asJSON bool
	cmd := &cobra.Command{
		Use: "start --agent A --task TEXT", Short: "Start a session", Args: noArguments,
		Long: "Start a session and print its id. With --watch what happens is printed until it ends\n" +
			"or waits for a person; the exit code is then 0 if it completed, 3 if it waits, else 1.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			object, err := parseInputs(inputs)
			if err != nil {
				return err
			}
			return withHouse(cmd, anInstallation, func(ctx context.Context, h house) error {
				version, err := h.definitions.Get(ctx, commandActor(), slug, 0)
				if err != nil {
					return err
				}
				s, err := h.sessions.Start(ctx, commandActor(), h.inserter, sessions.New{Agent: version, Task: task, Inputs: object, Model: model})
				if err != nil {
					return err
				}
				if watch && !h.alone {
					return watchSession(ctx, cmd.OutOrStdout(), h, s.ID, asJSON)
				}
				if asJSON {
					err = printJSON(cmd.OutOrStdout(), s)
				} else {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), s.ID)
				}
				if err == nil && h.alone {
					err = nobodyWorks(cmd.ErrOrStderr(), s.ID, watch)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&slug, "agent", "", "the agent's slug")
	cmd.Flags().StringVar(&task, "task", "", "what the agent should do")
	cmd.Flags().StringArrayVar(&inputs, "input", nil, "a named value, as name=value; a value that is JSON is taken as such")
	cmd.Flags().StringVar(&model, "model", "", "another model than the agent's")
	cmd.Flags().BoolVar(&watch, "watch", false, "print what happens until it ends or waits")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, a line each")
	return cmd
}

func sessionShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a session and what happened in it", Args: exactly(1, "one session's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			session, err := id.Parse[id.Session](args[0])
			if err != nil {
				return problem.Wrap(err, problem.NotFound, "session_not_found", nil)
			}
			return withHouse(cmd, anInstallation, func(ctx context.Context, h house) error {
				s, err := h.sessions.Get(ctx, commandActor(), session)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), s)
				}
				if _, err := printEvents(ctx, cmd.OutOrStdout(), h, session, 0, false); err != nil {
					return err
				}
				return printEnd(ctx, cmd.OutOrStdout(), h, s)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// nobodyWorks says that a session which was started waits for a server; to have
// watched it would have been in vain, so that is a failure.
func nobodyWorks(w io.Writer, session id.Session, watch bool) error {
	if watch {
		return problem.New(problem.Unavailable, "server_not_running", problem.Params{"session": session.String()})
	}
	_, err := fmt.Fprintln(w, "No server runs here: the session begins when one does.")
	return err
}

// parseInputs makes a JSON object of name=value pairs. A value that is JSON
// (a number, true, a list) is taken as such, any other as a text.
func parseInputs(pairs []string) (json.RawMessage, error) {
	object := map[string]json.RawMessage{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("--input %q is not name=value", pair)}
		}
		if json.Valid([]byte(value)) {
			object[name] = json.RawMessage(value)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("read input %s: %w", name, err)
		}
		object[name] = text
	}
	return json.Marshal(object)
}

func printJSON(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}
