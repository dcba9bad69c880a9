package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"baton/internal/llm"
	"baton/internal/tools"
)

// assembly builds a reply from the list that a playbook returned.
type assembly struct {
	step  int
	reply llm.Reply
	wait  time.Duration
	err   *llm.Error

	size        int
	empty, done bool
}

// add reads the list; its error says what is wrong with it.
func (a *assembly) add(v starlark.Value) error {
	list, ok := v.(starlark.Sequence)
	switch v.(type) {
	case *starlark.List, starlark.Tuple:
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("reply returned %s, want a list of say, call, ask, finish", describe(v))
	}
	it := list.Iterate()
	defer it.Done()
	var e starlark.Value
	for i := 0; it.Next(&e); i++ {
		one, ok := e.(*item)
		if !ok {
			return fmt.Errorf("element %d of the reply is %s, want say, call, ask or finish", i, describe(e))
		}
		if err := a.item(one); err != nil {
			return fmt.Errorf("element %d of the reply: %w", i, err)
		}
	}
	said := !a.reply.IsEmpty()
	switch {
	case a.err != nil && (said || a.empty || a.done):
		return errors.New("provider_error stands alone: a failed request has no reply")
	case a.empty && said:
		return errors.New("empty() stands alone")
	case a.err == nil && !a.empty && !a.done && !said:
		return errors.New("the reply says nothing; a model that says nothing is empty()")
	}
	if a.reply.Stop == "" {
		a.reply.Stop = llm.StopEndTurn
		if len(a.reply.Calls) > 0 {
			a.reply.Stop = llm.StopToolUse
		}
	}
	return nil
}

func (a *assembly) item(it *item) error {
	if a.done {
		return errors.New("nothing comes after cut()")
	}
	switch it.kind {
	case itemSay:
		if a.reply.Text != "" && it.text != "" {
			a.reply.Text += "\n\n"
		}
		a.reply.Text += it.text
		a.size += len(it.text)
	case itemCall, itemRawCall, itemSameID:
		// The id is unique in the session, as a provider's is, and the same
		// when the step is played again.
		id := fmt.Sprintf("scripted_%d_%d", a.step, len(a.reply.Calls)+1)
		for i, c := range it.calls {
			if i > 0 && it.kind != itemSameID {
				break
			}
			c.ProviderID = id
			if c.Args == nil && json.Valid([]byte(c.Raw)) {
				c.Args, c.Raw = json.RawMessage(c.Raw), ""
			}
			a.reply.Calls = append(a.reply.Calls, c)
			a.size += len(c.Args) + len(c.Raw)
		}
		if len(a.reply.Calls) > maxCalls {
			return fmt.Errorf("more than %d calls", maxCalls)
		}
	case itemEmpty:
		a.empty = true
	case itemCut:
		a.done = true
		a.reply.Stop = llm.StopCut
		if it.limit {
			a.reply.Stop = llm.StopMaxTokens
		}
		a.cut(it.limit)
	case itemError:
		a.err = it.err
	case itemSlow:
		a.wait += it.wait
	case itemUsage:
		a.reply.Usage = a.reply.Usage.Add(it.usage)
	}
	if a.size > maxReplyBytes {
		return fmt.Errorf("the reply is larger than %d bytes", maxReplyBytes)
	}
	return nil
}

// cut breaks off what came last in its middle, as a stream does: the latest
// call's arguments, or the text if there is no call.
func (a *assembly) cut(limit bool) {
	if n := len(a.reply.Calls); n > 0 {
		last := &a.reply.Calls[n-1]
		text := last.Raw
		if last.Args != nil {
			text = string(last.Args)
		}
		*last = tools.Call{Tool: last.Tool, ProviderID: last.ProviderID, Raw: half(text), Cut: limit}
		return
	}
	a.reply.Text = half(a.reply.Text)
}

func half(s string) string {
	n := len(s) / 2
	for n > 0 && s[n]&0xC0 == 0x80 { // not inside a character
		n--
	}
	return s[:n]
}

func describe(v starlark.Value) string {
	if v == starlark.None {
		return "None"
	}
	return "a " + v.Type()
}
