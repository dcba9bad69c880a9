//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// serverEnv makes the test's own program run a command and nothing else, so that
// it can be killed.
const serverEnv = "PROCESS_TEST_RUN"

func TestMain(m *testing.M) {
	if script := os.Getenv(serverEnv); script != "" {
		exit, err := Run(context.Background(), Command{Path: "sh", Args: []string{"-c", script}, Output: os.Stdout})
		fmt.Println(exit, err)
		return
	}
	os.Exit(m.Run())
}

// trees are the ways in which programs are held together that this machine has.
func trees(t *testing.T, test func(t *testing.T, held func() *tree)) {
	t.Helper()
	t.Run(string(Group), func(t *testing.T) {
		t.Parallel()
		test(t, func() *tree { return treeOf(0) })
	})
	t.Run(string(Namespace), func(t *testing.T) {
		t.Parallel()
		if Held() != Namespace {
			t.Skip("this machine lets nobody make a namespace of process ids")
		}
		test(t, newTree)
	})
}

func shell(script string, out io.Writer) Command {
	return Command{Path: "sh", Args: []string{"-c", script}, Output: out}
}

var lifetimes atomic.Int64

// lifetime is a number of seconds that no other process sleeps for: it names
// those of one test.
func lifetime() string { return fmt.Sprintf("3%d.%d", os.Getpid(), lifetimes.Add(1)) }

// alive are the processes whose command line has a text.
func alive(text string) (found []string) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if line, err := os.ReadFile(name); err == nil && bytes.Contains(line, []byte(text)) {
			found = append(found, name+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// started ends when a script has said "up".
type started struct {
	said bytes.Buffer
	up   chan struct{}
}

func newStarted() *started { return &started{up: make(chan struct{})} }

func (s *started) Write(p []byte) (int, error) {
	n, err := s.said.Write(p)
	if strings.Contains(s.said.String(), "up\n") {
		select {
		case <-s.up:
		default:
			close(s.up)
		}
	}
	return n, err
}

// Whatever children do, none is there when Run has returned.
// R: L4, E4
// case: harness A7
func TestNobodyOutlivesTheContext(t *testing.T) {
	t.Parallel()
	trees(t, func(t *testing.T, held func() *tree) {
		for name, script := range map[string]string{
			"grandchild ignores TERM": `(trap '' TERM; sleep %s & wait) & echo up; wait`,
			"all ignore TERM":         `trap '' TERM; sleep %s & echo up; wait; wait`,
			"session of its own":      `setsid sh -c 'trap "" TERM; sleep %s; :' & echo up; wait`,
			"orphan in a session":     `(setsid sh -c 'trap "" TERM; sleep %s; :' &) ; echo up; trap '' TERM; while :; do sleep 1; done`,
			"the program itself":      `echo up; exec sleep %s`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				life, out := lifetime(), newStarted()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { <-out.up; cancel() }()
				c := shell(fmt.Sprintf(script, life), out)
				c.Grace = 50 * time.Millisecond
				exit, err := run(ctx, c, held())
				if err != nil || !exit.Stopped || exit.OK() {
					t.Errorf("%+v, %v", exit, err)
				}
				if left := alive(life); left != nil {
					t.Errorf("alive: %q", left)
				}
			})
		}
	})
}

// R: L4
func TestNobodyOutlivesAProgramThatEndsWell(t *testing.T) {
	t.Parallel()
	trees(t, func(t *testing.T, held func() *tree) {
		for name, script := range map[string]string{
			"in the background":    `sleep %s & echo done`,
			"holds the output":     `(trap '' HUP TERM; sleep %s) & echo done`,
			"session of its own":   `setsid sleep %s & echo done`,
			"forked twice":         `(setsid sleep %s > /dev/null 2>&1 &); echo done`,
			"with its own clothes": `setsid env A=1 sleep %s & echo done`,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				life := lifetime()
				exit, err := run(t.Context(), shell(fmt.Sprintf(script, life), &out), held())
				if err != nil || !exit.OK() || out.String() != "done\n" {
					t.Errorf("%+v, %v, %q", exit, err, out.String())
				}
				if left := alive(life); left != nil {
					t.Errorf("alive: %q", left)
				}
			})
		}
	})
}

// R: L4, A1
func TestNobodyOutlivesTheServer(t *testing.T) {
	t.Parallel()
	if Held() != Namespace {
		t.Skip("without a namespace only the program itself dies with the server")
	}
	life := lifetime()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), serverEnv+"=setsid sleep "+life+" & echo up; wait")
	out := newStarted()
	server.Stdout = out
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill() }() // if it fails before
	<-out.up
	if alive(life) == nil {
		t.Error("the child did not start")
	}
	_ = server.Process.Kill()
	_ = server.Wait() // until nobody holds its output any more: then all have ended
	if left := alive(life); left != nil {
		t.Errorf("alive: %q", left)
	}
}

// R: L4
// case: harness A8
func TestThereIsNoInputAndNoTerminal(t *testing.T) {
	t.Parallel()
	trees(t, func(t *testing.T, held func() *tree) {
		var out bytes.Buffer
		exit, err := run(t.Context(), shell(`cat; read x || echo end of input; (echo hello > /dev/tty) 2>/dev/null || echo no terminal; [ -t 0 ] || [ -t 1 ] || echo none`, &out), held())
		if want := "end of input\nno terminal\nnone\n"; err != nil || !exit.OK() || out.String() != want {
			t.Errorf("%+v, %v, %q", exit, err, out.String())
		}
	})
}

