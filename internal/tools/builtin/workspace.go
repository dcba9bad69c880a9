package builtin

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"baton/internal/tools"
)

// Limits of what a session's workspace begins with.
const (
	workspaceFiles = 10_000
	workspaceBytes = 256 << 20
)

// Workspaces are the folders that the file tools and the shell of one agent work
// in. Each session has its own, which begins as a copy of the agent's folder. It
// is made with the first call that may change something; until then a session
// reads in the agent's folder, and nothing ever changes that one.
//
// They are on the disk of this server. Servers that share a database and are to
// take over each other's sessions with all their files share the folder, too.
type Workspaces struct {
	origin   string // the agent's folder
	sessions string // where each session has its folder
}

// NewWorkspaces uses two folders, which are made if they are not there: the
// agent's, and the one in which sessions have theirs.
func NewWorkspaces(origin, sessions string) (*Workspaces, error) {
	err := os.MkdirAll(origin, 0o750)
	if err == nil {
		err = os.MkdirAll(sessions, 0o711) //nolint:gosec // the sandbox's user passes it to its own
	}
	if err != nil {
		return nil, fmt.Errorf("make workspace: %w", err)
	}
	return &Workspaces{origin, sessions}, nil
}

// path is the folder of the session that a call belongs to.
func (w *Workspaces) path(ctx context.Context) string {
	return filepath.Join(w.sessions, tools.RunningCall(ctx).ID.Session.Digits())
}

// forReading opens the session's folder, or the agent's if it has none yet.
func (w *Workspaces) forReading(ctx context.Context) (*folder, error) {
	root, err := os.OpenRoot(w.path(ctx))
	if errors.Is(err, fs.ErrNotExist) {
		root, err = os.OpenRoot(w.origin)
	}
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &folder{root}, nil
}

// forWriting opens the session's folder, which it makes if there is none.
func (w *Workspaces) forWriting(ctx context.Context) (*folder, error) {
	dir := w.path(ctx)
	lock := &makingWorkspace[maphash.String(workspaceSeed, dir)%uint64(len(makingWorkspace))]
	lock.Lock()
	defer lock.Unlock()
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = w.begin(dir); err == nil {
			root, err = os.OpenRoot(dir)
		}
	}
	if err != nil {
		if f, ok := tools.AsFailure(err); ok {
			return nil, f
		}
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	return &folder{root}, nil
}

// Two calls of a session must not both begin its workspace.
var (
	makingWorkspace [64]sync.Mutex
	workspaceSeed   = maphash.MakeSeed()
)

// begin makes a session's folder of the agent's. It is there as a whole or not at
// all: what a crash left half done is thrown away.
func (w *Workspaces) begin(dir string) error {
	half := filepath.Join(w.sessions, ".new-"+filepath.Base(dir))
	if err := os.RemoveAll(half); err != nil {
		return err
	}
	if err := os.Mkdir(half, 0o700); err != nil {
		return err
	}
	err := copyTree(w.origin, half)
	if err == nil {
		err = os.Rename(half, dir)
	}
	if err != nil {
		_ = os.RemoveAll(half) // the error that counts is there already
	}
	return err
}

// copyTree copies folders, files and links; a link that leads outside stays one,
// and nobody can follow it. What is none of these stays behind.
func copyTree(from, to string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = dst.Close() }()
	own := ownerOf(dst, true)
	files, left := 0, int64(workspaceBytes)
	err = fs.WalkDir(src.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if files++; files > workspaceFiles {
			return tooLargeToCopy(fmt.Sprintf("more than %d files", workspaceFiles))
		}
		switch e.Type() {
		case fs.ModeDir:
			if name == "." {
				return own(name)
			}
			err = dst.Mkdir(name, 0o700)
		case fs.ModeSymlink:
			err = copyLink(src, dst, name)
		case 0:
			var n int64
			if n, err = copyFile(src, dst, name, left); n == left {
				return tooLargeToCopy(fmt.Sprintf("more than %d MiB", workspaceBytes>>20))
			}
			left -= n
		default:
			return nil
		}
		if err != nil {
			return err
		}
		return own(name)
	})
	return err
}

func tooLargeToCopy(what string) error {
	return tools.Fail(tools.ExecutionError, "The session's workspace could not be made: the agent's folder holds "+what+".",
		"Report that the operator has to make the agent's folder smaller.")
}

