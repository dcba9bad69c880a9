package agent

import (
	"baton/internal/sessions"
	"baton/internal/tools"
)

// Own are the tools that every agent has, whatever its definition lists: with
// them it ends, reads on, and asks.
func Own(store *sessions.Store) []tools.Tool {
	return []tools.Tool{finish{}, readOutput{store}, askHuman{}}
}
