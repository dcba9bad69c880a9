package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/llm"
	"baton/internal/llm/anthropic"
	"baton/internal/llm/openai"
	"baton/internal/llm/provider"
	"baton/internal/llm/scripted"
	"baton/internal/llm/wiretest"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// openWire is a model of a dialect's SDK.
func openWire(t testing.TB, dialect wiretest.Dialect, o provider.Options) llm.Model {
	t.Helper()
	if o.Key == "" {
		o.Key = wiretest.Key
	}
	if dialect == wiretest.Anthropic {
		s, err := anthropic.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return s.Model("test", llm.Price{})
	}
	s, err := openai.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Model("test", llm.Price{})
}

// overWire is a playbook whose every reply, and every fault, comes over a
// provider's wire and through its SDK.
type overWire struct {
	playbook llm.Model
	wire     llm.Model

	mu     sync.Mutex // one request at a time
	answer atomic.Pointer[wiretest.Answer]
}

func newOverWire(t testing.TB, dialect wiretest.Dialect, playbook llm.Model) *overWire {
	w := &overWire{playbook: playbook}
	server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer { return *w.answer.Load() })
	w.wire = openWire(t, dialect, provider.Options{BaseURL: server.URL})
	return w
}

func (w *overWire) Next(ctx context.Context, req llm.Request) (llm.Reply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet := req
	quiet.Say = nil // it is said by the wire
	reply, err := w.playbook.Next(ctx, quiet)
	w.answer.Store(&wiretest.Answer{Reply: reply, Err: llm.AsError(err)})
	return w.wire.Next(ctx, req)
}

// on has the house's agents run on a dialect.
func (h *house) on(dialect wiretest.Dialect) {
	deps := h.deps()
	deps.Model = func(v definition.Version, _ string) (llm.Model, error) {
		playbook, err := scripted.Compile("test.star", v.Playbook)
		if err != nil {
			return nil, err
		}
		return strict{newOverWire(h.t, dialect, playbook)}, nil
	}
	h.use(deps)
}

// told is a session's ledger without what differs from one run to the next: times,
// names, digests, figures of tokens, and the words of errors.
func (h *house) told(session id.Session) (list []string) {
	h.t.Helper()
	digits := strings.NewReplacer(session.Digits(), "SESSION")
	for _, e := range h.events(session) {
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			h.t.Fatal(err)
		}
		if e.Type == sessions.ModelFailed {
			delete(data, "message")
		}
		forget(data)
		text, err := json.Marshal(data)
		if err != nil {
			h.t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s turn %d step %d call %d %s", e.Type, e.Turn, e.Step, e.Call, digits.Replace(agentName.ReplaceAllString(string(text), "bot-N"))))
	}
	// Calls that run at once end in any order.
	for from := 0; from < len(list); from++ {
		to := from
		for to < len(list) && strings.HasPrefix(list[to], string(sessions.CallEnded)) {
			to++
		}
		slices.Sort(list[from:to])
		from = max(from, to-1)
	}
	return list
}

var (
	agentName = regexp.MustCompile(`bot-\d+`)
	passing   = regexp.MustCompile(`_ms$|^ms$|_at$|^usage$|^model$|^said$|^id$|^escalation_id$|^question_id$|^agent$|^exact$|^loose$|^digest$|fingerprint|duration|^number$|^started$|^key$|^meta$`)
)

func forget(v any) {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, _ any) bool { return passing.MatchString(key) })
		for _, inner := range v {
			forget(inner)
		}
	case []any:
		for _, inner := range v {
			forget(inner)
		}
	}
}

