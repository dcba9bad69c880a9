package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// CallRow is an ended call as lists have it.
type CallRow struct {
	ID         id.Call    `json:"id"`
	Turn       int        `json:"turn"`
	Step       int        `json:"step"`
	Tool       string     `json:"tool"`
	Service    string     `json:"service"`
	Status     string     `json:"status"`
	ErrorType  string     `json:"error_type,omitempty"`
	Effect     string     `json:"effect"`
	Attempts   int        `json:"attempts"`
	QueuedMS   int        `json:"queued_ms"`
	DurationMS int        `json:"duration_ms"`
	Bytes      int64      `json:"output_bytes"`
	StartedAt  *time.Time `json:"started_at"`
	EndedAt    time.Time  `json:"ended_at"`

	seq int64
}

const sqlCallColumns = `
select session_id, n, turn, step, seq, tool, service, status, error_type, effect, attempts, queued_ms, duration_ms, bytes, started_at, ended_at
from tool_calls `

func scanCall(row pgx.CollectableRow) (c CallRow, err error) {
	err = row.Scan(&c.ID.Session, &c.ID.N, &c.Turn, &c.Step, &c.seq, &c.Tool, &c.Service, &c.Status, &c.ErrorType, &c.Effect,
		&c.Attempts, &c.QueuedMS, &c.DurationMS, &c.Bytes, &c.StartedAt, &c.EndedAt)
	return c, err
}

const sqlCalls = sqlCallColumns + `where session_id = $1 and n > $2 order by n limit $3`

// Calls reads the ended calls of a session after the n-th.
func (s *Store) Calls(ctx context.Context, actor auth.Actor, session id.Session, after, limit int) ([]CallRow, error) {
	if _, err := s.Get(ctx, actor, session); err != nil {
		return nil, err
	}
	rows, _ := s.db.Query(ctx, sqlCalls, session, after, limit)
	calls, err := pgx.CollectRows(rows, scanCall)
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("read calls: %w", err), "")
	}
	return calls, nil
}

const (
	sqlCall      = sqlCallColumns + `where session_id = $1 and n = $2`
	sqlCallEvent = `select data from session_events where session_id = $1 and seq = $2`
)

// Call reads an ended call and the data of the event that holds its result. The
// problem is call_not_found.
func (s *Store) Call(ctx context.Context, actor auth.Actor, call id.Call) (CallRow, json.RawMessage, error) {
	var c CallRow
	if _, err := s.Get(ctx, actor, call.Session); err != nil {
		return c, nil, callNotFound(err)
	}
	rows, _ := s.db.Query(ctx, sqlCall, call.Session, call.N)
	c, err := pgx.CollectExactlyOneRow(rows, scanCall)
	if err != nil {
		return c, nil, postgres.Problem(err, "call_not_found")
	}
	var data json.RawMessage
	if err := s.db.QueryRow(ctx, sqlCallEvent, call.Session, c.seq).Scan(&data); err != nil {
		return c, nil, postgres.Problem(fmt.Errorf("read result of %s: %w", call, err), "")
	}
	return c, data, nil
}

func callNotFound(err error) error {
	if problem.From(err).Kind == problem.NotFound {
		return problem.New(problem.NotFound, "call_not_found", nil)
	}
	return err
}

// Chunk is a part of a call's stored output.
type Chunk struct {
	FirstLine int64
	Body      string
}

const sqlCallEvents = `
select session_id, seq, at, turn, step, coalesce(call, 0), type, data from session_events
where session_id = $1
  and (call between $2 and $3 or type = 'escalation.answered'
       or type = 'model.replied' and exists (
           select from json_array_elements(data -> 'plans') p where (p #>> '{call,n}')::int between $2 and $3))
order by seq`

// CallEvents reads all that the ledger has about the calls from the first to
// the last number: what is about one of them, and the model's replies that
// asked for them. It is empty if there are no such calls. The problem is
// session_not_found.
func (s *Store) CallEvents(ctx context.Context, actor auth.Actor, session id.Session, first, last int) ([]Event, error) {
	if _, err := s.Get(ctx, actor, session); err != nil {
		return nil, err
	}
	rows, _ := s.db.Query(ctx, sqlCallEvents, session, first, last)
	events, err := pgx.CollectRows(rows, scanEvent)
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("read events of calls: %w", err), "")
	}
	return events, nil
}

const sqlOutput = `
select first_line, body from call_outputs
where session_id = $1 and n = $2
  and first_line >= coalesce((select max(first_line) from call_outputs where session_id = $1 and n = $2 and first_line <= $3), 0)
order by chunk limit $4`

// Output reads the stored output of a call in chunks of 64 KiB, from the one
// on in which the given line begins: a line may be longer than a chunk. It is
// empty if the ledger has the output whole.
func (s *Store) Output(ctx context.Context, call id.Call, line int64, chunks int) ([]Chunk, error) {
	rows, _ := s.db.Query(ctx, sqlOutput, call.Session, call.N, line, chunks)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Chunk])
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, postgres.Problem(fmt.Errorf("read output of %s: %w", call, err), "")
	}
	return list, nil
}
