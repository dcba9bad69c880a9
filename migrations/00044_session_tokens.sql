-- Locks: none that anybody waits for: a new table.

-- +goose Up
-- The values that a session's model knows by placeholders alone, each sealed and
-- bound to its session and placeholder. They go when the session ends.
create table session_tokens (
    session_id  uuid not null,
    placeholder text not null,
    sealed      bytea not null,
    primary key (session_id, placeholder)
);
