package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"baton/internal/agent"
	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/llm"
	"baton/internal/llm/scripted"
	"baton/internal/postgres/pgtest"
	"baton/internal/redact"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/internal/tools/breaker"
)

func TestMain(m *testing.M) {
	if os.Getenv(crashURL) != "" {
		runUntilKilled()
		return
	}
	pgtest.Main(m)
}

var (
	quiet   = slog.New(slog.NewTextHandler(io.Discard, nil))
	cli     = auth.CLI("t")
	keyring = newKeyring()
	keys    = tools.Keys{Fingerprint: tools.NewKey([]byte("fingerprint")), Approval: tools.NewKey([]byte("approval"))}
)

func newKeyring() *secrets.Keyring {
	k, err := secrets.NewKeyring([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		panic(err)
	}
	return k
}

// house is a database with a team, agents and a worker on it.
type house struct {
	t           testing.TB
	pool        *pgxpool.Pool
	store       *sessions.Store
	definitions *definition.Store
	inserter    *jobs.Inserter
	replica     *sessions.Replica
	worker      *agent.Worker
	tools       []tools.Tool
}

// build makes a house whose agents have the given tools beside the loop's own.
func build(t testing.TB, extra ...tools.Tool) *house {
	t.Helper()
	pool := pgtest.New(t)
	if _, err := auth.NewAccounts(pool).AddPerson(t.Context(), cli, auth.NewPerson{Name: "Mara", Role: auth.Supervisor, Team: "support"}); err != nil {
		t.Fatal(err)
	}
	return join(t, pool, t.TempDir(), extra...)
}

// join adds a worker, of a replica of its own, to a database.
func join(t testing.TB, pool *pgxpool.Pool, slots string, extra ...tools.Tool) *house {
	t.Helper()
	h := &house{t: t, pool: pool, store: sessions.NewStore(pool, nil).SealWith(keyring), definitions: definition.NewStore(pool, definition.Known{}, nil), tools: extra}
	var err error
	if h.inserter, err = jobs.NewInserter(pool, quiet); err != nil {
		t.Fatal(err)
	}
	if h.replica, err = sessions.Join(t.Context(), pool, slots, quiet); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.replica.Leave(context.WithoutCancel(t.Context()), pool) })
	h.worker = agent.NewWorker(h.deps())
	return h
}

func (h *house) deps() agent.Deps {
	compiled := &sync.Map{}
	return agent.Deps{
		DB: h.pool, Store: h.store, Definitions: h.definitions, Inserter: h.inserter, Replica: h.replica,
		Keys: keys, Keyring: keyring, Retries: new(tools.RetryBudgets), Breakers: breaker.New(h.pool, quiet), Stuck: new(atomic.Int64), Log: quiet, ModelBackoff: time.Millisecond,
		Tools: func(definition.Version) (*tools.Registry, error) {
			return tools.NewRegistry(append(agent.Own(h.store), h.tools...)...)
		},
		Model: func(v definition.Version, _ string) (llm.Model, error) {
			if m, ok := compiled.Load(v.Playbook); ok {
				return m.(llm.Model), nil
			}
			m, err := scripted.Compile("test.star", v.Playbook)
			if err != nil {
				return nil, err
			}
			compiled.Store(v.Playbook, strict{m})
			return strict{m}, nil
		},
		Redactor: func(context.Context, id.Session) (*redact.Redactor, error) {
			return redact.New(redact.Options{Key: []byte("k")})
		},
	}
}

// strict is a provider that takes no conversation in which a call is without its
// one result, or a result without its call, or arguments are no JSON.
type strict struct{ llm.Model }

func (m strict) Next(ctx context.Context, req llm.Request) (llm.Reply, error) {
	if fault := unpaired(req.Messages); fault != "" {
		return llm.Reply{}, &llm.Error{Kind: llm.Script, Status: 400, Message: fault}
	}
	return m.Model.Next(ctx, req)
}

func unpaired(messages []llm.Message) string {
	var due []tools.Call
	seen := map[string]bool{}
	for i, m := range messages {
		switch {
		case m.Role == llm.RoleResult:
			if len(due) == 0 || m.Result.ProviderID != fmt.Sprintf("call_%d", due[0].N) || seen[m.Result.ProviderID] {
				return fmt.Sprintf("message %d is a result of %s, for which no call waits", i, m.Result.ProviderID)
			}
			seen[m.Result.ProviderID], due = true, due[1:]
		case len(due) > 0:
			return fmt.Sprintf("message %d comes before the result of call %d", i, due[0].N)
		case m.Role == llm.RoleAssistant:
			due = m.Calls
			for _, c := range m.Calls {
				if len(c.Args) > 0 && !json.Valid(c.Args) {
					return fmt.Sprintf("the arguments of call %d are no JSON", c.N)
				}
			}
		}
	}
	if len(due) > 0 {
		return fmt.Sprintf("call %d has no result", due[0].N)
	}
	return ""
}

var agents atomic.Int64

// use has a worker of the given kind do the work from here on.
func (h *house) use(deps agent.Deps) { h.worker = agent.NewWorker(deps) }

