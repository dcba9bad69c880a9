package builtin

import (
	"io"

	"baton/internal/process"
	"baton/internal/tools"
)

// ShellIn is the tool shell with a sandbox of the test's.
func ShellIn(workspaces *Workspaces, find func() (*Sandbox, error)) (tools.Tool, error) {
	return newShell(&shell{workspaces, find})
}

// SandboxCommand is a command as the shell would run it.
func SandboxCommand(s *Sandbox, dir, script string) process.Command {
	return s.command(dir, script, io.Discard, io.Discard)
}
