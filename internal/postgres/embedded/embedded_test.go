package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"baton/internal/postgres/embedded"
	"baton/internal/problem"
)

// The test binary is also the process that owns a Postgres and is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("EMBEDDED_TEST_OWNER"); dir != "" {
		ownUntilKilled(dir)
	}
	os.Exit(m.Run())
}

func ownUntilKilled(dir string) {
	s, err := embedded.Start(context.Background(), config(dir))
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	<-s.Exited()
	os.Exit(0)
}

func config(dir string) embedded.Config {
	return embedded.Config{DataDir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Settings: map[string]string{"fsync": "off"}}
}

// dataDir is a folder that the unprivileged child can reach.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "baton-embedded-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func start(t *testing.T, dir string) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(t.Context(), config(dir))
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(s.Stop)
	return s
}

func exec1(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func postmaster(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// R: G2
func TestDataOutlivesAStopAndAStart(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, dir)
	exec1(t, s.URL(), `create table kept (n int)`)
	s.Stop()
	if _, owned := embedded.Owner(dir); owned {
		t.Error("a stopped server still owns its directory")
	}
	exec1(t, start(t, dir).URL(), `select n from kept`)
}

// R: G2
func TestPostgresListensOnNoNetworkAndRunsUnprivileged(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, dir)
	conn, err := pgx.Connect(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var addresses string
	if err := conn.QueryRow(t.Context(), `show listen_addresses`).Scan(&addresses); err != nil || addresses != "" {
		t.Errorf("listens on %q, error %v", addresses, err)
	}
	info, err := os.Stat(fmt.Sprintf("/proc/%d", postmaster(t, dir)))
	if err != nil {
		t.Skip("no /proc to read the process's user from")
	}
	if info.Sys().(*syscall.Stat_t).Uid == 0 {
		t.Error("Postgres runs as root")
	}
}

// R: G2
func TestASecondOwnerIsRefusedAndTheFirstCanBeFound(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	s := start(t, dir)
	if err := s.Announce("127.0.0.1:8080", map[string][]string{"data_sources": {"shop"}}); err != nil {
		t.Fatal(err)
	}
	_, err := embedded.Start(t.Context(), config(dir))
	p := problem.From(err)
	if p.Code != "data_dir_in_use" || p.Params["pid"] != strconv.Itoa(os.Getpid()) || p.Params["addr"] != "127.0.0.1:8080" {
		t.Errorf("second start: %v, want data_dir_in_use with pid and address", err)
	}
	run, owned := embedded.Owner(dir)
	if !owned || run.DatabaseURL != s.URL() || !slices.Equal(run.Offers["data_sources"], []string{"shop"}) {
		t.Errorf("owner is %+v, %v", run, owned)
	}
	exec1(t, run.DatabaseURL, `select 1`)
}

// R: G2
func TestAfterKillOfOwnerAndDatabaseTheNextStartRecovers(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(owner *os.Process, postmaster int){
		"the owner alone":      func(o *os.Process, _ int) { _ = o.Kill() },
		"the database alone":   func(_ *os.Process, pm int) { _ = syscall.Kill(pm, syscall.SIGKILL) },
		"owner, then database": func(o *os.Process, pm int) { _ = o.Kill(); _ = syscall.Kill(pm, syscall.SIGKILL) },
		"database, then owner": func(o *os.Process, pm int) { _ = syscall.Kill(pm, syscall.SIGKILL); _ = o.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			owner := exec.Command(os.Args[0])
			owner.Env = append(os.Environ(), "EMBEDDED_TEST_OWNER="+dir)
			out, err := owner.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			line, _ := bufio.NewReader(out).ReadString('\n')
			if line != "ready\n" {
				t.Fatalf("owner says %q", line)
			}
			run, _ := embedded.Owner(dir)
			exec1(t, run.DatabaseURL, `create table kept (n int)`)
			kill(owner.Process, postmaster(t, dir))
			_ = owner.Wait() // it was killed
			exec1(t, start(t, dir).URL(), `select n from kept`)
		})
	}
}

// R: G2
func TestAHalfMadeClusterIsMadeAgain(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "postgres"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres/PG_VERSION", "postgres/base", "postgres.initialising"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("15\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	exec1(t, start(t, dir).URL(), `select 1`)
}

// R: G2, G4
func TestWhatStandsInTheWayIsNamed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(dataDir(t), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Start(t.Context(), config(filepath.Join(file, "data"))); !problem.Is(err, "data_dir_unwritable") {
		t.Errorf("a file in the way: %v, want data_dir_unwritable", err)
	}
	other := dataDir(t)
	start(t, other).Stop()
	if err := os.WriteFile(filepath.Join(other, "postgres", "PG_VERSION"), []byte("9.6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Start(t.Context(), config(other)); !problem.Is(err, "postgres_version_differs") {
		t.Errorf("another version's cluster: %v, want postgres_version_differs", err)
	}
	if os.Geteuid() == 0 {
		home := dataDir(t)
		if err := os.Chmod(home, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := embedded.Start(t.Context(), config(filepath.Join(home, "data")))
		if p := problem.From(err); p.Code != "data_dir_unreachable" || p.Params["blocked"] != home {
			t.Errorf("a closed folder above: %v, want data_dir_unreachable naming %s", err, home)
		}
	}
}

// R: G2
func TestMissingBinariesAreOneClearProblem(t *testing.T) {
	t.Setenv("BATON_PG_BIN", t.TempDir())
	_, err := embedded.Start(t.Context(), config(t.TempDir()))
	p := problem.From(err)
	if p.Code != "postgres_missing" || p.Params["install"] == "" {
		t.Errorf("error is %v, want postgres_missing with a line to install it", err)
	}
}
