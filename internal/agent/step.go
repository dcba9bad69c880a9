package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/clean"
	"baton/internal/escalation"
	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// Bounds of the recovery from a model's faults.
const (
	modelTries    = 5
	modelWaitMost = 60 * time.Second // a longer Retry-After is reported, not slept
	badRepliesMax = 3                // empty, cut, or text where a call was due, in a row
)

// step asks the model for one reply and writes it down with what the harness
// decided about its calls.
func (s *sitting) step(ctx context.Context) (done bool, err error) {
	asked := time.Now()
	req := s.request()
	if n := s.view.left(); n*2 > s.st.leftOut*3 {
		return false, s.write(ctx, s.leftOut(n))
	}
	said := s.listen(ctx)
	req.Say = said.take
	defer said.end()
	reply, err := s.model.Next(ctx, req)
	took := time.Since(asked)
	if err != nil {
		return s.modelFailed(ctx, llm.AsError(err), llm.Usage{})
	}
	if reply.Stop == llm.StopCut || reply.Stop == llm.StopContentFilter {
		// Nothing of a broken stream runs, and none of it is kept.
		kind := llm.InvalidReply
		if reply.Stop == llm.StopContentFilter {
			kind = llm.Refused
		}
		return s.modelFailed(ctx, &llm.Error{Kind: kind, Message: "the reply was " + string(reply.Stop)}, reply.Usage)
	}
	if tries := s.st.modelTries; tries > 0 {
		s.log().Warn("model answered after repeats", "attempts", tries+1)
	}
	plans := s.plan(reply)
	record := replied{
		Stop: unexpected(reply), MS: millis(took), Plans: slices.Clone(plans), Start: starts(plans),
		Usage: usageOf(reply.Usage),
	}
	if reply.Model != s.row.Model {
		record.Model = reply.Model
	}
	clear := s.forRecord(&record)
	record.Text = s.redactor.String(clean.Text(reply.Text)) // now that what the calls hold is known
	s.st.replied(record)
	s.keepWhole(plans, clear)
	s.markFresh(record.Start)
	if record.isFinish() {
		return s.finishAlone(ctx, record)
	}
	return false, s.writeReply(ctx, record, s.seals(clear)...)
}

// unexpected is why a reply ended, unless its calls or their lack say so.
func unexpected(r llm.Reply) llm.StopReason {
	if len(r.Calls) > 0 && r.Stop == llm.StopToolUse || len(r.Calls) == 0 && r.Stop == llm.StopEndTurn {
		return ""
	}
	return r.Stop
}

// plan decides about each call of a reply, in order; a call uses up ceilings
// and approvals before the next one is looked at.
func (s *sitting) plan(reply llm.Reply) []tools.Plan {
	facts := s.facts()
	var plans []tools.Plan
	used := false
	for i, c := range reply.Calls {
		c.N = s.st.calls + i + 1
		c.ProviderID = "" // ours are unique; the provider's may not be
		if c.Reason == "" && i == 0 {
			c.Reason = clip(reply.Text, 500)
		}
		c.Cut = c.Cut || reply.Stop == llm.StopMaxTokens && i == len(reply.Calls)-1
		p := tools.Prepare(c, facts)
		advance(&facts, p)
		if !used && s.st.usesOnce(p) {
			used, facts.Rested = true, append(facts.Rested, s.st.once.rested()...)
		}
		plans = append(plans, p)
	}
	return plans
}

// starts picks the calls that are started by the write of the reply itself:
// all that may be repeated safely, and the first with an effect if it is the
// first of all. Each further effect gets a write of its own just before it
// happens, so that at most one effect is ever in doubt.
func starts(plans []tools.Plan) []int {
	var numbers []int
	for i, p := range plans {
		if p.Verdict != tools.Ready || own(p.Call.Tool) {
			continue
		}
		if p.Effect.Repeatable() || i == 0 {
			numbers = append(numbers, p.Call.N)
		}
	}
	return numbers
}

func (s *sitting) markFresh(numbers []int) {
	for _, n := range numbers {
		c := s.st.find(n)
		c.fresh, c.plannedAt = true, time.Now()
	}
}

