package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
	"baton/web/browsertest"
)

// torrent is a session in which this test does the work: 40 calls at once, and
// then 40 results at once, a hundred events a second.
type torrent struct {
	*replicas
	lease        *sessions.Lease
	steps, calls int
}

const atOnce = 40

// claim takes the session before any server can.
func (r *replicas) claim(session id.Session) *torrent {
	r.t.Helper()
	replica, err := sessions.Join(r.t.Context(), r.pool, r.t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		r.t.Fatal(err)
	}
	lease, _, err := r.store.Claim(r.t.Context(), replica, session)
	if err != nil {
		r.t.Fatal(err)
	}
	return &torrent{replicas: r, lease: lease}
}

func (w *torrent) write(s sessions.Step) {
	w.t.Helper()
	s.Counters = sessions.Counters{Turn: 1, Steps: w.steps, Calls: w.calls}
	if _, err := w.store.WriteStep(w.t.Context(), w.lease, s); err != nil {
		w.t.Fatal(err)
	}
}

// round writes the events of one reply with its calls, and returns how many.
func (w *torrent) round() int {
	w.t.Helper()
	w.steps++
	var plans []tools.Plan
	var start []int
	for i := range atOnce {
		n := w.calls + i + 1
		start = append(start, n)
		plans = append(plans, tools.Plan{Call: tools.Call{N: n, Tool: "http_request", Args: json.RawMessage(`{"method":"GET","url":"http://world.internal/look"}`)},
			Verdict: tools.Ready, Effect: tools.EffectRead, Service: "world.internal", Exact: "e", Loose: "l", Digest: "d", Policy: "default", Mode: "auto"})
	}
	w.calls += atOnce
	w.write(sessions.Step{Events: []sessions.NewEvent{{Type: sessions.ModelReplied, Turn: 1, Step: w.steps,
		Data: map[string]any{"text": "I look.", "plans": plans, "start": start}}}})
	result, err := tools.Succeed(tools.Output{Data: json.RawMessage(`{"ok":true}`)}, tools.Meta{DurationMS: 11, Attempts: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	var events []sessions.NewEvent
	var ended []sessions.EndedCall
	for i, n := range start {
		events = append(events, sessions.NewEvent{Type: sessions.CallEnded, Turn: 1, Step: w.steps, Call: n, Data: map[string]any{"result": result, "total_ms": 12}})
		ended = append(ended, sessions.EndedCall{N: n, Event: i, Turn: 1, Step: w.steps, Tool: "http_request", Service: "world.internal", Status: string(result.CallStatus()),
			Effect: "read_only", Attempts: 1, Duration: 12 * time.Millisecond, StartedAt: time.Now()})
	}
	w.write(sessions.Step{Events: events, Ended: ended})
	return 1 + atOnce
}

// A page under which a hundred events a second happen, forty rows changing at a
// time, and whose server is killed meanwhile, ends with exactly the rows that
// there are, in both views, without having been loaded anew.
// R: V1, V2, V3, Z4, UI
// case: fault F25
func TestAPageBearsATorrentAndTheDeathOfItsServer(t *testing.T) {
	t.Parallel()
	lasts := 5 * time.Second
	if os.Getenv("BATON_LONG_FAULTS") == "1" {
		lasts = 30 * time.Second
	}
	r := newReplicas(t, 0)
	r.start(1)
	session := r.ids[0]
	w := r.claim(session)
	r.env = append(r.env, "BATON_DATA_DIR="+dataDir(t))
	first := launch(t, r.env...)
	page := first.url + templates.SessionURL(session.String())
	tabs := map[string]*browsertest.Tab{"technical": browsertest.Open(t, browsertest.Desk), "plain": browsertest.Open(t, browsertest.Phone)}
	for view, tab := range tabs {
		token, err := auth.NewAccounts(r.pool).MakeLink(t.Context(), auth.CLI("t"), "Mara")
		if err != nil {
			t.Fatal(err)
		}
		tab.Go(first.url + templates.SignInLinkURL(token))
		tab.Follow("main button")
		tab.Expect("ERR_CONNECTION_REFUSED")
		tab.Go(page + "?view=" + view)
		tab.Wait(connected)
		stays(tab)
	}
	began, written, killed := time.Now(), 0, false
	for pace := time.NewTicker(time.Second * (1 + atOnce) / 100); time.Since(began) < lasts; <-pace.C {
		written += w.round()
		if !killed && time.Since(began) > lasts/3 {
			killed = true
			first.end(syscall.SIGKILL)
			launchAt(t, strings.TrimPrefix(first.url, "http://"), r.env...)
		}
	}
	t.Logf("%d events in %s", written, time.Since(began).Round(time.Second))
	// What a row says, without the times that tick.
	const rows = `JSON.stringify([...document.querySelectorAll("#events > *")].map((e) => [e.id, e.className, e.textContent.replace(/\s+/g, " ")]))`
	read := func(tab *browsertest.Tab) (list [][3]string) {
		if err := json.Unmarshal([]byte(browsertest.Eval[string](tab, rows)), &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	for view, tab := range tabs {
		tab.Wait(fmt.Sprintf(`document.querySelector("#call-%d") !== null && !document.querySelector("#events [data-since]")`, w.calls))
		stayed(t, tab, view)
		live := read(tab)
		tab.Go(page + "?view=" + view)
		drawn := read(tab)
		if len(live) < len(drawn) {
			t.Fatalf("%s: %d rows stand in the page, and %d should", view, len(live), len(drawn))
		}
		// A page that was open for long has more of what was before.
		tail := live[len(live)-len(drawn):]
		for i := range drawn {
			// The first row of a page has the number of its step, the others where
			// a step begins.
			if i == 0 && tail[i][0] == drawn[i][0] {
				continue
			}
			if tail[i] != drawn[i] {
				t.Fatalf("%s: row %d is %q, and should be %q", view, i, tail[i], drawn[i])
			}
		}
	}
}
