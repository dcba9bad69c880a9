package escalation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/secrets"
)

// Store reads questions and decisions.
type Store struct {
	db   postgres.DB
	ring *secrets.Keyring // see OpenWith
}

// NewStore works on db.
func NewStore(db postgres.DB) *Store { return &Store{db: db} }

// The columns of a question, and of its decision if it has one. A decision in
// force can't have been undone; how it turned out stands in its marks.
const (
	sqlColumns = `
select e.id, e.number, e.version, e.status, e.kind, e.trigger, e.team_id, t.slug, e.agent_slug, e.session_id, coalesce(e.call, 0),
       e.group_id, e.question, e.priority, e.on_expiry, e.hold_ms, e.created_at, e.due_at, e.expires_at, e.seen_at,
       e.answered_at, e.held_until, e.closed_at,
       e.reason_code, e.option_set, e.tool, e.tool_hash, e.error_type, e.error_class, e.parameters, e.problem,
       clock_timestamp(),
       d.id, coalesce(d.version, 0), coalesce(d.type, ''), coalesce(d.option_id, ''), coalesce(d.option_key, ''), coalesce(d.label, ''),
       coalesce(d.message, ''), coalesce(d.rationale, ''), d.edited_args, d."values",
       coalesce(d.decided_by_kind, ''), coalesce(d.decided_by_id, ''), coalesce(d.decided_by_name, ''), coalesce(d.via, ''),
       d.held_until, d.decided_at, coalesce(d.took_ms, 0), o.mark, o.at`
	sqlJoins = `
join teams t on t.id = e.team_id
left join decisions d on d.id = e.decision_id
` + sqlOutcome
	sqlEscalation = sqlColumns + ` from escalations e` + sqlJoins
)

// read is a row with the database's time at which it was read.
type read struct {
	Escalation
	now time.Time
}

func scan(row pgx.CollectableRow) (r read, err error) {
	e := &r.Escalation
	var d Decision
	var hold int64
	var question []byte
	var mark *Mark
	var decided, marked *time.Time
	err = row.Scan(&e.ID, &e.Number, &e.Version, &e.Status, &e.Kind, &e.Trigger, &e.Team, &e.TeamSlug, &e.Agent, &e.Session, &e.Call,
		&e.Group, &question, &e.Priority, &e.OnExpiry, &hold, &e.CreatedAt, &e.DueAt, &e.ExpiresAt, &e.SeenAt,
		&e.AnsweredAt, &e.HeldUntil, &e.ClosedAt,
		&e.Case.ReasonCode, &e.Case.OptionSet, &e.Case.Tool, &e.Case.ToolHash, &e.Case.ErrorType, &e.Case.ErrorClass, &e.Case.Parameters, &e.Case.Problem,
		&r.now,
		&d.ID, &d.Version, &d.Type, &d.OptionID, &d.Option, &d.Label, &d.Message, &d.Rationale, &d.EditedArgs, &d.Values,
		&d.By.Kind, &d.By.ID, &d.By.Name, &d.Via, &d.HeldUntil, &decided, &d.TookMS, &mark, &marked)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(question, &e.Question); err != nil {
		return r, fmt.Errorf("read question of %s: %w", e.ID, err)
	}
	e.Hold = time.Duration(hold) * time.Millisecond
	if d.ID.IsZero() {
		return r, nil
	}
	d.Escalation, d.Session, d.Team, d.Agent, d.Trigger, d.ReasonCode = e.ID, e.Session, e.TeamSlug, e.Agent, e.Trigger, e.Case.ReasonCode
	d.DecidedAt, d.Case = *decided, e.Case
	d.Outcome = outcomeOf(mark, marked)
	e.Decision = &d
	return r, nil
}

const sqlByID = sqlEscalation + `where e.id = $1`

