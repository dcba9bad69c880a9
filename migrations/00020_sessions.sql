-- Locks: new tables only; nothing that exists is touched.

-- +goose Up
-- A server process that runs sessions. It beats every 2 seconds; one that has
-- not beaten for 8 is dead, and its sessions are anybody's.
create table replicas (
    id         uuid primary key,
    host       text not null,
    started_at timestamptz not null default now(),
    beat_at    timestamptz not null default now(),
    gone       boolean not null default false -- dead, and all that it held handed over
);

-- One run of an agent on one task. The columns that every step changes stand
-- side by side, those that change most last, before the texts: an update logs
-- what lies between the first and the last byte that it changes, so these few.
-- The free space in each page keeps it off the indexes (none of them is
-- indexed).
create table sessions (
    id               uuid primary key,
    replica_id       uuid references replicas,   -- the fence: who may write,
    epoch            bigint not null default 0,  -- in which of its turns at it,
                                                 -- and (write_no) what it wrote last
    inbox_seq        bigint not null default 0,  -- the last event from outside the worker
    turn             int not null default 1,
    open_questions   int not null default 0 check (open_questions >= 0),
    cost_micros      bigint not null default 0,  -- millionths of a US dollar
    tokens           bigint not null default 0,
    steps            int not null default 0,
    calls            int not null default 0,
    working_ms       bigint not null default 0,
    last_seq         bigint not null default 0,  -- of the session's events: gap-free
    write_no         bigint not null default 0,
    status           text not null default 'queued'
                     check (status in ('queued', 'running', 'waiting', 'paused', 'completed', 'failed', 'cancelled')),
    cancel_requested boolean not null default false,
    pause_requested  boolean not null default false,
    wake_at          timestamptz,
    started_at       timestamptz,
    ended_at         timestamptz,
    created_at       timestamptz not null default now(),
    team_id          uuid not null references teams,
    agent_id         uuid not null,
    agent_version    int not null,
    agent_slug       text not null,
    model            text not null,
    task             text not null,
    inputs           json not null default '{}',
    requested_by     text not null,
    outcome          text check (outcome in ('done', 'partly', 'unable', 'unverified')),
    summary          text,
    evidence         json,
    unresolved       json,
    failure          json,   -- why it failed: a message's key and parameters
    foreign key (agent_id, agent_version) references agent_versions (agent_id, version),
    check ((status in ('completed', 'failed', 'cancelled')) = (ended_at is not null)),
    check ((status = 'running') = (replica_id is not null))
) with (fillfactor = 60);

-- The sweeps: what a dead replica held, and what is due to wake.
create index sessions_running_idx on sessions (replica_id) where replica_id is not null;
create index sessions_waking_idx on sessions (wake_at) where wake_at is not null;
create index sessions_queued_idx on sessions (id) where status = 'queued';
-- Lists: a team's sessions, newest first.
create index sessions_list_idx on sessions (team_id, id desc);

-- The ledger. What a model replied, what each call led to, what people did: in
-- the order in which it happened, never updated. data is json, not jsonb: it
-- keeps the bytes as they were written, and fingerprints are made from bytes.
-- No foreign key here and below: each row is written by the statement that
-- updates its session's row, which is the check; a key would lock that row once
-- more for each insert, and log it.
create table session_events (
    session_id uuid not null,
    seq        bigint not null,
    at         timestamptz not null default clock_timestamp(),
    turn       int not null,
    step       int not null,
    call       int,
    type       text not null,
    data       json not null,
    primary key (session_id, seq)
);

-- One narrow row for each ended call, for lists and insights. Its result is in
-- the ledger. The wide columns stand first: nothing is padded between them.
create table tool_calls (
    session_id  uuid not null,
    seq         bigint not null, -- of the event with the result
    bytes       bigint not null, -- of the output, before it was cut
    started_at  timestamptz,
    ended_at    timestamptz not null default clock_timestamp(),
    n           int not null,
    turn        int not null,
    step        int not null,
    attempts    int not null,
    queued_ms   int not null,
    duration_ms int not null,
    tool        text not null,
    service     text not null default '',
    status      text not null check (status in ('succeeded', 'partial', 'failed', 'denied', 'cancelled', 'skipped', 'outcome_unknown')),
    error_type  text not null default '',
    effect      text not null default '',
    primary key (session_id, n)
);

-- What a call's tool put out, redacted, where the ledger has only a part of
-- it. In chunks of 64 KiB, cut at line ends where there are any.
create table call_outputs (
    session_id uuid not null,
    n          int not null,
    chunk      int not null,
    first_line bigint not null, -- number of the chunk's first line, from 0
    body       text not null,
    primary key (session_id, n, chunk)
);

-- Arguments that redaction changed, or that wait for an approval, sealed. The
-- row goes when the call is settled.
create table sealed_args (
    session_id uuid not null,
    n          int not null,
    sealed     bytea not null,
    primary key (session_id, n)
);

-- The same request sent twice gets the first one's reply. The row is written by
-- the transaction that did what was asked; json keeps the reply to the byte.
create table idempotency_keys (
    actor        text not null,
    key          text not null,
    request_hash bytea not null,
    reply        json not null,
    created_at   timestamptz not null default now(),
    primary key (actor, key)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
