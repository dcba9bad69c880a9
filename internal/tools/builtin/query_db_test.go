package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/postgres/pgtest"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
)

const shopSQL = `
	create table orders (id bigint primary key, customer_id bigint not null, status text not null, total numeric(12,2), placed_at timestamptz, meta jsonb, paid boolean);
	insert into orders values (9007199254740993, 7, 'paid', 1234.50, '2026-01-02T03:04:05Z', '{"a":[1,{"b":null}]}', true), (2, 7, 'open', null, null, null, false);
	create table customers (id bigint primary key, email text);
	create table salaries (id bigint, amount numeric);
	create sequence tickets;
	create function wipe() returns void language sql security definer as 'delete from orders';
	create function sneak() returns bigint language plpgsql as $$ begin insert into customers values (99, 'x'); return 1; end $$;
	grant select on orders, customers to reader;
	grant usage on sequence tickets to reader;`

// shop is a database and the tool on it, with the rights of a reader.
func shop(t *testing.T) (owner *pgxpool.Pool, b *bench) {
	t.Helper()
	owner = pgtest.Open(t, pgtest.Empty(t))
	url := pgtest.Reader(t, pgtest.URL(owner))
	if _, err := owner.Exec(t.Context(), shopSQL); err != nil {
		t.Fatal(err)
	}
	pool, err := builtin.OpenDataSource(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	tool, err := builtin.QueryDB("shop", pool)
	return owner, newBench(t, tool, err)
}

func table(t *testing.T, o tools.Outcome) tools.Table {
	t.Helper()
	var got tools.Table
	if o.Status != tools.StatusSucceeded || json.Unmarshal(o.Result.Data(), &got) != nil {
		t.Fatalf("got %s", o.Result.ForModel())
	}
	return got
}

// R: T1, S4
func TestQueryReads(t *testing.T) {
	t.Parallel()
	_, b := shop(t)
	o := b.call(t.Context(), "query_db", m{"sql": "select id, status, total, placed_at, meta, paid from orders where customer_id = $1 and id > $2 order by id desc", "params": []any{"7", 1}})
	if got := string(o.Result.Data()); !strings.Contains(got, `[9007199254740993,"paid",1234.50,"2026-01-02 03:04:05+00",{"a":[1,{"b":null}]},true],[2,"open",null,null,null,false]`) || !strings.Contains(got, `"row_count":2,"complete":true`) || !strings.Contains(got, `{"name":"total","type":"numeric"}`) {
		t.Errorf("got %s", got)
	}
	o = b.call(t.Context(), "query_db", m{"sql": "select id from orders where status = $1", "params": []any{"lost"}})
	if got := table(t, o); len(got.Rows) != 0 || !got.Complete || len(o.Result.Notices()) != 1 || !strings.Contains(o.Result.Notices()[0], "No row matches") {
		t.Errorf("nothing found: %s", o.Result.ForModel())
	}
	for _, sql := range []string{"explain select * from orders", "show server_version", "values (1), (2)", "table customers", "with x as (select 1 as a) select a from x", "select 1 -- no end", "select 'a;b'", "select $$a;b$$;"} {
		if o := b.call(t.Context(), "query_db", m{"sql": sql}); o.Status != tools.StatusSucceeded {
			t.Errorf("%s: %s", sql, o.Result.ForModel())
		}
	}
	if o := b.call(t.Context(), "query_db", m{"sql": "select $1::text is null, $2::bool, $3::numeric", "params": []any{nil, true, json.Number("1.10")}}); !strings.Contains(string(o.Result.Data()), `[true,true,1.10]`) {
		t.Errorf("params: %s", o.Result.ForModel())
	}
}

// R: T1
// case: abuse A16
// case: abuse A17
// case: abuse A18
func TestQueryNeverWrites(t *testing.T) {
	t.Parallel()
	owner, b := shop(t)
	// The tables may be written by their owner's role too: the transaction holds.
	pool, err := builtin.OpenDataSource(t.Context(), pgtest.URL(owner))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	tool, err := builtin.QueryDB("shop", pool)
	asOwner := newBench(t, tool, err)
	digest := func() (s string) {
		const sql = `select concat((select string_agg(o::text, ',' order by id) from orders o), (select count(*) from customers), (select last_value || is_called::text from tickets), (select count(*) from pg_class), (select count(*) from pg_largeobject_metadata))`
		if err := owner.QueryRow(t.Context(), sql).Scan(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := digest()
	for _, sql := range []string{
		"insert into orders values (3, 1, 'x')", "with x as (insert into customers values (1, 'a') returning id) select * from x", "delete from orders", "update orders set status = 'x'",
		"select sneak()", "select nextval('tickets')", "select setval('tickets', 9)", "explain analyze insert into customers values (1, 'a')",
		"do $$ begin insert into customers values (1, 'a'); end $$", "select * from orders for update", "create temp table x (a int)", "create table x (a int)", "truncate orders",
		"commit; insert into customers values (1, 'a')", "select 1; insert into customers values (1, 'a')", "/* a */ commit; drop table orders", "select 'x'; drop table orders; --",
		"set transaction read write", "set session characteristics as transaction read write", "begin", "commit", "rollback", "reset all", "lock table orders",
		"copy orders to program 'touch /tmp/baton-copied'", "copy orders to '/tmp/baton-copied'", "copy orders to stdout", "copy orders from stdin", "select lo_import('/etc/passwd')", "select lo_create(0)",
		"select pg_read_file('/etc/passwd')", "select pg_ls_dir('/')", "set role postgres", "set session authorization postgres", "select set_config('transaction_read_only', 'off', true), sneak()",
		"set local transaction_read_only = off", "select set_config('default_transaction_read_only', 'off', false)", "call nothing()", "vacuum orders", "listen x", "notify x", "prepare p as delete from orders", "discard all",
	} {
		for _, bench := range []*bench{b, asOwner} {
			_ = bench.call(t.Context(), "query_db", m{"sql": sql}) // what it says is not the point
		}
	}
	if after := digest(); after != before {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
	if o := b.call(t.Context(), "query_db", m{"sql": "select wipe()"}); o.Result.Status() == tools.Success && digest() != before {
		t.Error("a function of the owner wrote")
	}
	for _, bench := range []*bench{b, asOwner} { // no setting and no lock survives a call
		o := bench.call(t.Context(), "query_db", m{"sql": "select current_setting('transaction_read_only'), current_setting('default_transaction_read_only'), current_setting('statement_timeout'), (select count(*) from pg_locks where locktype = 'advisory')"})
		if got := string(o.Result.Data()); !strings.Contains(got, `["on","on","20s",0]`) {
			t.Errorf("got %s", o.Result.ForModel())
		}
	}
	if o := b.call(t.Context(), "query_db", m{"sql": "insert into orders values (3)"}); o.Result.ErrorType() != tools.PermissionDenied || !strings.Contains(o.Result.Message(), "can only read") {
		t.Errorf("a write: %s", o.Result.ForModel())
	}
	if o := b.call(t.Context(), "query_db", m{"sql": "select 1; select 2"}); !strings.Contains(o.Result.Message(), "Several statements") {
		t.Errorf("two statements: %s", o.Result.ForModel())
	}
}

// R: T1, E3, S3
func TestQueryErrorsHelp(t *testing.T) {
	t.Parallel()
	_, b := shop(t)
	for sql, want := range map[string][]string{
		"select custmer_id from orders":       {"not_found", `There is no column \"custmer_id\"`, `The nearest is \"customer_id\", in orders.`, "orders.status"},
		"select o.totl from orders o":         {"not_found", `The nearest is \"total\"`},
		"select * from order":                 {"execution_error", "syntax", "near"},
		"select * from ordrs":                 {"not_found", `There is no table \"ordrs\". The nearest is \"orders\".`, "customer_id"},
		"select * from salaries":              {"permission_denied", "orders", "ask a person"},
		"select * from orders where id = 'x'": {"execution_error", "$1::bigint"},
		"select 1/0":                          {"execution_error", "division by zero"},
		"listen x":                            {"invalid_arguments", "brings no rows"},
	} {
		o := b.call(t.Context(), "query_db", m{"sql": sql})
		for _, w := range want {
			if text := o.Result.ForModel(); !strings.Contains(text, w) {
				t.Errorf("%s: want %s in %s", sql, w, text)
			}
		}
		if strings.Contains(o.Result.ForModel(), "salaries.amount") {
			t.Errorf("%s: tells of what may not be read", sql)
		}
	}
}

// R: T1, L5
// case: abuse A19
func TestQueryIsBounded(t *testing.T) {
	t.Parallel()
	owner, b := shop(t)
	start := time.Now()
	o := b.call(t.Context(), "query_db", m{"sql": "select generate_series(1, 1000000000), repeat('x', 100)", "max_rows": 100})
	if got := table(t, o); len(got.Rows) != 100 || got.Complete || got.RowCount != -1 || !strings.Contains(o.Result.ForModel(), "more rows") {
		t.Errorf("got %d rows, %v", len(got.Rows), o.Result.Notices())
	}
	if o := b.call(t.Context(), "query_db", m{"sql": "select i from generate_series(1, 3000) i", "max_rows": 5000}); !strings.Contains(o.Result.ForModel(), `"rows_summarised":3000`) || strings.Count(o.Kept, "\n") != 3000 {
		t.Errorf("3000 rows: %s", o.Result.ForModel())
	}
	if o := b.call(t.Context(), "query_db", m{"sql": "select repeat('x', 20000000)"}); o.Result.ErrorType() != tools.ExecutionError || !strings.Contains(o.Result.ForModel(), "shorter columns") {
		t.Errorf("a huge value: %.300s", o.Result.ForModel())
	}
	if took := time.Since(start); took > 60*time.Second {
		t.Errorf("took %s", took)
	}
	// A stopped call is cancelled at the server, and the connection is still good.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan tools.Outcome)
	go func() {
		done <- b.call(ctx, "query_db", m{"sql": "select set_config('statement_timeout', '0', true), pg_sleep(600)"})
	}()
	running := func() (n int) {
		const sql = `select count(*) from pg_stat_activity, pg_sleep(0.02) where application_name = 'baton query_db' and datname = current_database() and state = 'active' and query like '%pg_sleep%'`
		if err := owner.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for running() == 0 {
	}
	cancel()
	if o := <-done; o.Result.ErrorType() != tools.Cancelled {
		t.Errorf("cancelled: %s", o.Result.ForModel())
	}
	for running() != 0 {
	}
	if o := b.call(t.Context(), "query_db", m{"sql": "select 1"}); o.Status != tools.StatusSucceeded {
		t.Errorf("afterwards: %s", o.Result.ForModel())
	}
}

// R: T1, E6
func TestQueryOnADatabaseThatIsDown(t *testing.T) {
	t.Parallel()
	pool, err := builtin.OpenDataSource(t.Context(), "postgres://u:hunter2hunter2@127.0.0.1:1/x?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	tool, err := builtin.QueryDB("shop", pool)
	b := newBench(t, tool, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // no need to see all the repeats
	defer cancel()
	o := b.call(ctx, "query_db", m{"sql": "select 1"})
	if text := fmt.Sprint(o.Result.ForModel()); o.Result.ErrorType() != tools.Unavailable || strings.Contains(text, "hunter2") {
		t.Errorf("%s", text)
	}
	if _, err := builtin.OpenDataSource(t.Context(), "postgres://:::"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
