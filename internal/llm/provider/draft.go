package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"baton/internal/llm"
	"baton/internal/tools"
)

// Bounds of one reply, beyond which it is no use to anybody.
const (
	maxText  = 4 << 20 // bytes of text and arguments
	maxCalls = 128
)

// Draft is a reply while it is streamed. It belongs to one goroutine.
type Draft struct {
	// Stop is why the provider says that it ended; empty until it does.
	Stop llm.StopReason
	// Done is set once the stream has come to its end.
	Done   bool
	Tokens llm.Tokens
	Model  string // what answered, by the provider's name

	say   func(string)
	text  strings.Builder
	calls []*draftCall
	size  int
}

type draftCall struct {
	id, tool string
	args     strings.Builder
	// whole are the arguments of a call that came without a stream of them.
	whole string
}

// NewDraft begins a reply, of whose text each piece is said as it comes.
func NewDraft(req llm.Request) *Draft {
	say := req.Say
	if say == nil {
		say = func(string) {}
	}
	return &Draft{say: say}
}

// Say adds text.
func (d *Draft) Say(piece string) {
	if piece == "" || d.tooLarge() {
		return
	}
	d.size += len(piece)
	d.text.WriteString(piece)
	d.say(piece)
}

// Call begins a call, and returns its place. whole are its arguments if no
// piece of them follows.
func (d *Draft) Call(id, tool, whole string) (place int) {
	d.calls = append(d.calls, &draftCall{id: id, tool: tool, whole: whole})
	return len(d.calls) - 1
}

// Args adds to the arguments of the call in a place.
func (d *Draft) Args(place int, piece string) {
	if d.tooLarge() {
		return
	}
	d.size += len(piece)
	d.calls[place].args.WriteString(piece)
}

func (d *Draft) tooLarge() bool { return d.size > maxText || len(d.calls) > maxCalls }

// Reply is what came, once no more does. ended is the error that the stream
// ended with, nil for its proper end. What the model wrote is not repaired: a
// stream that broke is StopCut, one for which nobody waited longer an error.
func (d *Draft) Reply(ctx context.Context, c *Connection, ended error, model string, price llm.Price) (llm.Reply, error) {
	switch {
	case d.tooLarge():
		return llm.Reply{}, &llm.Error{Kind: llm.InvalidReply, Message: fmt.Sprintf("the reply holds more than %d bytes or %d calls", maxText, maxCalls)}
	case ended != nil && !d.Done && timedOut(ctx, ended):
		return llm.Reply{}, c.Lost(ctx, ended)
	case !d.Done:
		d.Stop = llm.StopCut
	}
	r := llm.Reply{Text: d.text.String(), Stop: d.Stop, Usage: price.Usage(d.Tokens), Model: model}
	for i, call := range d.calls {
		args := call.args.String()
		if args == "" {
			args = call.whole
		}
		out := tools.Call{ProviderID: call.id, Tool: call.tool}
		out.Cut = d.Stop == llm.StopMaxTokens && i == len(d.calls)-1
		if json.Valid([]byte(args)) {
			out.Args = json.RawMessage(args)
		} else {
			out.Raw = args
		}
		r.Calls = append(r.Calls, out)
	}
	switch {
	case r.Stop == "" || r.Stop == llm.StopEndTurn && len(r.Calls) > 0:
		r.Stop = llm.StopEndTurn
		if len(r.Calls) > 0 {
			r.Stop = llm.StopToolUse
		}
	case r.Stop == llm.StopToolUse && len(r.Calls) == 0:
		r.Stop = llm.StopEndTurn
	}
	return r, nil
}
