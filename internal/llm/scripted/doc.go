// Package scripted is a model that plays a playbook: the embedded default for
// demos, tests and drills, behind the same interface as the real ones.
//
// A playbook is one Starlark file that defines reply(s), a pure function of the
// session so far. It is asked for each step, keeps nothing, reads no clock and
// no random number, and so gives the same reply after any crash:
//
//	def reply(s):
//	    if s.step == 0:
//	        return [say("Looking it up."), call("query_db", sql="select ...")]
//	    if s.last[0].status == "error":
//	        return [ask("The order can't be read. How shall I go on?", options=[...])]
//	    return [finish("Found it.", evidence=[s.last[0].call_id])]
//
// # What it is given
//
// The fields of s, each made when first read:
//
//	task       the task's words
//	inputs     its named values
//	step       replies of the model so far: 0 at first
//	attempt    tries of this reply, from 1; above 1 the provider failed before
//	messages   {role, text}: the task, people's messages, the model's own words
//	results    all results, oldest first
//	last       results of the latest step
//	decisions  answers of people, oldest first; decision is the latest, or None
//	tools      names of the tools that may be called now
//	notices    reminders by the harness
//
// A result has call_id, tool, args, status (success, partial, error), data,
// error_type, message, retryable, hint, context (facts about an error), notices,
// completed, failed, skipped. A decision has type, option (the letter), option_id, label, message, values,
// question, decided_by. What is JSON comes as frozen values: objects by field
// (data.rows[0].amount) or index (data["rows"]), with get, items, keys and
// values where no field has that name. Integers are exact at any size. A number
// with a fraction is a float if that is the very same number, else a string of
// its digits.
//
// # What it returns
//
// A list of say, call, finish, ask (with option), and for drills the faults of
// a model: raw_call, same_id, empty, cut, provider_error, slow; usage says what
// the reply would have cost. A playbook that raises, loops or returns anything
// else is an llm.Error of kind script that names file and line.
//
// Besides Starlark's own functions there are json.encode and json.decode, and
// for money cents("12.50") == 1250 and amount(1250) == "12.50", both exact.
// There is no load; print goes to the debug log.
package scripted