// writeReply writes the reply, and in the same write the results of the calls
// that were refused: they have one before anything runs.
func (s *sitting) writeReply(ctx context.Context, record replied, also ...func(ctx context.Context, tx pgx.Tx) error) error {
	step := sessions.Step{Events: []sessions.NewEvent{{
		Type: sessions.ModelReplied, Turn: s.st.turn, Step: s.st.steps, Data: record}}}
	for _, p := range record.Plans {
		if p.Verdict == tools.Ended {
			s.addEnded(&step, s.st.find(p.Call.N), ended{Result: tools.Recorded{Result: *p.Result}}, 0)
		}
	}
	switch {
	case len(record.Plans) > 0:
	case s.st.badReplies >= badRepliesMax:
		s.add(&step, notice{Code: codeUseless, Text: "Your replies held no tool call. A person is asked how to go on.",
			Trouble: &escalation.Trouble{Kind: escalation.TroubleUseless, Tries: s.st.badReplies}})
	default:
		s.addNotice(&step, "call_due", "Your reply held no tool call. Go on with a call, or end with finish.")
	}
	return s.write(ctx, step, also...)
}

// modelFailed takes a reply that did not come, or not whole: it is waited for
// and asked for again, a bounded number of times; then people are asked. spent is
// what it cost all the same.
func (s *sitting) modelFailed(ctx context.Context, e *llm.Error, spent llm.Usage) (done bool, err error) {
	if e.Kind == llm.Cancelled {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		e.Kind = llm.Timeout
	}
	try := s.st.modelTries + 1
	record := modelFailed{Kind: e.Kind, Status: e.Status, Message: clip(s.redactor.String(e.Message), 2000), Attempt: try, Usage: usageOf(spent)}
	var wait time.Duration
	switch {
	case e.Kind == llm.ContextTooLong && !s.st.tooLong(): // it is made shorter, and asked once more
	case e.Kind == llm.Script: // it is the agent that has to be mended; asking would not
	case !e.Retryable(), try >= modelTries, e.RetryAfter > modelWaitMost:
		record.Ask = troubleOf(e, try, record.Message)
	default:
		wait = max(e.RetryAfter, fullJitter(s.w.ModelBackoff, try))
		record.WaitMS = millis(wait)
	}
	s.logModelFailed(record)
	s.st.modelFailed(record)
	err = s.write(ctx, sessions.Step{Events: []sessions.NewEvent{{
		Type: sessions.ModelFailed, Turn: s.st.turn, Step: s.st.steps, Data: record}}})
	if err != nil {
		return false, err
	}
	if e.Kind == llm.Script {
		return true, s.fail(ctx, failure{Code: "script_failed", Params: map[string]any{"said": record.Message}})
	}
	return false, pause(ctx, wait)
}

// fullJitter is a random wait up to base doubled with each try, at most half a
// minute: those that failed together don't come back together.
func fullJitter(base time.Duration, try int) time.Duration {
	most := min(base<<min(try-1, 10), 30*time.Second)
	return rand.N(most + 1)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// addNotice adds what the harness tells the model with its next input.
func (s *sitting) addNotice(step *sessions.Step, code, text string) {
	s.add(step, notice{Code: code, Text: text})
}

func (s *sitting) add(step *sessions.Step, n notice) {
	step.Events = append(step.Events, sessions.NewEvent{Type: sessions.NoticeGiven, Turn: s.st.turn, Step: s.st.steps, Data: n})
	s.st.notice(n)
}

// addEnded adds a call's result to a step, and takes it into the state.
func (s *sitting) addEnded(step *sessions.Step, c *call, e ended, bytes int64, attempts ...tools.Attempt) {
	p := c.plan
	if c.edited {
		e.Result.Result = e.Result.WithNotices("A person approved this call with other arguments, and it was started with these: " + clip(string(s.redactor.JSON(c.written)), maxEdited))
	}
	row := sessions.EndedCall{
		N: p.Call.N, Turn: c.turn, Step: c.step, Event: len(step.Events),
		Tool: p.Call.Tool, Service: c.service(), Status: string(e.Result.CallStatus()), ErrorType: string(e.Result.ErrorType()),
		Effect: string(p.Effect), Attempts: len(attempts), Bytes: bytes,
		Queued: time.Duration(e.QueuedMS) * time.Millisecond, Duration: time.Duration(e.TotalMS) * time.Millisecond,
	}
	if len(attempts) > 0 {
		row.StartedAt = attempts[0].StartedAt
	}
	step.Events = append(step.Events, sessions.NewEvent{Type: sessions.CallEnded, Turn: c.turn, Step: c.step, Call: p.Call.N, Data: e})
	step.Ended = append(step.Ended, row)
	if len(attempts) == 0 {
		s.logRefused(c, e.Result.Result)
	}
	s.st.callEnded(p.Call.N, e)
	s.addMeasures(step)
}

// maxEdited is how much the model is told of arguments that a person changed, in
// characters.
const maxEdited = 2000

// clip cuts a text on a character border.
func clip(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

// errInbox is what a conditional write says when the inbox has something new.
func errInbox(err error) bool { return errors.Is(err, sessions.ErrInbox) }
