package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"baton/internal/process"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
)

// console is a workspace with a shell, in folders that the sandbox's user passes.
func console(t *testing.T, files map[string]string) *desk {
	t.Helper()
	if _, err := builtin.FindSandbox(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	base := t.TempDir()
	if err := errors.Join(os.Chmod(base, 0o755), os.Chmod(filepath.Dir(base), 0o755)); err != nil {
		t.Fatal(err)
	}
	d := &desk{origin: filepath.Join(base, "work"), sessions: filepath.Join(base, "sessions")}
	spaces, err := builtin.NewWorkspaces(d.origin, d.sessions)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(d.origin, name), text)
	}
	sh, err1 := builtin.Shell(spaces)
	wr, err2 := builtin.WriteFile(spaces)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	d.bench = newBenchOf(t, sh, wr)
	return d
}

// sh runs a command and gives back what the model reads.
func (d *desk) sh(command string) (string, tools.Outcome) {
	d.t.Helper()
	o := d.call(d.t.Context(), "shell", m{"command": command})
	return o.Result.ForModel(), o
}

// R: T6, F8, F7
func TestShellRunsInTheWorkspace(t *testing.T) {
	t.Parallel()
	d := console(t, map[string]string{"a.csv": "b,2\na,1\n"})
	d.said("shell", m{"command": "sort a.csv > sorted.csv; cat sorted.csv; pwd; id -u"}, tools.StatusSucceeded, `a,1\nb,2\n/workspace\n`)
	if got := d.read("sorted.csv"); got != "a,1\nb,2\n" {
		t.Errorf("%q", got)
	}
	// What the server writes, commands can change, and the other way round.
	d.said("write_file", m{"path": "sub/new.txt", "content": "from the server\n"}, tools.StatusSucceeded)
	d.said("shell", m{"command": "echo more >> sub/new.txt; rm a.csv"}, tools.StatusSucceeded)
	d.said("write_file", m{"path": "sorted.csv", "content": "x", "overwrite": true}, tools.StatusSucceeded)
	if got := d.read("sub/new.txt"); got != "from the server\nmore\n" {
		t.Errorf("%q", got)
	}
	if _, err := os.Stat(filepath.Join(d.origin, "a.csv")); err != nil {
		t.Errorf("the agent's folder was changed: %v", err)
	}
}

// R: T6, F7, F8, L3, E6
func TestShellTellsHowACommandFailed(t *testing.T) {
	t.Parallel()
	d := console(t, nil)
	d.said("shell", m{"command": "echo result; echo warning >&2"}, tools.StatusSucceeded, `"data":"result\nwarning\n"`, "What stands from line 2 on was written to standard error.")
	d.said("shell", m{"command": "echo only >&2"}, tools.StatusSucceeded, "All of this was written to standard error.")
	d.said("shell", m{"command": "echo so far; echo broken >&2; exit 3"}, tools.StatusFailed, `"execution_error"`, `"exit_code":3`, `"output":"so far\nbroken\n"`, "from line 2 on")
	d.said("shell", m{"command": "no_such_program"}, tools.StatusFailed, `"not_found"`, "There is no such command", "no_such_program")
	d.said("shell", m{"command": "kill -SEGV $$"}, tools.StatusOutcomeUnknown, "crashed")
	d.said("shell", m{"command": "if then"}, tools.StatusFailed, `"exit_code":2`, "Syntax error")
	d.said("shell", m{"command": "head -c 3000 /dev/zero | tr '\\0' '\\377'; echo why >&2; exit 1"}, tools.StatusFailed, "The output is no text", "why")
	d.said("shell", m{"command": "seq 1 400000 >&2; echo the answer"}, tools.StatusSucceeded, "the answer", `399999\n400000"`, "What stands from line 2 on")
	d.said("shell", m{"command": "cat; echo read"}, tools.StatusSucceeded, `"data":"read\n"`)
	d.said("shell", m{"command": "a\x00b"}, tools.StatusFailed, "NUL")
}

