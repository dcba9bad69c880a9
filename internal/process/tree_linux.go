package process

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Tree says how this system holds a program and its children together.
type Tree string

// The ways, best first.
const (
	// Namespace: the program is the first of a namespace of process ids. The kernel
	// ends all others with it, whatever they did.
	Namespace Tree = "pid namespace"
	// Group: the program leads a session and a process group. Children that left it
	// are found by their parents and by a mark in their environment; one that gives
	// up both is not found.
	Group Tree = "process group"
)

// Held is how programs are held together here. It is tried out once.
func Held() Tree {
	if flags() == 0 {
		return Group
	}
	return Namespace
}

// flags are those of clone that make a namespace of process ids here, 0 if none
// do: plain for root, in a namespace of users for others. Containers and hardened
// systems often allow neither.
var flags = sync.OnceValue(func() uintptr {
	for _, f := range []uintptr{syscall.CLONE_NEWPID, syscall.CLONE_NEWPID | syscall.CLONE_NEWUSER} {
		// Clone comes before exec: a program that isn't there tells them apart.
		cmd := &exec.Cmd{Path: "/dev/null/none", SysProcAttr: attributes(f)}
		err := cmd.Start()
		if err == nil {
			_ = cmd.Wait() // cannot be: a device is no folder
		}
		if err == nil || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENOENT) {
			return f
		}
	}
	return 0
})

func attributes(flags uintptr) *syscall.SysProcAttr {
	// A session of its own: no terminal, and a group that can be signalled. The
	// program dies with the thread that started it, which dies with this process.
	a := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: flags}
	if flags&syscall.CLONE_NEWUSER != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// tree is one program and what it starts.
type tree struct {
	flags uintptr
	mark  string // NAME=value in its environment; empty in a namespace
	pid   int
	left  bool // children outlived the program

	mu        sync.Mutex
	collected bool // from then on pid may be another's
}

const markName = "BATON_PROCESS"

func newTree() *tree { return treeOf(flags()) }

func treeOf(flags uintptr) *tree {
	t := &tree{flags: flags}
	if flags == 0 {
		b := make([]byte, 12)
		_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
		t.mark = markName + "=" + hex.EncodeToString(b)
	}
	return t
}

// attributesAs are those of a program that runs as a user; 0 is ours.
func (t *tree) attributesAs(user uint32) *syscall.SysProcAttr {
	a := attributes(t.flags)
	if user != 0 {
		a.Credential = &syscall.Credential{Uid: user, Gid: user}
	}
	return a
}

// memory is what the tree uses, in bytes, as far as it can be seen.
func (t *tree) memory() (bytes int64) {
	page := int64(os.Getpagesize())
	for _, m := range append(t.others(), member{pid: t.pid}) {
		statm, err := os.ReadFile(procFile(m.pid, "statm"))
		if f := strings.Fields(string(statm)); err == nil && len(f) > 1 {
			resident, _ := strconv.ParseInt(f[1], 10, 64) // the kernel writes numbers
			bytes += resident * page
		}
	}
	return bytes
}

func (t *tree) environment() []string {
	if t.mark == "" {
		return nil
	}
	return []string{t.mark}
}

// hold starts the program, waits for its end, ends its children and collects its
// output. It keeps its thread, since the program dies with it.
func (t *tree) hold(cmd *exec.Cmd, running, ended chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	if err == nil {
		t.pid = cmd.Process.Pid
	}
	running <- err
	if err != nil {
		return
	}
	t.await()
	if t.flags == 0 {
		t.sweep()
	}
	t.mu.Lock()
	t.collected = true
	t.mu.Unlock()
	ended <- cmd.Wait()
}

// await waits for the program's end without collecting it, so that its number
// can't be another's while its group is ended.
func (t *tree) await() {
	for {
		if err := unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT, nil); !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// signal tells the whole group. In a namespace the program itself hears only what
// it listens to, but never outlives SIGKILL.
func (t *tree) signal(s syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.collected {
		return
	}
	_ = syscall.Kill(-t.pid, s) // none left: all have ended
	if s == syscall.SIGKILL && t.flags == 0 {
		for _, p := range t.others() {
			kill(p)
		}
	}
}

// sweep ends what outlived the program, until nothing is found any more.
func (t *tree) sweep() {
	for range 50 {
		others := t.others()
		if len(others) == 0 {
			return
		}
		t.left = true
		_ = syscall.Kill(-t.pid, syscall.SIGKILL)
		for _, p := range others {
			kill(p)
		}
		time.Sleep(2 * time.Millisecond) // the kernel ends them when it gets to it
	}
}

// member is a process as /proc shows it.
type member struct {
	pid, parent, group int
	ended              bool
	start              string // when it began, so that another with its number is told apart
}

// others are the processes of this tree beside the program: those of its group,
// those that bear its mark, and the children of both.
func (t *tree) others() []member {
	var all []member
	names, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, dir := range names {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			if m, ok := look(pid); ok {
				all = append(all, m)
			}
		}
	}
	ours := map[int]bool{t.pid: true}
	for _, m := range all {
		if m.group == t.pid || t.marked(m.pid) {
			ours[m.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, m := range all {
			if !ours[m.pid] && ours[m.parent] {
				ours[m.pid], grown = true, true
			}
		}
	}
	var out []member
	for _, m := range all {
		if ours[m.pid] && m.pid != t.pid && !m.ended {
			out = append(out, m)
		}
	}
	return out
}

func (t *tree) marked(pid int) bool {
	if t.mark == "" {
		return false
	}
	env, err := os.ReadFile(procFile(pid, "environ"))
	return err == nil && bytes.Contains(append(env, 0), []byte(t.mark+"\x00"))
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func look(pid int) (member, bool) {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return member{}, false
	}
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from the state on
	if len(f) < 20 {
		return member{}, false
	}
	parent, _ := strconv.Atoi(string(f[1])) // the kernel writes numbers
	group, _ := strconv.Atoi(string(f[2]))
	return member{pid: pid, parent: parent, group: group, ended: f[0][0] == 'Z' || f[0][0] == 'X', start: string(f[19])}, true
}

// kill ends one process, if it still is the one that was seen.
func kill(m member) {
	p, err := os.FindProcess(m.pid) // holds it, where the kernel can
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if now, ok := look(m.pid); ok && now.start == m.start {
		_ = p.Kill() // it may have ended
	}
}
