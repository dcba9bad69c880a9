-- Locks: a new table only; nothing that exists is touched.

-- +goose Up
-- What models have said so far of replies that are still coming, for viewers who
-- are with another replica than the session. A row is there while somebody
-- watches. Unlogged: it is worth nothing once the reply is there, and nothing is
-- lost with it.
create unlogged table session_drafts (
    session_id   uuid primary key,
    wanted_until timestamptz not null, -- a viewer's replica asks again before it ends
    step         int not null default 0,
    text         text not null default ''
) with (fillfactor = 50);
