-- Locks: a new table only; nothing that exists is touched.

-- +goose Up
-- The audit trail. A verb inserts its row in its own transaction; a job seals
-- rows into the hash chain later, in commit order, so that no verb waits for
-- the chain's head.
create table audit (
    id          bigint generated always as identity primary key,
    at          timestamptz not null default now(),
    xid         xid8 not null default pg_current_xact_id(),
    actor_kind  text not null check (actor_kind in ('person', 'key', 'agent', 'cli', 'rule', 'system')),
    actor_id    text not null,
    actor_name  text not null,
    via         text not null,
    verb        text not null,
    object_kind text not null,
    object_id   text not null,
    team_id     uuid references teams,
    before      jsonb,
    after       jsonb,
    note        text not null default ''
);
create index audit_object_idx on audit (object_kind, object_id, id);

-- +goose StatementBegin
create function audit_is_append_only() returns trigger language plpgsql as $$
begin
    raise exception 'the audit trail is append-only';
end $$;
-- +goose StatementEnd
create trigger audit_append_only before update or delete or truncate on audit
    for each statement execute function audit_is_append_only();
