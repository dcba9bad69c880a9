package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"baton/internal/problem"
)

// initialise makes the cluster if there is none, and says whether it did. A
// half-made one (the power failed during initdb) has no PG_VERSION yet, or
// carries our mark, and is made again. A cluster that runs without fsync needs
// none here either, which is most of the time that making one takes.
func initialise(ctx context.Context, bin, data string, user child, durable bool) (fresh bool, err error) {
	mark := filepath.Join(filepath.Dir(data), "postgres.initialising")
	if there(filepath.Join(data, "PG_VERSION")) && !there(mark) {
		return false, nil
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return false, unwritable(data, err)
	}
	if err := empty(data); err != nil {
		return false, unwritable(data, err)
	}
	args := []string{"-D", data, "-U", superuser, "--auth=peer", "--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions"}
	if !durable {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), args...)
	cmd.Dir = "/"
	cmd.Env = []string{"LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user.credential}
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return false, problem.Wrap(fmt.Errorf("initdb: %w: %s", err, out), problem.Unavailable, "postgres_start_failed",
			problem.Params{"dir": data, "said": lines[len(lines)-1]})
	}
	return true, os.Remove(mark)
}

func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sameVersion refuses a cluster that another major version made, before
// Postgres refuses it with a longer message.
func sameVersion(ctx context.Context, bin, data string) error {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return unwritable(data, err)
	}
	made := strings.TrimSpace(string(text))
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return fmt.Errorf("ask postgres for its version: %w", err)
	}
	fields := strings.Fields(string(out)) // postgres (PostgreSQL) 15.18 (Debian ...)
	if len(fields) < 3 || !strings.HasPrefix(fields[2]+".", made+".") {
		return problem.New(problem.Unavailable, "postgres_version_differs",
			problem.Params{"dir": data, "made": made, "found": strings.Join(fields[2:], " ")})
	}
	return nil
}

// writeAccess lets our own user, root, and the child's user in by the socket,
// as the superuser and as the further roles, and nobody else: the kernel tells
// Postgres who is at the other end.
func (s *Server) writeAccess(data string, c child) error {
	names := map[string]bool{c.name: true, "root": true}
	if me, err := user.Current(); err == nil {
		names[me.Username] = true
	}
	var ident strings.Builder
	for name := range names {
		for _, role := range append([]string{superuser}, s.cfg.Roles...) {
			fmt.Fprintf(&ident, "baton %q %q\n", name, role)
		}
	}
	files := map[string]string{
		"pg_hba.conf":   "local all all peer map=baton\n",
		"pg_ident.conf": ident.String(),
	}
	for name, text := range files {
		path := filepath.Join(data, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		if c.credential != nil {
			if err := os.Chown(path, c.uid, c.gid); err != nil {
				return err
			}
		}
	}
	return nil
}

// endOrphan ends a Postgres that a former owner left running on this cluster.
// We hold the owner's lock, so nobody needs it.
func endOrphan(ctx context.Context, data string, log *slog.Logger) error {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil // no pid file: nothing runs
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid < 2 || !alive(pid, data) {
		return nil
	}
	log.Warn("ending a Postgres that a former run left behind", "pid", pid)
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	signal := syscall.SIGINT
	for hurry := time.Now().Add(stopWithin); alive(pid, data); {
		if time.Now().After(hurry) {
			signal = syscall.SIGQUIT
		}
		_ = syscall.Kill(pid, signal) // gone meanwhile is what we want
		pause(ctx, 100*time.Millisecond)
		if ctx.Err() != nil {
			return problem.New(problem.Unavailable, "postgres_start_failed",
				problem.Params{"dir": data, "said": fmt.Sprintf("process %d of a former run does not end", pid)})
		}
	}
	return nil
}

// alive says whether pid is a live postmaster of this cluster. Pids are used
// again, so the pid alone proves nothing; a zombie is dead. Where there is no
// /proc, ps tells the same.
func alive(pid int, data string) bool {
	cmdline, state := "", ""
	if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		cmdline = strings.ReplaceAll(string(text), "\x00", " ")
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, rest, ok := strings.Cut(string(stat), ") "); ok {
			state = rest[:1]
		}
	} else if out, err := exec.Command("ps", "-o", "state=,command=", "-p", strconv.Itoa(pid)).Output(); err == nil { //nolint:noctx // ends by itself, at once
		state, cmdline, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	}
	return strings.Contains(cmdline, data) && !strings.HasPrefix(state, "Z")
}