// start starts a session of a new agent with this playbook. Lines of yaml are
// added to the agent's definition.
func (h *house) start(playbook string, yaml ...string) id.Session {
	h.t.Helper()
	// So that a test's playbook may return one thing where a list is due.
	playbook = strings.Replace(playbook, "def reply(s):", "def one(s):", 1) + `
def reply(s):
    r = one(s)
    return r if type(r) == "list" else [r]
`
	slug := fmt.Sprintf("bot-%d", agents.Add(1))
	source := "slug: " + slug + "\nteam: support\nmodel: scripted/test\nplaybook: ./test.star\npermission: {mode: auto}\n" + strings.Join(yaml, "\n")
	if strings.Contains(strings.Join(yaml, "\n"), "permission:") {
		source = strings.Replace(source, "permission: {mode: auto}\n", "", 1)
	}
	_, err := h.definitions.Apply(h.t.Context(), cli, definition.File{Name: slug + ".yaml", Source: []byte(source), Playbook: []byte(playbook)})
	if err != nil {
		h.t.Fatalf("apply agent: %v", err)
	}
	version, err := h.definitions.Get(h.t.Context(), cli, slug, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := h.store.Start(h.t.Context(), cli, h.inserter, sessions.New{Agent: version, Task: "Do it"})
	if err != nil {
		h.t.Fatalf("start session: %v", err)
	}
	return s.ID
}

// work has the worker look at a session, as its job does.
func (h *house) work(session id.Session) error {
	return h.worker.Work(h.t.Context(), &river.Job[sessions.RunArgs]{JobRow: &rivertype.JobRow{}, Args: sessions.RunArgs{Session: session}})
}

// run starts a session, has it worked on, and returns it as it then is.
func (h *house) run(playbook string, yaml ...string) sessions.Session {
	h.t.Helper()
	session := h.start(playbook, yaml...)
	if err := h.work(session); err != nil {
		h.t.Fatalf("work: %v", err)
	}
	return h.get(session)
}

func (h *house) get(session id.Session) sessions.Session {
	h.t.Helper()
	s, err := h.store.Get(context.WithoutCancel(h.t.Context()), cli, session)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// events reads the ledger and checks that its numbers are 1..n.
func (h *house) events(session id.Session) []sessions.Event {
	h.t.Helper()
	events, err := h.store.Events(context.WithoutCancel(h.t.Context()), cli, session, 0, 10_000)
	if err != nil {
		h.t.Fatal(err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			h.t.Errorf("event %d of %s has number %d", i+1, session, e.Seq)
		}
	}
	return events
}

// results reads the one result of each call, and checks that there is one.
func (h *house) results(session id.Session) map[int]tools.Result {
	h.t.Helper()
	results := map[int]tools.Result{}
	planned := map[int]bool{}
	for _, e := range h.events(session) {
		var d struct {
			Plans  []tools.Plan `json:"plans"`
			Result tools.Result `json:"result"`
		}
		if e.Type != sessions.ModelReplied && e.Type != sessions.CallEnded {
			continue
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			h.t.Fatalf("event %d: %v", e.Seq, err)
		}
		for _, p := range d.Plans {
			if planned[p.Call.N] {
				h.t.Errorf("call %d of %s is on record twice", p.Call.N, session)
			}
			planned[p.Call.N] = true
		}
		if e.Type == sessions.CallEnded {
			if _, twice := results[e.Call]; twice {
				h.t.Errorf("call %d of %s has two results", e.Call, session)
			}
			results[e.Call] = d.Result
		}
	}
	if s := h.get(session); s.Status.Ended() {
		for n := range planned {
			if _, ok := results[n]; !ok {
				h.t.Errorf("call %d of %s has no result", n, session)
			}
		}
		var rows int
		if err := h.pool.QueryRow(context.WithoutCancel(h.t.Context()), `select count(*) from tool_calls where session_id = $1`, session).Scan(&rows); err != nil || rows != len(results) {
			h.t.Errorf("%d rows of calls, %d results, %v", rows, len(results), err)
		}
	}
	return results
}

// failureOf is the code of why a session failed.
func failureOf(s sessions.Session) string {
	var f struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(s.Failure, &f)
	return f.Code
}

// object is the schema of a test tool that takes anything.
const object = `{"type": "object"}`

// tool makes a test tool.
func tool(name string, effect tools.Effect, run func(ctx context.Context, args json.RawMessage) (tools.Output, error)) tools.Tool {
	return testTool{tools.Spec{Name: name, Description: name, Schema: json.RawMessage(object), Effect: effect,
		Timeout: 2 * time.Second, Grace: 100 * time.Millisecond, Retry: tools.RetryPolicy{Base: time.Millisecond}}, run}
}

type testTool struct {
	spec tools.Spec
	run  func(ctx context.Context, args json.RawMessage) (tools.Output, error)
}

func (t testTool) Spec() tools.Spec { return t.spec }
func (t testTool) Run(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	return t.run(ctx, args)
}

// echo returns its arguments.
var echo = tool("echo", tools.EffectRead, func(_ context.Context, args json.RawMessage) (tools.Output, error) {
	return tools.Output{Data: args}, nil
})
