package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/llm"
	"baton/internal/problem"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

// errWaits makes the exit code 3: the session that was watched goes on when a
// person lets it.
var errWaits = errors.New("the session waits for a person")

// inEnglish is what a terminal is told.
func inEnglish() context.Context { return i18n.With(context.Background(), i18n.English) }

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
				err = printEnd(ctx, w, h, s)
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
	switch s.Status {
	case sessions.Completed:
		return nil
	case sessions.Waiting, sessions.Paused:
		return errWaits
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

// lineMost is how long a line about an event gets, in characters.
const lineMost = 160

// eventDetail is a line about an event, for a terminal; below it stands one for
// each fault of a call's arguments.
func eventDetail(e sessions.Event) string {
	switch e.Type {
	case sessions.ModelFailed:
		return "  " + modelFailed(e.Data)
	case sessions.SessionEnded:
		return "  " + sessionEnded(e.Data)
	}
	var d struct {
		Task   string       `json:"task"`
		Text   string       `json:"text"`
		Title  string       `json:"title"`
		Plans  []tools.Plan `json:"plans"`
		Result tools.Result `json:"result"`
	}
	if json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	parts := []string{d.Task + d.Text + d.Title}
	for _, p := range d.Plans {
		parts = append(parts, fmt.Sprintf("%s %s", p.Call.Tool, p.Call.Args))
	}
	if e.Call > 0 && !d.Result.IsZero() {
		parts = append(parts, fmt.Sprintf("call %d %s", e.Call, d.Result.CallStatus()))
		if d.Result.Message() != "" {
			parts = append(parts, d.Result.Message())
		}
	}
	line := strings.Join(strings.Fields(strings.Join(parts, "  ")), " ")
	if runes := []rune(line); len(runes) > lineMost && len(d.Result.Errors()) == 0 {
		line = string(runes[:lineMost]) + "…"
	}
	for _, f := range d.Result.Errors() {
		if fault := fmt.Sprintf("%s: want %s, got %s", f.Path, f.Expected, f.Got); !strings.Contains(line, fault) {
			line += "\n      " + fault
		}
	}
	return "  " + line
}

// modelFailed says in words that a reply didn't come, and then exactly.
func modelFailed(data json.RawMessage) string {
	var d struct {
		Kind    llm.ErrorKind `json:"kind"`
		Message string        `json:"message"`
		Attempt int           `json:"attempt"`
		WaitMS  int64         `json:"wait_ms"`
	}
	if json.Unmarshal(data, &d) != nil {
		return ""
	}
	line := i18n.T(inEnglish(), "event.model_failed", "try", fmt.Sprint(d.Attempt))
	if d.Kind == llm.Script {
		line = i18n.T(inEnglish(), "event.script_failed")
	}
	if d.WaitMS > 0 {
		line += ". " + i18n.T(inEnglish(), "event.model_waits", "span", i18n.Span(inEnglish(), time.Duration(d.WaitMS)*time.Millisecond))
	}
	if message := strings.Join(strings.Fields(d.Message), " "); message != "" {
		line += "  " + message
	}
	return line
}

// sessionEnded says how a session ended, and what was in its way.
func sessionEnded(data json.RawMessage) string {
	var d struct {
		Status  sessions.Status  `json:"status"`
		Outcome sessions.Outcome `json:"outcome"`
		Failure json.RawMessage  `json:"failure"`
	}
	if json.Unmarshal(data, &d) != nil {
		return ""
	}
	line := i18n.T(inEnglish(), "event.ended", "state", endState(d.Status, d.Outcome))
	if d.Failure != nil {
		words, _ := sessions.ExplainFailure(inEnglish(), d.Failure)
		line += "  " + words.What
	}
	return line
}

// endState is how a session ended, in words.
func endState(status sessions.Status, outcome sessions.Outcome) string {
	state := i18n.T(inEnglish(), "status."+string(status))
	switch outcome {
	case sessions.Partly:
		state += ", " + strings.ToLower(i18n.T(inEnglish(), "outcome.partly"))
	case sessions.Unable:
		state += ", " + strings.ToLower(i18n.T(inEnglish(), "outcome.unable"))
	case sessions.Unverified:
		state += ", " + strings.ToLower(i18n.T(inEnglish(), "outcome.unverified"))
	}
	return state
}

// printEnd says how a session stands: what it waits for, what it came to, or
// why it failed.
func printEnd(ctx context.Context, w io.Writer, h house, s sessions.Session) error {
	if _, err := fmt.Fprintf(w, "%s  %s\n", s.ID, endState(s.Status, s.Outcome)); err != nil {
		return err
	}
	switch {
	case s.Summary != "":
		_, err := fmt.Fprintln(w, s.Summary)
		return err
	case s.Failure != nil:
		words, said := sessions.ExplainFailure(inEnglish(), s.Failure)
		_, err := fmt.Fprintf(w, "%s\n%s\n%s\n", words.What, words.Why, words.Do)
		if err == nil && said != "" {
			_, err = fmt.Fprintf(w, "%s %s\n", i18n.T(inEnglish(), "session.exact"), said)
		}
		return err
	case s.Status == sessions.Waiting:
		return printQuestions(ctx, w, h, s)
	}
	return nil
}

// printQuestions says what a session waits for, and where that is answered.
func printQuestions(ctx context.Context, w io.Writer, h house, s sessions.Session) error {
	questions, err := h.escalations.ForSession(ctx, commandActor(), s.ID)
	if err != nil {
		return err
	}
	for _, e := range questions {
		if e.Status != escalation.Pending {
			continue
		}
		where := "Answer it in the inbox, once a server runs here."
		if h.url != "" {
			where = h.url + templates.EscalationURL(e.ID.String())
		}
		if _, err := fmt.Fprintf(w, "%s  %s\n%s\n", e.DisplayNumber(), e.Question.Title, where); err != nil {
			return err
		}
	}
	return nil
}
