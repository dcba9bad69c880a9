// Package agent is the loop: it asks the model for the next step of a session,
// lets the harness run the calls, and writes down what came of it, until the
// session parks (it needs a person) or ends.
//
// The loop keeps nothing. All that it knows is folded from the session's ledger
// (state.go), by the same code whether the events are read back after a crash
// or were written a moment ago. So a worker may die at any instant, and another
// goes on from the last committed event:
//
//	reply recorded, calls open  -> don't ask the model again; settle the calls
//	call started, no result     -> run it again if that is safe; else its outcome
//	                               is unknown, and it is not repeated
//	nothing open                -> ask the model for the next step
//
// One step is two writes for a reply with one call: the reply with the plans of
// its calls (what will be run is on record before it runs), and the result. A
// result is written when its call ends; it waits for no slower sibling and for
// no model. No transaction is open while a model or a tool works.
//
// The package also holds the tools that need it: finish, read_output,
// ask_human. It alone ends sessions. It owns no table.
package agent
