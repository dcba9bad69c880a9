package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// world is a server with two teams, an agent in each, and people in every role.
// Those of the team support are named by their role; Otto is admin of finance.
type world struct{ *house }

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{open4test(t)}
	for _, role := range auth.Roles() {
		w.add(string(role), role, "support")
	}
	w.add("Otto", auth.Admin, "finance")
	w.apply("desk", "support")
	w.apply("ledger", "finance")
	return w
}

func (w world) add(name string, role auth.Role, team string) {
	w.t.Helper()
	if _, err := w.accounts.AddPerson(w.t.Context(), auth.CLI("root"), auth.NewPerson{Name: name, Role: role, Team: team}); err != nil {
		w.t.Fatal(err)
	}
}

func agentYAML(slug, team, instructions string) string {
	return fmt.Sprintf("slug: %s\nteam: %s\nname: %s\nmodel: scripted/p\nplaybook: p.star\ninstructions: %s\n", slug, team, strings.ToUpper(slug), instructions)
}

func (w world) apply(slug, team string) definition.Version {
	w.t.Helper()
	f := definition.File{Name: slug + ".yaml", Source: []byte(agentYAML(slug, team, "Help.")), Playbook: []byte("def reply(s): return []")}
	if _, err := w.deps.Definitions.Apply(w.t.Context(), auth.CLI("root"), f); err != nil {
		w.t.Fatal(err)
	}
	v, err := w.deps.Definitions.Get(w.t.Context(), auth.CLI("root"), slug, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w world) start(agent string) id.Session {
	w.t.Helper()
	v, err := w.deps.Definitions.Get(w.t.Context(), auth.CLI("root"), agent, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := w.deps.Sessions.Start(w.t.Context(), auth.CLI("root"), w.deps.Inserter, sessions.New{Agent: v, Task: "Find order 4711"})
	if err != nil {
		w.t.Fatal(err)
	}
	return s.ID
}

// work gives a queued session to a worker of the test's own.
func (w world) work(session id.Session) *worker {
	w.t.Helper()
	replica, err := sessions.Join(w.t.Context(), w.db, w.t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { replica.Leave(context.WithoutCancel(w.t.Context()), w.db) })
	lease, _, err := w.deps.Sessions.Claim(w.t.Context(), replica, session)
	if err != nil {
		w.t.Fatal(err)
	}
	return &worker{world: w, session: session, lease: lease}
}

// worker writes a session's ledger as the agent's loop does.
type worker struct {
	world
	session id.Session
	lease   *sessions.Lease
	calls   int
	steps   int
}

func (w *worker) write(s sessions.Step) {
	w.t.Helper()
	s.Counters = sessions.Counters{Turn: 1, Steps: w.steps, Calls: w.calls}
	if _, err := w.deps.Sessions.WriteStep(w.t.Context(), w.lease, s); err != nil {
		w.t.Fatal(err)
	}
}

// ask is a model's reply with one call, which starts at once unless the
// verdict is another.
func (w *worker) ask(tool, args string, verdict tools.Verdict) id.Call {
	w.t.Helper()
	w.calls++
	w.steps++
	plan := tools.Plan{
		Call:    tools.Call{N: w.calls, Tool: tool, Args: json.RawMessage(args), Reason: "to find it"},
		Verdict: verdict, Effect: tools.EffectRead, Service: "shop", Exact: "e", Loose: "l", Digest: "d", Policy: "default", Mode: "ask",
	}
	var start []int
	if verdict == tools.Ready {
		start = []int{w.calls}
	}
	w.write(sessions.Step{Events: []sessions.NewEvent{{Type: sessions.ModelReplied, Turn: 1, Step: w.steps,
		Data: map[string]any{"text": "I look.", "plans": []tools.Plan{plan}, "start": start}}}})
	return id.Call{Session: w.session, N: w.calls}
}

// end gives the latest call its result.
func (w *worker) end(tool string, result tools.Result, attempts []tools.Attempt, kept string) {
	w.t.Helper()
	n := w.calls
	row := sessions.EndedCall{N: n, Turn: 1, Step: w.steps, Tool: tool, Service: "shop", Status: string(result.CallStatus()),
		ErrorType: string(result.ErrorType()), Effect: "read_only", Attempts: result.Meta().Attempts, Duration: 12 * time.Millisecond, Bytes: 99,
		StartedAt: time.Now()}
	w.write(sessions.Step{
		Events: []sessions.NewEvent{{Type: sessions.CallEnded, Turn: 1, Step: w.steps, Call: n,
			Data: map[string]any{"result": result, "attempts": attempts, "queued_ms": 1, "run_ms": 7, "wait_ms": 4, "format_ms": 1, "total_ms": 12, "stored": kept != ""}}},
		Ended: []sessions.EndedCall{row},
	})
	for i, line := range strings.SplitAfter(kept, "\n") {
		if line == "" {
			continue
		}
		_, err := w.db.Exec(w.t.Context(), `insert into call_outputs values ($1, $2, $3, $4, $5)`, w.session, n, i+1, i, line)
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func succeeded(t *testing.T, data string) tools.Result {
	t.Helper()
	r, err := tools.Succeed(tools.Output{Data: json.RawMessage(data)}, tools.Meta{DurationMS: 11, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refund is a tool whose calls people decide about.
func refund(c tools.Call) (tools.Plan, tools.Spec) {
	spec := tools.Spec{
		Name: "refund", Effect: tools.EffectSide,
		Words:  map[string]tools.Words{"en": {Title: "Refund", Sentence: "Refund {amount}"}},
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["amount"],"properties":{"amount":{"type":"string"}}}`),
	}
	return tools.Plan{Call: c, Verdict: tools.Awaiting, Effect: tools.EffectSide, ToolHash: "h1", Digest: "digest-of-" + string(c.Args)}, spec
}

// choice is a question with the options refund (which has an action) and leave.
func choice(t *testing.T) escalation.Draft {
	t.Helper()
	ask, faults := escalation.ParseAsk(json.RawMessage(`{"question": "Refund the second charge of 240 EUR?", "title": "Charged twice",
		"options": [{"label": "Refund it", "id": "refund", "action": {"tool": "refund", "args": {"amount": "240.00"}}}, {"label": "Leave it", "id": "leave"}],
		"recommended": "A", "reason": "It was charged twice.", "reason_code": "duplicate_charge", "facts": [{"label": "Order", "value": "8812"}],
		"problem": "Order 8812 was charged twice.", "allow_other": true}`), nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	draft, faults := escalation.Compose(ask, escalation.Known{Task: "Settle it", Prepare: refund})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return draft
}

// approval is the question whether a held call may run.
func approval(args string) escalation.Draft {
	plan, spec := refund(tools.Call{N: 1, Tool: "refund", Args: json.RawMessage(args)})
	return escalation.ApprovalDraft(plan, spec, escalation.Known{Task: "Settle it"})
}

// raise asks about the latest call, and lets the session wait.
func (w *worker) raise(draft escalation.Draft) escalation.Escalation {
	w.t.Helper()
	var e escalation.Escalation
	err := postgres.InTx(w.t.Context(), w.db, func(tx pgx.Tx) (err error) {
		row, err := w.deps.Sessions.Get(w.t.Context(), auth.CLI("root"), w.session)
		if err != nil {
			return err
		}
		if e, err = escalation.RaiseTx(w.t.Context(), tx, w.deps.Inserter, escalation.Raise{Draft: draft, Session: row, Call: w.calls, Hold: 10 * time.Second}); err != nil {
			return err
		}
		return sessions.ParkTx(w.t.Context(), tx, w.lease, sessions.Parking{To: sessions.Waiting, Raised: 1, Step: sessions.Step{
			Counters: sessions.Counters{Turn: 1, Steps: w.steps, Calls: w.calls},
			Events:   []sessions.NewEvent{{Type: sessions.EscalationRaised, Turn: 1, Step: w.steps, Call: e.Call, Data: e.Event()}},
		}})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// question is one that an agent's session waits for.
func (w world) question(agent string) escalation.Escalation {
	w.t.Helper()
	worker := w.work(w.start(agent))
	worker.ask("ask_human", `{"question": "Refund it?"}`, tools.Ready)
	return worker.raise(choice(w.t))
}

// choose answers a question with one of its options, and holds the answer.
func (p program) choose(e escalation.Escalation, option string, hold int) answer {
	p.h.t.Helper()
	return p.post("/escalations/"+e.ID.String()+"/answer",
		fmt.Sprintf(`{"version": %d, "decision": {"type": "choose", "option_id": %q}, "hold_seconds": %d}`, e.Version, option, hold))
}
