package agent

import (
	_ "embed"

	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

//go:embed prompts/contract.md
var contract string

// masked is what an agent with a data policy is taught besides.
//
//go:embed prompts/masked.md
var masked string

// contractVersion names the text of the contract that every agent is taught. It
// grows with each change of the text.
const contractVersion = 3

// Prompt is the system prompt of an agent, exactly as its model is sent it: the
// contract, whose number is returned as well, what its data policy asks for, and
// the agent's instructions.
func Prompt(agent definition.Agent) (system string, version int) {
	system = contract
	if sessions.PolicyOf(agent).Masks() {
		system += masked
	}
	if agent.Instructions != "" {
		system += "\n# Your work\n\n" + agent.Instructions
	}
	return system, contractVersion
}

// request is what the model is asked: a function of the agent's version and the
// state alone.
func (s *sitting) request() llm.Request {
	req := llm.Request{Tools: s.registry.Specs(), Attempt: s.st.modelTries + 1}
	req.System, _ = Prompt(s.version.Agent)
	if s.view == nil {
		window := s.version.Agent.Budgets.Window
		if window == 0 {
			window = definition.DefaultWindow // of a version from before there was the key
		}
		s.view = newView(window, fixedCost(req.System, req.Tools))
	}
	req.Messages = s.view.take(s.st.messages, s.st.marks)
	return req
}

// fixedCost is about how many tokens stand before the conversation.
func fixedCost(system string, specs []tools.Spec) int64 {
	n := tokens(len(system), textBytes10)
	for _, spec := range specs {
		n += tokens(len(spec.Name)+len(spec.Description), textBytes10) + tokens(len(spec.Schema)+40, jsonBytes10)
	}
	return n
}
