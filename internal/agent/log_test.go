package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"baton/internal/sessions"
	"baton/internal/tools"
)

// captured is a log that a test can read.
type captured struct {
	mu    sync.Mutex
	lines []logged
}

type logged struct {
	level slog.Level
	text  string
	attrs map[string]slog.Value
}

func (c *captured) Enabled(context.Context, slog.Level) bool { return true }
func (c *captured) WithGroup(string) slog.Handler            { return c }
func (c *captured) WithAttrs(attrs []slog.Attr) slog.Handler { return with{c, attrs} }
func (c *captured) Handle(_ context.Context, r slog.Record) error {
	return c.take(r, nil)
}

func (c *captured) take(r slog.Record, more []slog.Attr) error {
	l := logged{r.Level, r.Message, map[string]slog.Value{}}
	for _, a := range more {
		l.attrs[a.Key] = a.Value
	}
	r.Attrs(func(a slog.Attr) bool { l.attrs[a.Key] = a.Value; return true })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, l)
	return nil
}

type with struct {
	c     *captured
	attrs []slog.Attr
}

func (w with) Enabled(context.Context, slog.Level) bool { return true }
func (w with) WithGroup(string) slog.Handler            { return w }
func (w with) WithAttrs(attrs []slog.Attr) slog.Handler {
	return with{w.c, append(append([]slog.Attr{}, w.attrs...), attrs...)}
}
func (w with) Handle(_ context.Context, r slog.Record) error { return w.c.take(r, w.attrs) }

// of are the lines of a level.
func (c *captured) of(level slog.Level) (texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		if l.level == level {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// logs has the house log to what is returned.
func (h *house) logs() *captured {
	log := &captured{}
	deps := h.deps()
	deps.Log = slog.New(log)
	h.use(deps)
	return log
}

// all are the lines with a text.
func (c *captured) all(text string) (list []logged) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.lines {
		if l.text == text {
			list = append(list, l)
		}
	}
	return list
}

func (c *captured) find(text string) (logged, bool) {
	if list := c.all(text); len(list) > 0 {
		return list[0], true
	}
	return logged{}, false
}

// R: O2
func TestTheLogsLevelsSayWhoHasToLook(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	flaky := tool("flaky", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		if tries.Add(1)%2 == 1 {
			return tools.Output{}, tools.FromHTTP("flaky", 503, nil)
		}
		return tools.Output{Data: args}, nil
	})
	away := tool("away", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{}, tools.FromHTTP("away", 503, nil)
	})
	missing := tool("missing", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
		if strings.Contains(string(args), "8") {
			return tools.Output{Data: args}, nil
		}
		return tools.Output{}, tools.Fail(tools.NotFound, "There is no order 7.")
	})
	panics := tool("panics", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) { panic("at the disco") })
	lost := tool("lost", tools.EffectSide, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{}, tools.Fail(tools.OutcomeUnknown, "The connection broke.")
	})
	const done, again, failed = "tool call done", "tool call done after repeats", "tool call failed"
	for name, c := range map[string]struct {
		playbook      string
		errors, warns []string
		infos         []string
	}{
		"well done": {playbook: `
def reply(s):
    if s.step == 0:
        return call("echo", n = 1)
    return finish("Done.", evidence = ["call_1"])`, infos: []string{done, "result fed back", "session ended"}},
		"a repeat helped": {playbook: `
def reply(s):
    if s.step == 0:
        return call("flaky", n = 1)
    return finish("Done.", evidence = ["call_1"])`, warns: []string{again}},
		"the model did better": {playbook: `
def reply(s):
    if s.step < 2:
        return call("missing", order = 7 + s.step)
    return finish("Order 8 is there.", evidence = ["call_2"])`, warns: []string{failed}},
		"arguments that are wrong": {playbook: `
def reply(s):
    if s.step == 0:
        return raw_call("echo", "{")
    if s.step == 1:
        return call("echo", n = 1)
    return finish("Done.", evidence = ["call_2"])`, warns: []string{"tool call was not run"}},
		"tries used up, and unresolved": {playbook: `
def reply(s):
    if s.step == 0:
        return call("away")
    return finish("It is away.", status = "unable", unresolved = ["away"])`, errors: []string{failed, "failures are unresolved as the session ends"}},
		"unresolved at a question": {playbook: `
def reply(s):
    if s.step == 0:
        return call("missing", order = 7)
    return ask("Which order?", options = [option("Order 8", "It is looked up."), option("None", "It ends.")], problem = "There is no order 7.")`,
			warns: []string{failed}, errors: []string{"failures are unresolved as people are asked"}, infos: []string{"people are asked"}},
		"a fault of ours": {playbook: `
def reply(s):
    if s.step == 0:
        return call("panics")
    return finish("It broke.", status = "unable", unresolved = ["x"])`, errors: []string{"tool panicked", failed, "failures are unresolved as the session ends"}},
		"nobody knows": {playbook: `
def reply(s):
    if s.step == 0:
        return call("lost")
    return finish("Nobody knows.", status = "unable", unresolved = ["x"])`, errors: []string{failed, "failures are unresolved as the session ends"}},
		"a model that came back": {playbook: `
def reply(s):
    if s.attempt < 3:
        return provider_error(529)
    return finish("Done.")`, warns: []string{"model gave no usable reply; it is asked again", "model gave no usable reply; it is asked again", "model answered after repeats"}},
		"a model that didn't": {playbook: `
def reply(s):
    return provider_error(401)`, errors: []string{"model gave no usable reply"}, infos: []string{"people are asked"}},
		"an agent with a fault": {playbook: `
def reply(s):
    return 1 // 0`, errors: []string{"model gave no usable reply", "session failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := build(t, echo, flaky, away, missing, panics, lost)
			log := h.logs()
			s := h.run(c.playbook)
			if got := log.of(slog.LevelError); fmt.Sprint(got) != fmt.Sprint(c.errors) {
				t.Errorf("errors %q, want %q", got, c.errors)
			}
			if got := log.of(slog.LevelWarn); fmt.Sprint(got) != fmt.Sprint(c.warns) {
				t.Errorf("warnings %q, want %q", got, c.warns)
			}
			for _, want := range c.infos {
				if l, ok := log.find(want); !ok || l.level != slog.LevelInfo || l.attrs["session"].String() != s.ID.String() {
					t.Errorf("no info %q of the session: %+v", want, l)
				}
			}
			if debugged := len(log.of(slog.LevelDebug)); debugged == 0 {
				t.Error("nothing is told for debugging")
			}
		})
	}
}