// Load reads a question whoever asks: for verbs that have asked auth.Can. The
// problem is escalation_not_found.
func Load(ctx context.Context, db postgres.DB, esc id.Escalation) (Escalation, error) {
	rows, _ := db.Query(ctx, sqlByID, esc) // an error comes with the rows
	r, err := pgx.CollectExactlyOneRow(rows, scan)
	if err != nil {
		return Escalation{}, postgres.Problem(err, "escalation_not_found")
	}
	return r.Escalation, nil
}

const sqlLockByID = `
with e as materialized (select * from escalations where id = $1 for update)` + sqlColumns + ` from e` + sqlJoins

// LockTx locks a question's row, and says the database's time once it has it.
// The session's row must have been locked before. The problem is
// escalation_not_found.
func LockTx(ctx context.Context, tx pgx.Tx, esc id.Escalation) (Escalation, time.Time, error) {
	rows, _ := tx.Query(ctx, sqlLockByID, esc)
	r, err := pgx.CollectExactlyOneRow(rows, scan)
	if err != nil {
		return Escalation{}, time.Time{}, postgres.Problem(err, "escalation_not_found")
	}
	return r.Escalation, r.now, nil
}

// An agent's key sees what its own agent asked, and nothing else of its team.
const sqlGet = sqlEscalation + `where e.id = $1 and ($2::uuid[] is null or e.team_id = any($2)) and ($3 = '' or e.agent_slug = $3)`

// Get reads a question. Whoever may decide it sees what it is about in clear; in
// lists nobody does. The problem is escalation_not_found, also for another team's.
func (s *Store) Get(ctx context.Context, actor auth.Actor, esc id.Escalation) (Escalation, error) {
	rows, _ := s.db.Query(ctx, sqlGet, esc, actor.Teams(auth.ReadEscalation), actor.Agent)
	r, err := pgx.CollectExactlyOneRow(rows, scan)
	if err != nil {
		return Escalation{}, postgres.Problem(err, "escalation_not_found")
	}
	return s.inClear(ctx, actor, r.Escalation)
}

const sqlVersion = `
select version from escalations e where e.id = $1 and ($2::uuid[] is null or e.team_id = any($2)) and ($3 = '' or e.agent_slug = $3)`

// Version reads a question's version alone, for who waits for it to change. The
// problem is escalation_not_found.
func (s *Store) Version(ctx context.Context, actor auth.Actor, esc id.Escalation) (version int, err error) {
	err = s.db.QueryRow(ctx, sqlVersion, esc, actor.Teams(auth.ReadEscalation), actor.Agent).Scan(&version)
	return version, postgres.Problem(err, "escalation_not_found")
}

const sqlForSession = sqlEscalation + `
where e.session_id = $1 and ($2::uuid[] is null or e.team_id = any($2)) and ($3 = '' or e.agent_slug = $3)
order by e.id`

// ForSession reads the questions of a session, oldest first.
func (s *Store) ForSession(ctx context.Context, actor auth.Actor, session id.Session) ([]Escalation, error) {
	rows, _ := s.db.Query(ctx, sqlForSession, session, actor.Teams(auth.ReadEscalation), actor.Agent)
	return collect(rows)
}

func collect(rows pgx.Rows) ([]Escalation, error) {
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Escalation, error) {
		r, err := scan(row)
		return r.Escalation, err
	})
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("list questions: %w", err), "")
	}
	return list, nil
}

const sqlMarkSeen = `
update escalations set seen_at = clock_timestamp()
where id = $1 and status = 'pending' and seen_at is null and ($2::uuid[] is null or team_id = any($2))`

// MarkSeen notes that somebody who may answer has seen the question; the first
// time counts. It is no transition.
func (s *Store) MarkSeen(ctx context.Context, actor auth.Actor, esc id.Escalation) error {
	if !Decides(actor) {
		return nil
	}
	if _, err := s.db.Exec(ctx, sqlMarkSeen, esc, actor.Teams(auth.AnswerEscalation)); err != nil {
		return postgres.Problem(fmt.Errorf("mark %s as seen: %w", esc, err), "")
	}
	return nil
}
