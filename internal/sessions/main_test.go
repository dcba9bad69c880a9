package sessions_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/postgres"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// house is a database with a team, an agent and what works on sessions.
type house struct {
	pool     *pgxpool.Pool
	store    *sessions.Store
	inserter *jobs.Inserter
	agent    definition.Version
}

func build(t *testing.T) house {
	t.Helper()
	h := house{pool: pgtest.New(t)}
	h.store = sessions.NewStore(h.pool, nil)
	var err error
	if h.inserter, err = jobs.NewInserter(h.pool, quiet); err != nil {
		t.Fatal(err)
	}
	if _, err := auth.NewAccounts(h.pool).AddPerson(t.Context(), auth.CLI("t"), auth.NewPerson{Name: "Mara", Role: auth.Supervisor, Team: "support"}); err != nil {
		t.Fatal(err)
	}
	definitions := definition.NewStore(h.pool, definition.Known{}, nil)
	_, err = definitions.Apply(t.Context(), auth.CLI("t"), definition.File{
		Name: "bot.yaml", Source: []byte("slug: bot\nname: Bot\nteam: support\nmodel: scripted/bot\nplaybook: ./bot.star\n"), Playbook: []byte("def reply(s):\n    return []\n")})
	if err != nil {
		t.Fatalf("apply agent: %v", err)
	}
	if h.agent, err = definitions.Get(t.Context(), auth.CLI("t"), "bot", 0); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h house) start(t *testing.T) sessions.Session {
	t.Helper()
	s, err := h.store.Start(t.Context(), auth.CLI("t"), h.inserter, sessions.New{Agent: h.agent, Task: "Do it"})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return s
}

func (h house) join(t *testing.T) *sessions.Replica {
	t.Helper()
	return h.joinAt(t, t.TempDir())
}

func (h house) joinAt(t *testing.T, dir string) *sessions.Replica {
	t.Helper()
	r, err := sessions.Join(t.Context(), h.pool, dir, quiet)
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	t.Cleanup(func() { r.Leave(context.WithoutCancel(t.Context()), h.pool) })
	return r
}

func (h house) claim(t *testing.T, r *sessions.Replica, s id.Session) *sessions.Lease {
	t.Helper()
	lease, _, err := h.store.Claim(t.Context(), r, s)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	return lease
}

func (h house) get(t *testing.T, s id.Session) sessions.Session {
	t.Helper()
	v, err := h.store.Get(t.Context(), auth.CLI("t"), s)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	return v
}

// jobs counts the jobs that wait for a session.
func (h house) jobs(t *testing.T, s id.Session) (n int) {
	t.Helper()
	const sql = `select count(*) from river_job where kind = 'session.run' and args ->> 'session' = $1 and state = 'available'`
	if err := h.pool.QueryRow(t.Context(), sql, s.String()).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// silence makes a replica look dead to the database.
func (h house) silence(t *testing.T, r *sessions.Replica) {
	t.Helper()
	r.Leave(t.Context(), h.pool) // its own beat would undo this
	if _, err := h.pool.Exec(t.Context(), `update replicas set beat_at = now() - interval '9 s' where id = $1`, r.ID); err != nil {
		t.Fatal(err)
	}
}

func note(text string) sessions.NewEvent {
	return sessions.NewEvent{Type: sessions.NoticeGiven, Turn: 1, Step: 1, Data: map[string]string{"text": text}}
}

func (h house) outside(t *testing.T, s id.Session, o sessions.Outside) {
	t.Helper()
	if o.Event.Type == "" {
		o.Event = sessions.NewEvent{Type: sessions.MessageReceived, Data: map[string]string{"text": "hello"}}
	}
	err := postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
		l, err := sessions.LockTx(t.Context(), tx, s)
		if err != nil {
			return err
		}
		return sessions.OutsideTx(t.Context(), tx, h.inserter, l, o)
	})
	if err != nil {
		t.Fatalf("write from outside: %v", err)
	}
}

// ledger checks that a session's numbers are 1..n and returns the types.
func (h house) ledger(t *testing.T, s id.Session) (types []sessions.EventType) {
	t.Helper()
	events, err := h.store.Events(t.Context(), auth.CLI("t"), s, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has number %d", i+1, e.Seq)
		}
		if !json.Valid(e.Data) {
			t.Errorf("event %d: %s", e.Seq, e.Data)
		}
		types = append(types, e.Type)
	}
	return types
}
