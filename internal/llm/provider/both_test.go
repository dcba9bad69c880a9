package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"baton/internal/llm"
	"baton/internal/llm/anthropic"
	"baton/internal/llm/openai"
	"baton/internal/llm/provider"
	"baton/internal/llm/wiretest"
	"baton/internal/tools"
)

var price = llm.Price{Input: 2_000_000, Output: 10_000_000}

// open is the model of a dialect's SDK.
func open(t testing.TB, dialect wiretest.Dialect, o provider.Options) llm.Model {
	t.Helper()
	if dialect == wiretest.Anthropic {
		s, err := anthropic.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		return s.Model("test-model", price)
	}
	s, err := openai.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Model("test-model", price)
}

// both runs a test on both wires.
func both(t *testing.T, test func(t *testing.T, dialect wiretest.Dialect)) {
	t.Helper()
	for _, dialect := range wiretest.Dialects {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			test(t, dialect)
		})
	}
}

// ask has the model of a provider that answers so say one reply.
func ask(t *testing.T, dialect wiretest.Dialect, a wiretest.Answer) (llm.Reply, error) {
	t.Helper()
	server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer { return a })
	m := open(t, dialect, provider.Options{BaseURL: server.URL, Key: wiretest.Key, Idle: patience(a)})
	return m.Next(t.Context(), llm.Request{System: "You work.", Messages: task})
}

// patience is short where nothing will come.
func patience(a wiretest.Answer) time.Duration {
	if a.Silent {
		return 50 * time.Millisecond
	}
	return 0
}

var task = []llm.Message{{Role: llm.RoleTask, Text: "Do it"}}

func call(id, tool, args string) tools.Call {
	c := tools.Call{ProviderID: id, Tool: tool}
	if json.Valid([]byte(args)) {
		c.Args = json.RawMessage(args)
	} else {
		c.Raw = args
	}
	return c
}

// Whatever a model says comes out as it said it, on both wires.
// R: M1, M3, A3
// case: fault F27
func TestAReplyComesAsItWasSaid(t *testing.T) {
	t.Parallel()
	cut := call("toolu_1", "write", `{"path":"a","text":"bb`)
	cut.Cut = true
	for name, want := range map[string]llm.Reply{
		"text":               {Text: "I look into it: 漢字, “quotes”.\n\nDone.", Stop: llm.StopEndTurn},
		"a call":             {Calls: []tools.Call{call("toolu_1", "echo", `{"n":9007199254740993,"text":"<b>&"}`)}, Stop: llm.StopToolUse},
		"text and two calls": {Text: "Both.", Calls: []tools.Call{call("toolu_1", "echo", `{"n":1}`), call("toolu_2", "look", `{"all":true}`)}, Stop: llm.StopToolUse},
		"no JSON":            {Calls: []tools.Call{call("toolu_1", "echo", `{not json`)}, Stop: llm.StopToolUse},
		"no object":          {Calls: []tools.Call{call("toolu_1", "echo", `[1]`)}, Stop: llm.StopToolUse},
		"keys twice":         {Calls: []tools.Call{call("toolu_1", "echo", `{"n":1,"n":2}`)}, Stop: llm.StopToolUse},
		"one id twice":       {Calls: []tools.Call{call("toolu_1", "echo", `{"n":1}`), call("toolu_1", "echo", `{"n":2}`)}, Stop: llm.StopToolUse},
		"nothing":            {Stop: llm.StopEndTurn},
		"cut by the limit":   {Text: "I write.", Calls: []tools.Call{cut}, Stop: llm.StopMaxTokens},
		"text cut by it":     {Text: "I wri", Stop: llm.StopMaxTokens},
		"withheld":           {Text: "I would", Stop: llm.StopContentFilter},
		"broken in a call":   {Text: "I call.", Calls: []tools.Call{call("toolu_1", "echo", `{"n":`)}, Stop: llm.StopCut},
		"broken in text":     {Text: "I ca", Stop: llm.StopCut},
	} {
		both(t, func(t *testing.T, dialect wiretest.Dialect) {
			want := want
			want.Usage = llm.Usage{InputTokens: 1200}
			if want.Stop != llm.StopCut {
				want.Usage.OutputTokens = 34
			}
			got, err := ask(t, dialect, wiretest.Answer{Reply: want})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch {
			case want.Stop != llm.StopCut:
				want.Usage.CostMicros = 1200*2 + 34*10
			case dialect == wiretest.Anthropic: // it tells the input's tokens first
				want.Usage = llm.Usage{InputTokens: 1200, OutputTokens: 1, CostMicros: 2410}
			default: // which tells them last
				want.Usage = llm.Usage{}
			}
			want.Model = string(dialect) + "/test-model"
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, want)
			}
		})
	}
}

