// Package llm is what the agent loop asks for its next step: a model behind
// one interface, spoken to in neutral messages.
package llm
