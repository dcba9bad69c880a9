package agent

import (
	"context"
	"log/slog"
	"slices"

	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// What the loop writes to the log, beside what the runner says of each call that
// it runs. The levels say who has to look:
//
//	ERROR  faults of ours, tries that are used up, outcomes that nobody knows,
//	       failures that are unresolved when people are asked or a session ends
//	WARN   failures that a repeat or another way made good, and those that the
//	       model was told of, to do better
//	INFO   what was done
//	DEBUG  every event of the ledger, with its data, which is redacted

// What is said of failures that nothing made good.
const (
	UnresolvedAsked = "failures are unresolved as people are asked"
	UnresolvedEnded = "failures are unresolved as the session ends"
)

func (s *sitting) log() *slog.Logger {
	if s.logger == nil {
		s.logger = s.w.Log.With("session", s.row.ID.String(), "agent", s.row.Agent.Slug, "version", s.row.Agent.Version)
	}
	return s.logger
}

// logEvents says what was written.
func (s *sitting) logEvents(ctx context.Context, events []sessions.NewEvent) {
	if !s.w.Log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	log := s.log()
	for _, e := range events {
		log.DebugContext(ctx, "event written", "type", string(e.Type), "turn", e.Turn, "step", e.Step, "n", e.Call, "data", string(encode(e.Data)))
	}
}

// logRefused says that a call ended without having run.
func (s *sitting) logRefused(c *call, r tools.Result) {
	if r.OK() {
		return
	}
	level := slog.LevelWarn
	if t := r.ErrorType(); t == tools.Internal || t == tools.OutcomeUnknown {
		level = slog.LevelError
	}
	s.log().Log(context.Background(), level, "tool call was not run", "call", c.plan.Call.ID(s.row.ID).String(), "tool", c.plan.Call.Tool,
		"error_type", string(r.ErrorType()), "retryable", string(r.Retryable()), "message", r.Message())
}

// logFed says that a result is on record for the model, and where its time went:
// waiting for its turn, in the tool, between attempts, in forming the output,
// and in the write.
func (s *sitting) logFed(c *call, e ended, p tools.Phases, fedMS int64) {
	s.log().Info("result fed back", "call", c.plan.Call.ID(s.row.ID).String(), "tool", c.plan.Call.Tool, "status", string(e.Result.CallStatus()),
		"queued_ms", e.QueuedMS, "running_ms", millis(p.Execute), "waiting_ms", millis(p.Wait), "format_ms", millis(p.Format), "feed_ms", fedMS,
		"total_ms", e.QueuedMS+e.TotalMS+fedMS)
}

// logModelFailed says that no usable reply came.
func (s *sitting) logModelFailed(f modelFailed) {
	level, what := slog.LevelWarn, "model gave no usable reply; it is asked again"
	if f.Ask != nil || f.Kind == llm.Script {
		level, what = slog.LevelError, "model gave no usable reply"
	}
	s.log().Log(context.Background(), level, what, "kind", string(f.Kind), "http_status", f.Status, "attempt", f.Attempt, "wait_ms", f.WaitMS, "message", f.Message)
}

// logAsked says that people are asked, and what is unresolved as they are.
func (s *sitting) logAsked(list []question) {
	log := s.log()
	for _, q := range list {
		log.Info("people are asked", "kind", string(q.draft.Kind), "trigger", string(q.draft.Trigger), "n", q.call)
	}
	s.logUnresolved(UnresolvedAsked)
}

// logEnded says how the session ended, and what is unresolved.
func (s *sitting) logEnded(status sessions.Status, f *failure) {
	c := s.counters()
	log := s.log().With("status", string(status), "steps", c.Steps, "calls", c.Calls, "tokens", c.Tokens, "cost_micros", c.CostMicros, "working_ms", c.WorkingMS)
	if f != nil {
		log.Error("session failed", "code", f.Code)
	} else {
		log.Info("session ended")
	}
	s.logUnresolved(UnresolvedEnded)
}

func (s *sitting) logUnresolved(what string) {
	failed := s.st.unresolved()
	if len(failed) == 0 {
		return
	}
	var calls, types []string
	for _, f := range failed {
		calls = append(calls, f.Call)
		if t := string(f.Type); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	s.log().Error(what, "calls", calls, "error_types", types)
}
