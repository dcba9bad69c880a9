package builtin_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/safehttp"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
	"baton/internal/tools/httpcall"
)

const credential = "Bearer psp-secret-0123456789"

// service is a web service that behaves as its path says, and remembers what it
// was asked.
type service struct {
	mu   sync.Mutex
	seen []http.Header
	body []string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen, s.body = append(s.seen, r.Header.Clone()), append(s.body, string(b))
	n := len(s.seen)
	s.mu.Unlock()
	switch r.URL.Path {
	case "/json":
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":9007199254740993,"query":%q}`, r.URL.RawQuery)
	case "/echo":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"headers": r.Header, "base64": base64.StdEncoding.EncodeToString([]byte(r.Header.Get("Authorization")))})
	case "/html":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<p>hello\x1b[31m</p>\nsecond")
	case "/png":
		w.Header().Set("Content-Type", "image/png")
		_, _ = io.WriteString(w, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xff")
	case "/dressed":
		_, _ = io.WriteString(w, `{"ok":false,"error":{"code":"INSUFFICIENT_FUNDS","message":"balance too low"}}`)
	case "/flaky":
		if n < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	case "/later":
		w.Header().Set("Retry-After", "198300")
		w.WriteHeader(http.StatusTooManyRequests)
	case "/cut", "/half":
		c, buf, _ := w.(http.Hijacker).Hijack()
		if r.URL.Path == "/half" {
			_, _ = buf.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nContent-Type: text/plain\r\n\r\nhalf of it")
			_ = buf.Flush()
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	case "/hang":
		<-r.Context().Done()
	case "/away":
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	default:
		status := 0
		if _, err := fmt.Sscanf(r.URL.Path, "/status/%d", &status); err == nil {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"detail":"told so"}`)
		}
	}
}

func (s *service) last() (http.Header, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[len(s.seen)-1], s.body[len(s.body)-1]
}

func (s *service) count() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.seen) }

func web(t *testing.T, honours bool, change ...func(*tools.Spec)) (*service, *bench) {
	t.Helper()
	s := &service{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := httpcall.New([]httpcall.Host{
		{
			Host:       safehttp.Host{Name: "pay.internal", Address: strings.TrimPrefix(server.URL, "http://"), AllowPrivate: true, Header: map[string]string{"Authorization": credential}},
			HonoursKey: honours, Errors: []httpcall.ErrorBody{{Field: "/error"}, {Field: "/ok", Equals: json.RawMessage("false"), Type: tools.Conflict}},
		},
		{Host: safehttp.Host{Name: "gone.internal", Address: "127.0.0.1:1", AllowPrivate: true}},
	}, httpcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := builtin.HTTPRequest(client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return s, newBench(t, quick{tool, change}, nil)
}

// quick is a tool whose repeats do not wait, so that tests of real sockets are
// not slow.
type quick struct {
	tools.Tool
	change []func(*tools.Spec)
}

func (q quick) Spec() tools.Spec {
	s := q.Tool.Spec()
	s.Retry = tools.RetryPolicy{Base: time.Millisecond, Cap: time.Millisecond}
	for _, c := range q.change {
		c(&s)
	}
	return s
}

// R: T3, F8
func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	s, b := web(t, false)
	o := b.call(t.Context(), "http_request", m{"method": "GET", "url": "http://pay.internal/json?a=1", "query": m{"b": 2, "c": "x y"}})
	if got := string(o.Result.Data()); !strings.Contains(got, `"status":200`) || !strings.Contains(got, `"id":9007199254740993`) || !strings.Contains(got, `a=1&b=2&c=x+y`) {
		t.Errorf("json: %s", o.Result.ForModel())
	}
	o = b.call(t.Context(), "http_request", m{"method": "GET", "url": "http://pay.internal/html"})
	if got := text(t, o); !strings.HasPrefix(got, "HTTP 200\n") || !strings.Contains(got, "content-type: text/html") || !strings.HasSuffix(got, "\n\n<p>hello</p>\nsecond") {
		t.Errorf("html: %q", got)
	}
	if o := b.call(t.Context(), "http_request", m{"method": "GET", "url": "http://pay.internal/png"}); !strings.Contains(string(o.Result.Data()), `"content_type":"image/png"`) {
		t.Errorf("png: %s", o.Result.ForModel())
	}
	o = b.call(t.Context(), "http_request", m{"method": "POST", "url": "http://pay.internal/refunds", "json": m{"amount": json.Number("1.10")}, "headers": m{"X-Trace": "t"}})
	h, body := s.last()
	if o.Status != tools.StatusSucceeded || body != `{"amount":1.10}` || h.Get("Content-Type") != "application/json" || h.Get("X-Trace") != "t" || len(h.Get("Idempotency-Key")) != 32 || h.Get("Authorization") != credential {
		t.Errorf("post: %s, %v, %s", body, h, o.Result.ForModel())
	}
}

// R: T3, O3
// case: abuse A30
func TestHTTPCredentialsNeverComeBack(t *testing.T) {
	t.Parallel()
	_, b := web(t, false)
	o := b.call(t.Context(), "http_request", m{"method": "GET", "url": "http://pay.internal/echo"})
	text := o.Result.ForModel() + o.Kept
	if o.Status != tools.StatusSucceeded || strings.Contains(text, "psp-secret") || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte("psp-secret-01"))[:12]) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(credential))) {
		t.Errorf("%s", text)
	}
}

// R: T3
// case: abuse A20
// case: abuse A21
// case: abuse A31
func TestHTTPRefusals(t *testing.T) {
	t.Parallel()
	s, b := web(t, false)
	for name, args := range map[string]m{
		"other host":    {"method": "GET", "url": "http://evil.example/"},
		"near host":     {"method": "GET", "url": "http://pays.internal/"},
		"metadata":      {"method": "GET", "url": "http://169.254.169.254/"},
		"file":          {"method": "GET", "url": "file:///etc/passwd"},
		"user":          {"method": "GET", "url": "http://a:b@pay.internal/"},
		"no url":        {"method": "GET", "url": "::"},
		"other scheme":  {"method": "GET", "url": "gopher://pay.internal/"},
		"credential":    {"method": "GET", "url": "http://pay.internal/json", "headers": m{"authorization": "Bearer mine"}},
		"line break":    {"method": "GET", "url": "http://pay.internal/json", "headers": m{"X-A": "a\r\nX-B: b"}},
		"broken name":   {"method": "GET", "url": "http://pay.internal/json", "headers": m{"X A": "a"}},
		"two bodies":    {"method": "POST", "url": "http://pay.internal/json", "json": 1, "body": "x"},
		"odd method":    {"method": "TRACE", "url": "http://pay.internal/json"},
		"control bytes": {"method": "GET", "url": "http://pay.internal/\x00"},
	} {
		o := b.call(t.Context(), "http_request", args)
		if o.Result.Status() != tools.Error || o.Result.ErrorType() != tools.PermissionDenied && o.Result.ErrorType() != tools.InvalidArguments {
			t.Errorf("%s: %s", name, o.Result.ForModel())
		}
	}
	if s.count() != 0 {
		t.Errorf("%d requests were sent", s.count())
	}
	o := b.call(t.Context(), "http_request", m{"method": "GET", "url": "http://pays.internal/"})
	if !strings.Contains(o.Result.ForModel(), `"nearest":"pay.internal"`) {
		t.Errorf("no help: %s", o.Result.ForModel())
	}
	if o := b.call(t.Context(), "http_request", m{"method": "GET", "url": "http://pay.internal/away"}); o.Result.ErrorType() != tools.PermissionDenied || !strings.Contains(o.Result.Message(), "169.254.169.254") {
		t.Errorf("redirect: %s", o.Result.ForModel())
	}
}

// R: E6, X1, X7, S4
func TestHTTPFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, path string
		honours      bool
		want         tools.ErrorType
		requests     int
		says         string
	}{
		"404":                        {"GET", "/status/404", false, tools.NotFound, 1, "told so"},
		"409":                        {"POST", "/status/409", false, tools.Conflict, 1, "told so"},
		"422":                        {"POST", "/status/422", false, tools.ExecutionError, 1, "told so"},
		"403":                        {"GET", "/status/403", false, tools.PermissionDenied, 1, ""},
		"500 on a read":              {"GET", "/status/500", false, tools.Unavailable, 2, ""},
		"500 on a write":             {"POST", "/status/500", false, tools.Unavailable, 1, ""},
		"503 on a read":              {"GET", "/status/503", false, tools.Unavailable, 4, "tried 4 times"},
		"503 on a write with key":    {"POST", "/status/503", true, tools.Unavailable, 4, ""},
		"504 on a write":             {"POST", "/status/504", false, tools.OutcomeUnknown, 1, "Look whether it happened"},
		"flaky":                      {"GET", "/flaky", false, "", 3, ""},
		"flaky write with key":       {"PUT", "/flaky", true, "", 3, ""},
		"429 for days":               {"GET", "/later", false, tools.RateLimited, 1, "198300"},
		"cut read":                   {"GET", "/cut", false, tools.Unavailable, 0, ""},
		"cut write":                  {"POST", "/cut", false, tools.OutcomeUnknown, 1, ""},
		"half a read":                {"GET", "/half", false, tools.Unavailable, 4, "half of it"},
		"half an answer to a write":  {"POST", "/half", false, "", 1, "the request was done"},
		"error in the body":          {"POST", "/dressed", false, tools.ExecutionError, 1, "INSUFFICIENT_FUNDS"},
		"nobody there, even a write": {"POST", "gone", false, tools.Unavailable, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := web(t, c.honours)
			target := "http://pay.internal" + c.path
			if c.path == "gone" {
				target = "http://gone.internal/"
			}
			o := b.call(t.Context(), "http_request", m{"method": c.method, "url": target})
			if o.Result.ErrorType() != c.want || !strings.Contains(o.Result.ForModel(), c.says) || c.requests != 0 && s.count() != c.requests {
				t.Errorf("%d requests: %s", s.count(), o.Result.ForModel())
			}
			keys := map[string]bool{}
			s.mu.Lock()
			for _, h := range s.seen {
				keys[h.Get("Idempotency-Key")] = true
			}
			s.mu.Unlock()
			if len(keys) > 1 {
				t.Errorf("keys %v", keys)
			}
		})
	}
}

// R: L4, X7
func TestHTTPTimeouts(t *testing.T) {
	t.Parallel()
	short := func(s *tools.Spec) { s.Timeout, s.Retry.Attempts = 50*time.Millisecond, 1 }
	for method, want := range map[string]tools.ErrorType{"GET": tools.Timeout, "POST": tools.OutcomeUnknown} {
		_, b := web(t, false, short)
		if o := b.call(t.Context(), "http_request", m{"method": method, "url": "http://pay.internal/hang"}); o.Result.ErrorType() != want {
			t.Errorf("%s: %s", method, o.Result.ForModel())
		}
	}
	_, b := web(t, false)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := b.call(ctx, "http_request", m{"method": "POST", "url": "http://pay.internal/json"}); o.Result.ErrorType() != tools.Cancelled {
		t.Errorf("stopped before it was sent: %s", o.Result.ForModel())
	}
}

// R: T3
func TestHTTPEffectGoesByMethodAndHost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, url string
		honours     bool
		want        tools.Effect
	}{
		{"GET", "http://pay.internal/", false, tools.EffectRead}, {"HEAD", "http://pay.internal/", true, tools.EffectRead},
		{"POST", "http://pay.internal/", false, tools.EffectSide}, {"POST", "http://pay.internal/", true, tools.EffectIdempotent},
		{"DELETE", "http://evil.example/", true, tools.EffectSide}, {"PUT", "::", true, tools.EffectSide},
	} {
		_, b := web(t, c.honours)
		raw, _ := json.Marshal(m{"method": c.method, "url": c.url})
		if p := tools.Prepare(tools.Call{N: 1, Tool: "http_request", Args: raw}, b.facts); p.Effect != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.url, p.Effect, c.want)
		}
	}
}

// A connection that was used before and is cut is no reason to send a write twice,
// whatever Go's own client thinks of an Idempotency-Key.
// R: X1, X7, T3
func TestAWriteIsSentOnceThoughItsConnectionIsCut(t *testing.T) {
	t.Parallel()
	s, b := web(t, false)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		for range 3 { // connections to be used again
			b.call(t.Context(), "http_request", m{"method": "GET", "url": "http://pay.internal/json"})
			b.call(t.Context(), "http_request", m{"method": method, "url": "http://pay.internal/json"})
		}
		before := s.count()
		o := b.call(t.Context(), "http_request", m{"method": method, "url": "http://pay.internal/cut"})
		if n := s.count() - before; n != 1 || o.Status != tools.StatusOutcomeUnknown {
			t.Errorf("%s: sent %d times: %s %s", method, n, o.Status, o.Result.ForModel())
		}
	}
}
