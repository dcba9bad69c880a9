package builtin_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/postgres/pgtest"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
)

const ledgerSQL = `
	create table orders (id bigint primary key, status text not null, refunded numeric(12,2) check (refunded < 1000), closed_on date, note text);
	insert into orders values (9007199254740993, 'paid', 0, null, null), (9007199254740992, 'paid', 0, null, null), (3, 'open', 0, null, null);`

func closeOrder() builtin.Statement {
	return builtin.Statement{
		Name: "refund_order", Words: map[string]tools.Words{"en": {Title: "Refund", Sentence: "Refund {amount.value} {amount.currency} for {order}"}}, Description: "Marks an order as refunded.",
		SQL:    `update orders set status = 'refunded', refunded = @amount_value::numeric, note = @amount_currency || coalesce(@note, ''), closed_on = @on::date where id >= @order::bigint and status = 'paid' returning id, status`,
		Verify: `select status = 'refunded' from orders where id = @order::bigint`,
		Schema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"integer"},"amount":{"type":"object"},"on":{"type":"string"},"note":{"type":"string"}},"required":["order","amount"]}`),
		Fields: []string{"order", "amount.value", "amount.currency", "on", "note"}, Effect: tools.EffectSide, MaxRows: 1,
	}
}

// ledger is a database with the tool of one statement.
func ledger(t *testing.T, s builtin.Statement) (owner *pgxpool.Pool, d *desk) {
	t.Helper()
	owner = pgtest.Open(t, pgtest.Empty(t))
	if _, err := owner.Exec(t.Context(), ledgerSQL); err != nil {
		t.Fatal(err)
	}
	pool, err := builtin.OpenWritableSource(t.Context(), pgtest.URL(owner))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	tool, err := builtin.ChangeDB("shop", pool, s)
	return owner, &desk{bench: newBench(t, tool, err)}
}

func orders(t *testing.T, owner *pgxpool.Pool) string {
	t.Helper()
	var all string
	const sql = `select string_agg(concat_ws(' ', id, status, refunded, note, closed_on), ', ' order by id) from orders`
	if err := owner.QueryRow(t.Context(), sql).Scan(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

const untouched = "3 open 0.00, 9007199254740992 paid 0.00, 9007199254740993 paid 0.00"

// R: T2
func TestChangeDBRunsWhatTheOperatorWrote(t *testing.T) {
	t.Parallel()
	owner, d := ledger(t, closeOrder())
	args := m{"order": json.Number("9007199254740993"), "amount": m{"value": "12.50", "currency": "EUR"}, "on": "2026-03-31", "note": "'; drop table orders; --"}
	d.said("change_db__refund_order", args, tools.StatusSucceeded, `"rows_affected":1`, `"rows":[[9007199254740993,"refunded"]]`, `{"name":"id","type":"int8"}`)
	if got := orders(t, owner); got != "3 open 0.00, 9007199254740992 paid 0.00, 9007199254740993 refunded 12.50 EUR'; drop table orders; -- 2026-03-31" {
		t.Error(got)
	}
}

// R: T2, S3, E3, L8
func TestChangeDBChangesNothingWhenItFails(t *testing.T) {
	t.Parallel()
	owner, d := ledger(t, closeOrder())
	eur := func(value string) m { return m{"value": value, "currency": "EUR"} }
	for name, c := range map[string]struct {
		args m
		want []string
	}{
		"no row":              {m{"order": json.Number("9007199254740999"), "amount": eur("1")}, []string{`"not_found"`, "no row fits"}},
		"too many":            {m{"order": 5, "amount": eur("1")}, []string{`"conflict"`, "it would be 2 rows, and the limit is 1"}},
		"a rule":              {m{"order": json.Number("9007199254740993"), "amount": eur("1000")}, []string{"orders_refunded_check"}},
		"a value that is not": {m{"order": json.Number("9007199254740993"), "amount": eur("1"), "on": "soon"}, []string{"is not acceptable", "soon"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{bench: d.bench}
			d.said("change_db__refund_order", c.args, tools.StatusFailed, c.want...)
			if got := orders(t, owner); got != untouched {
				t.Error(got)
			}
		})
	}
	owner.Close()
	if _, err := builtin.ChangeDB("shop", owner, builtin.Statement{Name: "x", SQL: "select @a, @b", Schema: json.RawMessage(`{"type":"object"}`), Fields: []string{"a", "b", "c"}}); err == nil || !strings.Contains(err.Error(), "c has no place @c") {
		t.Error(err)
	}
	if _, err := builtin.ChangeDB("shop", owner, builtin.Statement{Name: "x", SQL: "select @ab", Schema: json.RawMessage(`{"type":"object"}`), Fields: []string{"a"}}); err == nil {
		t.Error("a place without a parameter is taken")
	}
}

// Whether a change happened is looked up where the operator said how.
// R: T2, X7
func TestChangeDBIsVerifiedByItsStatement(t *testing.T) {
	t.Parallel()
	owner, d := ledger(t, closeOrder())
	tool, _, _ := d.facts.Tools.Lookup("change_db__refund_order")
	verify := func(order, want string) {
		t.Helper()
		got, err := tool.Spec().Verify(t.Context(), json.RawMessage(`{"order":`+order+`,"amount":{"value":"1","currency":"EUR"}}`), "")
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", order, got, err, want)
		}
	}
	verify("9007199254740993", "not_landed")
	if _, err := owner.Exec(t.Context(), `update orders set status = 'refunded' where id = 9007199254740993`); err != nil {
		t.Fatal(err)
	}
	verify("9007199254740993", "landed")
	if got, err := tool.Spec().Verify(t.Context(), json.RawMessage(`{"order":77,"amount":{"value":"1","currency":"EUR"}}`), ""); err == nil || got != tools.LandUnknown {
		t.Errorf("an order that is not there: %s, %v", got, err)
	}
}

// The connection is cut at every moment of a change: what is not known to have
// been taken back is said to be unknown.
// R: T2, X7, E4
func TestChangeDBKnowsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := closeOrder()
	s.SQL += `, pg_terminate_backend(pg_backend_pid())`
	owner, d := ledger(t, s)
	d.said("change_db__refund_order", m{"order": json.Number("9007199254740993"), "amount": m{"value": "1", "currency": "EUR"}}, tools.StatusFailed)
	if got := orders(t, owner); got != untouched {
		t.Error(got)
	}
	// The commit is what ends the connection.
	if _, err := owner.Exec(t.Context(), `
		create function cut() returns trigger language plpgsql as $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
		create constraint trigger cut after update on orders deferrable initially deferred for each row execute function cut()`); err != nil {
		t.Fatal(err)
	}
	again := func(s builtin.Statement, want tools.Status, part string) {
		t.Helper()
		pool, err := builtin.OpenWritableSource(t.Context(), pgtest.URL(owner))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		tool, err := builtin.ChangeDB("shop", pool, s)
		d := &desk{bench: newBench(t, tool, err)}
		d.said("change_db__refund_order", m{"order": json.Number("9007199254740993"), "amount": m{"value": "1", "currency": "EUR"}}, want, part)
		if got := orders(t, owner); got != untouched {
			t.Error(got)
		}
	}
	s = closeOrder()
	again(s, tools.StatusFailed, "did not happen: looking it up showed no effect")
	s.Verify = ""
	again(s, tools.StatusOutcomeUnknown, "Look whether it happened")
}
