package sessions

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/live"
	"baton/internal/postgres"
)

// Draft is what the model has said so far of a reply that is still coming. It is
// no part of the ledger: it can get lost at any time, and the reply makes it
// void.
type Draft struct {
	Step int // of the reply, once it is there
	Text string
}

// draftWanted is for how long viewers who are with another replica want drafts,
// unless they ask again.
const draftWanted = 10 * time.Second

// Nobody else may write a draft than who may write the session, and nothing is
// written that nobody wants.
const sqlWriteDraft = `
update session_drafts d set step = $4, text = $5
from sessions s
where d.session_id = $1 and d.wanted_until > now() and s.id = $1 and s.replica_id = $2 and s.epoch = $3`

// ShowDraft shows a draft to those who watch the session: in this process by
// itself, elsewhere if it is to go far. That costs a write, so it isn't for each
// word.
func (s *Store) ShowDraft(ctx context.Context, lease *Lease, d Draft, far bool) error {
	s.drafts.Store(lease.Session, d)
	s.hub.TellHere(live.Of(lease.Session))
	if !far || !s.hub.Others() {
		return nil
	}
	done, err := s.db.Exec(ctx, sqlWriteDraft, lease.Session, lease.Replica, lease.Epoch, d.Step, d.Text)
	if err != nil {
		return postgres.Problem(err, "")
	}
	if done.RowsAffected() > 0 {
		s.hub.Tell(live.Of(lease.Session))
	}
	return nil
}

// EndDraft forgets the draft of a session in this process. Elsewhere it is void
// by the reply, whose step it has.
func (s *Store) EndDraft(lease *Lease) { s.drafts.Delete(lease.Session) }

const (
	sqlWantDraft = `
insert into session_drafts (session_id, wanted_until) values ($1, now() + $2::interval)
on conflict (session_id) do update set wanted_until = excluded.wanted_until
where session_drafts.wanted_until < now() + $2::interval / 2`
	sqlGetDraft = `select step, text from session_drafts where session_id = $1`
)

// Draft is what the model of a running session is saying, as of a reading of
// the session; empty if it says nothing. Whoever asks is taken to watch, and is
// told of what comes next.
func (s *Store) Draft(ctx context.Context, actor auth.Actor, v Session) (Draft, error) {
	if err := auth.Can(actor, auth.ReadSession, v.object()); err != nil {
		return Draft{}, err
	}
	if v.Status != Running {
		return Draft{}, nil
	}
	var d Draft
	if here, known := s.drafts.Load(v.ID); known {
		d, _ = here.(Draft)
	} else if s.hub.Others() {
		if _, err := s.db.Exec(ctx, sqlWantDraft, v.ID, draftWanted); err != nil {
			return d, postgres.Problem(err, "")
		}
		err := s.db.QueryRow(ctx, sqlGetDraft, v.ID).Scan(&d.Step, &d.Text)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return d, postgres.Problem(err, "")
		}
	}
	if d.Step != v.Steps+1 {
		return Draft{}, nil // of a reply that is there
	}
	return d, nil
}

const sqlForgetDrafts = `delete from session_drafts where wanted_until < now() - interval '1 minute'`

// ForgetDrafts deletes drafts that nobody wants any more.
func ForgetDrafts(ctx context.Context, db postgres.DB) error {
	_, err := db.Exec(ctx, sqlForgetDrafts)
	return err
}
