package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// served is the world behind another server of the same stores.
func (w world) served(change func(*Deps), configure func(*http.Server)) world {
	w.t.Helper()
	deps, h := w.deps, *w.house
	change(&deps)
	h.server = httptest.NewUnstartedServer(New(deps))
	configure(h.server.Config)
	h.server.Start()
	w.t.Cleanup(h.server.Close)
	return world{&h}
}

// R: I2
func TestAWaitOutlivesTheLimitOnReadingARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	w = w.served(func(*Deps) {}, func(s *http.Server) { s.ReadTimeout = 300 * time.Millisecond })
	if q := w.program("viewer").get("/escalations/"+e.ID.String()+"?wait=1").ok(t, http.StatusOK); q["status"] != "pending" {
		t.Errorf("%v", q)
	}
}

// R: I2
func TestAWaitEndsWithTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.question("desk")
	stopping := make(chan struct{})
	w = w.served(func(d *Deps) { d.Stopping = stopping }, func(*http.Server) {})
	waited := make(chan answer, 1)
	viewer := w.program("viewer")
	go func() { waited <- viewer.get("/escalations/" + e.ID.String() + "?wait=50") }()
	close(stopping)
	if q := (<-waited).ok(t, http.StatusOK); q["status"] != "pending" {
		t.Errorf("%v", q)
	}
}
