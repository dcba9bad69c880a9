package declared_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/permission"
	"baton/internal/redact"
	"baton/internal/safehttp"
	"baton/internal/tools"
	"baton/internal/tools/declared"
	"baton/internal/tools/httpcall"
)

const refundYAML = `
name: refund_payment
words:
  en: {title: Refund a payment, sentence: "Refund {amount} of payment {payment}", reversal: Can be cancelled for an hour.}
  zh-Hans: {title: 退款, sentence: "退还付款 {payment} 的 {amount}"}
description: Refunds a payment, in part or as a whole.
params:
  payment: {type: text, description: its id}
  amount: {type: money, currencies: [EUR]}
  lines: {type: integer, many: true, optional: true}
  note: {type: text, optional: true}
  pin: {type: text, optional: true, sensitive: true}
effect: side_effect
request:
  method: POST
  url: https://pay.example/payments/{payment}/refunds
  query: {note: "{note}", version: "2"}
  headers: {X-Payment: "p-{payment}", X-Note: "{note}"}
  json:
    amount: "{amount.value}"
    money: "{amount}"
    lines: "{lines}"
    text: "Refund {amount.value} {amount.currency}"
    fixed: [1, true, null, "{note}"]
    key: "{key}"
result: /data
errors:
  - {field: /data/refused, type: conflict}
statuses: {"418": rate_limited, "422": conflict}
verify:
  url: https://pay.example/refunds
  query: {key: "{key}"}
  field: /items/0/amount
  equals: "{amount.value}"
undo: {tool: cancel_refund, args: {refund: "{result.id}", reason: "undo of {payment}"}}
claims: [refunded]
reason_codes: [over_limit]
timeout: 2s
`

// service answers as a test wants, and remembers what it was asked.
type service struct {
	mu   sync.Mutex
	seen []*http.Request
	body []string
	how  http.HandlerFunc
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen, s.body = append(s.seen, r), append(s.body, string(b))
	how := s.how
	s.mu.Unlock()
	how(w, r)
}

func (s *service) answers(how http.HandlerFunc) { s.mu.Lock(); s.how = how; s.mu.Unlock() }

func (s *service) last() (*http.Request, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1], s.body[len(s.body)-1]
}

func (s *service) count() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.seen) }

