package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"baton/internal/bench"
	"baton/templates"
)

// A browser of the bench is an installed Chromium, started on an address that
// gives it the login and sends it to the session. The page is the product's,
// with one script more, which tells when a row has come to stand in it. It runs
// on the same machine and so by the same clock.

const (
	browseStart  = "/bench/start"
	browseScript = "/bench/rows.js"
	browseTell   = "/bench/rows"
)

const rowsScript = `
const now = () => ((performance.timeOrigin + performance.now()) * 1e6).toFixed(0);
const tell = (seq) => { const at = now(); fetch("` + browseTell + `?seq=" + seq + "&at=" + at, { method: "POST", keepalive: true }); };
new MutationObserver((changes) => {
  let last = 0;
  for (const { addedNodes } of changes)
    for (const { id } of addedNodes) last = Math.max(last, Number(/^event-(\d+)$/.exec(id ?? "")?.[1] ?? 0));
  if (last) tell(last);
}).observe(document.getElementById("events"), { childList: true });
new MutationObserver((_, o) => {
  if ("connected" in document.documentElement.dataset) { o.disconnect(); tell(0); }
}).observe(document.documentElement, { attributes: true });
`

// browsed serves what a browser of the bench needs beside the pages.
func (s *stage) browsed(mux *http.ServeMux, pages http.Handler) {
	mux.HandleFunc("GET "+browseStart, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", s.cookie+"; Path=/; HttpOnly; SameSite=Lax")
		http.Redirect(w, r, templates.SessionURL(s.session.String())+"?view=technical", http.StatusSeeOther)
	})
	mux.HandleFunc("GET "+browseScript, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte(rowsScript))
	})
	mux.HandleFunc("POST "+browseTell, func(w http.ResponseWriter, r *http.Request) {
		var seq, at int64
		q := r.URL.Query()
		if _, err := fmt.Sscan(q.Get("seq")+" "+q.Get("at"), &seq, &at); err == nil {
			s.rows <- bench.Received{Seq: seq, At: time.Unix(0, at)}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET "+templates.SessionURL(s.session.String()), func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding")
		drawn := &page{ResponseWriter: w}
		pages.ServeHTTP(drawn, r)
		_, _ = w.Write(bytes.Replace(drawn.body.Bytes(), []byte("</head>"), []byte(`<script type="module" src="`+browseScript+`"></script></head>`), 1))
	})
}

// page keeps a page's text back.
type page struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (p *page) Write(text []byte) (int, error) { return p.body.Write(text) }

func (p *page) WriteHeader(status int) {
	p.Header().Del("Content-Length")
	p.ResponseWriter.WriteHeader(status)
}

// Browse opens the session in a browser and returns when its page is connected.
func (s *stage) Browse(ctx context.Context) (<-chan bench.Received, func(), error) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		return nil, nil, nil
	}
	profile, err := os.MkdirTemp("", "baton-bench-browser-")
	if err != nil {
		return nil, nil, err
	}
	s.rows = make(chan bench.Received, 1<<12)
	args := []string{"--headless=new", "--disable-gpu", "--no-first-run", "--user-data-dir=" + profile, "--window-size=1440,900", "--disable-component-update"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // which refuses root
	}
	//nolint:gosec // an installed browser, on an address of our own
	cmd := exec.CommandContext(ctx, path, append(args, "http://"+s.addr+browseStart)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		_ = os.RemoveAll(profile)
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	leave := func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = os.RemoveAll(profile)
	}
	select {
	case <-s.rows: // it is connected
		return s.rows, leave, nil
	case <-time.After(time.Minute):
		leave()
		return nil, nil, fmt.Errorf("%s did not show the session within a minute", path)
	case <-ctx.Done():
		leave()
		return nil, nil, ctx.Err()
	}
}
