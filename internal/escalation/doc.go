// Package escalation keeps the questions that agents put to people, and the
// decisions that people took.
//
// An escalation is a question that waits: what the agent works on, what it has
// done and tried, what it can't decide, and the ways to go on. Ask is what a
// model says it wants to know; Compose makes a question of it with what the
// harness knows: what was done and tried comes from the log, and what an option
// would do comes from the tool that it is bound to, in the server's own
// sentence. What the model says is kept apart from both, and is never trusted.
//
//	         answer              apply
//	pending ───────> answered ──────────> applied
//	   ^  │             │ │
//	   │  │    undo     │ └─────────────> apply_failed
//	   └──┼─────────────┘      fail
//	      ├──> cancelled    the session ended, or the asker withdrew it
//	      ├──> expired      nobody answered in time: a result of its own kind,
//	      │                 never an empty answer
//	      └──> superseded   asked anew with other arguments
//
// The table in transition.go says which of these are legal; each is one
// transaction with its event in the session's ledger. version counts them. That
// somebody has seen a question, or took it on, is a field and no state.
//
// The rules that hold everywhere:
//
//   - A session waits exactly as long as it has open questions or a held answer.
//     So a question is raised in the transaction that parks its session, and
//     withdrawn in the one that ends it.
//   - Whoever locks a session and an escalation locks the session first. Two
//     people who answer two questions of one session at the same moment would
//     otherwise leave it waiting for ever.
//   - A question is never edited. A decision is never edited; what becomes of it
//     is a mark.
//   - Time is the database's.
//
// Nothing in this package decides. Answering, undoing and expiry are in package
// decide, which the agent's side of the house can't import: no model can reach
// what writes a decision.
package escalation
