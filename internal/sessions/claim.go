package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"baton/internal/id"
)

// ErrTaken says that a session is not there to be claimed: another worker has
// it, it waits, or it has ended. A job that comes for nothing ends quietly.
var ErrTaken = errors.New("the session is not queued")

const sqlClaim = `
with s as (
    update sessions
    set status = 'running', replica_id = $2, epoch = epoch + 1, write_no = 0,
        wake_at = case when wake_at > now() then wake_at end, -- an answer that is still held
        started_at = coalesce(started_at, now())
    where id = $1 and status = 'queued'
    returning *
)
select ` + sqlSessionColumns + `, s.epoch, s.inbox_seq, now() from s join teams t on t.id = s.team_id`

// Claim gives a queued session to this replica and reads it. The errors are
// ErrTaken, and ErrSilent if the replica's own beats don't arrive.
func (s *Store) Claim(ctx context.Context, replica *Replica, session id.Session) (*Lease, Session, error) {
	generation, alive := replica.alive()
	if !alive {
		return nil, Session{}, ErrSilent
	}
	lease := &Lease{Session: session, Replica: replica.ID, generation: generation}
	var v Session
	err := s.db.QueryRow(ctx, sqlClaim, session, replica.ID).Scan(append(v.fields(), &lease.Epoch, &lease.Seen, &lease.ClaimedAt)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, v, ErrTaken
	}
	if err != nil {
		return nil, v, fmt.Errorf("claim %s: %w", session, err)
	}
	s.tell(session, nil)
	return lease, v, nil
}

const sqlSessionColumns = `s.id, s.status, coalesce(s.outcome, ''), s.task, s.inputs, s.agent_id, s.agent_slug, s.agent_version,
       s.team_id, t.slug, s.model, s.turn, s.steps, s.calls, s.tokens, s.cost_micros, s.working_ms,
       s.open_questions, s.cancel_requested, s.pause_requested, s.requested_by, coalesce(s.summary, ''),
       coalesce(s.evidence, '[]'), coalesce(s.unresolved, '[]'), s.failure,
       s.created_at, s.started_at, s.ended_at, s.last_seq`

const sqlSession = `
select ` + sqlSessionColumns + ` from sessions s join teams t on t.id = s.team_id
`

// fields are where the columns are read to.
func (s *Session) fields() []any {
	return []any{&s.ID, &s.Status, &s.Outcome, &s.Task, &s.Inputs, &s.Agent.ID, &s.Agent.Slug, &s.Agent.Version,
		&s.Team, &s.TeamSlug, &s.Model, &s.Turn, &s.Steps, &s.Calls, &s.Tokens, &s.CostMicros, &s.WorkingMS,
		&s.OpenQuestions, &s.CancelRequested, &s.PauseRequested, &s.RequestedBy, &s.Summary,
		&s.Evidence, &s.Unresolved, &s.Failure,
		&s.CreatedAt, &s.StartedAt, &s.EndedAt, &s.LastSeq}
}

func scanSession(row pgx.CollectableRow) (v Session, err error) {
	err = row.Scan(v.fields()...)
	return v, err
}

// Ledger reads the whole ledger of a claimed session: what a worker starts
// from. A new session's is its row, so nothing is read for it.
func (s *Store) Ledger(ctx context.Context, session Session) ([]Event, error) {
	if session.LastSeq > 1 {
		return s.eventsAfter(ctx, session.ID, 0, 0)
	}
	data, err := json.Marshal(startedData{Task: session.Task, Inputs: session.Inputs, Agent: session.Agent, Model: session.Model})
	if err != nil {
		return nil, fmt.Errorf("read ledger of %s: %w", session.ID, err)
	}
	return []Event{{Session: session.ID, Seq: 1, Type: SessionStarted, At: session.CreatedAt, Turn: 1, Data: data}}, nil
}

// Inbox reads what came from outside since the worker last looked, and moves
// Lease.Seen on to upTo. Events that the worker wrote itself may stand between.
func (s *Store) Inbox(ctx context.Context, lease *Lease, upTo int64) ([]Event, error) {
	events, err := s.eventsAfter(ctx, lease.Session, lease.Seen, upTo)
	if err == nil {
		lease.Seen = upTo
	}
	return events, err
}

const sqlEvents = `
select session_id, seq, at, turn, step, coalesce(call, 0), type, data from session_events
where session_id = $1 and seq > $2 and ($3 = 0 or seq <= $3) order by seq`

func (s *Store) eventsAfter(ctx context.Context, session id.Session, after, upTo int64) ([]Event, error) {
	rows, _ := s.db.Query(ctx, sqlEvents, session, after, upTo)
	events, err := pgx.CollectRows(rows, scanEvent)
	if err != nil {
		return nil, fmt.Errorf("read events of %s: %w", session, err)
	}
	return events, nil
}

func scanEvent(row pgx.CollectableRow) (e Event, err error) {
	err = row.Scan(&e.Session, &e.Seq, &e.At, &e.Turn, &e.Step, &e.Call, &e.Type, &e.Data)
	return e, err
}