// R: M1
func TestTextIsSaidAsItComes(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, dialect wiretest.Dialect) {
		const said = "A text of several pieces, with 漢字."
		server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer {
			return wiretest.Answer{Reply: llm.Reply{Text: said, Calls: []tools.Call{call("a", "echo", `{}`)}, Stop: llm.StopToolUse}}
		})
		var pieces []string
		_, err := open(t, dialect, provider.Options{BaseURL: server.URL, Key: wiretest.Key}).
			Next(t.Context(), llm.Request{Messages: task, Say: func(piece string) { pieces = append(pieces, piece) }})
		if err != nil || len(pieces) < 3 || strings.Join(pieces, "") != said {
			t.Errorf("%q, %v", pieces, err)
		}
	})
}

// Each error of a provider is known for what it is, and its key stands in none.
// R: A4, M3, E6
// case: fault F26
func TestErrorsAreKnownForWhatTheyAre(t *testing.T) {
	t.Parallel()
	raw := func(status int, body string, header ...string) wiretest.Answer {
		r := &wiretest.Raw{Status: status, Body: body, Header: map[string]string{"Content-Type": "application/json"}}
		for i := 0; i < len(header); i += 2 {
			r.Header[header[i]] = header[i+1]
		}
		return wiretest.Answer{Raw: r}
	}
	failed := func(kind llm.ErrorKind, status int) wiretest.Answer {
		return wiretest.Answer{Err: &llm.Error{Kind: kind, Status: status}}
	}
	within := func(kind llm.ErrorKind, status int) wiretest.Answer {
		return wiretest.Answer{Within: true, Reply: llm.Reply{Text: "I beg"}, Err: &llm.Error{Kind: kind, Status: status}}
	}
	later := failed(llm.RateLimited, 429)
	later.Err.RetryAfter = 7 * time.Second
	for name, c := range map[string]struct {
		answer wiretest.Answer
		kind   llm.ErrorKind
		status int
		after  time.Duration
	}{
		"429":                     {later, llm.RateLimited, 429, 7 * time.Second},
		"500":                     {failed(llm.Overloaded, 500), llm.Overloaded, 500, 0},
		"503":                     {failed(llm.Overloaded, 503), llm.Overloaded, 503, 0},
		"529":                     {failed(llm.Overloaded, 529), llm.Overloaded, 529, 0},
		"408":                     {failed(llm.Timeout, 408), llm.Timeout, 408, 0},
		"too long":                {failed(llm.ContextTooLong, 0), llm.ContextTooLong, 400, 0},
		"too large":               {failed(llm.ContextTooLong, 413), llm.ContextTooLong, 413, 0},
		"refused":                 {failed(llm.Refused, 0), llm.Refused, 400, 0},
		"a wrong key":             {failed(llm.InvalidRequest, 401), llm.InvalidRequest, 401, 0},
		"a wrong name":            {failed(llm.InvalidRequest, 404), llm.InvalidRequest, 404, 0},
		"closed without a word":   {failed(llm.Timeout, 0), llm.Timeout, 0, 0},
		"silent":                  {wiretest.Answer{Silent: true}, llm.Timeout, 0, 0},
		"silent within":           {wiretest.Answer{Silent: true, Within: true, Reply: llm.Reply{Text: "I beg"}}, llm.Timeout, 0, 0},
		"overloaded within":       {within(llm.Overloaded, 529), llm.Overloaded, 0, 0},
		"limited within":          {within(llm.RateLimited, 429), llm.RateLimited, 0, 0},
		"too long within":         {within(llm.ContextTooLong, 0), llm.ContextTooLong, 0, 0},
		"a date":                  {raw(429, `{}`, "Retry-After", "Tue, 01 Dec 2026 10:00:09 GMT", "Date", "Tue, 01 Dec 2026 10:00:00 GMT"), llm.RateLimited, 429, 9 * time.Second},
		"a date gone by":          {raw(503, `{}`, "Retry-After", "Tue, 01 Dec 2026 09:00:00 GMT", "Date", "Tue, 01 Dec 2026 10:00:00 GMT"), llm.Overloaded, 503, 0},
		"milliseconds":            {raw(429, `{}`, "Retry-After-Ms", "1500", "Retry-After", "2"), llm.RateLimited, 429, 1500 * time.Millisecond},
		"no time at all":          {raw(429, `{}`, "Retry-After", "soon"), llm.RateLimited, 429, 0},
		"money is used up":        {raw(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`), llm.InvalidRequest, 429, 0},
		"a page of a proxy":       {raw(502, `<html>Bad gateway</html>`, "Content-Type", "text/html"), llm.Overloaded, 502, 0},
		"a page in place of all":  {raw(200, `<html>Sign in</html>`, "Content-Type", "text/html"), llm.InvalidReply, 200, 0},
		"another server's words":  {raw(400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`), llm.ContextTooLong, 400, 0},
		"words alone":             {raw(400, `{"error":"the request exceeds the available context size"}`), llm.ContextTooLong, 400, 0},
		"an error with 200":       {raw(200, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.Overloaded, 0, 0},
		"a redirect to elsewhere": {raw(307, ``, "Location", "http://127.0.0.1:1/v1/messages"), llm.InvalidRequest, 0, 0},
		"a redirect to nowhere":   {raw(304, ``), llm.InvalidReply, 304, 0},
	} {
		both(t, func(t *testing.T, dialect wiretest.Dialect) {
			_, err := ask(t, dialect, c.answer)
			e := llm.AsError(err)
			if e == nil || e.Kind != c.kind || e.Status != c.status || e.RetryAfter != c.after || e.Message == "" {
				t.Errorf("%s: %#v", name, e)
			}
		})
	}
}

// R: M1
func TestAServerThatDoesNotStreamIsUnderstood(t *testing.T) {
	t.Parallel()
	var said []string
	server := wiretest.Serve(t, wiretest.OpenAI, func(wiretest.Request) wiretest.Answer {
		return wiretest.Answer{Raw: &wiretest.Raw{Status: 200, Header: map[string]string{"Content-Type": "application/json; charset=utf-8"}, Body: `{"id":"x","object":"chat.completion","created":1,"model":"own",
			"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"echo","arguments":"{\"n\":1}"}}]}}],
			"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110,"prompt_tokens_details":{"cached_tokens":40}}}`}}
	})
	got, err := open(t, wiretest.OpenAI, provider.Options{BaseURL: server.URL, Key: wiretest.Key}).
		Next(t.Context(), llm.Request{Messages: task, Say: func(piece string) { said = append(said, piece) }})
	want := llm.Reply{Text: "I look.", Calls: []tools.Call{call("a", "echo", `{"n":1}`)}, Stop: llm.StopToolUse, Model: "openai/own",
		Usage: llm.Usage{InputTokens: 100, OutputTokens: 10, CostMicros: 300}}
	if err != nil || !reflect.DeepEqual(got, want) || len(said) != 1 {
		t.Errorf("%+v, %v, said %q", got, err, said)
	}
}

// R: K5, O3
func TestAKeyStandsInNoError(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, dialect wiretest.Dialect) {
		const key = "sk-wrong-0123456789"
		server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer { return wiretest.Answer{} })
		_, err := open(t, dialect, provider.Options{BaseURL: server.URL, Key: key}).Next(t.Context(), llm.Request{Messages: task})
		e := llm.AsError(err)
		if e == nil || e.Status != 401 || !strings.Contains(e.Message, "••••••") {
			t.Fatalf("%#v", e)
		}
		if all := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(all, key) {
			t.Errorf("it says the key: %s", all)
		}
	})
}

