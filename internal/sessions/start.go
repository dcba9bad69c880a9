package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/auth"
	"baton/internal/clean"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/idempotency"
	"baton/internal/jobs"
	"baton/internal/postgres"
	"baton/internal/problem"
	"baton/internal/secrets"
)

// Limits of what starts a session.
const (
	MaxTask   = 20_000    // characters
	MaxInputs = 256 << 10 // bytes of JSON
)

// New is what Start takes.
type New struct {
	Agent  definition.Version
	Task   string
	Inputs json.RawMessage // a JSON object; nil is none
	Model  string          // empty: the agent's
	// Once is the request's name, if its sender gave it one. A request that was
	// done before starts nothing: its reply is the session as it was then.
	Once *idempotency.Request
}

// One statement however many sessions: rows, first events, and audit rows.
const sqlStart = `
with v as (
    select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
         as v(id, team_id, agent_id, agent_version, agent_slug, model, task, inputs, started, outside_id)
), s as (
    insert into sessions (id, last_seq, team_id, agent_id, agent_version, agent_slug, model, task, inputs, requested_by)
    select id, 1, team_id, agent_id, agent_version, agent_slug, model, task, inputs::json, $11 from v
), e as (
    insert into session_events (session_id, seq, turn, step, type, data)
    select id, 1, 1, 0, 'session.started', started::json from v
), a as (
    insert into audit (actor_kind, actor_id, actor_name, via, verb, object_kind, object_id, team_id, after)
    select $12, $13, $11, $14, $15, 'session', outside_id, team_id,
           jsonb_build_object('agent', agent_slug, 'version', agent_version) from v
)
select now()`

// startedData is the data of the event that begins every ledger.
type startedData struct {
	Task   string          `json:"task"`
	Inputs json.RawMessage `json:"inputs"`
	Agent  AgentRef        `json:"agent"`
	Model  string          `json:"model"`
	By     Author          `json:"by"`
}

// Author is who caused an event from outside, as the ledger keeps it.
type Author struct {
	Kind auth.Kind `json:"kind"`
	ID   string    `json:"id"`
	Name string    `json:"name"`
	Via  string    `json:"via"`
}

// AuthorOf is the actor as the ledger keeps it.
func AuthorOf(actor auth.Actor) Author {
	return Author{Kind: actor.Kind, ID: actor.ID, Name: actor.Name, Via: actor.Via}
}

// Start queues a session and returns it; the zero Session if New.Once was done
// before. Problems: not_allowed, task_missing, task_too_long, inputs_invalid,
// model_invalid, idempotency_key_reused.
func (s *Store) Start(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, n New) (started Session, err error) {
	err = postgres.InTx(ctx, s.db, func(tx pgx.Tx) error {
		if done, err := n.Once.BeginTx(ctx, tx); done || err != nil {
			return err
		}
		all, err := startTx(ctx, tx, s.ring, actor, inserter, n)
		if err != nil {
			return err
		}
		started = all[0]
		return n.Once.StoreTx(ctx, tx, started)
	})
	if err != nil {
		return Session{}, postgres.Problem(err, "")
	}
	s.tell(started.ID, nil)
	return started, nil
}

// StartAll queues many sessions in one transaction, all or none. New.Once is
// not looked at. Problems as for Start.
func (s *Store) StartAll(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, news ...New) (started []Session, err error) {
	err = postgres.InTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		started, err = startTx(ctx, tx, s.ring, actor, inserter, news...)
		return err
	})
	if err != nil {
		return nil, postgres.Problem(err, "")
	}
	for _, v := range started {
		s.tell(v.ID, nil)
	}
	return started, nil
}

