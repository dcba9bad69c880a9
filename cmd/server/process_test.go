package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"baton/internal/postgres/pgtest"
	"baton/web/browsertest"
)

// The test binary is also the server: started again with this variable set, it
// is the program.
const asProgram = "BATON_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	code := m.Run()
	browsertest.Stop()
	pgtest.Stop()
	os.Exit(code)
}

// program is a started server and what it says.
type program struct {
	cmd    *exec.Cmd
	url    string
	slot   string // the file with its replica's identity, where a test looks for it
	stderr *words
}

// words is what a program has written, readable while it writes.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append([]string{asProgram + "=1", "PATH=" + os.Getenv("PATH"), "HOME=/nonexistent"}, env...)
	return cmd
}

// launch starts a server on a free port and waits until it says where it is.
func launch(t *testing.T, env ...string) *program {
	t.Helper()
	return launchAt(t, "127.0.0.1:0", env...)
}

func launchAt(t *testing.T, addr string, env ...string) *program {
	t.Helper()
	p := &program{cmd: command(context.WithoutCancel(t.Context()), append(env, "BATON_ADDR="+addr)), stderr: &words{}}
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(syscall.SIGTERM) })
	line, err := bufio.NewReader(out).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "Listening: ")
	if !ok {
		t.Fatalf("server says %q (%v), then:\n%s", line, err, p.stderr)
	}
	p.url = url
	return p
}

// end signals the server and waits for it.
func (p *program) end(sig os.Signal) {
	_ = p.cmd.Process.Signal(sig) // it may have ended already
	_ = p.cmd.Wait()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: 10 * time.Second}
	res, err := client.Get(url)
	if err != nil {
		t.Fatalf("get %s: %v", url, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read %s: %v", url, err)
	}
	return res.StatusCode, string(body)
}

