package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"baton/internal/auth"
	"baton/internal/demo"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/sessions"
)

const (
	// moreWorkEach is how often new work comes in while the demo runs.
	moreWorkEach = 90 * time.Second
	// waitingMost is how many questions may wait before it stops coming in: an
	// inbox that fills by itself is no use to anybody.
	waitingMost = 12
	// backToWork is how much comes in at once when a demo is started again.
	backToWork = 3
)

// workDemo loads the shop and sets the agents to work, behind the page that is
// served already, and goes on giving them work until ctx ends. What goes wrong
// is said; the pages stay up.
func workDemo(ctx context.Context, h house, s shop, log *slog.Logger) {
	work, err := beginDemo(ctx, h, s, log)
	if err != nil {
		if ctx.Err() == nil {
			log.Error("the demo's sample work could not be started", "err", err)
		}
		return
	}
	more := time.NewTicker(moreWorkEach)
	defer more.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-more.C:
			if err := moreWork(ctx, h, work); err != nil && ctx.Err() == nil {
				log.Error("no new sample work could be started", "err", err)
			}
		}
	}
}

// beginDemo fills the shop, the agents, and, the first time, the inbox.
func beginDemo(ctx context.Context, h house, s shop, log *slog.Logger) (*demo.Work, error) {
	if err := demo.LoadShop(ctx, s.pool, time.Now()); err != nil {
		return nil, err
	}
	files, err := demo.Agents()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if _, err := h.definitions.Apply(ctx, auth.System(), f); err != nil {
			return nil, err
		}
	}
	if err := writeWorkspaces(h); err != nil {
		return nil, err
	}
	there, err := h.sessions.List(ctx, auth.System(), sessions.Filter{Limit: 5000})
	if err != nil {
		return nil, err
	}
	var done []demo.Session
	for _, row := range there {
		done = append(done, demo.Session{Agent: row.Agent.Slug, Task: row.Task, Inputs: row.Inputs})
	}
	work := demo.NewWork(s.pool, done...)
	if len(there) == 0 {
		return work, firstWork(ctx, h, work, log)
	}
	for range backToWork {
		if err := moreWork(ctx, h, work); err != nil {
			return nil, err
		}
	}
	return work, nil
}

// firstWork starts a demo that has none. One refund is decided before the
// others are asked about, so that people see what was decided in a case like
// theirs.
func firstWork(ctx context.Context, h house, work *demo.Work, log *slog.Logger) error {
	precedent, found, err := work.Precedent(ctx)
	if err != nil {
		return err
	}
	list, err := work.Start(ctx)
	if err != nil {
		return err
	}
	var earlier id.Session
	if found {
		if earlier, err = startWork(ctx, h, precedent); err != nil {
			return err
		}
	}
	var later []demo.Session
	for _, s := range list {
		if strings.HasPrefix(s.Agent, "refunds-") {
			later = append(later, s)
			continue
		}
		if _, err := startWork(ctx, h, s); err != nil {
			return err
		}
	}
	if found {
		if err := decideAsSupervisor(ctx, h, earlier); err != nil && ctx.Err() == nil {
			log.Error("the sample decision could not be made", "err", err)
		}
	}
	for _, s := range later {
		if _, err := startWork(ctx, h, s); err != nil {
			return err
		}
	}
	return nil
}

func startWork(ctx context.Context, h house, s demo.Session) (id.Session, error) {
	version, err := h.definitions.Get(ctx, auth.System(), s.Agent, 0)
	if err != nil {
		return id.Session{}, err
	}
	started, err := h.sessions.Start(ctx, auth.System(), h.inserter, sessions.New{Agent: version, Task: s.Task, Inputs: s.Inputs})
	return started.ID, err
}

// moreWork starts one session more, unless enough questions wait already.
func moreWork(ctx context.Context, h house, work *demo.Work) error {
	counts, err := h.escalations.Counts(ctx, auth.System())
	if err != nil || counts.Waiting >= waitingMost {
		return err
	}
	s, ok, err := work.Next(ctx)
	if err != nil || !ok {
		return err
	}
	_, err = startWork(ctx, h, s)
	return err
}

// decideAsSupervisor waits for the question of a session and answers it as the
// sample account supervisor, through the door that people use.
func decideAsSupervisor(ctx context.Context, h house, session id.Session) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	link, err := h.accounts.MakeLink(ctx, auth.System(), "supervisor")
	if err != nil {
		return err
	}
	login, err := h.accounts.SignIn(ctx, link, "the demo")
	if err != nil {
		return err
	}
	defer func() { _ = h.accounts.SignOut(context.WithoutCancel(ctx), login) }() // it lapses by itself too
	actor, err := h.accounts.ActorByLogin(ctx, login)
	if err != nil {
		return err
	}
	asked, err := questionOf(ctx, h, actor, session)
	if err != nil {
		return err
	}
	var at0 time.Duration // it goes out at once
	_, err = h.desk.Answer(ctx, actor, asked.ID, decide.Answer{
		Version: asked.Version, Type: escalation.Choose, Option: "refund_full", Hold: &at0,
		Message:   "Both charges are in the ledger. Pay it back in full.",
		Rationale: "Our mistake, and a good customer.",
	})
	if problem.Is(err, "already_answered") {
		return nil // somebody was quicker, which is as good
	}
	return err
}

// questionOf waits until a session asks.
func questionOf(ctx context.Context, h house, actor auth.Actor, session id.Session) (escalation.Escalation, error) {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		waiting, err := h.escalations.List(ctx, actor, escalation.Filter{Status: escalation.Pending, Limit: 50})
		if err != nil {
			return escalation.Escalation{}, err
		}
		for _, e := range waiting {
			if e.Session == session {
				return e, nil
			}
		}
		select {
		case <-ctx.Done():
			return escalation.Escalation{}, fmt.Errorf("wait for the question of %s: %w", session, ctx.Err())
		case <-look.C:
		}
	}
}