// Whoever debugs finds in the log each event that the worker wrote, to the last.
// R: O2
func TestEachEventThatIsWrittenIsLogged(t *testing.T) {
	t.Parallel()
	h := build(t, busyOnce(nothing, nothing))
	log := h.logs()
	s := h.run(oneThenFinish)
	var logged, written []string
	for _, l := range log.all("event written") {
		logged = append(logged, l.attrs["type"].String())
	}
	for _, e := range h.events(s.ID)[1:] { // the first is of who started it
		written = append(written, string(e.Type))
	}
	if !slices.Equal(logged, written) {
		t.Errorf("logged %q, written %q", logged, written)
	}
}

// The four phases of a call stand in the log with their times.
// R: L7
func TestThePhasesOfACallAreInTheLogAndOnRecord(t *testing.T) {
	t.Parallel()
	h := build(t, busyOnce(nothing, nothing))
	log := h.logs()
	s := h.run(oneThenFinish)
	fed, ok := log.find("result fed back")
	if !ok {
		t.Fatal("the log doesn't say that the result was fed back")
	}
	ms := func(l logged, name string) int64 {
		v, ok := l.attrs[name]
		if !ok {
			t.Errorf("%q lacks %s", l.text, name)
			return 0
		}
		return v.Int64()
	}
	if waited := ms(fed, "waiting_ms"); waited < tools.LongEnough.Milliseconds() {
		t.Errorf("waited %d ms", waited)
	}
	sum := ms(fed, "queued_ms") + ms(fed, "running_ms") + ms(fed, "waiting_ms") + ms(fed, "format_ms") + ms(fed, "feed_ms")
	if total := ms(fed, "total_ms"); total < sum || total > sum+3 { // each is cut to whole milliseconds
		t.Errorf("the phases make %d ms, and in all it is %d", sum, total)
	}
	ran, ok := log.find("tool call done after repeats")
	if !ok || ran.attrs["call"].String() != fed.attrs["call"].String() {
		t.Errorf("the two lines of a call don't name it alike: %v, %v", ran.attrs, fed.attrs)
	}
	ms(ran, "execute_ms")
	ms(ran, "format_ms")
	ms(ran, "bytes")
	for _, e := range h.events(s.ID) {
		if e.Type == sessions.CallEnded && e.Call == 1 {
			var d struct {
				WaitMS  int64 `json:"wait_ms"`
				TotalMS int64 `json:"total_ms"`
			}
			if err := json.Unmarshal(e.Data, &d); err != nil || d.WaitMS < tools.LongEnough.Milliseconds() || d.TotalMS < d.WaitMS {
				t.Errorf("on record: %s %v", e.Data, err)
			}
		}
	}
}