// try runs a command to its end and returns its exit code and words.
func try(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t.Context(), env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("run %v: %v", args, err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// dataDir is a folder that an unprivileged Postgres can reach.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "baton-server-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// R: G5
func TestThreeServersStartedAtOnceOnAnEmptyDatabaseAreAllReady(t *testing.T) {
	t.Parallel()
	database := "DATABASE_URL=" + pgtest.Empty(t)
	dir := "BATON_DATA_DIR=" + dataDir(t)
	var starts sync.WaitGroup
	servers := make([]*program, 3)
	for i := range servers {
		starts.Go(func() { servers[i] = launch(t, database, dir, testKey) })
	}
	starts.Wait()
	applied := 0
	for _, s := range servers {
		if s == nil {
			t.Fatal("a server did not start")
		}
		if code, body := get(t, s.url+"/readyz"); code != http.StatusOK {
			t.Errorf("readyz: %d %s", code, body)
		}
		applied += strings.Count(s.stderr.String(), "schema applied")
	}
	if applied != 1 {
		t.Errorf("the schema was applied %d times", applied)
	}
}

const testKey = "BATON_SECRET_KEY=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// R: G2, G1
func TestAfterKillOfServerAndDatabaseTheNextStartServesWhatWasThere(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	env := "BATON_DATA_DIR=" + dir
	first := launch(t, env)
	code, out, errs := try(t, []string{env}, "user", "add", "Mara", "--role", "viewer")
	link := strings.TrimSpace(strings.TrimPrefix(out, "Sign in: "))
	if code != 0 || !strings.HasPrefix(link, first.url+"/sign-in?token=") {
		t.Fatalf("user add beside the server: exit %d, %q, %s", code, out, errs)
	}
	postmaster, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	killPostmaster(t, string(postmaster))
	first.end(syscall.SIGKILL)

	second := launch(t, env)
	if code, body := get(t, second.url+"/readyz"); code != http.StatusOK {
		t.Errorf("readyz after the kill: %d %s", code, body)
	}
	if code, body := get(t, second.url+strings.TrimPrefix(link, first.url)); code != http.StatusOK || !strings.Contains(body, "Mara") {
		t.Errorf("the link from before the kill: %d %s", code, body)
	}
}

func killPostmaster(t *testing.T, pidFile string) {
	t.Helper()
	pid := 0
	for _, digit := range strings.SplitN(pidFile, "\n", 2)[0] {
		pid = pid*10 + int(digit-'0')
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// R: G2, G4, G5, I5
func TestWhatStandsInTheWayOfAStartIsOneClearMessage(t *testing.T) {
	t.Parallel()
	running := launch(t, "DATABASE_URL="+pgtest.Empty(t), "BATON_DATA_DIR="+dataDir(t), testKey)
	newer := pgtest.New(t)
	if _, err := newer.Exec(t.Context(), `insert into goose_db_version (version_id, is_applied) values (99999, true)`); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "baton.yaml")
	if err := os.WriteFile(file, []byte("adr: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  []string
		args []string
		says []string
	}{
		"the port is in use": {
			args: []string{"--addr", strings.TrimPrefix(running.url, "http://")},
			says: []string{"already listens on", "--addr"}},
		"no Postgres programs": {
			env:  []string{"BATON_DATA_DIR=" + dataDir(t), "BATON_PG_BIN=/nonexistent"},
			says: []string{"PostgreSQL is not installed", "apt-get install postgresql", "DATABASE_URL"}},
		"an unwritable data directory": {
			env:  []string{"BATON_DATA_DIR=" + file + "/data"},
			says: []string{"can't be written", "--data-dir"}},
		"a newer schema": {
			env:  []string{"DATABASE_URL=" + pgtest.URL(newer), "BATON_DATA_DIR=" + dataDir(t), testKey},
			says: []string{"99999", "newer version"}},
		"a database that does not answer": {
			env:  []string{"DATABASE_URL=postgres://nobody@127.0.0.1:1/none", testKey},
			says: []string{"database does not answer"}},
		"a setting with a wrong value": {
			env:  []string{"BATON_PUBLIC_URL=example.org/path"},
			says: []string{"public_url", "BATON_PUBLIC_URL", "https://baton.example.org"}},
		"a setting that doesn't exist": {
			args: []string{"--config", file},
			says: []string{"adr", "line 1", "addr"}},
		"an own database and no key for its secrets": {
			env:  []string{"DATABASE_URL=" + pgtest.URL(newer)},
			says: []string{"BATON_SECRET_KEY", "openssl rand -hex 32"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, _, stderr := try(t, append([]string{"BATON_ADDR=127.0.0.1:0"}, c.env...), append([]string{"serve"}, c.args...)...)
			if code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			for _, part := range c.says {
				if !strings.Contains(stderr, part) {
					t.Errorf("message lacks %q:\n%s", part, stderr)
				}
			}
			if strings.Contains(stderr, "problem.") || strings.Contains(stderr, "goroutine") || strings.Count(stderr, "\n") > 6 {
				t.Errorf("not one clear message:\n%s", stderr)
			}
		})
	}
}

// R: I5
func TestACommandLineThatCannotBeUnderstoodIsExitCodeTwo(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"frobnicate"}, {"--no-such-flag"}, {"user"}, {"user", "add"}, {"user", "add", "a", "b"}, {"version", "x"}} {
		if code, _, stderr := try(t, nil, args...); code != 2 || !strings.Contains(stderr, "--help") {
			t.Errorf("server %s: exit %d, %q", strings.Join(args, " "), code, stderr)
		}
	}
}

// R: I5, K1, K6
func TestKeysArePrintedAloneAndAnAgentsCannotAnswer(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + pgtest.Empty(t), testKey}
	if code, _, stderr := try(t, env, "user", "add", "Mara", "--role", "responder"); code != 0 {
		t.Fatalf("user add: %s", stderr)
	}
	code, out, stderr := try(t, env, "key", "create", "--user", "Mara", "--scope", "escalation:read,escalation:answer")
	if code != 0 || !strings.HasPrefix(out, "baton_") || strings.Count(out, "\n") != 1 {
		t.Errorf("key of a person: exit %d, %q, %s", code, out, stderr)
	}
	code, out, stderr = try(t, env, "key", "create", "--agent", "bot", "--scope", "escalation:answer")
	if code != 1 || out != "" || !strings.Contains(stderr, "escalation:raise") {
		t.Errorf("key of an agent that could answer: exit %d, %q, %s", code, out, stderr)
	}
}

// R: G4
func TestTheConfigurationInForceIsShownWithItsSourcesAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "baton.yaml")
	if err := os.WriteFile(file, []byte("addr: 127.0.0.1:1111\nlog_format: json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"BATON_CONFIG=" + file, "BATON_LOG_FORMAT=text", "DATABASE_URL=postgres://u:hunter2@db/x", testKey}
	code, out, stderr := try(t, env, "config", "--addr", "127.0.0.1:2222")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"127.0.0.1:2222", "flag --addr", "environment BATON_LOG_FORMAT", "environment DATABASE_URL"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	for _, secret := range []string{"hunter2", "0011223344"} {
		if strings.Contains(out, secret) {
			t.Errorf("shows a secret:\n%s", out)
		}
	}
}
