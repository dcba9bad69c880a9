-- Locks: new tables only; nothing that exists is touched but teams, on which
-- the foreign key takes a share row exclusive lock for an instant.

-- +goose Up
create table agents (
    id              uuid primary key,
    team_id         uuid not null references teams,
    slug            text not null constraint agents_slug_key unique,
    name            text not null,
    current_version int  not null,
    created_at      timestamptz not null default now(),
    updated_at      timestamptz not null default now()
);
create index agents_team_id_idx on agents (team_id);

-- A version never changes: sessions run on the one that they began with.
create table agent_versions (
    agent_id   uuid not null references agents,
    version    int  not null check (version > 0),
    source     text not null, -- the YAML as written
    playbook   text,          -- the playbook as written, if there is one
    spec       jsonb not null, -- what was read, every default filled in
    hash       bytea not null, -- of source and playbook
    created_at timestamptz not null default now(),
    created_by text not null,
    primary key (agent_id, version),
    constraint agent_versions_hash_key unique (agent_id, hash)
);

-- Deferred, since an agent and its first version point at each other.
alter table agents add constraint agents_current_version_fkey
    foreign key (id, current_version) references agent_versions (agent_id, version)
    deferrable initially deferred;