// wirePlaybooks are sessions of every kind of reply and fault, with what becomes
// of them: completed, or the words of the question that they end in.
var wirePlaybooks = map[string]struct{ playbook, words, yaml string }{
	"looks and finishes": {`
def reply(s):
    if s.step == 0:
        return [say("I look, with 漢字."), call("echo", n = 9007199254740993, text = "<b> & \"quotes\"")]
    return finish("There it is.", evidence = [{"claim": "9007199254740993", "call": s.last[0].call_id, "quote": "9007199254740993"}])`, "", ""},
	"asks a person": {`
def reply(s):
    return ask("Refund or not?", options = [option("Refund", "The money goes back."), option("Decline", "Nothing happens.")], recommended = "A", reason = "It was charged twice.")`, "Refund or not?", ""},
	"arguments that are no JSON": {`
def reply(s):
    if s.step == 0:
        return raw_call("echo", "{not json")
    return finish("Could not.", status = "unable", unresolved = [s.last[0].error_type])`, "", ""},
	"no arguments": {`
def reply(s):
    if s.step == 0:
        return raw_call("echo", "")
    return finish("Done.", evidence = [s.last[0].call_id])`, "", ""},
	"an unknown tool": {`
def reply(s):
    if s.step == 0:
        return call("send an e-mail!", to = "a")
    return finish("Could not.", status = "unable", unresolved = [s.last[0].error_type])`, "", ""},
	"two calls with one id": {`
def reply(s):
    if s.step == 0:
        return same_id(call("echo", n = 1), call("echo", n = 2))
    return finish("Both.", evidence = [r.call_id for r in s.last])`, "", ""},
	"cut by the output limit": {`
def reply(s):
    if s.step == 0:
        return [call("echo", n = 1), call("echo", text = "b" * 100), cut(limit = True)]
    return finish("Not all.", status = "partly", evidence = [s.last[0].call_id], unresolved = [s.last[1].message])`, "", ""},
	"a stream cut in a call, once": {`
def reply(s):
    if s.attempt == 1 and s.step == 0:
        return [say("I call."), call("echo", n = 1), cut()]
    return finish("Done.", status = "done")`, "", ""},
	"a stream cut in text, once": {`
def reply(s):
    if s.attempt == 1:
        return [say("I begin to say"), cut()]
    return finish("Done.", status = "done")`, "", ""},
	"cut for ever": {`
def reply(s):
    return [call("echo", n = 1), cut()]`, "can’t be read", ""},
	"empty, then well": {`
def reply(s):
    if s.step < 2:
        return empty()
    return finish("Done.", status = "done")`, "", ""},
	"empty for ever": {`
def reply(s):
    return empty()`, "3 answers in a row held nothing to do", ""},
	"text where a call was due": {`
def reply(s):
    return say("I am done, trust me.")`, "doesn’t go on", ""},
	"all errors that pass": {`
def reply(s):
    if s.step == 0 and s.attempt < 5:
        return provider_error([429, 500, 529, 503][s.attempt - 1])
    if s.step == 0:
        return call("echo", n = 1)
    if s.attempt < 3:
        return provider_error([408, 0][s.attempt - 1])
    return finish("Done.", evidence = [s.results[0].call_id])`, "", ""},
	"overloaded for ever": {`
def reply(s):
    return provider_error(529)`, "can’t be reached", ""},
	"told to wait for two days": {`
def reply(s):
    return provider_error(429, retry_after = 198300)`, "2d 7h", ""},
	"a wrong key": {`
def reply(s):
    return provider_error(401)`, "doesn’t let us in", ""},
	"a wrong name": {`
def reply(s):
    return provider_error(404)`, "doesn’t take what it is asked", ""},
	"refused": {`
def reply(s):
    return provider_error(400, kind = "refused")`, "won’t work on this", ""},
	"too long, and made shorter": {`
def reply(s):
    if s.step < 3:
        return call("large", n = s.step)
    whole = [r for r in s.results if not r.data.startswith("left out")]
    if len(whole) > 1:
        return provider_error(413)
    return finish("Read.", evidence = [s.results[2].call_id])`, "", "budgets: {window: 34000}"},
	"too long for ever": {`
def reply(s):
    if s.step < 3:
        return call("large", n = s.step)
    return provider_error(400, kind = "context_too_long")`, "too long for the agent", "budgets: {window: 34000}"},
}

// The same session on the scripted model and, over either provider's wire, on its
// SDK: the ledgers tell the same, of each fault, too.
// R: M1, M2, M3, A3, A4, A8, L1
// case: fault F26, F27
func TestTheSameSessionIsTheSameOnEveryModel(t *testing.T) {
	t.Parallel()
	large := tool("large", tools.EffectRead, func(context.Context, json.RawMessage) (tools.Output, error) {
		return tools.Output{Text: strings.Repeat(strings.Repeat("figures ", 15)+"\n", 190)}, nil
	})
	plain := build(t, echo, large)
	wires := map[wiretest.Dialect]*house{}
	for _, dialect := range wiretest.Dialects {
		wires[dialect] = build(t, echo, large)
		wires[dialect].on(dialect)
	}
	for name, c := range wirePlaybooks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := plain.run(c.playbook, c.yaml)
			if done := s.Status == sessions.Completed; done != (c.words == "") {
				t.Fatalf("on the scripted model it is %s, %s", s.Status, s.Failure)
			}
			want := plain.told(s.ID)
			for _, dialect := range wiretest.Dialects {
				h := wires[dialect]
				s := h.run(c.playbook, c.yaml)
				if got := h.told(s.ID); !slices.Equal(got, want) {
					t.Errorf("on %s it is\n%s\nwant\n%s", dialect, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if c.words != "" {
					if _, _, text := h.question(s); s.Status != sessions.Waiting || !strings.Contains(text, c.words) {
						t.Errorf("on %s it is %s, and asks %s", dialect, s.Status, text)
					}
				}
			}
		})
	}
}

