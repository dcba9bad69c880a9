package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/sessions"
	"baton/internal/tools"
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
			"or waits for a person; the exit code is then 0 only if it completed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			object, err := parseInputs(inputs)
			if err != nil {
				return err
			}
			return withHouse(cmd, func(ctx context.Context, h house) error {
				version, err := h.definitions.Get(ctx, commandActor(), slug, 0)
				if err != nil {
					return err
				}
				s, err := h.sessions.Start(ctx, commandActor(), h.inserter, sessions.New{Agent: version, Task: task, Inputs: object, Model: model})
				if err != nil {
					return err
				}
				if watch {
					return watchSession(ctx, cmd.OutOrStdout(), h, s.ID, asJSON)
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), s)
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), s.ID)
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
			return withHouse(cmd, func(ctx context.Context, h house) error {
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
				return printEnd(cmd.OutOrStdout(), s)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
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

const lookEvery = 200 * time.Millisecond

// watchSession prints a session's events as they come, until it ends or waits.
func watchSession(ctx context.Context, w io.Writer, h house, session id.Session, asJSON bool) error {
	seen := int64(0)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		s, err := h.sessions.Get(ctx, commandActor(), session)
		if err != nil {
			return err
		}
		if seen, err = printEvents(ctx, w, h, session, seen, asJSON); err != nil {
			return err
		}
		if s.Status.Ended() || s.Status == sessions.Waiting || s.Status == sessions.Paused {
			if asJSON {
				err = printJSON(w, s)
			} else {
				err = printEnd(w, s)
			}
			if err != nil {
				return err
			}
			return unlessCompleted(s)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func unlessCompleted(s sessions.Session) error {
	if s.Status == sessions.Completed {
		return nil
	}
	return problem.New(problem.Conflict, "session_not_completed", problem.Params{"session": s.ID.String(), "status": string(s.Status)})
}

// printEvents prints what came after a sequence number and returns the last.
func printEvents(ctx context.Context, w io.Writer, h house, session id.Session, after int64, asJSON bool) (int64, error) {
	for {
		page, err := h.sessions.Events(ctx, commandActor(), session, after, 200)
		if err != nil || len(page) == 0 {
			return after, err
		}
		for _, e := range page {
			after = e.Seq
			if asJSON {
				err = printJSON(w, e)
			} else {
				_, err = fmt.Fprintf(w, "%4d  %s  %s%s\n", e.Seq, e.At.Format("15:04:05.000"), e.Type, eventDetail(e))
			}
			if err != nil {
				return after, err
			}
		}
	}
}

// eventDetail is one line about an event, for a terminal.
func eventDetail(e sessions.Event) string {
	var d struct {
		Task   string       `json:"task"`
		Text   string       `json:"text"`
		Plans  []tools.Plan `json:"plans"`
		Result tools.Result `json:"result"`
	}
	if json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	var parts []string
	for _, p := range d.Plans {
		parts = append(parts, fmt.Sprintf("%s %s", p.Call.Tool, p.Call.Args))
	}
	if e.Call > 0 && !d.Result.IsZero() {
		parts = append(parts, fmt.Sprintf("call %d %s", e.Call, d.Result.CallStatus()))
		if d.Result.Message() != "" {
			parts = append(parts, d.Result.Message())
		}
	}
	line := strings.Join(append([]string{d.Task + d.Text}, parts...), "  ")
	if runes := []rune(strings.Join(strings.Fields(line), " ")); len(runes) > 160 {
		line = string(runes[:160]) + "…"
	}
	return "  " + line
}

func printEnd(w io.Writer, s sessions.Session) error {
	_, err := fmt.Fprintf(w, "%s  %s  %s\n", s.ID, s.Status, s.Outcome)
	if err == nil && s.Summary != "" {
		_, err = fmt.Fprintln(w, s.Summary)
	}
	if err == nil && s.Failure != nil {
		_, err = fmt.Fprintf(w, "%s\n", s.Failure)
	}
	return err
}
