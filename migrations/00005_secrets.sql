-- Locks: a new table only; nothing that exists is touched.

-- +goose Up
-- Named secrets, sealed with the installation's key and bound to their name.
create table secrets (
    name       text primary key check (name ~ '^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,62}$'),
    sealed     bytea not null,
    set_at     timestamptz not null default now(),
    set_by     text not null
);