// A provider that knows nothing of playbooks, and says what was once said after
// so many replies: the session is the one that it was taken from.
// R: M1, M2, M3
func TestRecordedRepliesMakeTheSameSession(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"looks and finishes", "asks a person", "arguments that are no JSON", "an unknown tool", "two calls with one id", "cut by the output limit"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := wirePlaybooks[name]
			var replies []llm.Reply
			h := build(t, echo)
			deps := h.deps()
			scriptedModel := deps.Model
			deps.Model = func(v definition.Version, name string) (llm.Model, error) {
				m, err := scriptedModel(v, name)
				return recording{m, &replies}, err
			}
			h.use(deps)
			want := h.told(h.run(c.playbook).ID)
			for _, dialect := range wiretest.Dialects {
				server := wiretest.Serve(t, dialect, func(r wiretest.Request) wiretest.Answer {
					if r.Replies >= len(replies) {
						t.Errorf("asked for reply %d", r.Replies)
						return wiretest.Answer{Err: &llm.Error{Kind: llm.InvalidRequest, Status: 400}}
					}
					return wiretest.Answer{Reply: replies[r.Replies]}
				})
				deps.Model = func(definition.Version, string) (llm.Model, error) {
					return openWire(t, dialect, provider.Options{BaseURL: server.URL}), nil
				}
				h.use(deps)
				if got := h.told(h.run("def reply(s):\n    return empty()").ID); !slices.Equal(got, want) {
					t.Errorf("on %s it is\n%s\nwant\n%s", dialect, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// recording keeps what a model says.
type recording struct {
	llm.Model

	replies *[]llm.Reply
}

func (r recording) Next(ctx context.Context, req llm.Request) (llm.Reply, error) {
	reply, err := r.Model.Next(ctx, req)
	*r.replies = append(*r.replies, reply)
	return reply, err
}

// What no playbook plays: a provider that is silent, that can't be connected to,
// that breaks off with an error, that withholds the rest.
// R: A4, A8, M3
// case: fault F26, F27
func TestAProvidersSilenceIsBoundedAndThenAskedAbout(t *testing.T) {
	t.Parallel()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deaf.Close() })
	begun := llm.Reply{Text: "I send it.", Calls: []tools.Call{{ProviderID: "a", Tool: "echo", Raw: `{"n":`}}}
	for name, c := range map[string]struct {
		answer wiretest.Answer
		url    string
		kind   llm.ErrorKind
		tries  int
		words  string
	}{
		"silent":            {wiretest.Answer{Silent: true}, "", llm.Timeout, 5, "can’t be reached"},
		"silent in a call":  {wiretest.Answer{Silent: true, Within: true, Reply: begun}, "", llm.Timeout, 5, "can’t be reached"},
		"deaf":              {wiretest.Answer{}, "https://" + deaf.Addr().String(), llm.Timeout, 5, "can’t be reached"},
		"overloaded within": {wiretest.Answer{Within: true, Reply: begun, Err: &llm.Error{Kind: llm.Overloaded, Status: 529}}, "", llm.Overloaded, 5, "can’t be reached"},
		"withheld":          {wiretest.Answer{Reply: llm.Reply{Text: "I can", Stop: llm.StopContentFilter}}, "", llm.Refused, 1, "won’t work on this"},
		"the money is used up": {wiretest.Answer{Raw: &wiretest.Raw{Status: 429, Body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`}},
			"", llm.InvalidRequest, 1, "doesn’t let us in"},
	} {
		for _, dialect := range wiretest.Dialects {
			t.Run(name+" on "+string(dialect), func(t *testing.T) {
				t.Parallel()
				server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer { return c.answer })
				o := provider.Options{BaseURL: server.URL, Idle: 10 * time.Second}
				if c.url != "" {
					o.BaseURL, o.Connect = c.url, 20*time.Millisecond
				}
				if c.answer.Silent {
					o.Idle = 30 * time.Millisecond
				}
				h := build(t, echo)
				deps := h.deps()
				deps.Model = func(definition.Version, string) (llm.Model, error) { return openWire(t, dialect, o), nil }
				h.use(deps)
				s := h.run("def reply(s):\n    return empty()")
				tries := 0
				for _, e := range h.events(s.ID) {
					if e.Type == sessions.ModelFailed && strings.Contains(string(e.Data), `"kind":"`+string(c.kind)+`"`) {
						tries++
					}
				}
				if s.Status != sessions.Waiting || tries != c.tries || s.Calls != 0 {
					t.Fatalf("it is %s after %d tries and %d calls: %s", s.Status, tries, s.Calls, strings.Join(h.told(s.ID), "\n"))
				}
				if _, trigger, text := h.question(s); trigger != "repeated_failure" || !strings.Contains(text, c.words) {
					t.Errorf("asked %s %s", trigger, text)
				}
			})
		}
	}
}