// says answers a status with a text.
func says(status int, kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// bench runs a declared tool as a session does.
type bench struct {
	t     *testing.T
	tool  tools.Tool
	facts tools.Facts
	run   tools.Runner
	n     int
}

func newBench(t *testing.T, source string, token declared.Token) (*bench, *service) {
	t.Helper()
	parsed, faults := definition.ParseTool("tool.yaml", []byte(source))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	s := &service{how: says(200, "application/json", `{"data":{"id":"r_1","amount":12345678901234567890.10}}`)}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	plain := httptest.NewServer(s)
	t.Cleanup(plain.Close)
	client, err := httpcall.New([]httpcall.Host{{
		Host:   safehttp.Host{Name: "pay.example", Address: plain.Listener.Addr().String(), AllowPrivate: true, Header: map[string]string{"Authorization": "Bearer psp-secret-0123456789"}},
		Errors: []httpcall.ErrorBody{{Field: "/data/refused", Type: tools.Conflict}, {Field: "/error"}},
	}}, httpcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	tool, err := declared.New(parsed, client, token)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	red, err := redact.New(redact.Options{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{
		t: t, tool: tool, facts: tools.Facts{Tools: reg, Policy: permission.Policy{Mode: permission.Auto}},
		run: tools.Runner{Session: id.New[id.Session](), Tools: reg, Redactor: red, Retries: &tools.RetryBudgets{}, Stuck: &atomic.Int64{}, Log: slog.New(slog.DiscardHandler)},
	}, s
}

func (b *bench) call(args string) tools.Outcome {
	b.t.Helper()
	b.n++
	p := tools.Prepare(tools.Call{N: b.n, Tool: b.tool.Spec().Name, Args: json.RawMessage(args)}, b.facts)
	if p.Verdict == tools.Ended {
		return tools.Outcome{Result: *p.Result, Status: p.Status()}
	}
	return b.run.Execute(b.t.Context(), p)
}

func (b *bench) said(args string, status tools.Status, parts ...string) {
	b.t.Helper()
	o := b.call(args)
	got := o.Result.ForModel()
	if o.Status != status {
		b.t.Errorf("%s: %s, want %s: %s", args, o.Status, status, got)
	}
	for _, part := range parts {
		if !strings.Contains(got, part) {
			b.t.Errorf("%s: want %s in %s", args, part, got)
		}
	}
}

// plainHTTP is the tool on a service without a certificate.
func plainHTTP(source string) string { return strings.ReplaceAll(source, "https://", "http://") }

// R: T11
func TestADeclaredToolSendsItsTemplate(t *testing.T) {
	t.Parallel()
	b, s := newBench(t, plainHTTP(refundYAML), nil)
	b.said(`{"payment":"p 1?","amount":{"value":"12.50","currency":"EUR"},"lines":[9007199254740993,2],"note":"a&b"}`, tools.StatusSucceeded, `"data":{"id":"r_1","amount":12345678901234567890.10}`)
	r, body := s.last()
	if r.Method != "POST" || r.URL.EscapedPath() != "/payments/p%201%3F/refunds" || r.URL.RawQuery != "note=a%26b&version=2" {
		t.Errorf("%s %s", r.Method, r.URL)
	}
	for name, want := range map[string]string{"Authorization": "Bearer psp-secret-0123456789", "Content-Type": "application/json", "X-Payment": "p-p 1?", "X-Note": "a&b", "Idempotency-Key": tools.IdempotencyKey(id.Call{Session: b.run.Session, N: 1})} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	want := fmt.Sprintf(`{"amount":"12.50","fixed":[1,true,null,"a&b"],"key":%q,"lines":[9007199254740993,2],"money":{"currency":"EUR","value":"12.50"},"text":"Refund 12.50 EUR"}`, r.Header.Get("Idempotency-Key"))
	if got := strings.ReplaceAll(body, `\u0026`, "&"); got != want {
		t.Errorf("body %s\nwant %s", got, want)
	}
	// What is left out leaves no trace.
	b.said(`{"payment":"p1","amount":{"value":"1","currency":"EUR"}}`, tools.StatusSucceeded)
	r, body = s.last()
	if r.URL.RawQuery != "version=2" || r.Header.Values("X-Note") != nil || strings.Contains(body, "lines") || !strings.Contains(body, `"fixed":[1,true,null]`) {
		t.Errorf("%s %v %s", r.URL, r.Header, body)
	}
	if title, sentence := b.tool.Spec().Describe("zh-Hans", json.RawMessage(`{"payment":"p1","amount":{"value":"12.50","currency":"EUR"}}`)); title != "退款" || sentence != "退还付款 p1 的 EUR 12.50" {
		t.Errorf("%s: %s", title, sentence)
	}
}

// R: T11, E2
func TestADeclaredToolHasTypedParameters(t *testing.T) {
	t.Parallel()
	b, s := newBench(t, plainHTTP(refundYAML), nil)
	for args, want := range map[string]string{
		`{"payment":"p1"}`:               "amount",
		`{"payment":"p1","amount":12.5}`: "amount",
		`{"payment":"p1","amount":{"value":"12,50","currency":"EUR"}}`:                "/amount/value",
		`{"payment":"p1","amount":{"value":"1","currency":"USD"}}`:                    "/amount/currency",
		`{"payment":"p1","amount":{"value":"1","currency":"EUR"},"lines":["a"]}`:      "/lines/0",
		`{"payment":"p1","amount":{"value":"1","currency":"EUR"},"nots":"x"}`:         "note",
		`{"payment":"../admin","amount":{"value":"1","currency":"EUR"}}`:              "can't stand in the address",
		`{"payment":"..","amount":{"value":"1","currency":"EUR"}}`:                    "can't stand in the address",
		`{"payment":"a/b","amount":{"value":"1","currency":"EUR"}}`:                   "can't stand in the address",
		`{"payment":"p1","amount":{"value":"1","currency":"EUR"},"note":"a\r\nX: b"}`: "more than one line",
	} {
		b.said(args, tools.StatusFailed, `"invalid_arguments"`, want)
	}
	if s.count() != 0 {
		t.Errorf("%d requests were sent", s.count())
	}
}

// R: T11, S4, E6, X7, L8
func TestADeclaredToolFailsAsItsFileSays(t *testing.T) {
	t.Parallel()
	b, s := newBench(t, plainHTTP(refundYAML), nil)
	const args = `{"payment":"p1","amount":{"value":"1","currency":"EUR"}}`
	cut := func(w http.ResponseWriter, _ *http.Request) {
		c, _, _ := w.(http.Hijacker).Hijack()
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	for name, c := range map[string]struct {
		how    http.HandlerFunc
		status tools.Status
		want   []string
	}{
		"a status of the file's":    {says(422, "application/json", `{"why":"closed"}`), tools.StatusFailed, []string{`"conflict"`, `"why":"closed"`}},
		"another":                   {says(418, "application/json", `{}`), tools.StatusFailed, []string{`"rate_limited"`}},
		"a usual one":               {says(404, "application/json", `{}`), tools.StatusFailed, []string{`"not_found"`}},
		"an error dressed":          {says(200, "application/json", `{"data":{"refused":"no money"}}`), tools.StatusFailed, []string{`"conflict"`, "no money"}},
		"the installation's own":    {says(200, "application/json", `{"error":{"code":7}}`), tools.StatusFailed, []string{`"execution_error"`}},
		"a page where data was due": {says(200, "text/html", "<h1>Sign in</h1>"), tools.StatusOutcomeUnknown, []string{"text/html, where JSON was due", "Sign in"}},
		"nothing":                   {says(204, "", ""), tools.StatusSucceeded, []string{`"data":null`, "answered 204"}},
		"nothing where it points":   {says(200, "application/json", `{"other":1}`), tools.StatusSucceeded, []string{`{"other":1}`, "nothing at /data"}},
		"a cut":                     {cut, tools.StatusOutcomeUnknown, nil},
		"a redirect inside": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, tools.StatusDenied, []string{"not on the list of hosts"}},
		"the secret": {says(200, "application/json", `{"data":"psp-secret-0123456789"}`), tools.StatusSucceeded, []string{"•"}},
		"a hang":     {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, tools.StatusOutcomeUnknown, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s.answers(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusInternalServerError) // looking it up tells nothing
					return
				}
				c.how(w, r)
			})
			b := &bench{t: t, tool: b.tool, facts: b.facts, run: b.run, n: b.n + 100}
			before := s.count()
			o := b.call(args)
			got := o.Result.ForModel()
			if o.Status != c.status || strings.Contains(got, "psp-secret") {
				t.Errorf("%s: %s", o.Status, got)
			}
			for _, part := range c.want {
				if part != "•" && !strings.Contains(got, part) {
					t.Errorf("want %s in %s", part, got)
				}
			}
			posts := 0
			for _, r := range s.seen[before:] {
				if r.Method == http.MethodPost {
					posts++
				}
			}
			if posts > 1 {
				t.Errorf("a write was sent %d times", posts)
			}
		})
	}
}

