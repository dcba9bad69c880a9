package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/postgres/pgtest"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// outsideWorld is a service beside Baton. It is the truth about what the tools
// really did: each booking is counted by its session.
type outsideWorld struct {
	mu       sync.Mutex
	bookings map[string]int
	keys     map[string]bool // under which they were made
	slow     time.Duration
}

func (w *outsideWorld) ServeHTTP(res http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	w.mu.Lock()
	if req.Method == http.MethodPost {
		w.bookings[string(body)]++
		w.keys[req.Header.Get("Idempotency-Key")] = true
	}
	slow := w.slow
	w.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-req.Context().Done():
	}
	res.Header().Set("Content-Type", "application/json")
	fmt.Fprint(res, `{"ok": true}`)
}

// untilBooked waits until a booking was asked for.
func (w *outsideWorld) untilBooked(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		w.mu.Lock()
		n := len(w.bookings)
		w.mu.Unlock()
		switch {
		case n > 0:
			return
		case time.Now().After(deadline):
			t.Fatal("nothing was booked")
		}
		select {
		case <-t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

const bookOnce = `
def reply(s):
    if s.step < 5:
        return [call("http_request", method = "GET", url = "http://world.internal/look?n=%d" % s.step)]
    if s.step == 5:
        return [call("http_request", method = "POST", url = "http://world.internal/book", body = s.inputs["name"])]
    ok = [r.call_id for r in s.results if r.status == "success"]
    if s.results[-1].status == "success":
        return [finish("Booked.", evidence = ok)]
    return [finish("It is not known whether it was booked.", status = "partly", evidence = ok, unresolved = [s.results[-1].message])]
`

// replicas is one database with several servers on it, and the outside world.
type replicas struct {
	t     *testing.T
	pool  *pgxpool.Pool
	env   []string
	world *outsideWorld
	store *sessions.Store
	ids   []id.Session
}

// newReplicas makes the world, whose host has more keys in the configuration.
func newReplicas(t *testing.T, slow time.Duration, host ...string) *replicas {
	t.Helper()
	r := &replicas{t: t, pool: pgtest.New(t), world: &outsideWorld{bookings: map[string]int{}, keys: map[string]bool{}, slow: slow}}
	r.store = sessions.NewStore(r.pool, nil)
	service := httptest.NewServer(r.world)
	t.Cleanup(service.Close)
	file := filepath.Join(t.TempDir(), "baton.yaml")
	text := "hosts: {world.internal: {address: \"" + strings.TrimPrefix(service.URL, "http://") + "\", " + strings.Join(append(host, "allow_private: true"), ", ") + "}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.env = []string{"DATABASE_URL=" + pgtest.URL(r.pool), "BATON_CONFIG=" + file, testKey}
	return r
}

// launch starts a server with a data directory, and so a slot, of its own: as
// if it stood on a machine of its own.
func (r *replicas) launch() *program {
	r.t.Helper()
	dir := dataDir(r.t)
	p := launch(r.t, append([]string{"BATON_DATA_DIR=" + dir}, r.env...)...)
	p.slot = filepath.Join(dir, "replicas", "1")
	return p
}

// busy waits until one of two servers has several sessions in hand, and returns
// it.
func (r *replicas) busy(a, b *program) *program {
	r.t.Helper()
	var replica id.Replica
	r.until("a replica works", `select exists (select from sessions where replica_id is not null group by replica_id having count(*) >= 5)`)
	const sql = `select replica_id from sessions where replica_id is not null group by replica_id order by count(*) desc limit 1`
	if err := r.pool.QueryRow(r.t.Context(), sql).Scan(&replica); err != nil {
		r.t.Fatal(err)
	}
	for _, p := range []*program{a, b} {
		if text, err := os.ReadFile(p.slot); err == nil && strings.TrimSpace(string(text)) == replica.String() {
			return p
		}
	}
	r.t.Fatalf("neither server is %s", replica)
	return nil
}

func (r *replicas) start(n int) {
	r.t.Helper()
	ctx := r.t.Context()
	if _, err := auth.NewAccounts(r.pool).AddPerson(ctx, auth.CLI("t"), auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"}); err != nil {
		r.t.Fatal(err)
	}
	definitions := definition.NewStore(r.pool, definition.Known{}, playbookFaults)
	_, err := definitions.Apply(ctx, auth.CLI("t"), definition.File{Name: "bot.yaml", Playbook: []byte(bookOnce), Source: []byte(
		"slug: bot\nteam: support\nmodel: scripted/book\nplaybook: ./book.star\ntools: [http_request]\nhosts: [world.internal]\npermission: {mode: auto}\n")})
	if err != nil {
		r.t.Fatal(err)
	}
	version, err := definitions.Get(ctx, auth.CLI("t"), "bot", 0)
	if err != nil {
		r.t.Fatal(err)
	}
	inserter, err := jobs.NewInserter(r.pool, slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	var news []sessions.New
	for i := range n {
		news = append(news, sessions.New{Agent: version, Task: "Book", Inputs: json.RawMessage(fmt.Sprintf(`{"name": "guest-%d"}`, i))})
	}
	started, err := r.store.StartAll(ctx, auth.CLI("t"), inserter, news...)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, s := range started {
		r.ids = append(r.ids, s.ID)
	}
}

// until waits until a statement says true.
func (r *replicas) until(what, sql string, args ...any) {
	r.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		var is bool
		if err := r.pool.QueryRow(r.t.Context(), sql, args...).Scan(&is); err != nil {
			r.t.Fatal(err)
		}
		if is {
			return
		}
		select {
		case <-deadline:
			r.t.Fatalf("not in time: %s\n%s", what, r.state())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// state tells where everything stands, for a test that failed.
func (r *replicas) state() string {
	var text string
	const sql = `
select coalesce((select string_agg(status || ' ' || n, ', ') from (select status, count(*) as n from sessions group by 1) s), '') || '; jobs ' ||
       coalesce((select string_agg(kind || ' ' || state || ' ' || n, ', ') from (select kind, state::text, count(*) as n from river_job group by 1, 2) j), '') || '; errors ' ||
       coalesce((select string_agg(distinct errors[1] ->> 'error', '; ') from river_job where errors is not null), 'none')`
	if err := r.pool.QueryRow(r.t.Context(), sql).Scan(&text); err != nil {
		return err.Error()
	}
	return text
}

func (r *replicas) untilAllEnded() {
	r.t.Helper()
	r.until("all sessions end", `select not exists (select from sessions where ended_at is null)`)
}

// check holds the invariants: every session completed, each call has one
// result, numbers are gap-free, no booking twice; a booking whose fate is not
// known is said to be so. It returns how many are.
func (r *replicas) check() (unknown int) {
	r.t.Helper()
	for i, session := range r.ids {
		s, err := r.store.Get(r.t.Context(), auth.CLI("t"), session)
		if err != nil {
			r.t.Fatal(err)
		}
		if s.Status != sessions.Completed {
			r.t.Errorf("session %d is %s, %s", i, s.Status, s.Failure)
		}
		events, err := r.store.Events(r.t.Context(), auth.CLI("t"), session, 0, 1000)
		if err != nil {
			r.t.Fatal(err)
		}
		results, inDoubt := map[int]int{}, false
		for n, e := range events {
			if e.Seq != int64(n+1) {
				r.t.Errorf("session %d: event %d has number %d", i, n+1, e.Seq)
			}
			if e.Type != sessions.CallEnded {
				continue
			}
			results[e.Call]++
			var d struct {
				Result tools.Result `json:"result"`
			}
			if err := json.Unmarshal(e.Data, &d); err != nil {
				r.t.Fatal(err)
			}
			inDoubt = inDoubt || d.Result.ErrorType() == tools.OutcomeUnknown
		}
		for call, n := range results {
			if n != 1 {
				r.t.Errorf("session %d: call %d has %d results", i, call, n)
			}
		}
		r.world.mu.Lock()
		booked := r.world.bookings[fmt.Sprintf("guest-%d", i)]
		r.world.mu.Unlock()
		if booked > 1 || booked == 0 && !inDoubt {
			r.t.Errorf("session %d: booked %d times, in doubt %v", i, booked, inDoubt)
		}
		if inDoubt {
			unknown++
		}
	}
	return unknown
}

const sqlTakenOver = `
select count(*), coalesce(max(extract(epoch from at - (data ->> 'last_beat')::timestamptz)), 0)::float8
from session_events where type = 'session.recovered'`

// takenOver tells how many sessions changed hands, and how long after the last
// beat of their former holder at most.
func (r *replicas) takenOver() (n int, seconds float64) {
	r.t.Helper()
	if err := r.pool.QueryRow(r.t.Context(), sqlTakenOver).Scan(&n, &seconds); err != nil {
		r.t.Fatal(err)
	}
	return n, seconds
}

// R: A1, A2, L1, X7
// case: fault F08
func TestOfTwoReplicasOneIsKilledAndTheOtherGoesOn(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, time.Second)
	a, b := r.launch(), r.launch()
	r.start(20)
	r.busy(a, b).end(syscall.SIGKILL)
	r.untilAllEnded()
	unknown := r.check()
	n, seconds := r.takenOver()
	if n == 0 {
		t.Error("no session changed hands")
	}
	t.Logf("%d sessions changed hands within %.1f s of the last beat, %d bookings of unknown fate", n, seconds, unknown)
}

// A replica stands still for longer than its lease, and comes back: it neither
// writes nor acts for what it has lost, and works on for the rest.
// R: A2, L1
// case: fault F10
func TestAFrozenReplicaNeitherWritesNorActsWhenItComesBack(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, time.Second)
	a, b := r.launch(), r.launch()
	r.start(20)
	frozen := r.busy(a, b)
	if err := frozen.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r.until("the other takes over", `select exists (select from session_events where type = 'session.recovered')
		and not exists (select from sessions s join replicas r on r.id = s.replica_id where r.beat_at < now() - interval '9 s')`)
	if os.Getenv("BATON_LONG_FAULTS") == "1" {
		<-time.After(50 * time.Second) // beyond every limit of the frozen one's own
	}
	if err := frozen.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	r.untilAllEnded()
	unknown := r.check()
	if code, body := get(t, frozen.url+"/readyz"); code != http.StatusOK {
		t.Errorf("the thawed replica is not ready: %d %s", code, body)
	}
	t.Logf("%d bookings of unknown fate", unknown)
}

// R: A1
// case: fault F09
func TestASingleServerKilledAndStartedAgainGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 500*time.Millisecond)
	r.env = append(r.env, "BATON_DATA_DIR="+dataDir(t))
	first := launch(t, r.env...)
	r.start(10)
	r.until("it works", `select count(*) > 5 from sessions where status = 'running'`)
	first.end(syscall.SIGKILL)
	launch(t, r.env...)
	r.untilAllEnded()
	r.check()
	var restarted int
	const sql = `select count(*) from session_events where type = 'session.recovered' and data ->> 'restarted' = 'true'`
	if err := r.pool.QueryRow(t.Context(), sql).Scan(&restarted); err != nil || restarted == 0 {
		t.Errorf("%d sessions were taken back by the slot rather than by silence, %v", restarted, err)
	}
}

// SIGTERM hands sessions over; none is marked failed.
// R: A1
// case: fault F25
func TestAServerThatIsStoppedHandsItsSessionsOver(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 500*time.Millisecond)
	stopped := r.launch()
	r.start(20)
	r.until("the first replica works", `select count(*) > 10 from sessions where status = 'running'`)
	r.launch()
	stopped.end(syscall.SIGTERM)
	if code := stopped.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, stopped.stderr)
	}
	r.untilAllEnded()
	if unknown := r.check(); unknown != 0 {
		t.Errorf("%d bookings of unknown fate after an orderly stop", unknown)
	}
}
