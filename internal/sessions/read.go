package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres"
)

const sqlGet = sqlSession + `where s.id = $1 and ($2::uuid[] is null or s.team_id = any($2))`

// Get reads a session. The problem is session_not_found, also for another
// team's.
func (s *Store) Get(ctx context.Context, actor auth.Actor, session id.Session) (Session, error) {
	rows, _ := s.db.Query(ctx, sqlGet, session, actor.Teams(auth.ReadSession))
	v, err := pgx.CollectExactlyOneRow(rows, scanSession)
	if err != nil {
		return v, postgres.Problem(err, "session_not_found")
	}
	return v, nil
}

// Filter narrows a list; zero fields don't.
type Filter struct {
	Status Status
	Agent  string     // slug
	Team   string     // slug
	Since  time.Time  // created then or later
	Q      string     // stands in the task or in the summary, whatever its case
	Before id.Session // the last one of the page before
	Limit  int
}

const sqlList = sqlSession + `
where ($1::uuid[] is null or s.team_id = any($1)) and ($2 = '' or s.status = $2) and ($3 = '' or s.agent_slug = $3)
  and ($4 = '' or t.slug = $4) and ($5::timestamptz is null or s.created_at >= $5)
  and ($6 = '' or strpos(lower(s.task), lower($6)) > 0 or strpos(lower(s.summary), lower($6)) > 0)
  and ($7::uuid is null or s.id < $7)
order by s.id desc limit $8`

// List reads a page of the actor's sessions, newest first.
func (s *Store) List(ctx context.Context, actor auth.Actor, f Filter) ([]Session, error) {
	var since *time.Time
	if !f.Since.IsZero() {
		since = &f.Since
	}
	rows, _ := s.db.Query(ctx, sqlList, actor.Teams(auth.ReadSession), f.Status, f.Agent, f.Team, since, f.Q, f.Before, f.Limit)
	list, err := pgx.CollectRows(rows, scanSession)
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("list sessions: %w", err), "")
	}
	return list, nil
}

const sqlEventsPage = `
select session_id, seq, at, turn, step, coalesce(call, 0), type, data from session_events
where session_id = $1 and seq > $2 order by seq limit $3`

// Events reads a session's ledger from after a sequence number, oldest first.
func (s *Store) Events(ctx context.Context, actor auth.Actor, session id.Session, after int64, limit int) ([]Event, error) {
	if _, err := s.Get(ctx, actor, session); err != nil {
		return nil, err
	}
	rows, _ := s.db.Query(ctx, sqlEventsPage, session, after, limit)
	events, err := pgx.CollectRows(rows, scanEvent)
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("read events: %w", err), "")
	}
	return events, nil
}
