package agent

import (
	"context"

	"github.com/jackc/pgx/v5"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/live"
	"baton/internal/llm"
	"baton/internal/postgres"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// asking is a question of the harness's own, from when it is due until its
// answer has been carried out. It belongs to no open call: the session waits
// for it between two steps. That it is due, and what came of it, are notices on
// record, so a crash asks nothing twice.
type asking struct {
	// What it is about, one of these.
	loop    *tools.Measure
	limit   *escalation.Limit
	trouble *escalation.Trouble

	turn, step int
	call       int           // that it shows, 0 if it is about none
	question   id.Escalation // zero until it is raised
	answer     *escalation.Event
	spoken     bool // a person wrote to the agent instead of answering
}

// settled says whether a person's message is all the answer that there need be.
// It is none to whether the session may use more than it is allowed.
func (a *asking) settled() bool { return a.limit == nil || perTurn(a.limit.Name) }

// settle asks people how to go on, waits for them, and carries out what they
// say.
func (s *sitting) settle(ctx context.Context) (done bool, err error) {
	a := s.st.asking
	switch {
	case a.question.IsZero():
		return s.put(ctx, []question{{s.ownDraft(a), a.turn, a.step, a.call}})
	case a.answer == nil && a.spoken:
		return false, s.withdraw(ctx, a)
	case !s.hasGoneOut(a.answer):
		return s.park(ctx, sessions.Waiting)
	}
	return s.carryOut(ctx, a)
}

func (s *sitting) ownDraft(a *asking) escalation.Draft {
	switch {
	case a.limit != nil:
		return escalation.LimitDraft(*a.limit, s.known())
	case a.trouble != nil:
		return escalation.TroubleDraft(*a.trouble, s.known())
	}
	return s.loopDraft(*a.loop)
}

// carryOut does as a person said. That nobody answered lets the session go on
// without, unless its agent is to fail then, or can't go on at all.
func (s *sitting) carryOut(ctx context.Context, a *asking) (done bool, err error) {
	d := a.answer.Decision
	if d == nil && (a.answer.OnExpiry == escalation.OnExpiryFail || a.trouble != nil) {
		return true, s.fail(ctx, failure{Code: "question_expired", Params: map[string]any{"title": a.answer.Title}})
	}
	var n notice
	switch {
	case a.limit != nil:
		n = limitAnswered(*a.limit, d)
	case a.trouble != nil:
		n = troubleAnswered(*a.trouble, d)
	default:
		n = loopAnswered(*a.loop, d)
	}
	by := a.question
	step := sessions.Step{}
	s.add(&step, n)
	err = s.write(ctx, step, func(ctx context.Context, tx pgx.Tx) error { return escalation.ApplyTx(ctx, tx, s.row.ID, by) })
	return false, s.tell(by, err)
}

// withdraw takes a question back after which a person wrote to the agent instead
// of answering. Should somebody have answered at the same time, that stands.
func (s *sitting) withdraw(ctx context.Context, a *asking) error {
	ctx = context.WithoutCancel(ctx)
	err := postgres.InTx(ctx, s.w.DB, func(tx pgx.Tx) error {
		locked, err := sessions.LockTx(ctx, tx, s.row.ID)
		if err != nil {
			return err
		}
		data, open, err := escalation.CancelTx(ctx, tx, a.question)
		if err != nil || !open {
			return err
		}
		return sessions.OutsideTx(ctx, tx, s.w.Inserter, locked, sessions.Outside{
			Event: sessions.NewEvent{Type: sessions.EscalationWithdrawn, Call: a.call, Data: data}, Questions: -1})
	})
	if err != nil {
		return err
	}
	a.spoken = false
	s.w.Live.Tell(live.Of(a.question), live.Of(s.row.ID))
	return s.unread(ctx)
}

// answeredNoted takes that a question of the harness's own is settled.
func (s *state) answeredNoted(n notice) {
	if s.asking != nil {
		if a := s.asking.answer; a != nil && a.Decision != nil {
			s.say(llm.Message{Role: llm.RoleDecision, Decision: decisionRecord(*a)})
		}
		s.asking = nil
	}
	if n.End != nil {
		s.stopped = n.End
	}
}
