package decide_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/postgres"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/internal/tools"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// house is a database with a team, an agent, and what asks and decides.
type house struct {
	pool      *pgxpool.Pool
	sessions  *sessions.Store
	inserter  *jobs.Inserter
	agent     definition.Version
	replica   *sessions.Replica
	questions *escalation.Store
	desk      *decide.Desk
}

const agentYAML = "slug: bot\nname: Bot\nteam: support\nmodel: scripted/bot\nplaybook: ./bot.star\n"

func build(t *testing.T) house {
	t.Helper()
	h := house{pool: pgtest.New(t)}
	h.sessions, h.questions = sessions.NewStore(h.pool, nil), escalation.NewStore(h.pool)
	var err error
	if h.inserter, err = jobs.NewInserter(h.pool, quiet); err != nil {
		t.Fatal(err)
	}
	h.desk = decide.NewDesk(h.pool, h.inserter, nil)
	h.person(t, "Mara", auth.Supervisor, "support")
	definitions := definition.NewStore(h.pool, definition.Known{}, nil)
	_, err = definitions.Apply(t.Context(), auth.CLI("t"), definition.File{
		Name: "bot.yaml", Source: []byte(agentYAML), Playbook: []byte("def reply(s):\n    return []\n")})
	if err != nil {
		t.Fatalf("apply agent: %v", err)
	}
	if h.agent, err = definitions.Get(t.Context(), auth.CLI("t"), "bot", 0); err != nil {
		t.Fatal(err)
	}
	if h.replica, err = sessions.Join(t.Context(), h.pool, t.TempDir(), quiet); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.replica.Leave(context.WithoutCancel(t.Context()), h.pool) })
	return h
}