// R: A4
// case: fault F26
func TestAProviderThatCantBeReachedIsATimeout(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	both(t, func(t *testing.T, dialect wiretest.Dialect) {
		for _, url := range []string{"https://" + listener.Addr().String(), "http://" + closed.Addr().String()} {
			m := open(t, dialect, provider.Options{BaseURL: url, Key: wiretest.Key, Connect: 30 * time.Millisecond})
			_, err := m.Next(t.Context(), llm.Request{Messages: task})
			if e := llm.AsError(err); e == nil || e.Kind != llm.Timeout || e.Status != 0 || e.Message == "" {
				t.Errorf("%s: %#v", url, e)
			}
		}
	})
}

// R: A4, A7
func TestAReplyEndsWithItsContextOrItsTime(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, dialect wiretest.Dialect) {
		for _, within := range []bool{false, true} {
			asked := make(chan struct{})
			server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer {
				close(asked)
				return wiretest.Answer{Silent: true, Within: within, Reply: llm.Reply{Text: "I beg"}}
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-asked
				cancel()
			}()
			_, err := open(t, dialect, provider.Options{BaseURL: server.URL, Key: wiretest.Key}).Next(ctx, llm.Request{Messages: task})
			if e := llm.AsError(err); e == nil || e.Kind != llm.Cancelled {
				t.Errorf("cancelled, within %v: %#v", within, e)
			}
			server = wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer {
				return wiretest.Answer{Silent: true, Within: within, Reply: llm.Reply{Text: "I beg"}}
			})
			_, err = open(t, dialect, provider.Options{BaseURL: server.URL, Key: wiretest.Key, Whole: 60 * time.Millisecond}).Next(t.Context(), llm.Request{Messages: task})
			if e := llm.AsError(err); e == nil || e.Kind != llm.Timeout || !strings.Contains(e.Message, "did not end in time") {
				t.Errorf("no end, within %v: %#v", within, e)
			}
		}
	})
}

