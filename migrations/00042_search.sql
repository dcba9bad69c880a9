-- Locks: sessions and escalations, against writes, while an index on a short
-- text is built: about ten seconds for each million rows.

-- +goose Up
-- Search finds words anywhere in a title, and words that are written nearly
-- the same. pg_trgm comes with Postgres, and whoever owns the database may
-- add it.
create extension if not exists pg_trgm;

-- What a session is called is the beginning of its task, which never changes.
create index sessions_title_idx on sessions using gin (left(task, 200) gin_trgm_ops);
-- A decision is called as its question.
create index escalations_title_idx on escalations using gin (title gin_trgm_ops);