func copyLink(src, dst *os.Root, name string) error {
	to, err := src.Readlink(name)
	if err != nil {
		return err
	}
	return dst.Symlink(to, name)
}

// copyFile copies at most limit bytes.
func copyFile(src, dst *os.Root, name string, limit int64) (int64, error) {
	in, err := src.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	out, err := dst.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, limit))
	return n, errors.Join(err, out.Close())
}

// folder is an open workspace. No path and no link leads out of it: the kernel
// resolves each step inside.
type folder struct{ root *os.Root }

func (f *folder) close() { _ = f.root.Close() }

// inside refuses what can't be a path in the workspace, with its reason.
func (f *folder) inside(p string) (string, error) {
	if strings.ContainsRune(p, 0) {
		return "", tools.Fail(tools.InvalidArguments, "The path holds a NUL character.", "Write the path without it.")
	}
	name := path.Clean(p)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return "", outside(p)
	}
	return name, nil
}

func outside(p string) *tools.Failure {
	f := tools.Fail(tools.PermissionDenied, fmt.Sprintf("%q leads out of the workspace.", clipPath(p)), "Use a path inside the workspace, relative to it.")
	f.Causes = []string{"Only files of the workspace can be reached."}
	return f
}

// open opens a file for reading. Without NONBLOCK, a pipe would wait for a writer.
func (f *folder) open(p string) (*os.File, fs.FileInfo, error) {
	name, err := f.inside(p)
	if err != nil {
		return nil, nil, err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, f.explain(p, name, err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = tools.Fail(tools.InvalidArguments, fmt.Sprintf("%q is a directory.", clipPath(p)), "Name a file in it; context.files lists them.").With("files", tools.FirstNames(f.list(name)))
	case !info.Mode().IsRegular():
		err = tools.Fail(tools.InvalidArguments, fmt.Sprintf("%q is no regular file (%s).", clipPath(p), info.Mode().Type()), "Name a file.")
	default:
		return file, info, nil
	}
	_ = file.Close()
	return nil, nil, err
}

// explain says what is there instead.
func (f *folder) explain(p, name string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok && strings.Contains(pe.Err.Error(), "escapes") {
		return outside(p)
	}
	failure := tools.Classify(err)
	failure.Message = fmt.Sprintf("%q could not be opened: %s.", clipPath(p), reason(err))
	if !errors.Is(err, fs.ErrNotExist) {
		return failure
	}
	dir := path.Dir(name)
	for dir != "." {
		if info, err := f.root.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir = path.Dir(dir)
	}
	entries := f.list(dir)
	failure.Message = fmt.Sprintf("There is no file %q.", clipPath(p))
	failure.Hint = []string{"Use a file that exists; context.files lists those of context.directory."}
	failure.With("directory", dir).With("files", tools.FirstNames(entries))
	if near := tools.Nearest(path.Base(name), entries); near != "" {
		failure.Message += fmt.Sprintf(" The nearest is %q.", path.Join(dir, near))
		failure.With("nearest", path.Join(dir, near))
	}
	return failure
}

// list are the names in a directory, at most 500.
func (f *folder) list(dir string) []string {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	entries, _ := d.ReadDir(500) // names for a hint: some are enough
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		n := e.Name()
		if e.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	return names
}

// own gives what was made to whoever the workspace belongs to.
func (f *folder) own(name string) error { return ownerOf(f.root, false)(name) }

// ownerOf gives files to the user that the shell's sandbox runs as. Only root can
// do that, and only under root that user is another than the server's.
func ownerOf(root *os.Root, always bool) func(name string) error {
	if os.Geteuid() != 0 {
		return func(string) error { return nil }
	}
	if !always {
		// A folder that somebody made by hand stays theirs.
		info, err := root.Stat(".")
		if err != nil {
			return func(string) error { return err }
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != sandboxUser {
			return func(string) error { return nil }
		}
	}
	return func(name string) error { return root.Lchown(name, sandboxUser, sandboxUser) }
}

// sandboxUser is who the shell's sandbox runs as under root: the user nobody.
const sandboxUser = 65534

func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}

func clipPath(p string) string {
	if r := []rune(p); len(r) > 200 {
		return string(r[:100]) + "..." + string(r[len(r)-80:])
	}
	return p
}
