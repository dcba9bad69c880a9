package scripted

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"baton/internal/llm"
)

// Limits of a playbook. They are far above what a conversation needs, and keep
// a faulty one from costing more than its own session.
const (
	MaxSourceBytes = 256 << 10        // of one file
	maxSteps       = 2_000_000        // Starlark steps of one reply: some tens of milliseconds
	maxTime        = 10 * time.Second // ends single long operations; elsewhere the steps run out first, on a busy machine too
	maxArgsBytes   = 256 << 10        // of one call
	maxReplyBytes  = 1 << 20          // of one reply, all told
	maxCalls       = 128              // in one reply
	maxPrintBytes  = 2_000
)

// Playbook is a compiled playbook. It is an llm.Model, safe for concurrent use.
type Playbook struct {
	name  string // the file's
	model string // what Reply.Model says
	reply *starlark.Function
}

var _ llm.Model = (*Playbook)(nil)

// SourceError is one fault in a playbook's source.
type SourceError struct {
	File      string
	Line, Col int // from 1; 0 if the fault is in no one place
	Reason    string
}

func (e SourceError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Reason
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Reason)
}

// SourceErrors are all faults that were found, in the order of the source.
type SourceErrors []SourceError

func (e SourceErrors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Compile reads a playbook. name is the file's name, for messages. The error is
// of type SourceErrors.
func Compile(name, source string) (*Playbook, error) {
	if len(source) > MaxSourceBytes {
		return nil, SourceErrors{{File: name, Reason: fmt.Sprintf("the playbook has %d bytes, more than %d", len(source), MaxSourceBytes)}}
	}
	options := &syntax.FileOptions{Set: true, TopLevelControl: true}
	names := predeclared()
	_, prog, err := starlark.SourceProgramOptions(options, name, source, names.Has)
	if err != nil {
		return nil, sourceErrors(name, err)
	}
	if prog.NumLoads() > 0 {
		_, pos := prog.Load(0)
		return nil, SourceErrors{at(pos, "load is not available: a playbook is one file")}
	}
	thread := &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	stop := limit(context.Background(), thread)
	globals, err := prog.Init(thread, names)
	stop()
	if err != nil {
		return nil, sourceErrors(name, err)
	}
	globals.Freeze() // so that nothing is kept between replies
	fn, ok := globals["reply"].(*starlark.Function)
	if !ok {
		return nil, SourceErrors{{File: name, Reason: "no function reply(s) is defined"}}
	}
	if required := fn.NumParams() - fn.NumKwonlyParams(); required != 1 || fn.HasVarargs() || fn.HasKwargs() || fn.NumKwonlyParams() > 0 {
		return nil, SourceErrors{at(fn.Position(), "reply must take one parameter, the session: reply(s)")}
	}
	return &Playbook{name: name, model: "scripted/" + strings.TrimSuffix(name, ".star"), reply: fn}, nil
}

// predeclared are the names that a playbook may use besides Starlark's own. A
// new map each time: no two playbooks share a value that one could change.
func predeclared() starlark.StringDict {
	names := starlark.StringDict{}
	for name, fn := range map[string]builtin{
		"say": sayBuiltin, "call": callBuiltin, "finish": finishBuiltin, "ask": askBuiltin,
		"option": optionBuiltin, "raw_call": rawCallBuiltin, "same_id": sameIDBuiltin,
		"empty": emptyBuiltin, "cut": cutBuiltin, "provider_error": providerErrorBuiltin,
		"slow": slowBuiltin, "usage": usageBuiltin, "cents": centsBuiltin, "amount": amountBuiltin,
	} {
		names[name] = starlark.NewBuiltin(name, fn)
	}
	names["json"] = &starlarkstruct.Module{Name: "json", Members: starlark.StringDict{
		"encode": starlark.NewBuiltin("json.encode", encodeBuiltin),
		"decode": starlark.NewBuiltin("json.decode", decodeBuiltin),
	}}
	return names
}

func encodeBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &v); err != nil {
		return nil, err
	}
	text, err := toJSON(v, maxReplyBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.String(text), nil
}

// decodeBuiltin gives the same values as the session's own.
func decodeBuiltin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	var fallback starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "text", &text, "default?", &fallback); err != nil {
		return nil, err
	}
	v, err := fromJSON([]byte(text))
	if err != nil && fallback != nil {
		return fallback, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return v, nil
}

