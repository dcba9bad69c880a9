package main

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/sessions"
	"baton/templates"
)

// visitor is a person with a browser that runs no scripts.
type visitor struct {
	t      *testing.T
	base   string
	client http.Client
}

func (v *visitor) send(method, path string, form url.Values) (int, string) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.base)
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

const bookWithLeave = `
def reply(s):
    if s.step == 0:
        return [call("http_request", method = "POST", url = "http://world.internal/book", body = "table for 4711")]
    return [finish("Booked.", evidence = [s.last[0].call_id])]
`

// A call waits for approval when the server is killed. The next one shows it in
// the inbox, and one click runs that very call, once.
// R: A1, A6, Q13
// case: harness A18
func TestAnApprovalThatWaitsSurvivesAKillAndOneClickRunsTheCall(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, 0)
	r.env = append(r.env, "BATON_DATA_DIR="+dataDir(t))
	first := launch(t, r.env...)
	session := r.ask(bookWithLeave)
	r.until("it waits for a person", `select status = 'waiting' and open_questions = 1 from sessions where id = $1`, session)
	first.end(syscall.SIGKILL)
	r.world.mu.Lock()
	if len(r.world.bookings) > 0 {
		t.Errorf("it was booked before anybody approved: %v", r.world.bookings)
	}
	r.world.mu.Unlock()

	second := launch(t, r.env...)
	mara := r.mara(second)
	question := r.question(session)
	if status, page := mara.send(http.MethodGet, templates.InboxURL, nil); status != http.StatusOK || !strings.Contains(page, templates.EscalationURL(question.String())) {
		t.Fatalf("the inbox (%d) doesn't show the question", status)
	}
	if _, page := mara.send(http.MethodGet, templates.EscalationURL(question.String()), nil); !strings.Contains(page, "table for 4711") {
		t.Errorf("the question doesn't show what is to be approved")
	}
	answer := url.Values{"version": {"1"}, "option": {templates.ApproveAnswer}}
	if status, page := mara.send(http.MethodPost, templates.AnswerURL(question.String()), answer); status != http.StatusOK {
		t.Fatalf("the answer: %d %s", status, page)
	}
	r.until("it ends", `select ended_at is not null from sessions where id = $1`, session)
	s, err := r.store.Get(t.Context(), auth.CLI("t"), session)
	if err != nil || s.Status != sessions.Completed || s.Outcome != sessions.Done || s.Calls != 2 {
		t.Errorf("%s %s after %d calls, %s, %v", s.Status, s.Outcome, s.Calls, s.Failure, err)
	}
	if got := fmt.Sprint(r.world.bookings); got != "map[table for 4711:1]" {
		t.Errorf("booked %s", got)
	}
}

// An approved call is under way when the server is killed. The next one ends it
// as it was approved: its service takes it twice for once, so it is sent again,
// with the same key and what the decider put in.
// R: A1, A6, X7
// case: fault F03
func TestAnApprovedCallThatWasCutOffIsEndedAsItWasApproved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer url.Values
		body   string
	}{
		"as it was":    {url.Values{"version": {"1"}, "option": {templates.ApproveAnswer}}, "table for 4711"},
		"with changes": {url.Values{"version": {"1"}, "option": {templates.EditAnswer}, "arg.method": {"POST"}, "arg.url": {"http://world.internal/book"}, "arg.body": {"table for 2"}}, "table for 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplicas(t, 0, "honours_idempotency_key: true")
			r.world.slow = time.Hour
			r.env = append(r.env, "BATON_DATA_DIR="+dataDir(t))
			first := launch(t, r.env...)
			session := r.ask(bookWithLeave)
			r.until("it waits for a person", `select status = 'waiting' and open_questions = 1 from sessions where id = $1`, session)
			if status, page := r.mara(first).send(http.MethodPost, templates.AnswerURL(r.question(session).String()), c.answer); status != http.StatusOK {
				t.Fatalf("the answer: %d %s", status, page)
			}
			r.world.untilBooked(t)
			first.end(syscall.SIGKILL)
			r.world.mu.Lock()
			r.world.slow = 0
			r.world.mu.Unlock()

			launch(t, r.env...)
			r.until("it ends", `select ended_at is not null from sessions where id = $1`, session)
			s, err := r.store.Get(t.Context(), auth.CLI("t"), session)
			if err != nil || s.Status != sessions.Completed || s.Outcome != sessions.Done || s.Calls != 2 {
				t.Errorf("%s %s after %d calls, %s, %v", s.Status, s.Outcome, s.Calls, s.Failure, err)
			}
			if got := fmt.Sprint(r.world.bookings); got != "map["+c.body+":2]" || len(r.world.keys) != 1 {
				t.Errorf("booked %s under %d keys", got, len(r.world.keys))
			}
		})
	}
}

// mara is a visitor of a server who is signed in.
func (r *replicas) mara(p *program) *visitor {
	r.t.Helper()
	token, err := auth.NewAccounts(r.pool).MakeLink(r.t.Context(), auth.CLI("t"), "Mara")
	if err != nil {
		r.t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	v := &visitor{t: r.t, base: p.url, client: http.Client{Jar: jar}}
	if status, _ := v.send(http.MethodPost, templates.SignInURL, url.Values{"token": {token}}); status != http.StatusOK {
		r.t.Fatalf("signing in: %d", status)
	}
	return v
}

// question is the one that a session waits for.
func (r *replicas) question(session id.Session) (question id.Escalation) {
	r.t.Helper()
	if err := r.pool.QueryRow(r.t.Context(), `select id from escalations where session_id = $1 and status = 'pending'`, session).Scan(&question); err != nil {
		r.t.Fatal(err)
	}
	return question
}

// ask starts one session of an agent that asks before it changes anything.
func (r *replicas) ask(playbook string) id.Session {
	r.t.Helper()
	ctx := r.t.Context()
	if _, err := auth.NewAccounts(r.pool).AddPerson(ctx, auth.CLI("t"), auth.NewPerson{Name: "Mara", Role: auth.Admin, Team: "support"}); err != nil {
		r.t.Fatal(err)
	}
	definitions := definition.NewStore(r.pool, definition.Known{}, playbookFaults)
	if _, err := definitions.Apply(ctx, auth.CLI("t"), definition.File{Name: "bot.yaml", Playbook: []byte(playbook), Source: []byte(
		"slug: bot\nteam: support\nmodel: scripted/book\nplaybook: ./book.star\ntools: [http_request]\nhosts: [world.internal]\npermission: {mode: auto, rules: [{tool: http_request, when: {method: POST}, do: ask}]}\nescalation: {hold: 0s}\n")}); err != nil {
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
	s, err := r.store.Start(ctx, auth.CLI("t"), inserter, sessions.New{Agent: version, Task: "Book"})
	if err != nil {
		r.t.Fatal(err)
	}
	return s.ID
}
