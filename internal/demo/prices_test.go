package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/tools"
)

// pricesOf are a line's prices now, by article.
func pricesOf(t *testing.T, db *pgxpool.Pool, line string) map[string]string {
	t.Helper()
	rows, err := db.Query(t.Context(), `select distinct on (sku) sku, price::text from prices where product like $1 order by sku, valid_from desc`, line+",%")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	prices := map[string]string{}
	for rows.Next() {
		var sku, price string
		if err := rows.Scan(&sku, &price); err != nil {
			t.Fatal(err)
		}
		prices[sku] = price
	}
	if err := rows.Err(); err != nil || len(prices) == 0 {
		t.Fatalf("%d prices (%v)", len(prices), err)
	}
	return prices
}

// R: X6, Q3
func testPriceList(t *testing.T, db *pgxpool.Pool, url string) {
	for choose, c := range map[string]struct {
		line, status string
		changed      func(cheaper, refused, all int) int // articles whose price is another after
	}{
		"minimum":    {"Garden table", "done", func(_, _, all int) int { return all }},
		"take_back":  {"Garden lounger", "unable", func(_, _, _ int) int { return 0 }},
		"accept":     {"Floor lamp", "partly", func(cheaper, _, _ int) int { return cheaper }},
		"purchasing": {"Wardrobe", "partly", func(cheaper, _, _ int) int { return cheaper }},
		"":           {"Bar stool", "partly", func(cheaper, _, _ int) int { return cheaper }}, // in other words
	} {
		before := pricesOf(t, db, c.line)
		f := newFloor(t, db, url, "price-list")
		f.choose, f.words = choose, "I told the shop."
		finish := f.play(Session{"price-list", "Cheaper.", inputs(map[string]any{"product": c.line, "plural": plural(c.line), "percent": 10})})
		if finish["status"] != c.status {
			t.Errorf("%s: %v\n%s", choose, finish, strings.Join(f.calls, "\n"))
		}
		if c.status != "done" && !strings.Contains(fmt.Sprint(finish), "I told the shop.") {
			t.Errorf("%s: the person's words are lost: %v", choose, finish)
		}
		f.checkQuestion()
		update := f.results[1].Result.Result
		cheaper, refused := len(update.Completed()), len(update.Failed())
		if update.Status() != tools.Partial || cheaper < 30 || refused < 2 || cheaper+refused != 40 {
			t.Errorf("%s: %d changed, %d refused", choose, cheaper, refused)
		}
		changed := 0
		for sku, price := range pricesOf(t, db, c.line) {
			if before[sku] != price {
				changed++
			}
		}
		if want := c.changed(cheaper, refused, len(before)); changed != want {
			t.Errorf("%s: %d prices are other than before, want %d", choose, changed, want)
		}
		if len(f.approved) != 0 {
			t.Errorf("%s: approved %v", choose, f.approved)
		}
		ways := f.asked[0]["options"].([]any)
		if len(ways) != 4 {
			t.Errorf("%s: %d ways on", choose, len(ways))
		}
		for _, o := range ways {
			o := o.(map[string]any)
			if _, has := o["action"]; has != (o["id"] == "minimum" || o["id"] == "take_back") {
				t.Errorf("%s: option %v", choose, o)
			}
		}
	}
	lower := func(line string) Session {
		return Session{"price-list", "Cheaper.", inputs(map[string]any{"product": line, "percent": 10})}
	}
	f := newFloor(t, db, url, "price-list")
	if finish := f.play(lower("Trampoline")); finish["status"] != "unable" {
		t.Errorf("no such line: %v", finish)
	}
	f = newFloor(t, db, url, "price-list")
	f.expire = true
	if finish := f.play(lower("Vase")); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish["unresolved"]), "prices were changed before") {
		t.Errorf("nobody answers: %v", finish)
	}
	f = newFloor(t, db, url, "price-list")
	if finish := f.play(Session{"price-list", "A little cheaper.", inputs(map[string]any{"product": "Cushion", "percent": "1"})}); finish["status"] != "done" || len(f.asked) != 0 {
		t.Errorf("all could be changed: %v", finish)
	}
	for i, tool := range []string{"query_db", "update_prices", "update_prices"} {
		f := newFloor(t, db, url, "price-list")
		f.choose = "minimum"
		f.before = func(called string, n int) *tools.Failure {
			if called == tool && n >= max(i, 1) {
				return tools.Fail(tools.Unavailable, "It is down.")
			}
			return nil
		}
		if finish := f.play(lower("Armchair")); finish["status"] != "unable" || !strings.Contains(fmt.Sprint(finish), "It is down.") {
			t.Errorf("%s fails: %v", tool, finish)
		}
	}
	testUpdatePrices(t, db, url)
}

// R: X6, X3
func testUpdatePrices(t *testing.T, db *pgxpool.Pool, url string) {
	f := newFloor(t, db, url, "price-list")
	_, spec, _ := f.facts.Tools.Lookup("update_prices")
	now := pricesOf(t, db, "Throw")
	n := 5000
	do := func(items ...priceChange) (tools.Result, json.RawMessage) {
		t.Helper()
		n++
		args, err := json.Marshal(updatePricesArgs{"test", items})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := f.call(tools.Call{N: n, Tool: "update_prices", Args: args}, nil)
		return r, args
	}
	sku := "THR-OK-S"
	old := now[sku]
	r, args := do(priceChange{sku, old, "9000.00"}, priceChange{"NONE", "1.00", "2.00"}, priceChange{"THR-OK-M", "1.00", "2.00"}, priceChange{"THR-OK-L", now["THR-OK-L"], "0.01"})
	types := map[string]tools.ErrorType{}
	for _, item := range r.Failed() {
		types[item.Item] = item.Type
	}
	if r.Status() != tools.Partial || len(r.Completed()) != 1 || types["NONE"] != tools.NotFound || types["THR-OK-M"] != tools.Conflict || types["THR-OK-L"] != tools.ExecutionError {
		t.Errorf("%s", r.ForModel())
	}
	if again, _ := do(priceChange{sku, old, "9000.00"}); again.Status() != tools.Success {
		t.Errorf("what is done already: %s", again.ForModel())
	}
	tool, undo, ok := spec.Undo(args, r)
	if !ok || tool != "update_prices" || strings.Contains(string(undo), "NONE") {
		t.Fatalf("undo %v %s %s", ok, tool, undo)
	}
	n++
	if back, _ := f.call(tools.Call{N: n, Tool: tool, Args: undo}, nil); back.Status() != tools.Success || pricesOf(t, db, "Throw")[sku] != old {
		t.Errorf("taken back: %s", back.ForModel())
	}
	if r, _ := do(priceChange{"NONE", "1.00", "2.00"}); r.ErrorType() != tools.NotFound {
		t.Errorf("none could be changed: %s", r.ForModel())
	}
	if r, _ := do(priceChange{sku, old, "2.00"}, priceChange{sku, old, "3.00"}); r.ErrorType() != tools.InvalidArguments || pricesOf(t, db, "Throw")[sku] != old {
		t.Errorf("an article twice: %s", r.ForModel())
	}
	// The agents' role changes prices and nothing else.
	for _, sql := range []string{`delete from prices`, `update prices set minimum = 0`, `insert into prices select * from prices limit 1`, `select * from customers`, `update orders set total = 0`} {
		if _, err := as(t, url, PricerRole).Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	closed := as(t, url, PricerRole)
	broken, err := UpdatePrices(closed)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	if _, err := broken.Run(t.Context(), args); err == nil {
		t.Error("without a database it succeeds")
	}
}
