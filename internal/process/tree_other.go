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

func (t *tree) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

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
