package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// tools counts the calls of a session by tool.
func (w *world) tools() map[string]int {
	n := map[string]int{}
	for _, c := range w.calls {
		name, _, _ := strings.Cut(c, " ")
		n[name]++
	}
	return n
}

func testRefundsDesk(t *testing.T, db *pgxpool.Pool) {
	above, err := Cases(t.Context(), db, 4, true)
	if err != nil {
		t.Fatal(err)
	}
	below, err := Cases(t.Context(), db, 1, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		on             Case
		choose, words  string
		status         string
		asked          int
		refunded, left int64 // cents
	}{
		"in full":        {on: above[0], choose: "refund_full", words: "Ledger is clear, pay it back.", status: "done", asked: 1, refunded: above[0].Cents},
		"in part":        {on: above[1], choose: "refund_part", status: "partly", asked: 1, refunded: RefundLimitCents, left: above[1].Cents - RefundLimitCents},
		"not at all":     {on: above[2], choose: "hand_over", words: "I will call them.", status: "partly", asked: 1},
		"in other words": {on: above[3], choose: "", words: "Wait for the accountant.", status: "partly", asked: 1},
		"within limits":  {on: below[0], status: "done", refunded: below[0].Cents},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, db)
			w.choose, w.words = c.choose, c.words
			finish := w.run("refunds-desk", session("refunds-desk", c.on, "%s writes that order %s was charged twice."))
			if finish["status"] != c.status || len(w.asked) != c.asked {
				t.Fatalf("finished %v after %d questions\n%s", finish, len(w.asked), strings.Join(w.calls, "\n"))
			}
			var refunded int64
			if err := db.QueryRow(t.Context(), `select coalesce(sum(amount_cents), 0)::bigint from psp.refunds where payment_id = $1`, c.on.Second).Scan(&refunded); err != nil || refunded != c.refunded {
				t.Errorf("refunded %d (%v), want %d", refunded, err, c.refunded)
			}
			summary := finish["summary"].(string)
			if !strings.Contains(summary, c.on.Order) || !strings.Contains(summary, c.on.Customer) {
				t.Errorf("summary: %s", summary)
			}
			unresolved := fmt.Sprint(finish["unresolved"])
			if c.status == "partly" && c.words != "" && !strings.Contains(unresolved, c.words) {
				t.Errorf("the person's words are lost: %s", unresolved)
			}
			if n := w.tools(); c.asked == 1 && c.choose == "refund_full" && len(w.calls) < 12 {
				t.Errorf("calls %v", n)
			}
			if c.asked == 1 {
				checkQuestion(t, w)
			}
			// A second session on the same order pays nothing again.
			again := newWorld(t, db)
			again.choose = c.choose
			again.run("refunds-desk", session("refunds-desk", c.on, "%s writes that order %s was charged twice."))
			if err := db.QueryRow(t.Context(), `select coalesce(sum(amount_cents), 0)::bigint from psp.refunds where payment_id = $1`, c.on.Second).Scan(&refunded); err != nil || refunded != c.refunded {
				t.Errorf("refunded %d (%v) after a second session, want %d", refunded, err, c.refunded)
			}
		})
	}
}

// checkQuestion: what an option approves is the very call that is made after.
func checkQuestion(t *testing.T, w *world) {
	t.Helper()
	q := w.asked[0]
	options := q["options"].([]any)
	if len(options) != 3 || q["recommended"] != "refund_full" || q["reason"] == "" || q["reason_code"] == "" || len(q["facts"].([]any)) != 4 {
		t.Errorf("question %v", q)
	}
	for _, o := range options {
		o := o.(map[string]any)
		action, has := o["action"].(map[string]any)
		if has == (o["id"] == "hand_over") {
			t.Errorf("option %v", o)
		}
		if o["id"] != w.choose || !has {
			continue
		}
		args, err := json.Marshal(action["args"])
		if err != nil {
			t.Fatal(err)
		}
		made := 0
		for _, c := range w.calls {
			var got any
			if name, text, _ := strings.Cut(c, " "); name == action["tool"] {
				if err := json.Unmarshal([]byte(text), &got); err != nil {
					t.Fatal(err)
				}
				if same, _ := json.Marshal(got); string(same) == string(args) {
					made++
				}
			}
		}
		if made != 1 {
			t.Errorf("the approved call was made %d times: %s\n%s", made, args, strings.Join(w.calls, "\n"))
		}
	}
}

func testOrderQuestions(t *testing.T, db *pgxpool.Pool) {
	orders, err := Orders(t.Context(), db, 2)
	if err != nil || len(orders) != 2 {
		t.Fatalf("%v (%v)", orders, err)
	}
	for _, o := range orders {
		w := newWorld(t, db)
		finish := w.run("order-questions", session("order-questions", o, "%s asks about %s."))
		summary := finish["summary"].(string)
		if finish["status"] != "done" || len(finish["evidence"].([]any)) != 4 || !strings.Contains(summary, o.Order) || !strings.Contains(summary, o.Customer) {
			t.Errorf("finished %v\n%s", finish, strings.Join(w.calls, "\n"))
		}
		if n := w.tools(); n["query_db"] != 5 || n["http_request"] != 1 {
			t.Errorf("calls %v\n%s", n, strings.Join(w.calls, "\n"))
		}
	}
	w := newWorld(t, db)
	finish := w.run("order-questions", session("order-questions", Case{Order: "99-9999"}, "%s asks about %s."))
	if finish["status"] != "unable" {
		t.Errorf("an order that isn't there: %v", finish)
	}
}

// Sample sessions say what to do in words that people use.
func TestSessionsNameCustomerAndOrder(t *testing.T) {
	t.Parallel()
	s := session("refunds-desk", Case{Order: "48-2217", Customer: "Lindqvist AB"}, "%s writes that order %s was charged twice.")
	if s.Task != "Lindqvist AB writes that order 48-2217 was charged twice." || string(s.Inputs) != `{"order":"48-2217"}` {
		t.Errorf("%+v %s", s, s.Inputs)
	}
}
