package definition

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// Applied says what Apply did.
type Applied struct {
	ID      id.Agent
	Slug    string
	Version int
	// Created says that the version is new; Changed that the agent now runs on
	// another version than before (both hold for a new agent).
	Created, Changed bool
}

// Apply stores a definition and makes it the agent's current version. Content
// that is a version already becomes current again without a new one, so that
// applying twice, or applying an older file to go back, does what it seems to.
//
// Problems: definition_invalid (with all faults as its member "errors"),
// team_unknown, agent_slug_taken (another team's agent has it), not_allowed.
func (s *Store) Apply(ctx context.Context, actor auth.Actor, f File) (Applied, error) {
	return s.apply(ctx, actor, f, func(int) bool { return true })
}

// ApplyOver is Apply for one who has seen the given version of the agent, 0 for
// none: if another is current by now, nothing is done. The further problem is
// precondition_failed.
func (s *Store) ApplyOver(ctx context.Context, actor auth.Actor, f File, version int) (Applied, error) {
	return s.apply(ctx, actor, f, func(current int) bool { return current == version })
}

// apply asks fits whether the version that is current now, 0 for none, may be
// replaced.
func (s *Store) apply(ctx context.Context, actor auth.Actor, f File, fits func(current int) bool) (Applied, error) {
	agent, faults := Parse(f, s.known)
	if len(faults) == 0 && agent.Playbook != "" {
		faults = s.check(filepath.Base(agent.Playbook), string(f.Playbook))
	}
	if len(faults) > 0 {
		return Applied{}, faults.Problem()
	}
	if agent.Playbook == "" {
		f.Playbook = nil // it plays no part, so it makes no version
	}
	var applied Applied
	err := postgres.InTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		applied, err = applyTx(ctx, tx, actor, f, agent, fits)
		return err
	})
	if err != nil {
		return Applied{}, fmt.Errorf("apply agent %s: %w", agent.Slug, postgres.Problem(err, ""))
	}
	return applied, nil
}

const (
	sqlTeamBySlug = `select id from teams where slug = $1`

	sqlAddAgent = `
insert into agents (id, team_id, slug, name, current_version) values ($1, $2, $3, $4, 1)
on conflict (slug) do nothing`

	sqlLockAgent = `select id, team_id, current_version from agents where slug = $1 for no key update`

	sqlFindVersion = `select version from agent_versions where agent_id = $1 and hash = $2`

	sqlAddVersion = `
insert into agent_versions (agent_id, version, source, playbook, spec, hash, created_by)
select $1, coalesce(max(version), 0) + 1, $2, $3, $4, $5, $6 from agent_versions where agent_id = $1
returning version`

	sqlSetCurrent = `
update agents set team_id = $2, name = $3, current_version = $4, updated_at = now()
where id = $1`
)

func applyTx(ctx context.Context, tx pgx.Tx, actor auth.Actor, f File, agent Agent, fits func(int) bool) (Applied, error) {
	a := Applied{Slug: agent.Slug}
	team, err := teamTx(ctx, tx, actor, agent)
	if err != nil {
		return a, err
	}
	tag, err := tx.Exec(ctx, sqlAddAgent, id.New[id.Agent](), team, agent.Slug, agent.Name)
	if err != nil {
		return a, fmt.Errorf("add agent: %w", err)
	}
	isNew := tag.RowsAffected() == 1

	// From here on, whoever applies the same agent waits.
	var before id.Team
	var current int
	if err := tx.QueryRow(ctx, sqlLockAgent, agent.Slug).Scan(&a.ID, &before, &current); err != nil {
		return a, fmt.Errorf("lock agent: %w", err)
	}
	// An agent that moves leaves a team, which takes the right there too.
	if err := auth.Can(actor, auth.WriteAgent, auth.Object{Kind: "agent", ID: a.ID.String(), Team: before}); err != nil {
		if problem.Is(err, "not_found") {
			return a, problem.Wrap(err, problem.Conflict, "agent_slug_taken", problem.Params{"slug": agent.Slug}).At("slug")
		}
		return a, err
	}
	seen := current
	if isNew {
		seen = 0
	}
	if !fits(seen) {
		return a, problem.New(problem.Conflict, "precondition_failed", problem.Params{"version": seen}).At("If-Match")
	}
	hash := contentHash(f)
	err = tx.QueryRow(ctx, sqlFindVersion, a.ID, hash).Scan(&a.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		a.Created = true
		a.Version, err = addVersionTx(ctx, tx, actor, a.ID, f, agent, hash)
	}
	if err != nil {
		return a, fmt.Errorf("find version: %w", err)
	}
	a.Changed = isNew || a.Version != current
	if !a.Changed {
		return a, nil // applied before: nothing to do, nothing to put on record
	}
	if _, err := tx.Exec(ctx, sqlSetCurrent, a.ID, team, agent.Name, a.Version); err != nil {
		return a, fmt.Errorf("set current version: %w", err)
	}
	entry := auth.Entry{Verb: auth.WriteAgent, Kind: "agent", ID: a.ID.String(), Team: team,
		After: map[string]any{"slug": agent.Slug, "version": a.Version, "model": agent.Model, "team": agent.Team}}
	if !isNew {
		entry.Before = map[string]any{"version": current}
	}
	return a, auth.AuditTx(ctx, tx, actor, entry)
}

// teamTx finds the agent's team, in which the actor must be allowed to write
// agents. A team that the actor can't see is as unknown as one that isn't there.
func teamTx(ctx context.Context, tx pgx.Tx, actor auth.Actor, agent Agent) (team id.Team, err error) {
	unknown := problem.New(problem.Invalid, "team_unknown", problem.Params{"team": agent.Team}).At("team")
	err = tx.QueryRow(ctx, sqlTeamBySlug, agent.Team).Scan(&team)
	if errors.Is(err, pgx.ErrNoRows) {
		return team, unknown
	}
	if err != nil {
		return team, fmt.Errorf("find team: %w", err)
	}
	err = auth.Can(actor, auth.WriteAgent, auth.Object{Kind: "agent", Team: team})
	if problem.Is(err, "not_found") {
		return team, unknown
	}
	return team, err
}

func addVersionTx(ctx context.Context, tx pgx.Tx, actor auth.Actor, agentID id.Agent, f File, agent Agent, hash []byte) (version int, err error) {
	spec, err := json.Marshal(agent)
	if err != nil {
		return 0, err
	}
	var playbook *string
	if agent.Playbook != "" {
		text := string(f.Playbook)
		playbook = &text
	}
	err = tx.QueryRow(ctx, sqlAddVersion, agentID, string(f.Source), playbook, spec, hash, actor.Name).Scan(&version)
	return version, err
}

// contentHash tells versions apart by what the operator wrote.
func contentHash(f File) []byte {
	source := sha256.Sum256(f.Source)
	playbook := sha256.Sum256(f.Playbook)
	sum := sha256.Sum256(bytes.Join([][]byte{source[:], playbook[:]}, nil))
	return sum[:]
}
