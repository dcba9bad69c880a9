package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// inProcess is the whole house with its workers, in this process, on a database
// of its own.
type inProcess struct {
	house
	t       *testing.T
	people  map[string]auth.Actor
	witness *witness
}

// witness is the truth about what the test's tools really did.
type witness struct {
	mu   sync.Mutex
	runs map[string][]string // tool: arguments of each run
}

func (w *witness) ran(tool string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.runs[tool]...)
}

// working builds the house, with more tools than the test's usual ones, and lets
// it work.
func working(t *testing.T, more ...map[string]toolMaker) *inProcess {
	t.Helper()
	p := &inProcess{t: t, people: map[string]auth.Actor{}, witness: &witness{runs: map[string][]string{}}}
	c := config{values: map[string]string{"data_dir": t.TempDir(), "addr": "127.0.0.1:0", "secret_key": strings.Repeat("0f", 32)}}
	var err error
	if p.house, err = build(t.Context(), c, definition.Installation{}, nil, pgtest.New(t), "", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	p.toolbox.more = map[string]toolMaker{
		"look": p.tool("look", tools.EffectRead), "put": p.tool("put", tools.EffectIdempotent), "send": p.tool("send", tools.EffectIrreversible),
		"wire": p.cutOff,
	}
	for _, m := range more {
		maps.Copy(p.toolbox.more, m)
	}
	for name, role := range map[string]auth.Role{"viewer": auth.Viewer, "responder": auth.Responder, "responder-2": auth.Responder, "supervisor": auth.Supervisor} {
		p.people[name] = p.signIn(auth.NewPerson{Name: name, Role: role, Team: "support"})
	}
	p.people["stranger"] = p.signIn(auth.NewPerson{Name: "stranger", Role: auth.Admin, Team: "finance"})
	w, err := startWorkers(t.Context(), c, p.house, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.end)
	return p
}

func (p *inProcess) signIn(n auth.NewPerson) auth.Actor {
	p.t.Helper()
	link, err := p.accounts.AddPerson(p.t.Context(), auth.CLI("t"), n)
	if err != nil {
		p.t.Fatal(err)
	}
	login, err := p.accounts.SignIn(p.t.Context(), link, "test")
	if err != nil {
		p.t.Fatal(err)
	}
	actor, err := p.accounts.ActorByLogin(p.t.Context(), login)
	if err != nil {
		p.t.Fatal(err)
	}
	return actor
}

// tool is a tool of the test: it tells the witness and returns its arguments.
func (p *inProcess) tool(name string, effect tools.Effect) toolMaker {
	return func(context.Context, definition.Version) (tools.Tool, error) {
		spec := tools.Spec{Name: name, Description: name, Effect: effect, Schema: json.RawMessage(`{"type":"object"}`),
			Words: map[string]tools.Words{"en": {Title: name, Sentence: name + " {amount} to {to}"}}}
		return witnessTool{spec, p.witness}, nil
	}
}

// cutOff is an irreversible tool whose first run tells the witness and then
// never answers.
func (p *inProcess) cutOff(context.Context, definition.Version) (tools.Tool, error) {
	spec := tools.Spec{Name: "wire", Description: "wire", Effect: tools.EffectIrreversible, Schema: json.RawMessage(`{"type":"object"}`),
		Timeout: 100 * time.Millisecond, Grace: 10 * time.Millisecond}
	return cutOffTool{witnessTool{spec, p.witness}}, nil
}

type cutOffTool struct{ witnessTool }

func (t cutOffTool) Run(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	out, err := t.witnessTool.Run(ctx, args)
	if len(t.w.ran("wire")) == 1 {
		<-ctx.Done()
		return tools.Output{}, ctx.Err()
	}
	return out, err
}

type witnessTool struct {
	spec tools.Spec
	w    *witness
}

func (t witnessTool) Spec() tools.Spec { return t.spec }
func (t witnessTool) Run(_ context.Context, args json.RawMessage) (tools.Output, error) {
	t.w.mu.Lock()
	defer t.w.mu.Unlock()
	t.w.runs[t.spec.Name] = append(t.w.runs[t.spec.Name], string(args))
	return tools.Output{Data: args}, nil
}

var agentNumber atomic.Int64

// start starts a session of a new agent with this playbook and definition.
func (p *inProcess) start(playbook string, yaml ...string) id.Session {
	p.t.Helper()
	return p.startOf(playbook, "Settle the case", "tools: [look, put, send, wire, ask_human]\n"+strings.Join(yaml, "\n"))
}

// startOf starts a session of a new agent with this task. The definition begins
// with its tools.
func (p *inProcess) startOf(playbook, task, yaml string) id.Session {
	p.t.Helper()
	slug := fmt.Sprintf("bot-%d", agentNumber.Add(1))
	source := "slug: " + slug + "\nteam: support\nmodel: scripted/test\nplaybook: ./test.star\n" + yaml
	store := definition.NewStore(p.pool, definition.Known{}, playbookFaults)
	if _, err := store.Apply(p.t.Context(), auth.CLI("t"), definition.File{Name: slug + ".yaml", Source: []byte(source), Playbook: []byte(playbook)}); err != nil {
		printable := err.Error()
		p.t.Fatalf("apply agent: %s", printable)
	}
	version, err := store.Get(p.t.Context(), auth.CLI("t"), slug, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	s, err := p.sessions.Start(p.t.Context(), p.people["supervisor"], p.inserter, sessions.New{Agent: version, Task: task})
	if err != nil {
		p.t.Fatal(err)
	}
	return s.ID
}

// until waits for a session to be as wanted. It looks at the database, which is
// what everybody else has to look at, too.
func (p *inProcess) until(session id.Session, what string, is func(sessions.Session) bool) sessions.Session {
	p.t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		s, err := p.sessions.Get(p.t.Context(), auth.CLI("t"), session)
		if err != nil {
			p.t.Fatal(err)
		}
		if is(s) {
			return s
		}
		select {
		case <-deadline:
			p.t.Fatalf("session is %s with %d open questions, not %s; failure %s", s.Status, s.OpenQuestions, what, s.Failure)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *inProcess) untilStatus(session id.Session, status sessions.Status) sessions.Session {
	p.t.Helper()
	return p.until(session, string(status), func(s sessions.Session) bool { return s.Status == status })
}

// questions are the open questions of a session.
func (p *inProcess) questions(session id.Session, n int) []escalation.Escalation {
	p.t.Helper()
	p.until(session, "waiting", func(s sessions.Session) bool { return s.Status == sessions.Waiting && s.OpenQuestions == n })
	all, err := p.escalations.ForSession(p.t.Context(), p.people["viewer"], session)
	if err != nil {
		p.t.Fatal(err)
	}
	var open []escalation.Escalation
	for _, e := range all {
		if e.Status == escalation.Pending {
			open = append(open, e)
		}
	}
	if len(open) != n {
		p.t.Fatalf("%d open questions, want %d", len(open), n)
	}
	return open
}

func (p *inProcess) eventTypes(session id.Session) (types []sessions.EventType) {
	p.t.Helper()
	events, err := p.sessions.Events(p.t.Context(), auth.CLI("t"), session, 0, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

type sessionID = id.Session
