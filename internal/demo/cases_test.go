package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/tools"
)

func (f *floor) types(tool string) []string {
	var list []string
	for _, m := range f.results {
		if m.Result.Tool == tool {
			list = append(list, string(m.Result.Result.ErrorType()))
		}
	}
	return list
}

func purchaseSession(po string) Session {
	return Session{"supplier-deliveries", "When does " + po + " arrive?", inputs(map[string]any{"po": po})}
}

// Failed twice, refused once, reminded, tried again in other words, rested,
// asked.
// R: X4, A8, Q3, P1, P6
func testSupplierDeliveries(t *testing.T, db *pgxpool.Pool, url string) {
	for name, c := range map[string]struct {
		po, choose, words string
		status            string
		says              string
	}{
		"renewed":        {"PO-2201", "renew", "", "done", "arrives on"},
		"phoned":         {"PO-2202", "phone", "She is in until four.", "partly", "Jonas Seidel at Brandt Polster GmbH is to be phoned about order PO-2202"},
		"left":           {"PO-2203", "later", "", "partly", "still to be found out"},
		"in other words": {"PO-2204", "", "Ask them by fax.", "partly", "Ask them by fax."},
	} {
		f := newFloor(t, db, url, "supplier-deliveries")
		f.choose, f.words = c.choose, c.words
		finish := f.play(purchaseSession(c.po))
		if finish["status"] != c.status || !strings.Contains(fmt.Sprint(finish), c.says) || !strings.Contains(fmt.Sprint(finish), c.words) {
			t.Errorf("%s: %v\n%s", name, finish, strings.Join(f.calls, "\n"))
		}
		f.checkQuestion()
		want := []string{"permission_denied", "permission_denied", "circuit_open", "permission_denied"}
		if got := f.types("http_request"); fmt.Sprint(got[:4]) != fmt.Sprint(want) {
			t.Errorf("%s: the login ended %v, want %v", name, got, want)
		}
		if got := fmt.Sprint(f.measures); got != "[failing/remind failing/rest]" {
			t.Errorf("%s: done against the loop: %s", name, got)
		}
		if f.asked[0]["trigger"] != "repeated_failure" || !strings.Contains(f.asked[0]["problem"].(string), "expired on 2025-11-10") {
			t.Errorf("%s: %v", name, f.asked[0])
		}
		if len(f.approved) != 0 {
			t.Errorf("%s: asked again about what was decided: %v", name, f.approved)
		}
	}
	// Once renewed, the portal lets everybody in.
	f := newFloor(t, db, url, "supplier-deliveries")
	if finish := f.play(purchaseSession("PO-2209")); finish["status"] != "done" || len(f.asked) != 0 {
		t.Errorf("same supplier: %v", finish)
	}
	f = newFloor(t, db, url, "supplier-deliveries")
	if finish := f.play(purchaseSession("PO-1")); finish["status"] != "unable" {
		t.Errorf("no such order: %v", finish)
	}
	f = newFloor(t, db, url, "supplier-deliveries")
	f.expire = true
	if finish := f.play(purchaseSession("PO-2205")); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish), "Nobody") {
		t.Errorf("nobody answers: %v", finish)
	}
	for tool, n := range map[string]int{"query_db": 1, "http_request": 1} {
		f := newFloor(t, db, url, "supplier-deliveries")
		f.before = func(called string, i int) *tools.Failure {
			if called == tool && i >= n {
				return tools.Fail(tools.Unavailable, "It is down.")
			}
			return nil
		}
		if finish := f.play(purchaseSession("PO-2206")); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish), "It is down.") || len(f.asked) > 0 {
			t.Errorf("%s fails: %v", tool, finish)
		}
	}
	f = newFloor(t, db, url, "supplier-deliveries")
	f.choose = "renew"
	f.before = func(tool string, i int) *tools.Failure {
		if tool == "http_request" && i == 5 { // the renewal
			return tools.Fail(tools.ExecutionError, "No renewals on Sundays.")
		}
		return nil
	}
	if finish := f.play(purchaseSession("PO-2207")); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish), "No renewals on Sundays.") {
		t.Errorf("the renewal fails: %v", finish)
	}
}

