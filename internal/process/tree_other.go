//go:build unix && !linux

package process

import (
	"os/exec"
	"syscall"
)

// Tree says how this system holds a program and its children together.
type Tree string

// The ways, best first; see the file for Linux.
const (
	Namespace Tree = "pid namespace"
	Group     Tree = "process group"
)

// Held is how programs are held together here.
func Held() Tree { return Group }

// tree is one program and its process group.
type tree struct {
	pid  int
	left bool
}

func newTree() *tree { return &tree{} }

func (t *tree) attributesAs(user uint32) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if user != 0 {
		a.Credential = &syscall.Credential{Uid: user, Gid: user}
	}
	return a
}

// memory can't be looked at here.
func (t *tree) memory() int64 { return 0 }

func (t *tree) environment() []string { return nil }

func (t *tree) hold(cmd *exec.Cmd, running, ended chan<- error) {
	err := cmd.Start()
	if err == nil {
		t.pid = cmd.Process.Pid
	}
	running <- err
	if err != nil {
		return
	}
	err = cmd.Wait()
	t.left = syscall.Kill(-t.pid, syscall.SIGKILL) == nil
	ended <- err
}

func (t *tree) signal(s syscall.Signal) { _ = syscall.Kill(-t.pid, s) }
