package embedded

import "syscall"

// attributes of the child: a group of its own, so that Ctrl-C reaches only the
// server, which then ends Postgres in order; and the kernel's promise to
// interrupt it when the server dies, however it dies.
func attributes(c child) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT, Credential: c.credential}
}