// person makes an account and signs in.
func (h house) person(t *testing.T, name string, role auth.Role, team string) auth.Actor {
	t.Helper()
	accounts := auth.NewAccounts(h.pool)
	link, err := accounts.AddPerson(t.Context(), auth.CLI("t"), auth.NewPerson{Name: name, Role: role, Team: team})
	if err != nil {
		t.Fatal(err)
	}
	login, err := accounts.SignIn(t.Context(), link, "test")
	if err != nil {
		t.Fatal(err)
	}
	actor, err := accounts.ActorByLogin(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	actor.Via = "api" // no hold unless one is asked for
	return actor
}

// refunds is a tool whose calls people decide about.
func refunds(t tools.Call) (tools.Plan, tools.Spec) {
	spec := tools.Spec{
		Name: "refund", Effect: tools.EffectSide,
		Words:  map[string]tools.Words{"en": {Title: "Refund", Sentence: "Refund {amount} to {customer}", Reversal: "For 30 days."}},
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["amount","customer"],"properties":{"amount":{"type":"string"},"customer":{"type":"string"}}}`),
	}
	return tools.Plan{Call: t, Verdict: tools.Awaiting, Effect: tools.EffectSide, ToolHash: "h1", Digest: "digest-of-" + string(t.Args)}, spec
}

// choice is a question with two options, the first of which refunds.
func choice(t testing.TB) escalation.Draft {
	t.Helper()
	ask, faults := escalation.ParseAsk(json.RawMessage(`{"question": "Refund the second charge of 240 EUR?", "title": "Charged twice",
		"options": [{"label": "Refund it", "id": "refund", "action": {"tool": "refund", "args": {"amount": "240.00", "customer": "Ana"}}}, "Leave it"],
		"reason_code": "duplicate_charge", "problem": "Order 8812 was charged twice.", "allow_other": true}`), nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	draft, faults := escalation.Compose(ask, escalation.Known{Task: "Settle it", Prepare: refunds})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return draft
}

// approval is the question whether a held call may run.
func approval() escalation.Draft {
	plan, spec := refunds(tools.Call{N: 1, Tool: "refund", Args: json.RawMessage(`{"amount":"240.00","customer":"Ana"}`)})
	return escalation.ApprovalDraft(plan, spec, escalation.Known{Task: "Settle it"})
}

// waiting is a session that waits for questions.
type waiting struct {
	id        id.Session
	questions []escalation.Escalation
}

// ask starts a session that raises the questions and waits for them.
func (h house) ask(t testing.TB, raises ...escalation.Raise) waiting {
	t.Helper()
	s, err := h.sessions.Start(t.Context(), auth.CLI("t"), h.inserter, sessions.New{Agent: h.agent, Task: "Settle it"})
	if err != nil {
		t.Fatal(err)
	}
	lease := h.claim(t, s.ID)
	w := waiting{id: s.ID}
	err = postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
		step := sessions.Step{Counters: sessions.Counters{Turn: 1, Steps: 1, Calls: len(raises)}}
		for i, r := range raises {
			r.Session, r.Call = s, i+1
			e, err := escalation.RaiseTx(t.Context(), tx, h.inserter, r)
			if err != nil {
				return err
			}
			w.questions = append(w.questions, e)
			step.Events = append(step.Events, sessions.NewEvent{Type: sessions.EscalationRaised, Turn: 1, Step: 1, Call: e.Call, Data: e.Event()})
		}
		return sessions.ParkTx(t.Context(), tx, lease, sessions.Parking{To: sessions.Waiting, Raised: len(raises), Step: step})
	})
	if err != nil {
		t.Fatalf("raise: %v", err)
	}
	return w
}

func (h house) claim(t testing.TB, s id.Session) *sessions.Lease {
	t.Helper()
	lease, _, err := h.sessions.Claim(t.Context(), h.replica, s)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return lease
}

// end lets the worker end a cancelled session.
func (h house) end(t testing.TB, s id.Session) {
	t.Helper()
	lease := h.claim(t, s)
	err := postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
		if _, err := sessions.LockTx(t.Context(), tx, s); err != nil {
			return err
		}
		w, err := escalation.WithdrawTx(t.Context(), tx, s)
		if err != nil {
			return err
		}
		return sessions.EndTx(t.Context(), tx, lease, sessions.Ending{Status: sessions.Cancelled, Withdrawn: w.Pending,
			Step: sessions.Step{Events: w.Events, Counters: sessions.Counters{Turn: 1, Steps: 1}}})
	})
	if err != nil {
		t.Fatalf("end: %v", err)
	}
}

func (h house) session(t testing.TB, s id.Session) sessions.Session {
	t.Helper()
	v, err := h.sessions.Get(t.Context(), auth.CLI("t"), s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (h house) question(t testing.TB, e escalation.Escalation) escalation.Escalation {
	t.Helper()
	v, err := h.questions.Get(t.Context(), auth.CLI("t"), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// ledger are a session's events, which are numbered from 1 without a gap.
func (h house) ledger(t testing.TB, s id.Session) []sessions.Event {
	t.Helper()
	events, err := h.sessions.Events(t.Context(), auth.CLI("t"), s, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
	return events
}

// last is the data of the session's latest event of a type.
func (h house) last(t testing.TB, s id.Session, typ sessions.EventType) (data escalation.Event) {
	t.Helper()
	found := false
	for _, e := range h.ledger(t, s) {
		if e.Type == typ {
			found, data = true, escalation.Event{}
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !found {
		t.Fatalf("no event %s", typ)
	}
	return data
}

func (h house) count(t testing.TB, sql string, args ...any) (n int) {
	t.Helper()
	if err := h.pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// runs counts the jobs that wait to run a session.
func (h house) runs(t testing.TB, s id.Session) int {
	t.Helper()
	return h.count(t, `select count(*) from river_job where kind = 'session.run' and args ->> 'session' = $1`, s.String())
}

// expireAt moves the end of a question's time.
func (h house) expireAt(t testing.TB, e escalation.Escalation, fromNow time.Duration) {
	t.Helper()
	if _, err := h.pool.Exec(t.Context(), `update escalations set expires_at = clock_timestamp() + $2::interval where id = $1`, e.ID, fromNow); err != nil {
		t.Fatal(err)
	}
}

func pick(option string) decide.Answer {
	return decide.Answer{Version: 1, Type: escalation.Choose, Option: option}
}

func holdFor(a decide.Answer, hold time.Duration) decide.Answer {
	a.Hold = &hold
	return a
}
