package llm

import (
	"context"

	"baton/internal/tools"
)

// Model gives the next step of a conversation. Implementations are safe for
// concurrent use: one Model serves many sessions.
type Model interface {
	// Next asks for one reply. It honours ctx, tries once (retrying is the
	// agent loop's), and returns either a reply or an *Error.
	Next(ctx context.Context, req Request) (Reply, error)
}

// Request is everything that a model is told for one step.
type Request struct {
	// System is the harness's contract and the agent's instructions.
	System string
	// Messages is the conversation so far, oldest first.
	Messages []Message
	// Tools are those that may be called now, in the order shown to the model.
	Tools []tools.Spec
	// MaxOutputTokens bounds the reply; 0 leaves it to the model's default.
	MaxOutputTokens int
	// Attempt counts the tries for this one reply, from 1 (0 means 1). A model
	// that was overloaded is asked the same again; the number is for the
	// provider's logs and for playbooks that play a provider's faults.
	Attempt int
	// Say takes the text of the reply as it comes, piece by piece and from one
	// goroutine, before Next returns. Nil: nobody listens.
	Say func(piece string)
}

// Reply is one response of a model, as it came.
type Reply struct {
	Text  string
	Calls []tools.Call // in the model's order
	Stop  StopReason
	Usage Usage
	// Model names what answered, for instance "anthropic/<model>"; it may
	// differ from what was asked for.
	Model string
}

// IsEmpty says whether the reply holds neither text nor a call.
func (r Reply) IsEmpty() bool { return r.Text == "" && len(r.Calls) == 0 }

// StopReason says why a reply ended.
type StopReason string

// The reasons. Only after the first two is the reply whole.
const (
	StopEndTurn       StopReason = "end_turn"       // the model had no more to say
	StopToolUse       StopReason = "tool_use"       // it waits for the results of its calls
	StopMaxTokens     StopReason = "max_tokens"     // cut by the output limit: the last call may be cut
	StopContentFilter StopReason = "content_filter" // the provider withheld the rest
	StopCut           StopReason = "cut"            // the stream broke: no call of it may run
)

// Usage is what a reply cost.
type Usage struct {
	InputTokens  int64
	OutputTokens int64
	// CostMicros is the price in millionths of a US dollar. Whole numbers, so
	// that the sum over a session is exact.
	CostMicros int64
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CostMicros + v.CostMicros}
}
