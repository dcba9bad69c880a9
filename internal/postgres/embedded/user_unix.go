//go:build unix

package embedded

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"baton/internal/problem"
)

// child is the user that Postgres runs as.
type child struct {
	name       string
	uid, gid   int
	credential *syscall.Credential // nil: the same as ours
}

// childUser is our own user, or, as root (whom Postgres refuses), postgres or
// nobody.
func childUser() (child, error) {
	if os.Geteuid() != 0 {
		me, err := user.Current()
		if err != nil {
			return child{}, fmt.Errorf("find current user: %w", err)
		}
		return child{name: me.Username, uid: os.Getuid(), gid: os.Getgid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2); err != nil {
			return child{}, fmt.Errorf("read user %s: %w", name, err)
		}
		return child{name: name, uid: uid, gid: gid,
			credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return child{}, problem.New(problem.Unavailable, "postgres_no_user", nil)
}

// own makes a folder that only the child's user can enter.
func (c child) own(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if c.credential != nil {
		return os.Chown(dir, c.uid, c.gid)
	}
	return nil
}

// canReach checks that the child's user may pass every folder above dir: a
// home of mode 0700 stops it, and Postgres would say so only in its log.
func (c child) canReach(dir string) error {
	if c.credential == nil {
		return nil
	}
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		mode := info.Mode().Perm()
		passes := mode&0o001 != 0 ||
			ok && (int(stat.Uid) == c.uid && mode&0o100 != 0 || int(stat.Gid) == c.gid && mode&0o010 != 0)
		if !passes {
			return problem.New(problem.Unavailable, "data_dir_unreachable",
				problem.Params{"dir": dir, "blocked": at, "user": c.name})
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
