package agent

import (
	_ "embed"

	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/tools"
)

//go:embed prompts/contract.md
var contract string

// ContractVersion names the text of the contract that every agent is taught. It
// grows with each change of the text.
const ContractVersion = 1

// Contract is that text, for the page that shows it.
func Contract() string { return contract }

// System is the system prompt of an agent: the contract, and its instructions.
func System(agent definition.Agent) string {
	if agent.Instructions == "" {
		return contract
	}
	return contract + "\n# Your work\n\n" + agent.Instructions
}

// request is what the model is asked: a function of the agent's version and the
// state alone.
func (s *sitting) request() llm.Request {
	req := llm.Request{System: System(s.version.Agent), Tools: s.registry.Specs(), Attempt: s.st.modelTries + 1}
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
