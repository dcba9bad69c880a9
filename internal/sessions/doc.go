// Package sessions keeps agents' sessions: their state, their ledger of
// events, and the right to work on one.
//
// A session is a row and a list of events. The events are the ledger: what the
// model replied, what each call led to, what people did, in order and never
// changed; everything else about the session (its conversation, its circuits,
// its timeline) is folded from them. The row carries the state and the fence.
//
//	queued ──claim──> running ──> completed | failed | cancelled
//	   ^                 │
//	   │<── lease lost ──┤
//	   │<── wake ──── waiting   (for a person: open questions, or a hold)
//	   │<── resume ── paused
//
// One worker at a time works on a session. It holds a Lease, whose epoch and
// write number stand in the WHERE of all that it writes: once the session has
// been given to another, the former worker can write nothing. A replica (a
// server process) proves that it lives by a beat every two seconds; one silent
// for eight has lost its sessions.
//
// There are two kinds of write. The step write is one statement without BEGIN:
// events, ended calls and counters of one step. All that also touches other
// tables is a transaction, in which the session's row is locked first.
//
// What comes from outside the worker (an answer, a message, a request to stop)
// is written by its own verb and moves inbox_seq; each step write tells the
// worker how far that is, and a worker can neither park nor end a session whose
// inbox it has not read.
package sessions
