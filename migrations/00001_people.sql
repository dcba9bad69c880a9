-- Locks: new tables only; nothing that exists is touched.

-- +goose Up
create table teams (
    id         uuid primary key,
    slug       text not null constraint teams_slug_key unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    created_at timestamptz not null default now()
);

create table people (
    id          uuid primary key,
    name        text not null check (name <> '' and length(name) <= 100),
    email       text,
    operator    boolean not null default false,
    language    text,
    theme       text check (theme in ('light', 'dark')),
    created_at  timestamptz not null default now(),
    disabled_at timestamptz
);
-- Names tell people apart on screen and on the command line, so Ana and ana
-- are one name.
create unique index people_name_key on people (lower(name));

create table memberships (
    person_id uuid not null references people,
    team_id   uuid not null references teams,
    role      text not null check (role in ('viewer', 'responder', 'supervisor', 'admin')),
    primary key (person_id, team_id)
);

-- One-time sign-in links. Only a hash is kept: who reads the database can't
-- sign in with what it holds.
create table sign_in_links (
    token_hash bytea primary key,
    person_id  uuid not null references people,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    used_at    timestamptz
);

-- A person's signed-in browsers.
create table logins (
    token_hash bytea primary key,
    person_id  uuid not null references people,
    user_agent text not null default '',
    created_at timestamptz not null default now(),
    seen_at    timestamptz not null default now(),
    expires_at timestamptz not null
);
create index logins_person_id_idx on logins (person_id);

-- Bearer keys: a person's, or an agent's (which may be one that has no
-- definition here).
create table api_keys (
    id           uuid primary key,
    token_hash   bytea not null constraint api_keys_token_hash_key unique,
    hint         text not null, -- the last characters, to tell keys apart
    person_id    uuid references people,
    agent_slug   text,
    team_id      uuid references teams,
    scopes       text[] not null check (scopes <> '{}'),
    created_at   timestamptz not null default now(),
    created_by   text not null,
    last_used_at timestamptz,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    constraint api_keys_owner check (num_nonnulls(person_id, agent_slug) = 1),
    constraint api_keys_agent_team check (agent_slug is null or team_id is not null)
);
