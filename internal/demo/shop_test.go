package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/definition"
	"baton/internal/llm/scripted"
	"baton/internal/postgres/pgtest"
)

// TestShop loads the shop once, for all that needs it.
//
// R: G1
func TestShop(t *testing.T) {
	t.Parallel()
	url := pgtest.Empty(t)
	db := pgtest.Open(t, url)
	if err := LoadShop(t.Context(), db, today); err != nil {
		t.Fatal(err)
	}
	t.Run("holds 200,000 rows", func(t *testing.T) { t.Parallel(); testRows(t, db) })
	t.Run("is left alone when it is there", func(t *testing.T) { t.Parallel(); testLoadAgain(t, db) })
	t.Run("lets the reader read and nothing else", func(t *testing.T) { t.Parallel(); testReader(t, db, url) })
	t.Run("pays a refund once", func(t *testing.T) { t.Parallel(); testRefunds(t, db) })
	t.Run("hangs for real", func(t *testing.T) { t.Parallel(); testSocket(t, db) })
	t.Run("settles every refund as it was decided", func(t *testing.T) { t.Parallel(); testRefundsDesk(t, db) })
	t.Run("answers questions about orders", func(t *testing.T) { t.Parallel(); testOrderQuestions(t, db) })
	t.Run("asks when a portal refuses the login", func(t *testing.T) { t.Parallel(); testSupplierDeliveries(t, db, url) })
	t.Run("takes each way on after a part was refused", func(t *testing.T) { t.Parallel(); testPriceList(t, db, url) })
	t.Run("writes to whom it may", func(t *testing.T) { t.Parallel(); testNewsletters(t, db, url) })
	t.Run("finds the lines that matter", func(t *testing.T) { t.Parallel(); testDeliveryReports(t, db, url) })
	t.Run("finds no work twice", func(t *testing.T) { t.Parallel(); testWork(t, db) })
}

func testRows(t *testing.T, db *pgxpool.Pool) {
	count := func(sql string, want int64) {
		t.Helper()
		var n int64
		if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d (%v), want %d", sql, n, err, want)
		}
	}
	count(`select (select count(*) from customers) + (select count(*) from prices) + (select count(*) from orders) + (select count(*) from payments)`, 200_000)
	const twice = `(select order_no, min(amount) as amount from payments group by order_no having count(*) = 2 and min(amount) = max(amount)) d`
	count(`select count(*) from `+twice, duplicateCount)
	count(`select count(*) from `+twice+` where amount > 500`, duplicateCount/aboveLimitEach)
	count(`select count(*) from orders o where not exists (select from customers c where c.id = o.customer_id and c.since <= o.placed_at)`, 0)
	count(`select count(*) from orders o where not exists (select from prices p where p.sku = o.sku)`, 0)
	count(`select count(*) from orders where placed_at >= '2025-11-28' or shipped_at > '2025-11-28' or total <= 0`, 0)
	count(`select count(*) from (select sku from prices group by sku) s`, 1000)
}