// Next asks the playbook for one reply. It is pure: equal requests give equal
// replies, in any process and at any time.
func (p *Playbook) Next(ctx context.Context, req llm.Request) (llm.Reply, error) {
	thread := &starlark.Thread{Name: p.name, Print: func(t *starlark.Thread, msg string) {
		slog.DebugContext(ctx, "playbook print", "at", t.CallFrame(1).Pos.String(), "text", clip(msg, maxPrintBytes))
	}}
	stop := limit(ctx, thread)
	v, err := starlark.Call(thread, p.reply, starlark.Tuple{newSession(&req)}, nil)
	stop()
	if ctx.Err() != nil {
		return llm.Reply{}, llm.AsError(ctx.Err())
	}
	if err != nil {
		return llm.Reply{}, p.scriptError(err)
	}
	a := assembly{step: stepOf(&req)}
	if err := a.add(v); err != nil {
		pos := p.reply.Position()
		return llm.Reply{}, &llm.Error{Kind: llm.Script, Message: at(pos, fmt.Sprintf("at step %d: %s", a.step, err)).Error()}
	}
	if err := speak(ctx, a.reply.Text, a.wait, req.Say); err != nil {
		return llm.Reply{}, err
	}
	if a.err != nil {
		e := *a.err // the caller may add to it
		return llm.Reply{}, &e
	}
	a.reply.Model = p.model
	return a.reply, nil
}

// limit ends thread when ctx ends, after maxTime or after maxSteps; stop frees
// what it holds.
func limit(ctx context.Context, thread *starlark.Thread) (stop func()) {
	thread.SetMaxExecutionSteps(maxSteps)
	thread.OnMaxSteps = func(t *starlark.Thread) {
		t.Cancel(fmt.Sprintf("no end after %d steps: a loop?", maxSteps))
	}
	timer := time.AfterFunc(maxTime, func() { thread.Cancel(fmt.Sprintf("no end after %s", maxTime)) })
	cancelled := context.AfterFunc(ctx, func() { thread.Cancel("the session no longer waits") })
	return func() { timer.Stop(); cancelled() }
}

// speak takes its time, and says meanwhile what the reply will say.
func speak(ctx context.Context, text string, takes time.Duration, say func(string)) error {
	words := strings.SplitAfter(text, " ")
	if say == nil || text == "" || takes <= 0 {
		return wait(ctx, takes)
	}
	for _, word := range words {
		if err := wait(ctx, takes/time.Duration(len(words))); err != nil {
			return err
		}
		say(word)
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return llm.AsError(ctx.Err())
	case <-t.C:
		return nil
	}
}

func (p *Playbook) scriptError(err error) *llm.Error {
	return (&llm.Error{Kind: llm.Script, Message: sourceErrors(p.name, err).Error()}).WithCause(err)
}

// sourceErrors finds the places of a fault.
func sourceErrors(name string, err error) SourceErrors {
	if e, ok := errors.AsType[syntax.Error](err); ok {
		return SourceErrors{at(e.Pos, e.Msg)}
	}
	if list, ok := errors.AsType[resolve.ErrorList](err); ok {
		var all SourceErrors
		for _, e := range list {
			all = append(all, at(e.Pos, e.Msg))
		}
		return all
	}
	if e, ok := errors.AsType[*starlark.EvalError](err); ok {
		reason := strings.TrimPrefix(e.Msg, "Starlark computation cancelled: ")
		// The innermost frame of the playbook itself: builtins have no lines.
		for i := range e.CallStack {
			if pos := e.CallStack.At(i).Pos; pos.Filename() == name {
				return SourceErrors{at(pos, clip(reason, maxPrintBytes))}
			}
		}
	}
	return SourceErrors{{File: name, Reason: clip(err.Error(), maxPrintBytes)}}
}

func at(pos syntax.Position, reason string) SourceError {
	return SourceError{File: pos.Filename(), Line: int(pos.Line), Col: int(pos.Col), Reason: reason}
}

// clip shortens s to n bytes, on a character's border.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Cache keeps compiled playbooks by name and content. The zero Cache is ready.
type Cache struct {
	mu    sync.Mutex
	books map[[sha256.Size]byte]*Playbook
}

// cacheSize bounds a Cache; more versions than that are rarely at work at once.
const cacheSize = 256

// Load compiles a playbook, or returns the one compiled before.
func (c *Cache) Load(name, source string) (*Playbook, error) {
	key := sha256.Sum256([]byte(name + "\x00" + source))
	c.mu.Lock()
	p, ok := c.books[key]
	c.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := Compile(name, source) // outside the lock: one may be slow
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.books == nil {
		c.books = map[[sha256.Size]byte]*Playbook{}
	}
	for old := range c.books {
		if len(c.books) < cacheSize {
			break
		}
		delete(c.books, old)
	}
	c.books[key] = p
	return p, nil
}
