// Package llm is what the agent loop asks for its next step: a model behind
// one interface, spoken to in neutral messages.
//
// A Request carries everything that any model needs: instructions, the
// conversation so far, the tools that may be called now. A vendor's room
// (llm/<vendor>) turns it into that vendor's wire format; llm/scripted hands it
// to a playbook. Both work from the same request, so what is tested with a
// playbook is what runs with a real model.
//
// The conversation is a list of Messages, each with a typed Role. Two roles are
// written by the server alone and nothing that a model or a tool writes can
// become one of them: RoleDecision (a person's answer) and RoleNotice (a
// reminder by the harness). A vendor's room must keep that boundary on the
// wire.
//
// A Reply says faithfully what came back, faults included: no text and no
// calls, two calls with one provider id, arguments that are not JSON, a stream
// that was cut. What to do about these is the agent loop's business; this room
// repairs nothing. A request that got no reply at all is an *Error, which says
// whether asking again can help.
//
// Invariants that the agent loop keeps and a model may rely on: each call of an
// assistant message is followed by exactly one result message before the next
// assistant message, in the order of the calls; a decision and notices stand
// after the results that they belong to.
//
// Streaming: Next is the only call, and its Reply is always whole. Request.Say is
// given text as it arrives, for display; it decides nothing, and a model that
// can't stream leaves it alone.
package llm