// One try is one request: the SDKs' own retries are off.
// R: M1, A4
func TestOneTryIsOneRequest(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, dialect wiretest.Dialect) {
		n := 0
		server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer {
			n++
			return wiretest.Answer{Err: &llm.Error{Kind: llm.Overloaded, Status: http.StatusServiceUnavailable}}
		})
		_, err := open(t, dialect, provider.Options{BaseURL: server.URL, Key: wiretest.Key}).Next(t.Context(), llm.Request{Messages: task})
		if err == nil || n != 1 {
			t.Errorf("%d requests, %v", n, err)
		}
	})
}

// R: M1
func TestAServiceIsCheckedWithoutAModel(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, dialect wiretest.Dialect) {
		server := wiretest.Serve(t, dialect, func(wiretest.Request) wiretest.Answer { return wiretest.Answer{} })
		check := func(key string) error {
			if dialect == wiretest.Anthropic {
				s, err := anthropic.Open(provider.Options{BaseURL: server.URL, Key: key})
				if err != nil {
					return err
				}
				return s.Check(t.Context())
			}
			s, err := openai.Open(provider.Options{BaseURL: server.URL, Key: key})
			if err != nil {
				return err
			}
			return s.Check(t.Context())
		}
		if err := check(wiretest.Key); err != nil {
			t.Error(err)
		}
		if e := llm.AsError(check("wrong")); e == nil || e.Status != 401 {
			t.Errorf("%#v", e)
		}
	})
}
