-- Locks: new tables only; nothing that exists is touched.

-- +goose Up
-- A question to people. The columns that transitions change stand first; the
-- question itself is written once: changed arguments make a new question.
create table escalations (
    id          uuid primary key,
    number      bigint generated always as identity constraint escalations_number_key unique, -- ESC-<number>
    version     int not null default 1, -- counts transitions
    status      text not null default 'pending'
                check (status in ('pending', 'answered', 'applied', 'apply_failed', 'cancelled', 'expired', 'superseded')),
    decision_id uuid,        -- the one in force
    held_until  timestamptz, -- until then the answer can be taken back
    seen_at     timestamptz, -- by somebody who may answer
    answered_at timestamptz,
    closed_at   timestamptz,
    expires_at  timestamptz not null,
    due_at      timestamptz not null,
    created_at  timestamptz not null default now(),
    team_id     uuid not null references teams,
    agent_slug  text not null,
    session_id  uuid references sessions, -- none: an agent that runs elsewhere asks
    call        int,
    group_id    text not null default '', -- questions raised together
    kind        text not null check (kind in ('options', 'approval', 'input', 'failed', 'completed')),
    trigger     text not null
                check (trigger in ('sensitive_action', 'ambiguous_decision', 'repeated_failure', 'budget_exhausted',
                                   'tool_blocked', 'poison_loop', 'external_input', 'external')
                       or trigger = '' and kind = 'completed'),
    priority    text not null check (priority in ('low', 'normal', 'high')),
    on_expiry   text not null,
    hold_ms     int not null check (hold_ms between 0 and 1800000),
    title       text not null,
    question    json not null, -- as it was asked, whole

    -- What kind of case it is: decisions about like cases are found by it.
    reason_code text not null default '',
    option_set  text not null,             -- the options' ids, sorted, and which have an effect
    tool        text not null default '',  -- whose call is to be decided, or failed
    tool_hash   text not null default '',
    error_type  text not null default '',
    error_class text not null default '',
    parameters  json not null default '{}',
    problem     text not null default '',  -- with numbers, ids and dates masked

    check ((status in ('pending', 'answered')) = (closed_at is null)),
    check (status not in ('answered', 'applied', 'apply_failed') or decision_id is not null),
    check (status not in ('pending', 'cancelled', 'superseded') or decision_id is null),
    check ((session_id is null) = (call is null))
);

-- The inbox: what waits, in the order in which it is due.
create index escalations_inbox_idx on escalations (team_id, due_at, id) where status = 'pending';
-- What is going out: answers that can still be taken back.
create index escalations_held_idx on escalations (team_id, held_until) where status = 'answered';
-- Lists, newest first; a session's questions.
create index escalations_list_idx on escalations (team_id, id desc);
create index escalations_session_idx on escalations (session_id, id) where session_id is not null;

-- An answer, kept for good: the question as it was then, who decided what, and
-- the case that it was. What becomes of it later are marks.
create table decisions (
    id              uuid primary key,
    escalation_id   uuid not null references escalations,
    version         int not null, -- the escalation's, with this decision
    team_id         uuid not null references teams,
    agent_slug      text not null,
    session_id      uuid references sessions,
    kind            text not null,
    trigger         text not null,
    type            text not null check (type in ('choose', 'approve', 'edit', 'reject', 'respond', 'acknowledge')),
    option_id       text not null default '',
    option_key      text not null default '', -- the letter that was shown
    label           text not null default '',
    message         text not null default '', -- to the agent
    rationale       text not null default '', -- for the record
    edited_args     json,
    "values"        json,
    -- No agent stands here: nothing that a model writes decides.
    decided_by_kind text not null check (decided_by_kind in ('person', 'rule', 'expiry')),
    decided_by_id   text not null,
    decided_by_name text not null,
    via             text not null,
    rule_id         uuid,
    suggested       text,         -- the option that was suggested, if one was
    held_until      timestamptz,
    took_ms         bigint not null, -- since it was first seen, or else asked
    decided_at      timestamptz not null,
    question        json not null,
    reason_code     text not null,
    option_set      text not null,
    tool            text not null,
    tool_hash       text not null,
    error_type      text not null,
    error_class     text not null,
    parameters      json not null,
    problem         text not null,
    check ((type = 'choose') = (option_id <> ''))
);
create index decisions_escalation_idx on decisions (escalation_id);
create index decisions_list_idx on decisions (team_id, id desc);
-- Like cases, newest first.
create index decisions_case_idx on decisions (agent_slug, reason_code, option_set, id desc);

alter table escalations add constraint escalations_decision_fkey foreign key (decision_id) references decisions;

-- What became of a decision.
create table decision_marks (
    id          bigint generated always as identity primary key,
    decision_id uuid not null references decisions,
    at          timestamptz not null default clock_timestamp(),
    mark        text not null check (mark in ('undone', 'applied', 'apply_failed', 'succeeded', 'failed', 'reverted', 'overruled')),
    note        text not null default '',
    by_name     text not null
);
create index decision_marks_decision_idx on decision_marks (decision_id, id);

-- +goose StatementBegin
create function decisions_are_kept() returns trigger language plpgsql as $$
begin
    raise exception 'decisions and their marks are never changed; a correction is a new row';
end $$;
-- +goose StatementEnd
create trigger decisions_are_kept before update or delete or truncate on decisions
    for each statement execute function decisions_are_kept();
create trigger decision_marks_are_kept before update or delete or truncate on decision_marks
    for each statement execute function decisions_are_kept();
