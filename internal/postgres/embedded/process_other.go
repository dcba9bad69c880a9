//go:build unix && !linux

package embedded

import "syscall"

// attributes of the child: without Linux's death signal an orphan may outlive
// the server; the next start finds it by its pid file and ends it.
func attributes(c child) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: c.credential}
}
