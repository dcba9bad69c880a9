package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"baton/internal/problem"
)

// Run is what run.json says about the owner of a data directory.
type Run struct {
	PID         int    `json:"pid"`
	DatabaseURL string `json:"database_url"`
	Addr        string `json:"addr,omitempty"` // where the pages are, once they are
	// Offers are the names that the owner's configuration has for definitions,
	// by kind. Commands beside it go by them; this room only passes them on.
	Offers map[string][]string `json:"offers,omitempty"`
}

// owner holds the lock on a data directory. The lock is the kernel's: it goes
// with the process, so nothing stale is ever to be cleared away.
type owner struct {
	dir  string
	lock *os.File
}

// own takes the data directory. The error is the problem data_dir_in_use,
// naming the owner, if another process has it, or data_dir_unwritable.
func own(dir string) (*owner, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, unwritable(dir, err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "owner.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unwritable(dir, err)
	}
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for tries := 0; errors.Is(err, syscall.EWOULDBLOCK) && tries < 20; tries++ { // who only asks for the owner has it for a moment
		time.Sleep(10 * time.Millisecond)
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		lock.Close()
		run, _ := readRun(dir) // only for the message
		return nil, problem.New(problem.Conflict, "data_dir_in_use",
			problem.Params{"dir": dir, "pid": strconv.Itoa(run.PID), "addr": run.Addr})
	}
	if err != nil {
		lock.Close()
		return nil, unwritable(dir, err)
	}
	return &owner{dir: dir, lock: lock}, nil
}

func unwritable(dir string, err error) error {
	return problem.Wrap(err, problem.Unavailable, "data_dir_unwritable", problem.Params{"dir": dir})
}

func (o *owner) release() {
	_ = os.Remove(filepath.Join(o.dir, "run.json"))
	// A child between its fork and its exec holds the same open file, so closing
	// ours alone might leave the lock with it for a moment.
	_ = syscall.Flock(int(o.lock.Fd()), syscall.LOCK_UN)
	o.lock.Close()
}

// announce writes run.json so that a reader sees the old or the new text whole.
func (o *owner) announce(run Run) error {
	text, err := json.Marshal(run)
	if err != nil {
		return err
	}
	next := filepath.Join(o.dir, "run.json.new")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return unwritable(o.dir, err)
	}
	return os.Rename(next, filepath.Join(o.dir, "run.json"))
}

func readRun(dir string) (run Run, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		return run, err
	}
	if err := json.Unmarshal(text, &run); err != nil {
		return run, fmt.Errorf("read run.json: %w", err)
	}
	return run, nil
}

// Owner says who owns a data directory now, and whether anybody does. A
// run.json without a lock is a dead owner's, and counts as nobody.
func Owner(dir string) (Run, bool) {
	lock, err := os.Open(filepath.Join(dir, "owner.lock"))
	if err != nil {
		return Run{}, false
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil { // shared: who asks is not taken for an owner
		return Run{}, false
	}
	run, err := readRun(dir)
	return run, err == nil && run.DatabaseURL != ""
}