func testLoadAgain(t *testing.T, db *pgxpool.Pool) {
	if err := LoadShop(t.Context(), db, today.AddDate(0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	var asOf time.Time
	if err := db.QueryRow(t.Context(), `select as_of from psp.loaded`).Scan(&asOf); err != nil || !asOf.Equal(today) {
		t.Errorf("loaded as of %s (%v)", asOf, err)
	}
}

// A shop that an earlier version filled is made anew: its agents need what it
// lacks.
func TestAShopOfAnEarlierEditionIsMadeAnew(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t, pgtest.Empty(t))
	if _, err := db.Exec(t.Context(), `create schema psp; create table psp.loaded (as_of date); insert into psp.loaded values ('2025-01-01'); create table customers (id int)`); err != nil {
		t.Fatal(err)
	}
	if err := LoadShop(t.Context(), db, today); err != nil {
		t.Fatal(err)
	}
	var suppliersThere, customersThere int
	err := db.QueryRow(t.Context(), `select (select count(*) from suppliers), (select count(*) from customers where newsletter)`).Scan(&suppliersThere, &customersThere)
	if err != nil || suppliersThere != len(suppliers) || customersThere != newsletterCount {
		t.Errorf("%d suppliers, %d customers with the newsletter (%v)", suppliersThere, customersThere, err)
	}
}

// R: T1
func testReader(t *testing.T, db *pgxpool.Pool, url string) {
	tries := map[string]string{ // SQLSTATE, empty for what is allowed
		`select count(*) from customers, prices where customers.id = 10001`: "",
		`select * from psp.refunds`:                                         "42501",
		`update orders set total = 0`:                                       "42501",
		`create table x (a int)`:                                            "42501",
		`create temp table x (a int)`:                                       "42501",
		`insert into psp.refunds values ('a','b',1,'','')`:                  "42501",
	}
	for sql, want := range tries {
		tx, err := db.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "set local role "+ReaderRole); err != nil {
			t.Fatal(err)
		}
		_, err = tx.Exec(t.Context(), sql)
		got := ""
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			got = pg.Code
		}
		if got != want {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// The same day gives the same shop.
func TestTheShopIsAFunctionOfTheDay(t *testing.T) {
	t.Parallel()
	one, two := newShop(today), newShop(today.Add(5*time.Hour))
	if !reflect.DeepEqual(one, two) {
		t.Error("two shops of one day differ")
	}
	ids := map[string]bool{}
	for _, p := range one.payments {
		ids[p.id] = true
	}
	if len(ids) != len(one.payments) {
		t.Errorf("%d ids for %d payments", len(ids), len(one.payments))
	}
}

func testRefunds(t *testing.T, db *pgxpool.Pool) {
	service := NewPayments(db, "Bearer k")
	cases, err := Cases(t.Context(), db, 20, true)
	if err != nil || len(cases) != 20 {
		t.Fatalf("%d cases (%v)", len(cases), err)
	}
	c := cases[19] // the other tests take the first
	post := func(path, key, body string) (int, map[string]any) {
		t.Helper()
		r := httptest.NewRequest("POST", path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer k")
		r.Header.Set("Idempotency-Key", key)
		return do(t, service, r)
	}
	body := func(amount string) string {
		return `{"payment_id":"` + c.Second + `","amount":` + amount + `,"currency":"EUR","reason":"twice"}`
	}
	full := money(c.Cents).String()
	for _, step := range []struct {
		path, key, body string
		status          int
		code            string
	}{
		{"/refunds", "a", body(full), 422, "limit_exceeded"},
		{"/refunds", "a", body(`"500.00"`), 201, ""},
		{"/refunds", "a", body("500"), 200, ""}, // again
		{"/refunds", "a", body("400"), 409, "key_reused"},
		{"/refunds/above-limit", "b", body(full), 409, "exceeds_remaining"},
		{"/refunds", "c", body("0"), 422, "amount_invalid"},
		{"/refunds", "c", body("1.005"), 422, "amount_invalid"},
		{"/refunds", "c", body("1e2"), 422, "amount_invalid"},
		{"/refunds", "c", `{"payment_id":"P-0","amount":1,"currency":"EUR","reason":"x"}`, 404, "payment_not_found"},
		{"/refunds", "c", `{"payment_id":"P-0","amount":1,"currency":"USD","reason":"x"}`, 422, "currency_invalid"},
		{"/refunds", "c", `{"payment_id":"P-0","amount":1,"currency":"EUR"}`, 422, "reason_missing"},
		{"/refunds", "c", `{"payment":"P-0"}`, 400, "malformed"},
		{"/refunds/above-limit", "d", body(money(c.Cents - 50_000).String()), 201, ""},
	} {
		status, answer := post(step.path, step.key, step.body)
		code := ""
		if e, ok := answer["error"].(map[string]any); ok {
			code = e["code"].(string)
		}
		if status != step.status || code != step.code {
			t.Errorf("%s %s: %d %v, want %d %s", step.path, step.body, status, answer, step.status, step.code)
		}
	}
	get := func(path string) (int, map[string]any) {
		t.Helper()
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", "Bearer k")
		return do(t, service, r)
	}
	if status, answer := get("/refunds?payment=" + c.Second); status != 200 || answer["count"] != 2.0 || answer["total"] != float64(c.Cents)/100 {
		t.Errorf("refunds: %d %v", status, answer)
	}
	if status, answer := get("/disputes?payment=" + c.Second); status != 200 || answer["error"] == nil {
		t.Errorf("an error dressed as success: %d %v", status, answer)
	}
	if status, _ := do(t, service, httptest.NewRequest("GET", "/refunds?payment=x", nil)); status != 401 {
		t.Errorf("without a key: %d", status)
	}

	// Many at once pay once.
	c = cases[18]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if status, answer := post("/refunds/above-limit", "same", body(money(c.Cents).String())); status > 201 {
				t.Errorf("at once: %d %v", status, answer)
			}
		})
	}
	wg.Wait()
	if status, answer := get("/refunds?payment=" + c.Second); status != 200 || answer["count"] != 1.0 {
		t.Errorf("refunds made at once: %d %v", status, answer)
	}
}

