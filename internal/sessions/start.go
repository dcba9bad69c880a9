package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/clean"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/idempotency"
	"baton/internal/jobs"
	"baton/internal/postgres"
	"baton/internal/problem"
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

const sqlStart = `
with s as (
    insert into sessions (id, last_seq, team_id, agent_id, agent_version, agent_slug, model, task, inputs, requested_by)
    values ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9)
)
insert into session_events (session_id, seq, turn, step, type, data) values ($1, 1, 1, 0, 'session.started', $10)`

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
	if err := n.check(); err != nil {
		return Session{}, err
	}
	session := id.New[id.Session]()
	object := auth.Object{Kind: "session", ID: session.String(), Team: n.Agent.Team, Agent: n.Agent.Slug}
	if err := auth.Can(actor, auth.StartSession, object); err != nil {
		return Session{}, err
	}
	ref := AgentRef{ID: n.Agent.ID, Slug: n.Agent.Slug, Version: n.Agent.Number}
	data, err := json.Marshal(startedData{Task: n.Task, Inputs: n.Inputs, Agent: ref, Model: n.Model, By: AuthorOf(actor)})
	if err != nil {
		return Session{}, fmt.Errorf("start session: %w", err)
	}
	err = postgres.InTx(ctx, s.db, func(tx pgx.Tx) error {
		if done, err := n.Once.BeginTx(ctx, tx); done || err != nil {
			return err
		}
		_, err := tx.Exec(ctx, sqlStart, session, n.Agent.Team, ref.ID, ref.Version, ref.Slug, n.Model, n.Task, n.Inputs, actor.Name, data)
		if err != nil {
			return fmt.Errorf("insert session: %w", err)
		}
		if err := inserter.InsertTx(ctx, tx, RunArgs{session}, nil); err != nil {
			return err
		}
		err = auth.AuditTx(ctx, tx, actor, auth.Entry{Verb: auth.StartSession, Kind: "session", ID: session.String(), Team: n.Agent.Team,
			After: map[string]any{"agent": ref.Slug, "version": ref.Version}})
		if err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlSessionByID, session) // an error comes with the rows
		if started, err = pgx.CollectExactlyOneRow(rows, scanSession); err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		return n.Once.StoreTx(ctx, tx, started)
	})
	if err != nil {
		return Session{}, postgres.Problem(err, "")
	}
	return started, nil
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
	if !definition.ValidModel(n.Model) {
		return problem.New(problem.Invalid, "model_invalid", nil).At("model")
	}
	return nil
}
