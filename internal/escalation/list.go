package escalation

import (
	"context"
	"fmt"
	"time"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres"
)

// Filter narrows a list of questions; zero fields don't.
type Filter struct {
	Status  Status
	Kind    Kind
	Agent   string // slug
	Team    string // slug
	Trigger Trigger
	Since   time.Time // asked then or later
	After   Cursor    // the last one of the page before
	Limit   int
}

// Cursor is a place in a list. DueAt is needed for lists of pending questions.
type Cursor struct {
	DueAt time.Time
	ID    id.Escalation
}

// Cursor is the place of e in a list.
func (e Escalation) Cursor() Cursor { return Cursor{DueAt: e.DueAt, ID: e.ID} }

const sqlFilter = `
where ($1::uuid[] is null or e.team_id = any($1)) and ($2 = '' or e.agent_slug = $2)
  and ($3 = '' or e.kind = $3) and ($4 = '' or e.agent_slug = $4) and ($5 = '' or t.slug = $5)
  and ($6 = '' or e.trigger = $6) and ($7::timestamptz is null or e.created_at >= $7)`

const (
	sqlInbox = sqlEscalation + sqlFilter + `
  and e.status = 'pending' and ($8::uuid is null or (e.due_at, e.id) > ($9::timestamptz, $8))
order by e.due_at, e.id limit $10`

	sqlList = sqlEscalation + sqlFilter + `
  and ($8::uuid is null or e.id < $8) and ($9 = '' or e.status = $9)
order by e.id desc limit $10`
)

// List reads a page of the questions in the actor's teams: pending ones in the
// order in which they are due, others newest first.
func (s *Store) List(ctx context.Context, actor auth.Actor, f Filter) ([]Escalation, error) {
	var since *time.Time
	if !f.Since.IsZero() {
		since = &f.Since
	}
	args := []any{actor.Teams(auth.ReadEscalation), actor.Agent, f.Kind, f.Agent, f.Team, f.Trigger, since, f.After.ID}
	if f.Status == Pending {
		rows, _ := s.db.Query(ctx, sqlInbox, append(args, f.After.DueAt, f.Limit)...)
		return collect(rows)
	}
	rows, _ := s.db.Query(ctx, sqlList, append(args, f.Status, f.Limit)...)
	return collect(rows)
}

// Counts are the numbers that a person is shown: what they can act on.
type Counts struct {
	Waiting  int // to be decided; notices don't count
	Overdue  int // of them
	Notices  int // to be acknowledged
	GoingOut int // answers that can still be taken back
}

const sqlCounts = `
select count(*) filter (where status = 'pending' and kind <> 'completed'),
       count(*) filter (where status = 'pending' and kind <> 'completed' and due_at < now()),
       count(*) filter (where status = 'pending' and kind = 'completed'),
       count(*) filter (where status = 'answered')
from escalations
where ($1::uuid[] is null or team_id = any($1)) and (status = 'pending' or status = 'answered' and held_until > now())`

// Counts counts what the actor may answer.
func (s *Store) Counts(ctx context.Context, actor auth.Actor) (c Counts, err error) {
	err = s.db.QueryRow(ctx, sqlCounts, actor.Teams(auth.AnswerEscalation)).Scan(&c.Waiting, &c.Overdue, &c.Notices, &c.GoingOut)
	if err != nil {
		return c, postgres.Problem(fmt.Errorf("count questions: %w", err), "")
	}
	return c, nil
}