// R: T11, X7
func TestADeclaredToolLooksWhetherItHappened(t *testing.T) {
	t.Parallel()
	b, s := newBench(t, plainHTTP(refundYAML), nil)
	const args = `{"payment":"p1","amount":{"value":"1.50","currency":"EUR"}}`
	for answer, want := range map[string]struct {
		status int
		text   string
	}{
		`{"items":[{"amount":"1.50"}]}`: {200, "did happen"},
		`{"items":[{"amount":"2.00"}]}`: {200, "did not happen"},
		`{"items":[]}`:                  {200, "did not happen"},
		`{}`:                            {404, "did not happen"},
		`<p>`:                           {200, "is not known"},
		`{"a":1}`:                       {503, "is not known"},
	} {
		s.answers(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				panic(http.ErrAbortHandler)
			}
			says(want.status, "application/json", answer)(w, r)
		})
		if got := b.call(args).Result.ForModel(); !strings.Contains(got, want.text) {
			t.Errorf("%d %s: want %q in %s", want.status, answer, want.text, got)
		}
		r, _ := s.last()
		if r.Method != http.MethodGet || r.URL.Path != "/refunds" || r.URL.Query().Get("key") != tools.IdempotencyKey(id.Call{Session: b.run.Session, N: b.n}) {
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}
}

