// Package tools is the harness around tool calls: what a tool is, what a call
// may do (Prepare), and how it is run so that exactly one readable, bounded
// result comes back whatever the tool does (Execute).
//
// The model is an unreliable executor and a tool is an unreliable program, so
// nothing here rests on what either of them promises.
//
//	model's reply -> Call -> Prepare -> Plan -> Execute -> Outcome{Result, ...}
//	                         (pure)              (never panics, never errs)
//
// Read the types in this order: Spec and Tool (what an author writes), Call
// (what a model asked for), Facts and Plan (what is known, what may be done),
// Result and Failure (what came of it). Prepare is a pure function from a call
// and facts to a plan; the plan is stored before anything runs. Execute turns a
// ready plan into an Outcome.
//
// The vocabulary of this package is for models and for logs, in English.
// Errors for people are problem.Error, another vocabulary; the two never mix.
package tools
