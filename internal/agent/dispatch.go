package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// atOnce is how many calls of one session run at the same time.
const atOnce = 4

// runnable are the open calls that wait for nobody, in their order.
func (s *sitting) runnable() []*call {
	var calls []*call
	for _, c := range s.st.openCalls() {
		switch {
		case s.effective(c):
			calls = append(calls, c)
		case c.plan.Verdict == tools.Ready && c.question.IsZero() && c.draft == nil:
			calls = append(calls, c)
		}
	}
	return calls
}

// dispatch runs the next of the open calls: several that may be repeated side
// by side, or one with an effect alone. The order of the calls is kept, since a
// model that writes and then reads in one reply means the reading to come
// after.
func (s *sitting) dispatch(ctx context.Context) error {
	runnable := s.runnable()
	first := runnable[0]
	switch {
	case s.effective(first) && first.doubt:
		return s.settleByPerson(ctx, first)
	case s.effective(first):
		return s.takeAnswer(ctx, first)
	case own(first.plan.Call.Tool):
		return s.runOwn(ctx, first)
	case first.plan.Effect.Repeatable():
		var side []*call
		for _, c := range runnable {
			if !c.plan.Effect.Repeatable() || own(c.plan.Call.Tool) || s.effective(c) {
				break
			}
			side = append(side, c)
		}
		return s.runSideBySide(ctx, side)
	}
	return s.runEffect(ctx, first)
}

// runSideBySide runs calls that may be repeated, and writes each result when
// its call ends. One that a former worker had started is simply run again, with
// the same key.
func (s *sitting) runSideBySide(ctx context.Context, calls []*call) error {
	type finished struct {
		c   *call
		out tools.Outcome
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan finished, len(calls))
	waits := make(chan tools.Wait)
	runner := s.runner
	if len(calls) > 1 {
		// The session is written by this goroutine alone.
		runner.Waits = func(w tools.Wait) bool {
			select {
			case waits <- w:
			case <-ctx.Done():
			}
			return true
		}
	}
	slots := make(chan struct{}, atOnce)
	lanes := map[string]*sync.Mutex{}
	var running sync.WaitGroup
	defer running.Wait()
	for _, c := range calls {
		lane := lanes[c.plan.Lane]
		if lane == nil {
			lane = &sync.Mutex{}
			lanes[c.plan.Lane] = lane
		}
		plan := c.plan
		if !c.fresh {
			// A former worker planned it; what was true then may not be any longer.
			plan = tools.Prepare(c.plan.Call, s.factsFor(c))
		}
		run := func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if c.plan.Lane != "" {
				lane.Lock()
				defer lane.Unlock()
			}
			results <- finished{c, runner.Execute(ctx, plan)}
		}
		if len(calls) == 1 {
			run() // most replies have one call: it needs no goroutine
			continue
		}
		running.Go(run)
	}
	for open := len(calls); open > 0; {
		var f finished
		select {
		case w := <-waits:
			if !s.writeWait(ctx, w) {
				return sessions.ErrLost
			}
			continue
		case f = <-results:
			open--
		}
		if ctx.Err() != nil && !s.cancelled(ctx) {
			// The process is ending. A call that may be repeated needs no result
			// that tells of that: it is run again.
			return ctx.Err()
		}
		if err := s.writeResult(ctx, f.c, f.out); err != nil {
			return err
		}
	}
	return nil
}

// runEffect runs one call that must not happen twice. That it is started is on
// record first; one that is on record from a former life is not run.
func (s *sitting) runEffect(ctx context.Context, c *call) error {
	if c.started && !c.fresh {
		return s.settleDoubt(ctx, c)
	}
	if !c.started {
		if err := s.startEffect(ctx, c); err != nil || !c.open() || c.plan.Verdict != tools.Ready {
			return err
		}
	}
	if s.cancel {
		return nil // what was requested meanwhile comes first; nothing has happened yet
	}
	if !s.w.Replica.MayAct(s.lease) {
		return sessions.ErrSilent // perhaps lost, perhaps still ours: it is given back
	}
	c.fresh = false
	return s.writeResult(ctx, c, s.runner.Execute(ctx, c.plan))
}

// startEffect looks at the call once more (what was true when it was planned
// may not be any longer) and puts on record that it starts.
func (s *sitting) startEffect(ctx context.Context, c *call) error {
	again := tools.Prepare(c.plan.Call, s.factsFor(c))
	if again.Verdict != tools.Ready {
		c.plan = again
		if again.Verdict == tools.Ended {
			step := sessions.Step{}
			s.addEnded(&step, c, ended{Result: tools.Recorded{Result: *again.Result}}, 0)
			return s.write(ctx, step)
		}
		return nil
	}
	c.started, c.fresh = true, true
	return s.write(ctx, sessions.Step{Events: []sessions.NewEvent{{
		Type: sessions.CallStarted, Turn: c.turn, Step: c.step, Call: c.plan.Call.N}}})
}

