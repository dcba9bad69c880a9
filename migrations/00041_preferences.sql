-- Locks: people, for a moment: a column with a constant default rewrites nothing.

-- +goose Up
-- Whether pages act on single keys. Some people's software types letters that
-- are no commands (speech input), so it can be turned off.
alter table people add column single_keys boolean not null default true;