// R: O3
func TestNothingOfTheServerIsHandedDown(t *testing.T) { //nolint:paralleltest // sets the environment
	t.Setenv("BATON_SECRET_KEY", "hunter2-hunter2")
	secret, err := os.CreateTemp(t.TempDir(), "open")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = secret.Close() }()
	var out bytes.Buffer
	if _, err := run(t.Context(), shell("env; ls -l /proc/self/fd", &out), newTree()); err != nil || strings.Contains(out.String(), "hunter2") || strings.Contains(out.String(), secret.Name()) {
		t.Errorf("%v: %s", err, out.String())
	}
	out.Reset()
	c := shell("echo $A", &out)
	c.Env = []string{"A=1"}
	if _, err := Run(t.Context(), c); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("without a PATH: %v", err)
	}
	c.Path = "/bin/sh"
	if exit, err := Run(t.Context(), c); err != nil || !exit.OK() || out.String() != "1\n" {
		t.Errorf("%+v, %v, %q", exit, err, out.String())
	}
}

// R: E6
func TestHowAProgramEnded(t *testing.T) {
	t.Parallel()
	trees(t, func(t *testing.T, held func() *tree) {
		for script, want := range map[string]Exit{
			"exit 0":                         {},
			"exit 3":                         {Code: 3},
			"nosuchprogram":                  {Code: 127},
			"sh -c 'kill -SEGV $$'; exit $?": {Code: 139},
		} {
			got, err := run(t.Context(), shell(script+" 2>/dev/null", nil), held())
			if got.Took <= 0 || err != nil || got.String() != want.String() {
				t.Errorf("%s: %+v, %v", script, got, err)
			}
		}
	})
	got, err := run(t.Context(), shell("kill -KILL $$", nil), treeOf(0))
	if err != nil || got.Signal != syscall.SIGKILL || got.Code != 137 || !strings.Contains(got.String(), "signal 9") {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Run(t.Context(), Command{Path: "/no/such/program"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := Run(t.Context(), Command{Path: "sh", Dir: "/no/such/folder"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ended, shell("exit 0", nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	broken := errors.New("full")
	if _, err := Run(t.Context(), shell("echo x", failing{broken})); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// R: F8
func TestOutputAndErrorsAreApartOrInOrder(t *testing.T) {
	t.Parallel()
	const script = "echo 1; echo 2 >&2; echo 3"
	var both, out, errs bytes.Buffer
	c := shell(script, &both)
	if _, err := Run(t.Context(), c); err != nil || both.String() != "1\n2\n3\n" {
		t.Errorf("%v: %q", err, both.String())
	}
	c.Output, c.Errors, c.Input = &out, &errs, strings.NewReader("in")
	c.Args = []string{"-c", script + "; cat"}
	if _, err := Run(t.Context(), c); err != nil || out.String() != "1\n3\nin" || errs.String() != "2\n" {
		t.Errorf("%v: %q %q", err, out.String(), errs.String())
	}
}

// A gigabyte passes through and leaves nothing.
// R: L5
// case: fault F30
func TestAGigabyteOfOutputCostsABuffer(t *testing.T) { //nolint:paralleltest // measures the process
	const size = 1 << 30
	var n count
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	exit, err := Run(t.Context(), shell(fmt.Sprintf("head -c %d /dev/zero", size), &n))
	runtime.ReadMemStats(&after)
	if err != nil || !exit.OK() || n != size {
		t.Fatalf("%+v, %v, %d bytes", exit, err, n)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 4<<20 {
		t.Errorf("%d KiB were allocated", made>>10)
	}
}

type count int64

func (c *count) Write(p []byte) (int, error) { *c += count(len(p)); return len(p), nil }

// What it costs to run a program that does nothing, with its tree held together.
// R: Z6
func BenchmarkRun(b *testing.B) {
	for name, held := range map[string]func() *tree{string(Namespace): newTree, string(Group): func() *tree { return treeOf(0) }} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				if exit, err := run(b.Context(), Command{Path: "true"}, held()); err != nil || !exit.OK() {
					b.Fatal(exit, err)
				}
			}
		})
	}
}

// R: L5, T6
func TestTooMuchMemoryEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	trees(t, func(t *testing.T, held func() *tree) {
		// Neither program is over the limit by itself.
		hog := `awk 'BEGIN { x = "x"; for (i = 0; i < 26; i++) x = x x; while (1) z++ }'`
		c := shell(hog+" & "+hog, io.Discard)
		c.Memory = 120 << 20
		exit, err := run(t.Context(), c, held())
		if err != nil || !exit.OverMemory || exit.OK() || exit.Stopped {
			t.Errorf("%+v, %v", exit, err)
		}
		c.Memory = 10 << 30
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if exit, err := run(ctx, c, held()); err != nil || exit.OverMemory || !exit.Stopped {
			t.Errorf("below the limit: %+v, %v", exit, err)
		}
	})
}

// R: T6
func TestAProgramRunsAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	trees(t, func(t *testing.T, held func() *tree) {
		var out bytes.Buffer
		c := shell("id -u; id -g; id -G; cat /etc/shadow", &out)
		c.Dir, c.User = "/", 65534
		if exit, err := run(t.Context(), c, held()); err != nil || exit.Code == 0 || !strings.HasPrefix(out.String(), "65534\n65534\n65534\n") {
			t.Errorf("%v, %v: %s", exit, err, out.String())
		}
	})
}
