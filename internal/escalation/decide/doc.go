// Package decide is where questions are decided, and the only place.
//
// Decide is one pure function: from a question, whoever answers, their answer
// and the database's time to what is to be written, or to the problem that is
// in the way. Every door calls it, so that no way in knows other rules than the
// next. The doors lock (the session first, then the question), decide, and
// write: the decision, the question's new status, the event in the session's
// ledger, the audit row and, where the session goes on at once, its job. All of
// it or nothing.
//
//	Answer  a person's answer, held for a while or not
//	Undo    takes a held answer back
//	Expire  nobody answered: what the agent's definition says then
//
// Of two people who answer at once one wins; the other is told who won, with
// what. The same answer by the same person again gets the first reply again.
//
// Nothing on the agent's side of the house imports this package, and no model,
// tool or agent's key can reach it: an agent can't approve itself.
package decide
