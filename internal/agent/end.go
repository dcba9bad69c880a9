package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"baton/internal/escalation"
	"baton/internal/live"
	"baton/internal/postgres"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// fail ends the session as failed, and says why in words for people.
func (s *sitting) fail(ctx context.Context, f failure) error {
	return s.end(ctx, sessions.Failed, &f)
}

// end ends the session other than through finish. Each call that is still open
// gets its result in the same write: none vanishes.
func (s *sitting) end(ctx context.Context, status sessions.Status, f *failure) error {
	ctx = context.WithoutCancel(ctx)
	for {
		step := sessions.Step{}
		for _, c := range s.st.openCalls() {
			s.addEnded(&step, c, ended{Result: tools.Recorded{Result: abandoned(c, status)}}, 0)
		}
		unresolved := s.st.unresolved()
		step.Events = append(step.Events, sessions.NewEvent{Type: sessions.SessionEnded, Turn: s.st.turn, Step: s.st.steps,
			Data: sessionEnded{Status: string(status), Failed: unresolved, Failure: f}})
		step.Counters = s.counters()
		e := sessions.Ending{Status: status, Step: step}
		if len(unresolved) > 0 {
			e.Unresolved = encode(unresolved)
		}
		if f != nil {
			e.Failure = encode(f)
		}
		err := s.w.endAndWithdraw(ctx, s.lease, e)
		if err == nil {
			s.logEvents(ctx, step.Events)
			s.logEnded(status, f)
		}
		if !errInbox(err) {
			return err
		}
		if err := s.unread(ctx); err != nil {
			return err
		}
		if s.cancel {
			status, f = sessions.Cancelled, nil
		}
	}
}

// abandoned is the result of a call that the end of its session overtook.
func abandoned(c *call, status sessions.Status) tools.Result {
	if c.started && !c.fresh && !c.plan.Effect.Repeatable() {
		return tools.Refuse(tools.Fail(tools.OutcomeUnknown, "The session ended while this call was under way; it may have happened.",
			"Look whether it happened before doing it again."), tools.Meta{})
	}
	return tools.Refuse(tools.Fail(tools.Cancelled, "The session ended ("+string(status)+") before this call was run."), tools.Meta{})
}

// endAndWithdraw ends a session that may have open questions: nobody waits for
// their answers any more, so they go in the same transaction.
func (w *Worker) endAndWithdraw(ctx context.Context, lease *sessions.Lease, e sessions.Ending) error {
	changed := []live.Object{live.Of(lease.Session)}
	err := postgres.InTx(ctx, w.DB, func(tx pgx.Tx) error {
		if _, err := sessions.LockTx(ctx, tx, lease.Session); err != nil {
			return err
		}
		withdrawn, err := escalation.WithdrawTx(ctx, tx, lease.Session)
		if err != nil {
			return err
		}
		e.Withdrawn = withdrawn.Pending
		for _, esc := range withdrawn.IDs {
			changed = append(changed, live.Of(esc))
		}
		// The end stays the last word: who reads until then sees all.
		last := len(e.Step.Events) - 1
		e.Step.Events = slices.Insert(e.Step.Events, last, withdrawn.Events...)
		return sessions.EndTx(ctx, tx, lease, e)
	})
	if err == nil {
		w.Live.Tell(changed...)
	}
	return err
}

func orEmpty(list json.RawMessage) json.RawMessage {
	if len(list) == 0 {
		return json.RawMessage("[]")
	}
	return list
}
