package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// api calls the API of a running server with a key.
type api struct {
	t         *testing.T
	base, key string
}

func (a api) do(method, path string, body any, into any) int {
	a.t.Helper()
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			a.t.Fatal(err)
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.base+"/api/v1"+path, payload)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			a.t.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
		}
	}
	return res.StatusCode
}

type apiQuestion struct {
	ID, Status, Kind, Trigger, Title string
	Version                          int
	SessionID                        string `json:"session_id"`
	Options                          []struct {
		ID, Key string
		Action  *struct{ Tool string }
	}
}

// The main job on real input: the demo starts, real sessions fail and recover
// on a real shop, each case that a stranger should see comes up, a person
// answers, the agent does what was approved and finishes.
// R: G1, M2, X4, X6, T7, F9, A8
func TestTheDemoAsksAQuestionAndItsAnswerIsCarriedOut(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	env := []string{"BATON_DATA_DIR=" + dir, "DATABASE_URL=postgres://ignored@127.0.0.1:1/none"}
	cmd := command(context.WithoutCancel(t.Context()), env, "demo", "--addr", "127.0.0.1:0")
	said := &words{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{cmd: cmd, stderr: said}
	t.Cleanup(func() { p.end(syscall.SIGTERM) })
	line, err := bufio.NewReader(out).ReadString('\n')
	link, ok := strings.CutPrefix(strings.TrimSpace(line), "Sign in: ")
	if !ok {
		t.Fatalf("the demo says %q (%v):\n%s", line, err, said)
	}
	if code, body := get(t, link); code != http.StatusOK || !strings.Contains(body, "admin") {
		t.Errorf("the link: %d", code)
	}
	if !strings.Contains(said.String(), "DATABASE_URL is not used") {
		t.Errorf("the demo does not say that it leaves DATABASE_URL alone:\n%s", said)
	}
	base, _, _ := strings.Cut(link, "/sign-in")
	code, key, stderr := try(t, env[:1], "key", "create", "--user", "responder", "--scope", "all")
	if code != 0 || !strings.Contains(stderr, "Using the demo that is running.") {
		t.Fatalf("key create beside the demo: exit %d, %s", code, stderr)
	}
	a := api{t, base, strings.TrimSpace(key)}

	a.decidedBefore()
	a.answeredAndDone("Refund EUR ", "options", "sensitive_action", "refund_full", "done")
	a.answeredAndDone("'s portal refuses our login", "options", "repeated_failure", "renew", "done")
	a.answeredAndDone("prices changed, 5 refused: garden tables", "options", "ambiguous_decision", "minimum", "done")
	a.answeredAndDone("Send “Spring prices” to 1,840 recipients", "approval", "sensitive_action", "", "partly")
	_, page, _ := strings.Cut(said.String(), "Mail: ")
	page, _, _ = strings.Cut(page, "\n")
	if code, body := get(t, page); code != http.StatusOK || !strings.Contains(body, "Spring prices: 1,836") {
		t.Errorf("the page of the mail that was sent: %d\n%.600s", code, body)
	}
	a.longReport()
	a.enoughCalls()
	as := func(person string) api {
		code, key, _ := try(t, env[:1], "key", "create", "--user", person, "--scope", "all")
		if code != 0 {
			t.Fatalf("key create: exit %d", code)
		}
		return api{t, base, strings.TrimSpace(key)}
	}
	as("supervisor").eachAnswer(filepath.Join(dir, "demo"))
	if q := as("responder-finance").question("Refund EUR "); a.do("GET", "/escalations/"+q.ID, nil, nil) != http.StatusNotFound {
		t.Error("team support sees what finance is asked")
	}
	if text := said.String(); strings.Contains(text, "level=ERROR") {
		t.Errorf("what the demo plays is told as its own errors:\n%s", text)
	}
	a.documentedPlaybook(env[:1])
	// A tool of the demo's own is known beside it.
	code, applied, stderr := try(t, env[:1], "agent", "apply", "-f", "../../internal/demo/agents/price-list.yaml")
	if code != 0 || !strings.Contains(applied, "unchanged") {
		t.Errorf("agent apply: exit %d, %s%s", code, applied, stderr)
	}
}

// answeredAndDone answers the question with a title and sees its session end.
// Without an option it approves.
func (a api) answeredAndDone(title, kind, trigger, option, outcome string) {
	a.t.Helper()
	q := a.question(title)
	if q.Kind != kind || q.Trigger != trigger {
		a.t.Errorf("%s is of kind %s, trigger %s", q.Title, q.Kind, q.Trigger)
	}
	decision := map[string]any{"type": "choose", "option_id": option}
	if option == "" {
		decision = map[string]any{"type": "approve"}
	}
	var answered struct{ Status string }
	if code := a.do("POST", "/escalations/"+q.ID+"/answer", map[string]any{"version": q.Version, "decision": decision}, &answered); code != http.StatusOK {
		a.t.Fatalf("answer %s: %d, %+v", q.Title, code, answered)
	}
	if s := a.ended(q.SessionID); s.Status != "completed" || s.Outcome != outcome {
		a.t.Errorf("%s: the session is %s %s: %s", q.Title, s.Status, s.Outcome, s.Summary)
	}
	var now apiQuestion
	if a.do("GET", "/escalations/"+q.ID, nil, &now); now.Status != "applied" {
		a.t.Errorf("%s is %s", q.Title, now.Status)
	}
}

// decidedBefore: the history begins with a refund that the supervisor decided,
// like those that wait.
func (a api) decidedBefore() {
	a.t.Helper()
	type decision struct {
		Label     string
		DecidedBy struct{ Kind, Name string } `json:"decided_by"`
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		var list struct{ Items []decision }
		a.do("GET", "/decisions", nil, &list)
		if len(list.Items) == 0 {
			continue
		}
		if d := list.Items[0]; d.DecidedBy.Kind != "person" || d.DecidedBy.Name != "supervisor" || !strings.HasPrefix(d.Label, "Refund EUR ") {
			a.t.Errorf("the first decision: %+v", d)
		}
		return
	}
	a.t.Fatal("no decision was made before")
}

// longReport: an agent finds the few lines that matter in 5,000.
func (a api) longReport() {
	a.t.Helper()
	var list struct{ Items []apiSession }
	a.do("GET", "/sessions?agent=delivery-reports", nil, &list)
	if len(list.Items) != 1 {
		a.t.Fatalf("%d sessions with the carrier's report", len(list.Items))
	}
	if s := a.ended(list.Items[0].ID); s.Outcome != "done" || !strings.Contains(s.Summary, "did not arrive") || s.Calls < 5 {
		a.t.Errorf("the report: %+v", s)
	}
}

// documentedPlaybook follows docs/adding-a-playbook.md to the letter, beside
// the demo that runs.
func (a api) documentedPlaybook(env []string) {
	a.t.Helper()
	doc, err := os.ReadFile("../../docs/adding-a-playbook.md")
	if err != nil {
		a.t.Fatal(err)
	}
	dir := a.t.TempDir()
	for language, file := range map[string]string{"starlark": "lost-parcel.star", "yaml": "lost-parcels.yaml"} {
		_, rest, _ := strings.Cut(string(doc), "```"+language+"\n")
		block, _, found := strings.Cut(rest, "```")
		if !found {
			a.t.Fatalf("no %s in the page", language)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	if code, _, said := try(a.t, env, "agent", "apply", "-f", filepath.Join(dir, "lost-parcels.yaml")); code != 0 {
		a.t.Fatalf("agent apply: exit %d\n%s", code, said)
	}
	var list struct {
		Items []struct{ Inputs struct{ Order string } }
	}
	a.do("GET", "/sessions?agent=order-questions&limit=1", nil, &list)
	_, out, said := try(a.t, env, "session", "start", "--agent", "lost-parcels", "--task", "Where is the parcel?",
		"--input", "order="+list.Items[0].Inputs.Order, "--watch")
	if !strings.Contains(out, "What shall the customer get?") && !strings.Contains(out, "is lost") {
		a.t.Errorf("no question came up:\n%s\n%s", out, said)
	}
}

// question waits for one whose title holds some words.
func (a api) question(title string) apiQuestion {
	a.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); <-time.After(200 * time.Millisecond) {
		var list struct{ Items []apiQuestion }
		if code := a.do("GET", "/escalations?status=pending", nil, &list); code != http.StatusOK {
			a.t.Fatalf("list questions: %d", code)
		}
		for _, q := range list.Items {
			if strings.Contains(q.Title, title) {
				return q
			}
		}
	}
	a.t.Fatalf("no question came up that says %q", title)
	return apiQuestion{}
}

type apiSession struct {
	ID, Status, Outcome, Summary string
	Calls                        int
}

func (a api) ended(session string) apiSession {
	a.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); <-time.After(100 * time.Millisecond) {
		var s apiSession
		a.do("GET", "/sessions/"+session, nil, &s)
		if s.Status == "completed" || s.Status == "failed" {
			return s
		}
	}
	a.t.Fatal("the session did not end")
	return apiSession{}
}

// enoughCalls checks that the demo's sessions did real work, past real
// failures.
func (a api) enoughCalls() {
	a.t.Helper()
	var list struct{ Items []apiSession }
	a.do("GET", "/sessions?limit=50", nil, &list)
	calls, failures := 0, map[string]int{}
	for _, s := range list.Items {
		calls += s.Calls
		var page struct {
			Items []struct {
				ErrorType string `json:"error_type"`
			}
		}
		a.do("GET", "/sessions/"+s.ID+"/calls?limit=100", nil, &page)
		for _, c := range page.Items {
			failures[c.ErrorType]++
		}
	}
	if calls < 14 || failures["not_found"] == 0 || failures["execution_error"] == 0 {
		a.t.Errorf("%d calls in %d sessions, failures %v: want at least 14, and wrong columns and service errors among them", calls, len(list.Items), failures)
	}
}
