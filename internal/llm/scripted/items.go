package scripted

import (
	"errors"
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"baton/internal/llm"
	"baton/internal/tools"
)

// item is one element of the list that reply returns.
type item struct {
	kind  itemKind
	text  string       // say
	calls []tools.Call // call, raw_call: one; same_id: two or more
	limit bool         // cut: by the output limit
	err   *llm.Error   // provider_error
	wait  time.Duration
	usage llm.Usage
}

type itemKind string

const (
	itemSay     itemKind = "say"
	itemCall    itemKind = "call"
	itemRawCall itemKind = "raw_call"
	itemSameID  itemKind = "same_id"
	itemEmpty   itemKind = "empty"
	itemCut     itemKind = "cut"
	itemError   itemKind = "provider_error"
	itemSlow    itemKind = "slow"
	itemUsage   itemKind = "usage"
)

func (it *item) String() string        { return "<" + string(it.kind) + ">" }
func (it *item) Type() string          { return string(it.kind) }
func (it *item) Freeze()               {}
func (it *item) Truth() starlark.Bool  { return true }
func (it *item) Hash() (uint32, error) { return 0, errors.New("unhashable type: " + string(it.kind)) }

// builtin is the signature that Starlark calls a Go function with.
type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

func sayBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "text", &text); err != nil {
		return nil, err
	}
	return &item{kind: itemSay, text: text}, nil
}

// callBuiltin takes the tool by position, so that an argument of the tool may
// itself be called "tool".
func callBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("call: got %d positional arguments, want the tool's name, then its arguments by name", len(args))
	}
	tool, ok := starlark.AsString(args[0])
	if !ok || tool == "" {
		return nil, fmt.Errorf("call: the tool is %s, want a name", args[0])
	}
	return newCall(b.Name(), tool, kwargs)
}

func newCall(who, tool string, fields []starlark.Tuple) (*item, error) {
	e := encoder{max: maxArgsBytes}
	if err := e.mapping(fields, 0); err != nil {
		return nil, fmt.Errorf("%s: arguments of %s: %w", who, tool, err)
	}
	if e.buf.Len() > maxArgsBytes {
		return nil, fmt.Errorf("%s: arguments of %s are larger than %d bytes", who, tool, maxArgsBytes)
	}
	return &item{kind: itemCall, calls: []tools.Call{{Tool: tool, Args: e.buf.Bytes()}}}, nil
}

func rawCallBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var tool, text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "tool", &tool, "text", &text); err != nil {
		return nil, err
	}
	return &item{kind: itemRawCall, calls: []tools.Call{{Tool: tool, Raw: text}}}, nil
}

func sameIDBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) < 2 || len(kwargs) > 0 {
		return nil, fmt.Errorf("%s: want two or more calls", b.Name())
	}
	group := &item{kind: itemSameID}
	for _, arg := range args {
		it, ok := arg.(*item)
		if !ok || it.kind != itemCall && it.kind != itemRawCall {
			return nil, fmt.Errorf("%s: got %s, want call(...)", b.Name(), arg.Type())
		}
		group.calls = append(group.calls, it.calls...)
	}
	return group, nil
}

func emptyBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return &item{kind: itemEmpty}, starlark.UnpackArgs(b.Name(), args, kwargs)
}

func cutBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	it := &item{kind: itemCut}
	return it, starlark.UnpackArgs(b.Name(), args, kwargs, "limit?", &it.limit)
}

func providerErrorBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var status int
	var retryAfter starlark.Value = starlark.None
	var kind string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "status", &status, "retry_after?", &retryAfter, "kind?", &kind); err != nil {
		return nil, err
	}
	e := &llm.Error{Kind: llm.KindOfStatus(status), Status: status, Message: "played by the playbook"}
	switch k := llm.ErrorKind(kind); k {
	case "":
	case llm.RateLimited, llm.Overloaded, llm.Timeout, llm.ContextTooLong, llm.Refused, llm.InvalidRequest, llm.InvalidReply:
		e.Kind = k
	default:
		return nil, fmt.Errorf("%s: kind %q is not known", b.Name(), kind)
	}
	if retryAfter != starlark.None {
		d, err := seconds(b.Name(), retryAfter)
		if err != nil {
			return nil, err
		}
		e.RetryAfter = d
	}
	return &item{kind: itemError, err: e}, nil
}

func slowBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var secs starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "seconds", &secs); err != nil {
		return nil, err
	}
	d, err := seconds(b.Name(), secs)
	if err != nil {
		return nil, err
	}
	return &item{kind: itemSlow, wait: d}, nil
}

// maxSeconds bounds slow and retry_after: ten days.
const maxSeconds = 10 * 24 * 3600

func seconds(who string, v starlark.Value) (time.Duration, error) {
	f, ok := starlark.AsFloat(v)
	if !ok || !(f >= 0 && f <= maxSeconds) {
		return 0, fmt.Errorf("%s: got %s, want seconds from 0 to %d", who, v, maxSeconds)
	}
	return time.Duration(f * float64(time.Second)), nil
}

func usageBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var in, out int
	var cost starlark.Value = starlark.MakeInt(0)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "input_tokens?", &in, "output_tokens?", &out, "cost_usd?", &cost); err != nil {
		return nil, err
	}
	micros, err := minorUnits(cost, 6)
	if err != nil {
		return nil, fmt.Errorf("%s: cost_usd: %w", b.Name(), err)
	}
	if in < 0 || out < 0 || micros.Sign() < 0 || !micros.IsInt64() {
		return nil, fmt.Errorf("%s: want numbers from 0", b.Name())
	}
	return &item{kind: itemUsage, usage: llm.Usage{InputTokens: int64(in), OutputTokens: int64(out), CostMicros: micros.Int64()}}, nil
}
