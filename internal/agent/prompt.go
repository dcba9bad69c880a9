package agent

import (
	_ "embed"
	"strings"

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

// request is what the model is asked: a function of the agent's version and the
// state alone.
func request(agent definition.Version, registry *tools.Registry, s *state, attempt int) llm.Request {
	var system strings.Builder
	system.WriteString(contract)
	if agent.Agent.Instructions != "" {
		system.WriteString("\n# Your work\n\n")
		system.WriteString(agent.Agent.Instructions)
	}
	return llm.Request{System: system.String(), Messages: s.messages, Tools: registry.Specs(), Attempt: attempt}
}
