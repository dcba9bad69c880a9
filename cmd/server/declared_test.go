package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"baton/internal/postgres/pgtest"
)

// orderService is the service that docs/declared-tools.md speaks of.
type orderService struct {
	mu   sync.Mutex
	asks []string
}

func (o *orderService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	o.asks = append(o.asks, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Authorization"), body))
	o.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"ok":true,"status":"cancelled"}`)
}

// fences are the code blocks of a page, in their order.
func fences(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```[a-z]+\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// The page about declared tools, to the letter: its files, its commands, and what
// it says a person is asked.
// R: T11, E5, A6
func TestThePageAboutDeclaredToolsLeadsToAToolThatWorks(t *testing.T) {
	t.Parallel()
	service := &orderService{}
	orders := httptest.NewServer(service)
	t.Cleanup(orders.Close)
	blocks := fences(t, "declared-tools.md")
	if len(blocks) < 6 {
		t.Fatalf("found %d blocks: the scan is broken", len(blocks))
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"baton.yaml":              strings.ReplaceAll(blocks[0], "127.0.0.1:9090", orders.Listener.Addr().String()),
		"tools/cancel_order.yaml": blocks[1], "orders-desk.yaml": blocks[3], "cancel.star": blocks[4],
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"DATABASE_URL=" + pgtest.Empty(t), "BATON_DATA_DIR=" + dataDir(t), "BATON_CONFIG=" + filepath.Join(dir, "baton.yaml"), testKey}
	run := func(stdin string, args ...string) string {
		t.Helper()
		cmd := command(t.Context(), env, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("server %v: %v\n%s", args, err, errs.String())
		}
		return strings.TrimSpace(string(out))
	}
	if !strings.Contains(blocks[2], "server secret set orders_key") || !strings.Contains(blocks[5], "server agent apply -f orders-desk.yaml") {
		t.Fatalf("the page has other commands: %q, %q", blocks[2], blocks[5])
	}
	run("", "user", "add", "ana", "--role", "admin", "--team", "support")
	run("key-0123456789abcdef\n", "secret", "set", "orders_key")
	run("", "agent", "apply", "-f", "orders-desk.yaml")
	a := api{t, "", run("", "key", "create", "--user", "ana", "--scope", "all")}
	a.base = launch(t, env...).url
	var session apiSession
	if code := a.do("POST", "/sessions", map[string]any{"agent": "orders-desk", "task": "Cancel it.", "inputs": map[string]any{"order": "A-1001"}}, &session); code != http.StatusCreated {
		t.Fatalf("start: %d", code)
	}
	q := a.question("Cancel order A-1001: customer_request")
	if code := a.do("POST", "/escalations/"+q.ID+"/answer", map[string]any{"version": q.Version, "decision": map[string]any{"type": "approve"}}, nil); code != http.StatusOK {
		t.Fatalf("answer: %d", code)
	}
	if s := a.ended(session.ID); s.Status != "completed" || s.Outcome != "done" {
		t.Errorf("%+v", s)
	}
	service.mu.Lock()
	defer service.mu.Unlock()
	if len(service.asks) != 1 || !regexp.MustCompile(`^POST /orders/A-1001/cancellation Bearer key-0123456789abcdef \{"reason":"customer_request","reference":"[0-9a-f]{32}"\}$`).MatchString(service.asks[0]) {
		t.Errorf("%q", service.asks)
	}
}

// A faulty file keeps the server from starting, and says where and what.
// R: T11, G4
func TestAFaultyToolIsSaidBeforeTheServerStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"baton.yaml": "tools_dir: tools\n", "tools/a.yaml": "name: read_file\nwords: {en: {title: T, sentence: S}}\ndescription: d\nrequest: {method: GET, url: \"https://a.example/\"}\neffect: read_only\n", "tools/b.yaml": "name: b\nefect: read_only\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, _, said := try(t, []string{"BATON_DATA_DIR=" + dataDir(t), "BATON_CONFIG=" + filepath.Join(dir, "baton.yaml"), "BATON_ADDR=127.0.0.1:0"}, "serve")
	for _, want := range []string{"read_file is a tool that comes with Baton", "b.yaml:2: efect: this key is not known; did you mean effect?"} {
		if code == 0 || !strings.Contains(said, want) {
			t.Errorf("exit %d, want %q in %s", code, want, said)
		}
	}
}
