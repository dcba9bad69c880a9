-- Locks: none that anybody waits for: a new table.

-- +goose Up
-- What an authorization server has granted to this installation, by the name under
-- which baton.yaml knows it. Tokens are sealed and bound to the name.
create table oauth_grants (
    name          text primary key,
    client        bytea not null,       -- digest of the entry: a grant to a changed one is void
    access_token  bytea,                -- null until the first is there
    expires_at    timestamptz,          -- of the access token
    claimed_until timestamptz,          -- a server is asking for a new one until then
    constraint oauth_grants_token check ((access_token is null) = (expires_at is null))
);
