-- Locks: none that anybody waits for: a new table.

-- +goose Up
-- Services that calls have failed at, over all sessions and replicas. A row is
-- written when a call fails and deleted when one succeeds, so that as long as
-- all is well there is none.
create table breakers (
    service   text primary key,
    tool      text not null, -- of the last call that failed
    failures  int not null,  -- in a row
    opened    int not null default 0, -- times that it was opened since it was last closed
    until     timestamptz,   -- no call goes there before; null while it is closed
    reason    text not null, -- of the last failure, redacted
    failed_at timestamptz not null default now()
);
