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

// Glance is what a list says of a session besides its row.
type Glance struct {
	Failed  int // calls that failed, were denied, whose outcome is unknown, or of which a part failed
	Retries int // attempts after the first
	Stopped int // calls that the harness refused since they went in circles
	// Said and Tool are the latest reply of the model: its words, and the first
	// tool that it called. Of running sessions only.
	Said, Tool string
}

const sqlGlances = `
select s.id, c.failed, c.retries, c.stopped, coalesce(e.said, ''), coalesce(e.tool, '')
from sessions s
cross join lateral (
    select count(*) filter (where status in ('failed', 'denied', 'outcome_unknown', 'partial')) as failed,
           coalesce(sum(attempts - 1) filter (where attempts > 1), 0) as retries,
           count(*) filter (where error_type in ('circuit_open', 'tool_rested')) as stopped
    from tool_calls where session_id = s.id
) c
left join lateral (
    select left(data ->> 'text', 500) as said, data #>> '{plans,0,call,tool}' as tool
    from session_events where session_id = s.id and seq > s.last_seq - 50 and type = 'model.replied'
    order by seq desc limit 1
) e on s.status = 'running'
where s.id = any($1) and ($2::uuid[] is null or s.team_id = any($2))`

// Glances looks at the calls of those of the sessions that the actor may read.
func (s *Store) Glances(ctx context.Context, actor auth.Actor, list []id.Session) (map[id.Session]Glance, error) {
	found := make(map[id.Session]Glance, len(list))
	rows, _ := s.db.Query(ctx, sqlGlances, list, actor.Teams(auth.ReadSession))
	var session id.Session
	var g Glance
	_, err := pgx.ForEachRow(rows, []any{&session, &g.Failed, &g.Retries, &g.Stopped, &g.Said, &g.Tool}, func() error {
		found[session] = g
		return nil
	})
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("glance at sessions: %w", err), "")
	}
	return found, nil
}

const sqlCountSince = `
select count(*) filter (where status = 'completed'), count(*) from sessions
where ($1::uuid[] is null or team_id = any($1)) and id >= $2`

// CountSince is how many of the actor's sessions were started from a time on,
// and how many of them are completed.
func (s *Store) CountSince(ctx context.Context, actor auth.Actor, since time.Time) (completed, started int, err error) {
	row := s.db.QueryRow(ctx, sqlCountSince, actor.Teams(auth.ReadSession), id.From[id.Session](since))
	if err = row.Scan(&completed, &started); err != nil {
		return 0, 0, postgres.Problem(fmt.Errorf("count sessions: %w", err), "")
	}
	return completed, started, nil
}

// RunningMost is where CountRunning stops counting.
const RunningMost = 100

const sqlCountRunning = `
select count(*) from (select from sessions where replica_id is not null and ($1::uuid[] is null or team_id = any($1)) limit $2) r`

// CountRunning is how many of the actor's sessions run, up to RunningMost.
func (s *Store) CountRunning(ctx context.Context, actor auth.Actor) (n int, err error) {
	if err = s.db.QueryRow(ctx, sqlCountRunning, actor.Teams(auth.ReadSession), RunningMost).Scan(&n); err != nil {
		return 0, postgres.Problem(fmt.Errorf("count running sessions: %w", err), "")
	}
	return n, nil
}
