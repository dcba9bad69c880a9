// Package process runs a program together with everything that it starts, and
// ends all of it: when its context does, when the program itself ends, and when
// this process dies. Nothing is left behind, also not what moved to a session of
// its own or doesn't listen to signals.
//
// A program gets nothing by accident: no input (reading gives the end of the file
// at once), no terminal, none of the server's environment and none of its open
// files. What it writes goes to writers as it comes; a [io.Writer] that keeps
// only so much bounds what it can cost.
//
// How well the tree is held together depends on the system, see [Tree]: on Linux
// by a namespace of process ids, which nothing can leave, where the system lets
// one be made; else by the process group, with a search for what has left it.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// DefaultGrace is the time between asking a program to end and ending it. It is
// shorter than the grace that a tool has to return in, so that the tool can still
// say what became of it.
const DefaultGrace = time.Second

// drain is how long output is waited for once the program and all its children
// are gone: what is in the pipes is there at once.
const drain = 2 * time.Second

// Command is a program to run.
type Command struct {
	// Path is the program: a path, or a name that is looked for in the PATH of Env.
	Path string
	Args []string // without the program's name
	Dir  string   // where it runs; empty is this process's folder
	// Env is its whole environment, NAME=value. Nil is PATH with the system's
	// folders and LANG=C.UTF-8.
	Env    []string
	Input  io.Reader     // nil: the end of the file at once
	Output io.Writer     // nil: dropped. Each writer is called by one goroutine at a time
	Errors io.Writer     // nil: where Output goes, in the order in which it is written
	Grace  time.Duration // between asking it to end and ending it; 0 is DefaultGrace
	// User is who it runs as, by number, with a group of the same number and no
	// other. 0 is this process's user; only root can be another.
	User uint32
	// Memory is how much it and everything that it started may use together, in
	// bytes; with more all of it is ended. 0 is no limit. It is looked at a few times
	// a second, so for a moment it can be more; where it can't be looked at, nothing
	// is limited.
	Memory int64
}

// Exit is how a program ended.
type Exit struct {
	// Code is what it exited with, or 128 and the signal's number, as shells say it.
	Code   int
	Signal syscall.Signal // that ended it; 0: it exited
	// Stopped says that it was made to end, because the context did.
	Stopped bool
	// OverMemory says that it was made to end, because it used too much memory.
	OverMemory bool
	// LeftBehind says that it ended by itself and children of it were ended then.
	// It is known of a process group only; a namespace ends them silently.
	LeftBehind bool
	Took       time.Duration
}

// OK says that the program ended by itself and well.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == 0 && !e.Stopped && !e.OverMemory }

// String says how it ended, for a message.
func (e Exit) String() string {
	switch {
	case e.OverMemory:
		return "ended for its use of memory"
	case e.Stopped:
		return fmt.Sprintf("stopped after %s", e.Took.Round(time.Millisecond))
	case e.Signal != 0:
		return fmt.Sprintf("ended by signal %d (%s)", int(e.Signal), e.Signal)
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// systemPath is where programs are looked for if Env doesn't say.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Run runs a program until it and everything that it started are gone. When ctx
// ends, all of it is asked to end and, after the grace, ended. The error is about
// a program that could not be started, or output that could not be written; how
// the program ended is in Exit, and no exit code is an error.
func Run(ctx context.Context, c Command) (Exit, error) { return run(ctx, c, newTree()) }

func run(ctx context.Context, c Command, t *tree) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, fmt.Errorf("run %s: %w", c.Path, context.Cause(ctx))
	}
	if c.Env == nil {
		c.Env = []string{"PATH=" + systemPath, "LANG=C.UTF-8"}
	}
	path, err := find(c.Path, c.Env)
	if err != nil {
		return Exit{}, fmt.Errorf("run %s: %w", c.Path, err)
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir, Env: append(append([]string{}, c.Env...), t.environment()...),
		Stdin: c.Input, Stdout: c.Output, Stderr: c.Errors, SysProcAttr: t.attributesAs(c.User), WaitDelay: drain,
	}
	if c.Errors == nil {
		cmd.Stderr = c.Output
	}
	started := time.Now()
	ended := make(chan error, 1)
	running := make(chan error, 1)
	go t.hold(cmd, running, ended)
	if err := <-running; err != nil {
		return Exit{}, fmt.Errorf("run %s: %w", c.Path, err)
	}
	stopped, over, err := t.until(ctx, c, ended)
	exit := exitOf(cmd.ProcessState)
	// Where output is still held open though all were ended, one got away.
	exit.LeftBehind = (t.left || errors.Is(err, exec.ErrWaitDelay)) && !stopped && !over
	exit.Stopped, exit.OverMemory, exit.Took = stopped, over, time.Since(started)
	if errors.Is(err, exec.ErrWaitDelay) {
		return exit, nil
	}
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return exit, fmt.Errorf("run %s: %w", c.Path, err)
	}
	return exit, nil
}

// memoryLook is how often it is looked at what a tree uses.
const memoryLook = 200 * time.Millisecond

// until waits for the program's end, and brings it about when ctx ends or too much
// memory is used.
func (t *tree) until(ctx context.Context, c Command, ended <-chan error) (stopped, over bool, err error) {
	var look <-chan time.Time
	if c.Memory > 0 {
		ticker := time.NewTicker(memoryLook)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case err = <-ended:
			return false, over, err
		case <-look:
			if !over && t.memory() > c.Memory {
				over = true
				t.signal(syscall.SIGKILL)
			}
		case <-ctx.Done():
			t.signal(syscall.SIGTERM)
			grace := time.NewTimer(c.Grace)
			defer grace.Stop()
			select {
			case err = <-ended:
			case <-grace.C:
				t.signal(syscall.SIGKILL)
				err = <-ended
			}
			return true, over, err
		}
	}
}

func exitOf(state *os.ProcessState) Exit {
	if state == nil {
		return Exit{Code: -1}
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return Exit{Code: 128 + int(ws.Signal()), Signal: ws.Signal()}
	}
	return Exit{Code: state.ExitCode()}
}

// find is the program's path. The server's own PATH means nothing to it.
func find(name string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	for _, v := range env {
		dirs, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			path := filepath.Join(dir, name)
			if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return path, nil
			}
		}
	}
	return "", exec.ErrNotFound
}
