package decide_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/postgres"
	"baton/internal/problem"
	"baton/internal/sessions"
)

// model is what must be true of one session with its questions, kept by hand
// beside what the database says.
type model struct {
	h         house
	t         *testing.T
	session   id.Session
	cancelled bool
	questions []*modelled
}

type modelled struct {
	id      id.Escalation
	status  escalation.Status
	version int
	held    bool
	past    bool   // its time is over
	by      string // of the decision in force
	made    int    // decisions
	undone  int
	answer  decide.Answer
}

// R: Q5, Q6, Q11, Q13, Y1
func TestWhateverPeopleDoInWhateverOrderTheStatesAgree(t *testing.T) {
	t.Parallel()
	h := build(t)
	people := []auth.Actor{h.person(t, "Ana", auth.Responder, "support"), h.person(t, "Ben", auth.Responder, "support"), h.person(t, "Sue", auth.Supervisor, "support")}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(r, "questions")
		raises := make([]escalation.Raise, n)
		for i := range raises {
			raises[i] = escalation.Raise{Draft: choice(t)}
		}
		w := h.ask(t, raises...)
		m := &model{h: h, t: t, session: w.id}
		for _, q := range w.questions {
			m.questions = append(m.questions, &modelled{id: q.ID, status: escalation.Pending, version: 1})
		}
		one := func(r *rapid.T) (auth.Actor, *modelled) {
			return people[rapid.IntRange(0, 2).Draw(r, "person")], m.questions[rapid.IntRange(0, n-1).Draw(r, "question")]
		}
		r.Repeat(map[string]func(*rapid.T){
			"answer": func(r *rapid.T) {
				p, q := one(r)
				m.answer(r, p, q)
			},
			"undo": func(r *rapid.T) {
				p, q := one(r)
				m.undo(r, p, q)
			},
			"time passes": func(r *rapid.T) {
				_, q := one(r)
				if q.status == escalation.Pending {
					h.expireAt(t, escalation.Escalation{ID: q.id}, 0)
					q.past = true
				}
			},
			"expire": func(r *rapid.T) {
				_, q := one(r)
				if _, err := h.desk.Expire(t.Context(), q.id); err != nil {
					r.Fatal(err)
				}
				if q.status == escalation.Pending && q.past && !m.cancelled {
					q.status, q.version = escalation.Expired, q.version+1
				}
			},
			"holds pass": func(*rapid.T) {
				h.release(t, m.session)
				for _, q := range m.questions {
					q.held = false
				}
			},
			"apply": func(r *rapid.T) {
				_, q := one(r)
				if q.status == escalation.Answered && q.held {
					r.Skip("no worker runs while an answer is held")
				}
				err := postgres.InTx(t.Context(), h.pool, func(tx pgx.Tx) error {
					return escalation.ApplyTx(t.Context(), tx, m.session, q.id)
				})
				if err != nil {
					r.Fatal(err)
				}
				if q.status == escalation.Answered {
					q.status, q.version = escalation.Applied, q.version+1
				}
			},
			"cancel": func(r *rapid.T) {
				if rapid.IntRange(0, 3).Draw(r, "seldom") > 0 {
					r.Skip("seldom")
				}
				if _, err := h.sessions.Cancel(t.Context(), people[2], h.inserter, m.session); err != nil {
					r.Fatal(err)
				}
				m.cancelled = true
			},
			"": func(r *rapid.T) { m.check(r) },
		})
		if m.cancelled {
			h.end(t, m.session)
			for _, q := range m.questions {
				if next, ok := map[escalation.Status]escalation.Status{escalation.Pending: escalation.Cancelled, escalation.Answered: escalation.ApplyFailed}[q.status]; ok {
					q.status, q.version, q.held = next, q.version+1, false
				}
			}
			m.check(r)
		}
	})
}