// R: T7, A6, X6
func testNewsletters(t *testing.T, db *pgxpool.Pool, url string) {
	all, err := newsletter(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFloor(t, db, url, "newsletters")
	finish := f.play(all[0])
	if finish["status"] != "partly" || finish["summary"] != "“Spring prices” went out to 1,836 of 1,840 customers." || len(finish["unresolved"].([]any)) != 4 {
		t.Errorf("%v", finish)
	}
	if len(f.approved) != 1 || !strings.HasPrefix(f.approved[0], "send_email") {
		t.Errorf("approved %d calls", len(f.approved))
	}
	_, spec, _ := f.facts.Tools.Lookup("send_email")
	if _, says := spec.Describe("en", json.RawMessage(strings.TrimPrefix(f.approved[0], "send_email "))); says != "Send “Spring prices” to 1,840 recipients" {
		t.Errorf("people read: %s", says)
	}
	f = newFloor(t, db, url, "newsletters")
	f.reject, f.words = true, "Not before Friday."
	if finish := f.play(all[0]); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish["unresolved"]), "Not before Friday.") {
		t.Errorf("refused: %v", finish)
	}
	countries, err := countryNews(t.Context(), nil)
	if err != nil || len(countries) != len(places) {
		t.Fatalf("%d countries (%v)", len(countries), err)
	}
	f = newFloor(t, db, url, "newsletters")
	if finish := f.play(countries[4]); finish["status"] == "unable" || strings.Contains(fmt.Sprint(finish), "1,8") {
		t.Errorf("one country: %v", finish)
	}
	f = newFloor(t, db, url, "newsletters")
	if finish := f.play(Session{"newsletters", "Write.", inputs(map[string]any{"subject": "s", "text": "x", "country": "XX"})}); finish["status"] != "unable" || len(f.approved) > 0 {
		t.Errorf("nobody there: %v", finish)
	}
	for i, tool := range []string{"query_db", "query_db", "send_email"} {
		f := newFloor(t, db, url, "newsletters")
		f.before = func(called string, n int) *tools.Failure {
			if called == tool && n > i%2 {
				return tools.Fail(tools.Unavailable, "It is down.")
			}
			return nil
		}
		if finish := f.play(all[0]); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish), "It is down.") || len(f.approved) > 0 {
			t.Errorf("%s fails: %v", tool, finish)
		}
	}
}

// R: F3, F9, S1
func testDeliveryReports(t *testing.T, db *pgxpool.Pool, url string) {
	work, err := deliveryReport(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := newFloor(t, db, url, "delivery-reports")
	finish := f.play(work[0])
	text := f.kept["call_1"]
	_, body, _ := strings.Cut(text, "\n\n") // after the head of the answer
	if lines := strings.Count(body, "\n"); lines != ReportLines {
		t.Errorf("the report has %d lines", lines)
	}
	shown := f.results[0].Result.Result
	if cut := shown.Meta().Truncated; cut == nil || cut.Shown > 250 || cut.TotalLines < ReportLines {
		t.Errorf("shown: %+v", cut)
	}
	lost, returned := strings.Count(body, "  LOST "), strings.Count(body, "  RETURNED, ")
	want := fmt.Sprintf("%d of the parcels in the carrier's report did not arrive: %d are lost, %d are on their way back.", lost+returned, lost, returned)
	if finish["status"] != "done" || !strings.HasPrefix(finish["summary"].(string), want) || lost == 0 || returned == 0 {
		t.Errorf("%v\nwant %s", finish, want)
	}
	if f.counts["read_output"] < 3 || f.counts["query_db"] != 1 {
		t.Errorf("calls %v", f.counts)
	}
	for i, tool := range []string{"http_request", "read_output", "query_db"} {
		f := newFloor(t, db, url, "delivery-reports")
		f.before = func(called string, n int) *tools.Failure {
			if called == tool {
				return tools.Fail(tools.Unavailable, "It is down.")
			}
			return nil
		}
		if finish := f.play(work[0]); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish), "It is down.") {
			t.Errorf("%d, %s fails: %v", i, tool, finish)
		}
	}
}

// R: G1
func testWork(t *testing.T, db *pgxpool.Pool) {
	w := NewWork(db)
	seen := map[string]bool{}
	agents := map[string]int{}
	add := func(s Session) {
		t.Helper()
		if seen[s.key()] || s.Task == "" || !json.Valid(s.Inputs) {
			t.Errorf("twice, or not whole: %s %s", s.Agent, s.Inputs)
		}
		seen[s.key()] = true
		agents[s.Agent]++
	}
	first, ok, err := w.Precedent(t.Context())
	if !ok || err != nil {
		t.Fatalf("no first case (%v)", err)
	}
	add(first)
	start, err := w.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range start {
		add(s)
	}
	files, err := Agents()
	if err != nil || len(agents) != len(files) {
		t.Errorf("agents at work: %v (%v)", agents, err)
	}
	for range 24 {
		s, ok, err := w.Next(t.Context())
		if !ok || err != nil {
			t.Fatalf("no work left after %d (%v)", len(seen), err)
		}
		add(s)
	}
	// A demo that starts again goes on with other work.
	again, _, err := NewWork(db, first).Precedent(t.Context())
	if err != nil || again.key() == first.key() {
		t.Errorf("%s again (%v)", again.Inputs, err)
	}
}