// writeResult writes the one result of a call. What of its output the ledger
// doesn't hold is stored beside it, in the same transaction.
//
// A call that can't be taken back and whose outcome is not known gets no result
// yet: a person is asked what became of it.
func (s *sitting) writeResult(ctx context.Context, c *call, out tools.Outcome) error {
	if out.InDoubt {
		_, spec, _ := s.registry.Lookup(c.plan.Call.Tool)
		draft := escalation.DoubtDraft(c.plan, spec, s.known())
		c.draft, c.answer, c.question = &draft, nil, id.Escalation{}
		return nil
	}
	step := sessions.Step{}
	e := ended{Result: tools.Recorded{Result: out.Result}, TotalMS: millis(out.Phases.Execute + out.Phases.Wait + out.Phases.Format),
		RunMS: millis(out.Phases.Execute), WaitMS: millis(out.Phases.Wait), FormatMS: millis(out.Phases.Format), Stored: out.Kept != ""}
	// What another worker planned stood in no line of this one's: a person may
	// have thought about it for days.
	if len(out.Attempts) > 0 && !c.plannedAt.IsZero() {
		e.QueuedMS = max(0, millis(out.Attempts[0].StartedAt.Sub(c.plannedAt)))
	}
	if len(out.Attempts) != 1 || !out.Result.OK() {
		e.Attempts = out.Attempts
	}
	s.addEnded(&step, c, e, out.OriginalBytes, out.Attempts...)
	var also []func(ctx context.Context, tx pgx.Tx) error
	name := c.plan.Call.ID(s.row.ID)
	if out.Kept != "" {
		also = append(also, func(ctx context.Context, tx pgx.Tx) error { return sessions.StoreOutputTx(ctx, tx, name, out.Kept) })
	}
	if !c.question.IsZero() {
		also = append(also, s.applied(c))
	}
	if c.sealed {
		also = append(also, func(ctx context.Context, tx pgx.Tx) error { return sessions.DropSealedTx(ctx, tx, name) })
	}
	s.w.Breakers.Ended(context.WithoutCancel(ctx), c.plan.Service, c.plan.Call.Tool, out.Result)
	writing := time.Now()
	err := s.tellApplied(c, s.write(ctx, step, also...))
	if err == nil {
		s.logFed(c, e, out.Phases, millis(time.Since(writing)))
	}
	if errors.Is(err, sessions.ErrLost) {
		// Another worker has settled the call by now. What this one found is kept
		// beside, for people to see, and changes nothing.
		if keepErr := s.w.Store.KeepLate(context.WithoutCancel(ctx), name, e); keepErr != nil {
			s.w.Log.Warn("a late result could not be kept", "call", name, "err", keepErr)
		}
	}
	return err
}

// writeWait puts on record that a call will be tried again, so that people see
// it while it lasts. The call goes on whether that can be written or not, unless
// the session is another worker's by now.
func (s *sitting) writeWait(ctx context.Context, w tools.Wait) (goOn bool) {
	c := s.st.find(w.Call.N)
	if c == nil {
		return true
	}
	err := s.write(ctx, sessions.Step{Events: []sessions.NewEvent{{Type: sessions.CallRetried, Turn: c.turn, Step: c.step, Call: w.Call.N,
		Data: retried{Attempt: w.Attempt, Message: w.Message, NextMS: millis(time.Until(w.Next))}}}})
	if err != nil {
		s.w.Log.Warn("it could not be told that a call is tried again", "call", w.Call.ID(s.row.ID), "err", err)
	}
	return !errors.Is(err, sessions.ErrLost)
}

// settleDoubt ends a call with an effect that a former worker started and whose
// result is not on record. It is not run again. Where the tool can find out
// whether it happened, it is asked.
func (s *sitting) settleDoubt(ctx context.Context, c *call) error {
	out := s.runner.Resume(ctx, c.plan)
	return s.writeResult(ctx, c, out)
}

// cancelled says whether the work was cut by a person.
func (s *sitting) cancelled(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), errCancelled)
}

// runOwn runs a tool of the loop's own.
func (s *sitting) runOwn(ctx context.Context, c *call) error {
	switch c.plan.Call.Tool {
	case finishTool:
		return s.finish(ctx, c)
	case askTool:
		return s.ask(ctx, c)
	default:
		return fmt.Errorf("run %s: not a tool of the loop", c.plan.Call.Tool)
	}
}

// own says whether a tool is run by the loop itself rather than by the harness:
// it ends the session, or parks it.
func own(tool string) bool { return tool == finishTool || tool == askTool }
