package definition

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// Store keeps agents and their versions.
type Store struct {
	db    postgres.DB
	known Known
	check func(name, source string) Faults
}

// NewStore works on db. known is what definitions may name. check finds the
// faults of a playbook; it comes from the room of the scripted model, which
// this one may not import, and nil checks nothing.
func NewStore(db postgres.DB, known Known, check func(name, source string) Faults) *Store {
	if check == nil {
		check = func(string, string) Faults { return nil }
	}
	return &Store{db, known, check}
}

// Version is one version of an agent. Sessions run on it.
type Version struct {
	ID        id.Agent
	Team      id.Team // the agent's team now
	Slug      string
	Name      string // the agent's name now
	Number    int
	Current   bool
	Agent     Agent  // as this version says
	Source    string // YAML
	Playbook  string // empty if there is none
	CreatedAt time.Time
	CreatedBy string
}

// Summary is an agent in a list.
type Summary struct {
	ID        id.Agent
	Team      id.Team
	TeamSlug  string
	Slug      string
	Name      string
	Model     string
	Version   int
	Versions  int
	UpdatedAt time.Time
}

const sqlListAgents = `
select a.id, a.team_id, t.slug, a.slug, a.name, v.spec ->> 'model', a.current_version,
       (select count(*) from agent_versions n where n.agent_id = a.id)::int, a.updated_at
from agents a
join teams t on t.id = a.team_id
join agent_versions v on v.agent_id = a.id and v.version = a.current_version
where ($1::uuid[] is null or a.team_id = any($1)) and a.slug > $2
order by a.slug
limit $3`

// List returns up to limit agents of the actor's teams in the order of their
// slugs, from the one after the given slug ("" is the beginning).
func (s *Store) List(ctx context.Context, actor auth.Actor, after string, limit int) ([]Summary, error) {
	rows, _ := s.db.Query(ctx, sqlListAgents, actor.Teams(auth.ReadAgent), after, limit) // an error comes with the rows
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Summary])
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", postgres.Problem(err, ""))
	}
	return list, nil
}

// ValidSlug says whether a text can be an agent's slug. Others name no agent,
// and some can't even be asked for: Postgres refuses a NUL.
func ValidSlug(slug string) bool { return slugForm.MatchString(slug) }

const sqlVersionColumns = `
select a.id, a.team_id, a.slug, a.name, v.version, v.version = a.current_version, v.spec, v.source, coalesce(v.playbook, ''), v.created_at, v.created_by
from agents a join agent_versions v on v.agent_id = a.id`

const sqlGetVersion = sqlVersionColumns + `
where ($1::uuid[] is null or a.team_id = any($1)) and a.slug = $2
  and v.version = case when $3 = 0 then a.current_version else $3 end`

// Get returns a version of an agent; 0 is the current one. The problem is
// agent_not_found, also for another team's agent and for a version that does
// not exist.
func (s *Store) Get(ctx context.Context, actor auth.Actor, slug string, version int) (Version, error) {
	if !ValidSlug(slug) {
		return Version{}, problem.New(problem.NotFound, "agent_not_found", nil)
	}
	v, err := s.one(ctx, sqlGetVersion, actor.Teams(auth.ReadAgent), slug, version)
	if err != nil {
		return v, fmt.Errorf("get agent %s: %w", slug, err)
	}
	return v, nil
}

const sqlLoadVersion = sqlVersionColumns + `
where a.id = $1 and v.version = $2`

// Load returns a version for the worker of a session that runs on it.
func (s *Store) Load(ctx context.Context, agent id.Agent, version int) (Version, error) {
	v, err := s.one(ctx, sqlLoadVersion, agent, version)
	if err != nil {
		return v, fmt.Errorf("load version %d of %s: %w", version, agent, err)
	}
	return v, nil
}

func (s *Store) one(ctx context.Context, sql string, args ...any) (v Version, err error) {
	var spec []byte
	err = s.db.QueryRow(ctx, sql, args...).Scan(&v.ID, &v.Team, &v.Slug, &v.Name, &v.Number, &v.Current,
		&spec, &v.Source, &v.Playbook, &v.CreatedAt, &v.CreatedBy)
	if err != nil {
		return v, postgres.Problem(err, "agent_not_found")
	}
	v.Agent, err = readSpec(spec)
	return v, err
}

// readSpec reads a stored agent. What a newer release added to agents has its
// default; numbers in rules stay as written.
func readSpec(spec []byte) (Agent, error) {
	a := defaults()
	dec := json.NewDecoder(bytes.NewReader(spec))
	dec.UseNumber()
	if err := dec.Decode(&a); err != nil {
		return a, problem.Wrap(err, problem.Internal, "internal", nil)
	}
	return a, nil
}