// What is never answered really costs a caller its patience, and what was asked
// is done all the same; asked again under the same key, it is told.
func testSocket(t *testing.T, db *pgxpool.Pool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	addr, err := NewPayments(db, "").Serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var second string
	err = db.QueryRow(t.Context(), `select payment_id from payments where payment_id like '%4' and amount < 500 order by captured_at limit 1`).Scan(&second)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"payment_id":"` + second + `","amount":1,"currency":"EUR","reason":"goodwill"}`
	post := func(patience time.Duration) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/refunds", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "socket")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	if status, err := post(500 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("first: %d %v, want no answer", status, err)
	}
	if status, err := post(10 * time.Second); err != nil || status > 201 {
		t.Errorf("second: %d %v, want a refund", status, err)
	}
	var n int
	if err := db.QueryRow(t.Context(), `select count(*) from psp.refunds where payment_id = $1`, second).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d refunds (%v), want one", n, err)
	}
	cancel()
	if status, err := post(10 * time.Second); err == nil {
		t.Errorf("answers after its end: %d", status)
	}
}

func do(t *testing.T, h http.Handler, r *http.Request) (status int, answer map[string]any) {
	t.Helper()
	// One that is never answered is given up.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(ctx))
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Errorf("%s %s: %d %q", r.Method, r.URL, w.Code, w.Body)
	}
	return w.Code, answer
}

// A payment falters by its last digit, at the first request of each minute.
func TestFaultsDependOnThePaymentAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f faults
		for id, want := range map[string]fault{"P-1": hang, "P-6": hang, "P-3": broken, "P-8": busy, "P-4": noFault, "P-2": noFault, "": noFault} {
			if got := f.next("GET", id); got != want {
				t.Errorf("GET %s: %d, want %d", id, got, want)
			}
			if got := f.next("GET", id); got != noFault {
				t.Errorf("GET %s again: %d", id, got)
			}
		}
		if f.next("POST", "P-1") != noFault || f.next("POST", "P-4") != lostNews || f.next("POST", "P-4") != noFault {
			t.Error("POST falters otherwise than it should")
		}
		time.Sleep(quiet)
		if f.next("GET", "P-1") != noFault {
			t.Error("falters again too soon")
		}
		time.Sleep(quiet + time.Second)
		if f.next("GET", "P-1") != hang {
			t.Error("doesn't falter for the next session")
		}
	})
}

// sampleKnown is what a demo's installation has for its agents to name.
var sampleKnown = definition.Known{
	Tools:       []string{"query_db", "http_request", "read_file", "send_email", "update_prices", "refund_payment", "refund_above_limit", "ask_human"},
	DataSources: []string{DataSource}, MCPServers: []string{},
}

// R: G1: the samples pass the product's own checks.
func TestAgentsAreValid(t *testing.T) {
	t.Parallel()
	files, err := Agents()
	if err != nil || len(files) != 7 {
		t.Fatalf("%d agents (%v)", len(files), err)
	}
	teams := map[string]int{}
	for _, f := range files {
		a, faults := definition.Parse(f, sampleKnown)
		if len(faults) > 0 {
			t.Error(faults)
		}
		if _, err := scripted.Compile(strings.TrimPrefix(a.Playbook, "./"), string(f.Playbook)); err != nil {
			t.Error(err)
		}
		if f.Name != a.Slug+".yaml" || a.DataSource != DataSource {
			t.Errorf("%s: %+v", f.Name, a)
		}
		for _, host := range a.Hosts {
			if host != PaymentsHost && host != PortalHost && host != CarrierHost {
				t.Errorf("%s names host %s", f.Name, host)
			}
		}
		teams[a.Team]++
	}
	if teams["support"] != 6 || teams["finance"] != 1 {
		t.Errorf("teams %v", teams)
	}
	if files, err := Files(); err != nil || len(files["refund-policy.md"]) == 0 {
		t.Errorf("files %v (%v)", files, err)
	}
}
