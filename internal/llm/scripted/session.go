package scripted

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"baton/internal/llm"
	"baton/internal/tools"
)

// record is a value with named fields that are made when first read, so that a
// step which looks at one result doesn't pay for the other 199.
type record struct {
	kind   string
	names  []string
	source any
	load   func(source any, name string) (starlark.Value, error)
	loaded map[string]starlark.Value
}

var _ starlark.HasAttrs = (*record)(nil)

func (r *record) Type() string          { return r.kind }
func (r *record) Freeze()               {} // it has no way to change
func (r *record) Truth() starlark.Bool  { return true }
func (r *record) Hash() (uint32, error) { return 0, errors.New("unhashable type: " + r.kind) }
func (r *record) AttrNames() []string   { return r.names }
func (r *record) String() string {
	text, err := toJSON(r, maxReplyBytes)
	if err != nil {
		return "<" + r.kind + ">"
	}
	return r.kind + string(text)
}

func (r *record) Attr(name string) (starlark.Value, error) {
	if v, ok := r.loaded[name]; ok {
		return v, nil
	}
	if !slices.Contains(r.names, name) {
		return nil, nil
	}
	v, err := r.load(r.source, name)
	if err != nil {
		return nil, fmt.Errorf("read %s.%s: %w", r.kind, name, err)
	}
	v.Freeze()
	if r.loaded == nil {
		r.loaded = map[string]starlark.Value{}
	}
	r.loaded[name] = v
	return v, nil
}

// items are all fields in their documented order.
func (r *record) items() ([]starlark.Tuple, error) {
	items := make([]starlark.Tuple, 0, len(r.names))
	for _, name := range r.names {
		v, err := r.Attr(name)
		if err != nil {
			return nil, err
		}
		items = append(items, starlark.Tuple{starlark.String(name), v})
	}
	return items, nil
}

var sessionFields = []string{
	"task", "inputs", "step", "attempt", "messages", "results", "last",
	"decisions", "decision", "tools", "notices",
}

// newSession is s, the argument of reply.
func newSession(req *llm.Request) *record {
	return &record{kind: "session", names: sessionFields, source: req, load: loadSession}
}

func loadSession(source any, name string) (starlark.Value, error) {
	req := source.(*llm.Request)
	switch name {
	case "task":
		for i := range req.Messages {
			if req.Messages[i].Role == llm.RoleTask {
				return starlark.String(req.Messages[i].Text), nil
			}
		}
		return starlark.String(""), nil
	case "inputs":
		for i := range req.Messages {
			if m := &req.Messages[i]; m.Role == llm.RoleTask && m.Inputs != nil {
				return fromJSON(m.Inputs)
			}
		}
		return fromJSON([]byte("{}"))
	case "step":
		return starlark.MakeInt(stepOf(req)), nil
	case "attempt":
		return starlark.MakeInt(max(req.Attempt, 1)), nil
	case "messages":
		return messages(req), nil
	case "results":
		return results(req.Messages), nil
	case "last":
		return results(req.Messages[lastReply(req.Messages):]), nil
	case "decisions":
		return decisions(req.Messages), nil
	case "decision":
		for i := len(req.Messages) - 1; i >= 0; i-- {
			if d := req.Messages[i].Decision; d != nil {
				return newDecision(d), nil
			}
		}
		return starlark.None, nil
	case "tools":
		names := make([]starlark.Value, len(req.Tools))
		for i := range req.Tools {
			names[i] = starlark.String(req.Tools[i].Name)
		}
		return starlark.NewList(names), nil
	default: // notices
		var texts []starlark.Value
		for i := range req.Messages {
			if m := &req.Messages[i]; m.Role == llm.RoleNotice {
				texts = append(texts, starlark.String(m.Text))
			}
		}
		return starlark.NewList(texts), nil
	}
}

// stepOf counts the replies so far.
func stepOf(req *llm.Request) int {
	n := 0
	for i := range req.Messages {
		if req.Messages[i].Role == llm.RoleAssistant {
			n++
		}
	}
	return n
}

// lastReply is the index of the latest assistant message, or the end.
func lastReply(msgs []llm.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == llm.RoleAssistant {
			return i
		}
	}
	return len(msgs)
}

var messageFields = []string{"role", "text"}

