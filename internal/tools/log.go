package tools

import (
	"context"
	"log/slog"

	"baton/internal/id"
)

// callLog is the log of one call. What names the call is put together when there
// is something to say, which of most calls is once, at the end.
type callLog struct {
	to      *slog.Logger
	session id.Session
	call    Call
}

func (l callLog) names() [3]slog.Attr {
	return [...]slog.Attr{slog.String("session", l.session.String()), slog.String("call", l.call.ID(l.session).String()), slog.String("tool", l.call.Tool)}
}

// named is the logger that says of which call it speaks.
func (l callLog) named() *slog.Logger {
	n := l.names()
	return slog.New(l.to.Handler().WithAttrs(n[:]))
}

// outcome tells the four phases and how the call ended, at the level that fits.
func (l callLog) outcome(ctx context.Context, o Outcome) {
	level, what := slog.LevelInfo, "tool call done"
	et := o.Result.ErrorType()
	switch {
	case et == Internal || et == OutcomeUnknown || o.Result.Retryable() == RetryYes:
		level, what = slog.LevelError, "tool call failed"
	case o.Result.Status() == Error:
		level, what = slog.LevelWarn, "tool call failed"
	case len(o.Attempts) > 1:
		level, what = slog.LevelWarn, "tool call done after repeats"
	}
	n := l.names()
	l.to.LogAttrs(context.WithoutCancel(ctx), level, what, n[0], n[1], n[2],
		slog.String("status", string(o.Status)), slog.String("error_type", string(et)), slog.String("message", o.Result.Message()), slog.Int("attempts", len(o.Attempts)),
		slog.Int64("execute_ms", o.Phases.Execute.Milliseconds()), slog.Int64("wait_ms", o.Phases.Wait.Milliseconds()), slog.Int64("format_ms", o.Phases.Format.Milliseconds()),
		slog.Int64("bytes", o.OriginalBytes), slog.Int64("lines", o.OriginalLines))
}
