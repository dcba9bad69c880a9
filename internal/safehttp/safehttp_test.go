package safehttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"baton/internal/safehttp"
)

func client(t testing.TB, o safehttp.Options) *safehttp.Client {
	t.Helper()
	c, err := safehttp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(t testing.TB, c *safehttp.Client, target string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		return "", &safehttp.Refused{Reason: err.Error()} // no URL at all
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func wantRefused(t testing.TB, what string, err error) {
	t.Helper()
	if r, ok := errors.AsType[*safehttp.Refused](err); !ok || r.Reason == "" {
		t.Errorf("%s: %v, want a refusal with its reason", what, err)
	}
}

func serve(t testing.TB, h http.HandlerFunc) (address string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// R: T3
// case: abuse A20
func TestPrivateAddressesInEverySpelling(t *testing.T) {
	t.Parallel()
	c := client(t, safehttp.Options{Public: true})
	for _, target := range []string{
		"http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://0.0.0.0/", "http://[::]/",
		"http://169.254.169.254/latest/meta-data", "http://[fe80::1]/", "http://[fe80::1%25lo]/", "http://10.1.2.3/", "http://172.16.0.1/", "http://192.168.1.1/",
		"http://100.64.0.1/", "http://[2002:7f00:1::]/", "http://[64:ff9b::7f00:1]/", "http://[fd00:ec2::254]/", "http://198.18.0.1/", "http://192.0.2.1/", "http://224.0.0.1/",
		"http://１２７.０.０.１/", "http://①②⑦.0.0.1/", "http://user:pw@example.org/", "http://user@127.0.0.1/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.0.1./",
		"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://example.org/", "http:///x", "http://example.org:22/", "http://exa mple.org/",
	} {
		_, err := get(t, c, target)
		wantRefused(t, target, err)
	}
}

// R: T3
func TestOnlyListedHosts(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host+" "+r.Header.Get("X-Key"))
	})
	c := client(t, safehttp.Options{Hosts: []safehttp.Host{
		{Name: "Payments.Internal", Address: address, AllowPrivate: true, Header: map[string]string{"X-Key": "k"}},
		{Name: "closed.internal", Address: address},
		{Name: "other.internal:8080", Address: address, AllowPrivate: true},
	}})
	for _, target := range []string{"http://payments.internal/a", "http://PAYMENTS.internal./a", "http://payments.internal:80/a"} {
		if got, err := get(t, c, target); err != nil || !strings.HasSuffix(got, " k") {
			t.Errorf("%s: %q, %v", target, got, err)
		}
	}
	if got, err := get(t, c, "http://other.internal:8080/"); err != nil || got != "other.internal:8080 " {
		t.Errorf("%q, %v", got, err)
	}
	for _, target := range []string{"http://payments.internal:81/", "http://other.internal/", "http://evil.example/", "http://payments.internal.evil.example/", "http://closed.internal/", "http://" + address + "/"} {
		_, err := get(t, c, target)
		wantRefused(t, target, err)
	}
	for _, bad := range []safehttp.Host{{Name: ""}, {Name: "a b"}, {Name: "x", Address: "127.0.0.1"}} {
		if _, err := safehttp.New(safehttp.Options{Hosts: []safehttp.Host{bad}}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// R: T3
// case: abuse A21
func TestRedirects(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Pointer[http.Header]
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		elsewhere.Store(&r.Header)
		_, _ = io.WriteString(w, "other")
	})
	var hops atomic.Int32
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		hops.Add(1)
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
	})
	c := client(t, safehttp.Options{Hosts: []safehttp.Host{
		{Name: "first.internal", Address: first, AllowPrivate: true, Header: map[string]string{"Authorization": "Bearer secret-of-first"}},
		{Name: "other.internal", Address: other, AllowPrivate: true, Header: map[string]string{"X-Other": "o"}},
	}})
	send := func(method, to string) error {
		req, _ := http.NewRequestWithContext(t.Context(), method, "http://first.internal/?to="+url.QueryEscape(to), nil)
		req.Header.Set("X-Api-Key", "of the request")
		resp, err := c.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	for _, to := range []string{"http://127.0.0.1/", "http://169.254.169.254/", "http://evil.example/", "file:///etc/passwd", "http://u:p@other.internal/", "http://" + other} {
		wantRefused(t, to, send("GET", to))
	}
	hops.Store(0)
	wantRefused(t, "a circle", send("GET", "/?to="+url.QueryEscape("/?to="+url.QueryEscape("/?to="+url.QueryEscape("/?to=/x")))))
	if hops.Load() != safehttp.MaxHops+1 {
		t.Errorf("%d hops", hops.Load())
	}
	wantRefused(t, "a POST to another host", send("POST", "http://other.internal/"))
	if elsewhere.Load() != nil {
		t.Fatal("something reached the other host")
	}
	if err := send("GET", "http://other.internal/"); err != nil {
		t.Fatal(err)
	}
	if h := *elsewhere.Load(); h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" || h.Get("X-Other") != "o" {
		t.Errorf("headers at the other host: %v", h)
	}
}

// A name that is public when it is checked and private when it is dialled.
// R: T3
// case: abuse A22
func TestRebinding(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	resolver := resolverOf(t, func() [4]byte {
		if asked.Add(1) == 1 {
			return [4]byte{203, 0, 113, 7}
		}
		return [4]byte{127, 0, 0, 1}
	})
	c := client(t, safehttp.Options{Public: true, Resolver: resolver})
	if _, err := resolver.LookupHost(t.Context(), "rebind.example"); err != nil {
		t.Fatal(err)
	}
	_, err := get(t, c, "http://rebind.example/")
	wantRefused(t, "rebinding", err)
	if asked.Load() < 2 {
		t.Error("the name was not looked up again")
	}
}

// resolverOf is a resolver whose every A record is what answer gives.
func resolverOf(t *testing.T, answer func() [4]byte) *net.Resolver {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pc.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: answer()}}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = pc.WriteTo(out, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", pc.LocalAddr().String())
	}}
}

// R: T3
func TestNoProxyOfTheEnvironment(t *testing.T) {
	proxy := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	t.Setenv("HTTP_PROXY", "http://"+proxy)
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "direct") })
	c := client(t, safehttp.Options{Hosts: []safehttp.Host{{Name: "a.internal", Address: address, AllowPrivate: true}}})
	if got, err := get(t, c, "http://a.internal/"); err != nil || got != "direct" {
		t.Errorf("%q, %v", got, err)
	}
}