// R: T11
func TestADeclaredToolNamesItsUndo(t *testing.T) {
	t.Parallel()
	b, s := newBench(t, plainHTTP(refundYAML), nil)
	const args = `{"payment":"p1","amount":{"value":"1","currency":"EUR"}}`
	tool, undo, ok := b.tool.Spec().Undo(json.RawMessage(args), b.call(args).Result)
	if !ok || tool != "cancel_refund" || string(undo) != `{"reason":"undo of p1","refund":"r_1"}` {
		t.Errorf("%s %s %v", tool, undo, ok)
	}
	s.answers(says(200, "application/json", `{"data":{"other":1}}`))
	if _, _, ok := b.tool.Spec().Undo(json.RawMessage(args), b.call(args).Result); ok {
		t.Error("an undo without what it needs is offered")
	}
}

// R: T11, X1
func TestADeclaredToolKeepsToItsPace(t *testing.T) {
	t.Parallel()
	b, s := newBench(t, `
name: read_order
words: {en: {title: Read an order, sentence: "Read order {order}"}}
description: Reads an order.
params: {order: {type: text}}
effect: read_only
request: {method: GET, url: "http://pay.example/orders/{order}"}
rate_limit: {calls: 2, per: 1h}
deadline: 30s
`, nil)
	for range 2 {
		b.said(`{"order":"1"}`, tools.StatusSucceeded)
	}
	b.said(`{"order":"1"}`, tools.StatusFailed, `"rate_limited"`, "may be called 2 times in 1h")
	if s.count() != 2 {
		t.Errorf("%d requests", s.count())
	}
}

// A credential of one request is asked for each, and comes back to nobody.
// R: T11, K5
func TestADeclaredToolSignsEachRequest(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	b, s := newBench(t, strings.ReplaceAll(plainHTTP(refundYAML), "Authorization", "X"), func(context.Context) (string, error) {
		return fmt.Sprintf("token-%d-0123456789abcdef", asked.Add(1)), nil
	})
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"data":%q}`, r.Header.Get("X-Payment")+" token-1-0123456789abcdef")
	})
	if got := b.call(`{"payment":"p1","amount":{"value":"1","currency":"EUR"}}`).Result.ForModel(); strings.Contains(got, "0123456789abcdef") || asked.Load() != 1 {
		t.Errorf("asked %d times: %s", asked.Load(), got)
	}
	gone := tools.Fail(tools.PermissionDenied, "The grant for payments has expired.")
	b, s = newBench(t, plainHTTP(refundYAML), func(context.Context) (string, error) { return "", gone })
	b.said(`{"payment":"p1","amount":{"value":"1","currency":"EUR"}}`, tools.StatusDenied, "The grant for payments has expired")
	if s.count() != 0 {
		t.Error("a request was sent without a credential")
	}
}

// An approval of one version of a file is void for another.
// R: T11, A6
func TestADeclaredToolIsAnotherOnceItsFileChanges(t *testing.T) {
	t.Parallel()
	versions := map[string]bool{}
	for _, change := range [][2]string{{"", ""}, {"/refunds", "/cancellations"}, {"version: \"2\"", "version: \"3\""}, {"X-Payment", "X-Pay"}, {"result: /data", "result: /other"}, {"claims: [refunded]", "claims: [repaid]"}} {
		b, _ := newBench(t, plainHTTP(strings.Replace(refundYAML, change[0], change[1], 1)), nil)
		versions[b.tool.Spec().Hash()] = true
	}
	if len(versions) != 6 {
		t.Errorf("6 files have %d versions", len(versions))
	}
	b, _ := newBench(t, plainHTTP(refundYAML), nil)
	if spec := b.tool.Spec(); !versions[spec.Hash()] || spec.Timeout != 2*time.Second || len(spec.Failures) != 8 {
		t.Errorf("%+v", spec)
	}
}
