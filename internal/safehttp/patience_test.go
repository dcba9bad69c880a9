package safehttp_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"baton/internal/safehttp"
)

// A server that says nothing for too long is left, before its reply and within
// it; one that says a little now and then is not.
// R: A4
// case: fault F26
func TestASilentServerIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/within" {
			_, _ = io.WriteString(w, "half of ")
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	})
	c := client(t, safehttp.Options{Idle: 30 * time.Millisecond, Hosts: []safehttp.Host{{Name: "a.internal", Address: address, AllowPrivate: true}}})
	for _, path := range []string{"/before", "/within"} {
		_, err := get(t, c, "http://a.internal"+path)
		silent, ok := errors.AsType[*safehttp.Silent](err)
		if !ok || silent.For != 30*time.Millisecond {
			t.Errorf("%s: %v", path, err)
		}
		if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
			t.Errorf("%s: %v is no timeout", path, err)
		}
	}
}

// A server that takes the connection and never agrees on a key.
// R: A4
// case: fault F26
func TestConnectingIsBounded(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	c := client(t, safehttp.Options{Connect: 30 * time.Millisecond, Hosts: []safehttp.Host{{Name: "a.internal", Address: listener.Addr().String(), AllowPrivate: true}}})
	_, err = get(t, c, "https://a.internal/")
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		t.Errorf("%v is no timeout", err)
	}
}

// R: L5
func TestAReplyPastItsBoundIsAnError(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", len(r.URL.Path)-1))
	})
	c := client(t, safehttp.Options{Most: 10, Hosts: []safehttp.Host{{Name: "a.internal", Address: address, AllowPrivate: true}}})
	if got, err := get(t, c, "http://a.internal/"+strings.Repeat("p", 10)); err != nil || len(got) != 10 {
		t.Errorf("%q, %v", got, err)
	}
	_, err := get(t, c, "http://a.internal/"+strings.Repeat("p", 11))
	if large, ok := errors.AsType[*safehttp.TooLarge](err); !ok || large.Most != 10 {
		t.Errorf("%v", err)
	}
}

// Asking a model has no effect, though it is a POST: it needs no connection of its
// own each time, as a write does.
// R: M1
func TestRequestsWithoutEffectsShareAConnection(t *testing.T) {
	t.Parallel()
	for onlyReads, want := range map[bool]int{true: 1, false: 3} {
		from := make(chan string, 3)
		address := serve(t, func(_ http.ResponseWriter, r *http.Request) { from <- r.RemoteAddr })
		c := client(t, safehttp.Options{OnlyReads: onlyReads, Hosts: []safehttp.Host{{Name: "a.internal", Address: address, AllowPrivate: true}}})
		seen := map[string]bool{}
		for range 3 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.internal/", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			seen[<-from] = true
		}
		if len(seen) != want {
			t.Errorf("reads only %v: %d connections, want %d", onlyReads, len(seen), want)
		}
	}
}
