package builtin

import (
	"io"
	"net/url"

	"baton/internal/process"
	"baton/internal/tools"
)

// PageText is what a page at an address says.
func PageText(body []byte, contentType, address string) (text, notice string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err.Error()
	}
	return pageText(body, contentType, u)
}

// ShellIn is the tool shell with a sandbox of the test's.
func ShellIn(workspaces *Workspaces, find func() (*Sandbox, error)) (tools.Tool, error) {
	return newShell(&shell{workspaces, find})
}

// SandboxCommand is a command as the shell would run it.
func SandboxCommand(s *Sandbox, dir, script string) process.Command {
	return s.command(dir, script, io.Discard, io.Discard)
}
