package builtin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"baton/internal/process"
)

// Limits of what runs in a sandbox.
const (
	sandboxMemory    = 1 << 30   // bytes of all its programs together
	sandboxTemporary = 256 << 20 // bytes in /tmp, and in /dev/shm; they are memory
	sandboxFile      = 1 << 30   // bytes of one file
	sandboxPrograms  = 128       // at once
	sandboxFiles     = 512       // open in one program
)

// Sandbox runs programs that see the system's own programs, one folder that they
// can write in, and nothing else: no network, no other files, no other processes,
// nothing of the server's environment. It is made by bubblewrap, with namespaces
// of the kernel; limits are set by prlimit.
type Sandbox struct {
	bwrap, prlimit string
	user           uint32 // who the programs run as; 0: the server's user
}

// FindSandbox finds out whether this machine can have one, by running a program in
// it. The error says what is missing and how to mend it; it is meant for an
// operator.
var FindSandbox = sync.OnceValues(func() (*Sandbox, error) {
	s := &Sandbox{}
	for name, path := range map[string]*string{"bwrap": &s.bwrap, "prlimit": &s.prlimit} {
		found, err := exec.LookPath(name)
		if err == nil {
			found, err = filepath.EvalSymlinks(found)
		}
		if err != nil {
			return nil, fmt.Errorf("the program %s is not there; install the package %s", name, map[string]string{"bwrap": "bubblewrap", "prlimit": "util-linux"}[name])
		}
		*path = found
	}
	if os.Geteuid() == 0 {
		s.user = sandboxUser
	}
	dir, err := os.MkdirTemp("", "baton-sandbox-")
	if err != nil {
		return nil, fmt.Errorf("try the sandbox: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if s.user != 0 {
		if err := os.Chown(dir, sandboxUser, sandboxUser); err != nil {
			return nil, fmt.Errorf("try the sandbox: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var said bytes.Buffer
	exit, err := process.Run(ctx, s.command(dir, "true", &said, &said))
	switch {
	case err != nil:
		return nil, fmt.Errorf("try the sandbox: %w", err)
	case !exit.OK():
		return nil, fmt.Errorf("bubblewrap can't make a sandbox here (%s). The kernel has to let unprivileged users make namespaces; in a container, its runtime has to, too", firstLine(said.String(), exit))
	}
	return s, nil
})

func firstLine(said string, exit process.Exit) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(said), "\n"); line != "" {
		return line
	}
	return exit.String()
}

// command is a shell's command in the sandbox, with dir as the one folder that it
// can write in.
func (s *Sandbox) command(dir, script string, out, errs io.Writer) process.Command {
	args := []string{
		"--unshare-user", "--unshare-all", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox",
		"--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/workspace", "--setenv", "LANG", "C.UTF-8", "--setenv", "TMPDIR", "/tmp",
		"--proc", "/proc", "--dev", "/dev", "--dir", "/etc",
		"--size", strconv.Itoa(sandboxTemporary), "--tmpfs", "/tmp", "--size", strconv.Itoa(sandboxTemporary), "--tmpfs", "/dev/shm",
	}
	args = append(args, systemFolders()...)
	args = append(args, hideOurselves()...)
	args = append(args,
		"--bind", dir, "/workspace", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/workspace", "--",
		s.prlimit, "--nproc="+strconv.Itoa(sandboxPrograms), "--nofile="+strconv.Itoa(sandboxFiles), "--fsize="+strconv.Itoa(sandboxFile), "--core=0", "--",
		"/bin/sh", "-c", script)
	return process.Command{
		Path: s.bwrap, Args: args, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Output: out, Errors: errs, User: s.user, Memory: sandboxMemory,
	}
}

// systemFolders are those of the system's programs, to be read. Of /etc only what
// programs don't run without.
var systemFolders = sync.OnceValue(func() (args []string) {
	for _, dir := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if to, err := os.Readlink(dir); err == nil {
				args = append(args, "--symlink", to, dir)
			}
		default:
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	for _, name := range []string{"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/nsswitch.conf", "/etc/mime.types"} {
		args = append(args, "--ro-bind-try", name, name)
	}
	return args
})

// hideOurselves covers this server's own program where a folder that is shown
// holds it.
var hideOurselves = sync.OnceValue(func() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	if self, err = filepath.EvalSymlinks(self); err != nil || !strings.HasPrefix(self, "/usr/") {
		return nil
	}
	return []string{"--ro-bind", "/dev/null", self}
})

// canEnter says whether the sandbox's user can get to a folder, and if not which
// one is in the way.
func (s *Sandbox) canEnter(dir string) error {
	if s.user == 0 {
		return nil
	}
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf("the folder %s lets nobody but its owner through", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
