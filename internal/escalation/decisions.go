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
)

// sqlOutcome is how a decision turned out: what was marked last, or else how
// the session ended that went on with it. One that let nothing happen (a
// refusal, an option without an effect) is carried out, no more, by an agent
// that couldn't do its task then: that is what it was for.
const sqlOutcome = `
left join lateral (
    select 1 as rank, m.id as nth, m.mark, m.at from decision_marks m
    where m.decision_id = d.id and m.mark in ('succeeded', 'failed', 'apply_failed', 'reverted', 'overruled')
    union all
    select 2, 0,
           case when s.status = 'completed' and s.outcome = 'done' then 'succeeded'
                when s.status = 'completed' and s.outcome = 'unable' and (d.type = 'reject'
                     or d.type = 'choose' and position(' ' || d.option_id || '! ' in ' ' || d.option_set || ' ') = 0) then 'applied'
                when s.status = 'completed' and s.outcome = 'partly' then 'partly'
                when s.status = 'completed' and s.outcome = 'unable' or s.status = 'failed' then 'failed' end, s.ended_at
    from sessions s
    where s.id = d.session_id and s.ended_at is not null
      and exists (select from decision_marks m where m.decision_id = d.id and m.mark = 'applied')
    order by rank, nth desc limit 1
) o on true
`

const sqlDecision = `
select d.id, d.version, d.escalation_id, d.session_id, t.slug, d.agent_slug, d.trigger, d.type, d.option_id, d.option_key, d.label,
       d.message, d.rationale, d.edited_args, d."values", d.decided_by_kind, d.decided_by_id, d.decided_by_name, d.via,
       d.held_until, d.decided_at, d.took_ms, d.question, u.at, o.mark, o.at,
       d.reason_code, d.option_set, d.tool, d.tool_hash, d.error_type, d.error_class, d.parameters, d.problem
from decisions d
join teams t on t.id = d.team_id
left join lateral (
    select m.at from decision_marks m where m.decision_id = d.id and m.mark = 'undone' limit 1
) u on true
` + sqlOutcome

func scanDecision(row pgx.CollectableRow) (d Decision, err error) {
	var question []byte
	var mark *Mark
	var marked *time.Time
	err = row.Scan(&d.ID, &d.Version, &d.Escalation, &d.Session, &d.Team, &d.Agent, &d.Trigger, &d.Type, &d.OptionID, &d.Option, &d.Label,
		&d.Message, &d.Rationale, &d.EditedArgs, &d.Values, &d.By.Kind, &d.By.ID, &d.By.Name, &d.Via,
		&d.HeldUntil, &d.DecidedAt, &d.TookMS, &question, &d.UndoneAt, &mark, &marked,
		&d.Case.ReasonCode, &d.Case.OptionSet, &d.Case.Tool, &d.Case.ToolHash, &d.Case.ErrorType, &d.Case.ErrorClass, &d.Case.Parameters, &d.Case.Problem)
	if err != nil {
		return d, err
	}
	d.ReasonCode, d.Question = d.Case.ReasonCode, &Question{}
	if err := json.Unmarshal(question, d.Question); err != nil {
		return d, fmt.Errorf("read question of %s: %w", d.ID, err)
	}
	d.Outcome = outcomeOf(mark, marked)
	return d, nil
}

func outcomeOf(mark *Mark, at *time.Time) *Outcome {
	switch {
	case mark == nil:
		return nil
	case *mark == MarkApplyFailed:
		return &Outcome{Status: MarkFailed, At: *at}
	}
	return &Outcome{Status: *mark, At: *at}
}

const sqlDecisionByID = sqlDecision + `where d.id = $1 and ($2::uuid[] is null or d.team_id = any($2))`

// Decision reads a decision with the question as it was then. The problem is
// decision_not_found, also for another team's.
func (s *Store) Decision(ctx context.Context, actor auth.Actor, decision id.Decision) (Decision, error) {
	rows, _ := s.db.Query(ctx, sqlDecisionByID, decision, actor.Teams(auth.ReadDecision))
	d, err := pgx.CollectExactlyOneRow(rows, scanDecision)
	if err != nil {
		return d, postgres.Problem(err, "decision_not_found")
	}
	return d, nil
}

const sqlCountDecisions = `
select count(*) from decisions d
where ($1::uuid[] is null or d.team_id = any($1)) and d.id >= $2 and d.decided_by_kind = 'person'
  and not exists (select from decision_marks m where m.decision_id = d.id and m.mark = 'undone')`

// CountDecisions is how many questions in the actor's teams people have
// answered from a time on.
func (s *Store) CountDecisions(ctx context.Context, actor auth.Actor, since time.Time) (n int, err error) {
	err = s.db.QueryRow(ctx, sqlCountDecisions, actor.Teams(auth.ReadDecision), id.From[id.Decision](since)).Scan(&n)
	if err != nil {
		return 0, postgres.Problem(fmt.Errorf("count decisions: %w", err), "")
	}
	return n, nil
}

// DecisionFilter narrows a list of decisions; zero fields don't.
type DecisionFilter struct {
	Agent   string // slug
	Team    string // slug
	Trigger Trigger
	Option  string // id
	By      string // the decider's id
	Since   time.Time
	Before  id.Decision // the last one of the page before
	Limit   int

	Escalation id.Escalation
}

const sqlDecisions = sqlDecision + `
where ($1::uuid[] is null or d.team_id = any($1)) and ($2 = '' or d.agent_slug = $2) and ($3 = '' or t.slug = $3)
  and ($4 = '' or d.trigger = $4) and ($5 = '' or d.option_id = $5) and ($6 = '' or d.decided_by_id = $6)
  and ($7::timestamptz is null or d.decided_at >= $7) and ($8::uuid is null or d.id < $8)
  and ($10::uuid is null or d.escalation_id = $10)
order by d.id desc limit $9`

// Decisions reads a page of the decisions in the actor's teams, newest first.
// Those that were undone are among them.
func (s *Store) Decisions(ctx context.Context, actor auth.Actor, f DecisionFilter) ([]Decision, error) {
	var since *time.Time
	if !f.Since.IsZero() {
		since = &f.Since
	}
	rows, _ := s.db.Query(ctx, sqlDecisions, actor.Teams(auth.ReadDecision), f.Agent, f.Team, f.Trigger, f.Option, f.By, since, f.Before, f.Limit, f.Escalation)
	return collectDecisions(rows)
}

// MaxSimilar is how many decisions about like cases are shown.
const MaxSimilar = 5

const sqlSimilar = sqlDecision + `
where ($1::uuid[] is null or d.team_id = any($1)) and d.agent_slug = $2 and d.reason_code = $3 and d.option_set = $4
  and d.escalation_id <> $5 and u.at is null and d.decided_by_kind <> 'expiry'
order by d.id desc limit $6`

// Similar reads the last decisions about questions of the same agent with the
// same reason code and the same options, newest first. What was undone, and
// what nobody decided, is left out.
func (s *Store) Similar(ctx context.Context, actor auth.Actor, e Escalation) ([]Decision, error) {
	rows, _ := s.db.Query(ctx, sqlSimilar, actor.Teams(auth.ReadDecision), e.Agent, e.Case.ReasonCode, e.Case.OptionSet, e.ID, MaxSimilar)
	return collectDecisions(rows)
}

func collectDecisions(rows pgx.Rows) ([]Decision, error) {
	list, err := pgx.CollectRows(rows, scanDecision)
	if err != nil {
		return nil, postgres.Problem(fmt.Errorf("list decisions: %w", err), "")
	}
	return list, nil
}