func startTx(ctx context.Context, tx pgx.Tx, ring *secrets.Keyring, actor auth.Actor, inserter *jobs.Inserter, news ...New) ([]Session, error) {
	var list []Session
	var ids []id.Session
	var teams []id.Team
	var agents []id.Agent
	var versions []int32
	var slugs, models, tasks, inputs, events, names []string
	var runs []river.JobArgs
	for _, n := range news {
		if err := n.check(); err != nil {
			return nil, err
		}
		session := id.New[id.Session]()
		fresh, err := n.mask(ring, session)
		if err != nil {
			return nil, fmt.Errorf("start session: %w", err)
		}
		v := Session{ID: session, Status: Queued, Task: n.Task, Inputs: n.Inputs, Team: n.Agent.Team, TeamSlug: n.Agent.Agent.Team,
			Agent: AgentRef{ID: n.Agent.ID, Slug: n.Agent.Slug, Version: n.Agent.Number}, Model: n.Model, Turn: 1, RequestedBy: actor.Name,
			Evidence: json.RawMessage("[]"), Unresolved: json.RawMessage("[]"), LastSeq: 1}
		if err := auth.Can(actor, auth.StartSession, v.object()); err != nil {
			return nil, err
		}
		if len(fresh) > 0 {
			if err := KeepTokensTx(ctx, tx, ring, session, fresh); err != nil {
				return nil, err
			}
		}
		data, err := json.Marshal(startedData{Task: v.Task, Inputs: v.Inputs, Agent: v.Agent, Model: v.Model, By: AuthorOf(actor)})
		if err != nil {
			return nil, fmt.Errorf("start session: %w", err)
		}
		ids, teams, agents, versions = append(ids, v.ID), append(teams, v.Team), append(agents, v.Agent.ID), append(versions, int32(v.Agent.Version))
		slugs, models, tasks = append(slugs, v.Agent.Slug), append(models, v.Model), append(tasks, v.Task)
		inputs, events, names = append(inputs, string(v.Inputs)), append(events, string(data)), append(names, v.ID.String())
		runs, list = append(runs, RunArgs{v.ID}), append(list, v)
	}
	var now time.Time
	err := tx.QueryRow(ctx, sqlStart, ids, teams, agents, versions, slugs, models, tasks, inputs, events, names,
		actor.Name, actor.Kind, actor.ID, actor.Via, auth.StartSession).Scan(&now)
	if err != nil {
		return nil, fmt.Errorf("insert sessions: %w", err)
	}
	for i := range list {
		list[i].CreatedAt = now
	}
	return list, inserter.InsertAllTx(ctx, tx, runs)
}

// check refuses what can't be run, and cleans what goes into Postgres and to
// the model.
func (n *New) check() error {
	n.Task = strings.TrimSpace(clean.Text(n.Task))
	if n.Task == "" {
		return problem.New(problem.Invalid, "task_missing", nil).At("task")
	}
	if count := utf8.RuneCountInString(n.Task); count > MaxTask {
		return problem.New(problem.Invalid, "task_too_long", problem.Params{"count": count, "most": MaxTask}).At("task")
	}
	if len(bytes.TrimSpace(n.Inputs)) == 0 {
		n.Inputs = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if len(n.Inputs) > MaxInputs || json.Unmarshal(n.Inputs, &object) != nil || object == nil {
		return problem.New(problem.Invalid, "inputs_invalid", problem.Params{"most": MaxInputs >> 10}).At("inputs")
	}
	cleaned, err := clean.JSON(n.Inputs)
	if err != nil {
		return problem.Wrap(err, problem.Invalid, "inputs_invalid", problem.Params{"most": MaxInputs >> 10}).At("inputs")
	}
	n.Inputs = cleaned
	if n.Model == "" {
		n.Model = n.Agent.Agent.Model
	}
	// A scripted model is the playbook of the agent's version; there is no other
	// that the session could run.
	other := strings.HasPrefix(n.Model, "scripted/") && n.Model != n.Agent.Agent.Model
	if !definition.ValidModel(n.Model) || other {
		return problem.New(problem.Invalid, "model_invalid", problem.Params{"providers": strings.Join(definition.Providers(), ", ")}).At("model")
	}
	return nil
}
