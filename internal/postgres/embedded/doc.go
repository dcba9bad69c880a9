// Package embedded runs a Postgres of Baton's own, so that the product starts
// on a machine with nothing set up.
//
// A data directory has one owner at a time: the process that holds the lock on
// owner.lock. The owner starts Postgres as its child, on a Unix socket only, as
// an unprivileged user even when it runs as root, and ends it when it ends
// itself; on Linux the kernel sees to that even after kill -9. What the owner
// is reached by stands in run.json, so that commands beside it (CLI) can attach.
//
//	<data dir>/owner.lock    flock, held by the owner
//	<data dir>/run.json      pid, database url, web address
//	<data dir>/postgres/     the cluster (PGDATA)
//
// Starting finds what the last life left behind: a running orphan is ended, a
// stale postmaster.pid is survived, and Postgres recovers from its log.
package embedded