func messages(req *llm.Request) starlark.Value {
	var list []starlark.Value
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case llm.RoleTask, llm.RolePerson, llm.RoleAssistant:
			if m.Text != "" {
				list = append(list, &record{kind: "message", names: messageFields, source: m, load: loadMessage})
			}
		}
	}
	return starlark.NewList(list)
}

func loadMessage(source any, name string) (starlark.Value, error) {
	m := source.(*llm.Message)
	if name == "role" {
		return starlark.String(m.Role), nil
	}
	return starlark.String(m.Text), nil
}

var decisionFields = []string{
	"type", "option", "option_id", "label", "message", "values", "question", "decided_by",
}

func decisions(msgs []llm.Message) starlark.Value {
	var list []starlark.Value
	for i := range msgs {
		if d := msgs[i].Decision; d != nil {
			list = append(list, newDecision(d))
		}
	}
	return starlark.NewList(list)
}

func newDecision(d *llm.Decision) *record {
	return &record{kind: "decision", names: decisionFields, source: d, load: loadDecision}
}

func loadDecision(source any, name string) (starlark.Value, error) {
	d := source.(*llm.Decision)
	switch name {
	case "type":
		return starlark.String(d.Type), nil
	case "option":
		return orNone(d.Option), nil
	case "option_id":
		return orNone(d.OptionID), nil
	case "label":
		return orNone(d.Label), nil
	case "message":
		return starlark.String(d.Message), nil
	case "values":
		if d.Values == nil {
			return fromJSON([]byte("{}"))
		}
		return fromJSON(d.Values)
	case "question":
		return starlark.String(d.Question), nil
	default: // decided_by
		return starlark.String(d.DecidedBy), nil
	}
}

var resultFields = []string{
	"call_id", "tool", "args", "status", "data", "error_type", "message",
	"retryable", "hint", "context", "notices", "completed", "failed", "skipped",
}

func results(msgs []llm.Message) starlark.Value {
	var list []starlark.Value
	for i := range msgs {
		if r := msgs[i].Result; r != nil {
			list = append(list, &record{kind: "result", names: resultFields, source: r, load: loadResult})
		}
	}
	return starlark.NewList(list)
}

func loadResult(source any, name string) (starlark.Value, error) {
	r := source.(*llm.Result)
	switch name {
	case "call_id":
		return starlark.String(r.CallID), nil
	case "tool":
		return starlark.String(r.Tool), nil
	case "args":
		return jsonOrNone(r.Args)
	case "status":
		return starlark.String(r.Result.Status()), nil
	case "data":
		return jsonOrNone(r.Result.Data())
	case "error_type":
		return orNone(string(r.Result.ErrorType())), nil
	case "message":
		return starlark.String(r.Result.Message()), nil
	case "retryable":
		return orNone(string(r.Result.Retryable())), nil
	case "hint":
		return texts(r.Result.Hint()), nil
	case "context":
		return jsonOrNone(r.Result.Context())
	case "notices":
		return texts(r.Result.Notices()), nil
	case "completed":
		return batchItems(r.Result.Completed()), nil
	case "failed":
		return batchItems(r.Result.Failed()), nil
	default: // skipped
		return batchItems(r.Result.Skipped()), nil
	}
}

var itemFields = []string{"item", "data", "error_type", "reason", "retryable"}

func batchItems(items []tools.Item) starlark.Value {
	list := make([]starlark.Value, len(items))
	for i := range items {
		list[i] = &record{kind: "item", names: itemFields, source: &items[i], load: loadItem}
	}
	return starlark.NewList(list)
}

func loadItem(source any, name string) (starlark.Value, error) {
	it := source.(*tools.Item)
	switch name {
	case "item":
		return starlark.String(it.Item), nil
	case "data":
		return jsonOrNone(it.Data)
	case "error_type":
		return orNone(string(it.Type)), nil
	case "reason":
		return starlark.String(it.Reason), nil
	default: // retryable
		return orNone(string(it.Retryable)), nil
	}
}

func orNone(s string) starlark.Value {
	if s == "" {
		return starlark.None
	}
	return starlark.String(s)
}

func jsonOrNone(text []byte) (starlark.Value, error) {
	if text == nil {
		return starlark.None, nil
	}
	return fromJSON(text)
}

func texts(list []string) starlark.Value {
	values := make([]starlark.Value, len(list))
	for i, s := range list {
		values[i] = starlark.String(s)
	}
	return starlark.NewList(values)
}