func (m *model) answer(r *rapid.T, p auth.Actor, q *modelled) {
	a := decide.Answer{
		Version: q.version - rapid.IntRange(0, 1).Draw(r, "stale"), Type: escalation.Choose,
		Option: rapid.SampledFrom([]string{"A", "leave-it", "C"}).Draw(r, "option"),
	}
	held := rapid.Bool().Draw(r, "held")
	if held {
		a = holdFor(a, time.Minute)
	}
	_, err := m.h.desk.Answer(m.t.Context(), p, q.id, a)
	want := ""
	switch {
	case q.by == p.Name && a.Option == q.answer.Option:
		// the same again
	case q.status == escalation.Expired, q.status == escalation.Pending && !m.cancelled && q.past:
		want = "expired"
	case q.status == escalation.Cancelled, q.status == escalation.Pending && m.cancelled:
		want = "cancelled"
	case q.status != escalation.Pending:
		want = "already_answered"
	case a.Version != q.version:
		want = "stale_version"
	case a.Option == "C":
		want = "option_unknown"
	default:
		q.status, q.version, q.held, q.by, q.answer = escalation.Answered, q.version+1, held, p.Name, a
		q.made++
	}
	m.expect(r, err, want)
}

func (m *model) undo(r *rapid.T, p auth.Actor, q *modelled) {
	_, err := m.h.desk.Undo(m.t.Context(), p, q.id)
	want := ""
	switch {
	case q.status == escalation.Pending:
		want = "nothing_to_undo"
	case q.status == escalation.Expired:
		want = "expired"
	case q.by != p.Name && p.Name != "Sue":
		want = "not_allowed"
	case q.status == escalation.ApplyFailed:
		want = "cancelled"
	case q.status != escalation.Answered || !q.held:
		want = "undo_too_late"
	case m.cancelled:
		want = "cancelled"
	default:
		q.status, q.version, q.held, q.by, q.past = escalation.Pending, q.version+1, false, "", false
		q.undone++
	}
	m.expect(r, err, want)
}

func (m *model) expect(r *rapid.T, err error, want string) {
	r.Helper()
	if want == "" && err != nil || want != "" && !problem.Is(err, want) {
		r.Fatalf("got %v, want %q", err, want)
	}
}

// check compares the database with the model.
func (m *model) check(r *rapid.T) {
	s := m.h.session(m.t, m.session)
	open, held := 0, false
	for i, q := range m.questions {
		got := m.h.question(m.t, escalation.Escalation{ID: q.id})
		if got.Status != q.status || got.Version != q.version {
			r.Fatalf("question %d is %s, version %d; want %s, %d", i, got.Status, got.Version, q.status, q.version)
		}
		by := ""
		if got.Decision != nil {
			by = got.Decision.By.Name
		}
		if by != q.by {
			r.Fatalf("question %d is decided by %q, want %q", i, by, q.by)
		}
		counts := fmt.Sprint(m.h.count(m.t, `select count(*) from decisions where escalation_id = $1`, q.id),
			m.h.count(m.t, `select count(*) from decision_marks m join decisions d on d.id = m.decision_id where d.escalation_id = $1 and m.mark = 'undone'`, q.id))
		if want := fmt.Sprint(q.made, q.undone); counts != want {
			r.Fatalf("question %d has %s decisions and undone ones, want %s", i, counts, want)
		}
		if q.status == escalation.Pending {
			open++
		}
		held = held || q.held
	}
	if s.OpenQuestions != open {
		r.Fatalf("the session has %d open questions, want %d", s.OpenQuestions, open)
	}
	want := sessions.Waiting
	switch {
	case s.Status.Ended():
		want = sessions.Cancelled
	case m.cancelled, open == 0 && !held:
		want = sessions.Queued
	}
	if s.Status != want {
		r.Fatalf("the session is %s, want %s (%d open, held %v)", s.Status, want, open, held)
	}
	m.h.ledger(m.t, m.session)
}