// R: T6, K5
// case: abuse A25
// case: abuse A26
func TestACommandReachesNothingOutside(t *testing.T) {
	t.Setenv("BATON_CANARY", "canary-of-the-server")
	d := console(t, map[string]string{"mine.txt": "mine"})
	base := filepath.Dir(d.origin)
	write(t, filepath.Join(base, "secret.txt"), "the canary")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	socket := filepath.Join(base, "postgres.sock")
	unixSocket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unixSocket.Close() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for name, command := range map[string]string{
		"the accounts":            "cat /etc/shadow",
		"the home":                "ls /root /home/*",
		"keys":                    "cat ~/.ssh/id_rsa /root/.ssh/*",
		"the server's folder":     "ls " + filepath.Dir(self),
		"the data directory":      "cat " + filepath.Join(base, "secret.txt"),
		"the workspaces":          "ls " + d.sessions,
		"the agent's folder":      "echo x > " + filepath.Join(d.origin, "mine.txt"),
		"a socket":                fmt.Sprintf("python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(%q)' || false", socket),
		"a port of the machine":   fmt.Sprintf("bash -c 'echo hello > /dev/tcp/127.0.0.1/%s'", port),
		"the internet":            "bash -c 'echo hello > /dev/tcp/1.1.1.1/53'",
		"a name":                  "getent hosts example.com",
		"the system's programs":   "echo x > /usr/bin/true",
		"the root":                "mkdir /made",
		"memory as a file":        "echo x > /dev/made",
		"the devices":             "head -c 1 /dev/sda || head -c 1 /dev/vda",
		"the kernel's memory":     "cat /proc/kcore | head -c 1; cat /dev/mem",
		"mounts":                  "mount -t tmpfs none /mnt",
		"another namespace":       "unshare -Ur true",
		"the kernel's settings":   "echo 1 > /proc/sys/kernel/sysrq",
		"processes of the server": fmt.Sprintf("kill -0 %d", os.Getpid()),
	} {
		if got, o := d.sh(command); o.Status == tools.StatusSucceeded || strings.Contains(got, "the canary") {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, command := range []string{"env", "cat /proc/self/environ /proc/1/environ", "cat /proc/*/environ | tr '\\0' '\\n'", "cat /proc/*/cmdline; ls /proc/self/fd; find / -name 'secret.txt' 2>/dev/null; true"} {
		got, o := d.sh(command)
		if o.Status != tools.StatusSucceeded && o.Result.ErrorType() != tools.ExecutionError || strings.Contains(got, "canary") || strings.Contains(got, "BATON") || strings.Contains(got, base+"/secret") {
			t.Errorf("%s: %s", command, got)
		}
	}
	if got, _ := d.sh("env"); strings.Count(got, `\n`) > 8 {
		t.Errorf("the environment holds more than it should: %s", got)
	}
}

// R: T6, E5, S3
func TestWithoutASandboxNoCommandRuns(t *testing.T) {
	t.Parallel()
	d := &desk{origin: t.TempDir(), sessions: t.TempDir()}
	spaces, err := builtin.NewWorkspaces(d.origin, d.sessions)
	if err != nil {
		t.Fatal(err)
	}
	tool, err := builtin.ShellIn(spaces, func() (*builtin.Sandbox, error) {
		return nil, errors.New("the program bwrap is not there; install the package bubblewrap")
	})
	d.bench = newBench(t, tool, err)
	d.said("shell", m{"command": "touch made"}, tools.StatusDenied, "no sandbox for it (the program bwrap is not there; install the package bubblewrap)")
	if list, _ := os.ReadDir(d.sessions); len(list) != 0 {
		t.Errorf("something was made: %v", list)
	}
}

// Whatever a command leaves running ends with it, also when it is stopped.
// R: T6, L4
// case: fault F29
func TestNothingGoesOnAfterACommand(t *testing.T) {
	t.Parallel()
	d := console(t, nil)
	mark := fmt.Sprintf("29%d", os.Getpid())
	d.said("shell", m{"command": fmt.Sprintf("(setsid sleep %s1 &) ; nohup sleep %s2 & echo left", mark, mark)}, tools.StatusSucceeded, "left")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	o := d.call(ctx, "shell", m{"command": fmt.Sprintf("trap '' TERM; echo begun; (setsid sleep %s3 &); sleep %s4; wait", mark, mark)})
	if got := o.Result.ForModel(); o.Result.ErrorType() != tools.OutcomeUnknown || !strings.Contains(got, "begun") {
		t.Errorf("%s", got)
	}
	if out, err := exec.CommandContext(t.Context(), "pgrep", "-f", "sleep "+mark).Output(); err == nil {
		t.Errorf("still there: %s", out)
	}
}

// R: T6, L5
// case: fault F30
func TestACommandKeepsToItsLimits(t *testing.T) { //nolint:paralleltest // measures the process
	d := console(t, nil)
	grew := growth(t, func() {
		d.said("shell", m{"command": "head -c 1073741824 /dev/zero"}, tools.StatusSucceeded, `"binary":true`)
		d.said("shell", m{"command": "yes 'a line' | head -c 200000000 >&2"}, tools.StatusSucceeded, "All of this")
	})
	if grew > 64<<20 {
		t.Errorf("the process grew by %d MiB", grew>>20)
	}
	d.said("shell", m{"command": `bash -c ':(){ :|:& };:' ; sleep 0.3; echo survived`}, tools.StatusSucceeded, "survived")
	d.said("shell", m{"command": "head -c 2000000000 /dev/zero > big"}, tools.StatusFailed)
	d.said("shell", m{"command": "head -c 400000000 /dev/zero > /tmp/big"}, tools.StatusFailed, "No space left")
	d.said("shell", m{"command": "awk 'BEGIN { x = \"x\"; while (1) x = x x }'"}, tools.StatusFailed, "more than 1024 MiB of memory")
}

// What a sandbox costs, beside the same program by itself.
func BenchmarkShell(b *testing.B) {
	sandbox, err := builtin.FindSandbox()
	if err != nil {
		b.Skip(err)
	}
	dir := b.TempDir()
	if err := os.Chown(dir, 65534, 65534); err != nil && os.Geteuid() == 0 {
		b.Fatal(err)
	}
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(filepath.Dir(filepath.Dir(dir)), 0o755)); err != nil {
		b.Fatal(err)
	}
	for name, command := range map[string]process.Command{"sandbox": builtin.SandboxCommand(sandbox, dir, "true"), "plain": {Path: "/bin/sh", Args: []string{"-c", "true"}}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if exit, err := process.Run(b.Context(), command); err != nil || !exit.OK() {
					b.Fatal(exit, err)
				}
			}
		})
	}
}
