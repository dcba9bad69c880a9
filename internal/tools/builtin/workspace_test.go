package builtin_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"baton/internal/id"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
)

// desk is an agent's folder with the file tools of its sessions.
type desk struct {
	*bench
	origin, sessions string
}

func newDesk(t *testing.T, files map[string]string) *desk {
	t.Helper()
	base := t.TempDir()
	return deskIn(t, base, files)
}

func deskIn(t *testing.T, base string, files map[string]string) *desk {
	t.Helper()
	d := &desk{origin: filepath.Join(base, "work"), sessions: filepath.Join(base, "sessions")}
	spaces, err := builtin.NewWorkspaces(d.origin, d.sessions)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, filepath.Join(d.origin, name), text)
	}
	var list []tools.Tool
	for _, make := range []func(*builtin.Workspaces) (tools.Tool, error){builtin.ReadFile, builtin.WriteFile, builtin.EditFile, builtin.Glob, builtin.Grep} {
		tool, err := make(spaces)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool)
	}
	d.bench = newBenchOf(t, list...)
	return d
}

func write(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// mine is a file of the session's folder.
func (d *desk) mine(name string) string {
	return filepath.Join(d.sessions, d.run.Session.Digits(), name)
}

func (d *desk) read(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(d.mine(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// R: T5
func TestASessionChangesFilesOfItsOwnAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"terms.txt": "thirty days\n", "sub/run.sh": "echo\n"})
	if err := os.Symlink("terms.txt", filepath.Join(d.origin, "link")); err != nil {
		t.Fatal(err)
	}
	if o := d.call(t.Context(), "read_file", m{"path": "terms.txt"}); o.Status != tools.StatusSucceeded {
		t.Fatal(o.Result.ForModel())
	}
	if _, err := os.Stat(d.mine("")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading alone made a folder: %v", err)
	}
	if o := d.call(t.Context(), "write_file", m{"path": "terms.txt", "content": "sixty days\n", "overwrite": true}); o.Status != tools.StatusSucceeded {
		t.Fatal(o.Result.ForModel())
	}
	for name, want := range map[string]string{"terms.txt": "sixty days\n", "sub/run.sh": "echo\n", "link": "sixty days\n"} {
		if got := d.read(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if b, err := os.ReadFile(filepath.Join(d.origin, "terms.txt")); err != nil || string(b) != "thirty days\n" {
		t.Errorf("the agent's folder was changed: %q, %v", b, err)
	}
	if got := text(t, d.call(t.Context(), "read_file", m{"path": "terms.txt"})); !strings.Contains(got, "sixty") {
		t.Errorf("the session reads %q", got)
	}
	d.run.Session = id.New[id.Session]()
	if got := text(t, d.call(t.Context(), "read_file", m{"path": "terms.txt"})); !strings.Contains(got, "thirty") {
		t.Errorf("another session reads %q", got)
	}
}

// What a crash left of a folder half made is no workspace.
// R: T5, A1
func TestAWorkspaceIsThereWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": "a\n"})
	write(t, filepath.Join(d.sessions, ".new-"+d.run.Session.Digits(), "half.txt"), "half")
	if o := d.call(t.Context(), "write_file", m{"path": "b.txt", "content": "b"}); o.Status != tools.StatusSucceeded {
		t.Fatal(o.Result.ForModel())
	}
	if d.read("a.txt") != "a\n" || d.read("b.txt") != "b" {
		t.Error("the folder is not whole")
	}
	if _, err := os.Stat(d.mine("half.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was left over came along: %v", err)
	}
	for i := range 10_001 {
		write(t, filepath.Join(d.origin, "many", fmt.Sprint(i)), "")
	}
	d.run.Session = id.New[id.Session]()
	if got := d.call(t.Context(), "write_file", m{"path": "b.txt", "content": "b"}).Result.ForModel(); !strings.Contains(got, "more than 10000 files") {
		t.Error(got)
	}
	if list, _ := os.ReadDir(d.sessions); len(list) != 1 {
		t.Errorf("a folder that could not be made was left: %v", list)
	}
}

// R: T5, E5
// case: abuse A23
func TestNoPathLeadsOutOfAWorkspace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": "one\n"})
	out := filepath.Join(filepath.Dir(d.origin), "secret.txt")
	write(t, out, "the canary")
	for link, to := range map[string]string{"lnk": "..", "abs": filepath.Dir(d.origin), "file": "../secret.txt", "deep": "../../secret.txt"} {
		if err := os.Symlink(to, filepath.Join(d.origin, link)); err != nil {
			t.Fatal(err)
		}
	}
	if o := d.call(t.Context(), "write_file", m{"path": "begin.txt", "content": ""}); o.Status != tools.StatusSucceeded {
		t.Fatal(o.Result.ForModel())
	}
	for _, p := range []string{
		"../secret.txt", "../../secret.txt", out, "lnk/secret.txt", "abs/secret.txt", "file", "deep", "a/../../secret.txt", "/proc/self/environ", "..",
		strings.Repeat("x", 300), strings.Repeat("../", 40) + "etc/passwd", "a\x00b", "lnk",
	} {
		for tool, args := range map[string]m{
			"read_file":  {"path": p},
			"write_file": {"path": p, "content": "written", "overwrite": true},
			"edit_file":  {"edits": []m{{"path": p, "old_text": "canary", "new_text": "written"}}},
			"grep":       {"pattern": "can.ry", "path": p},
		} {
			o := d.call(t.Context(), tool, args)
			if got := o.Result.ForModel(); strings.Contains(got, "canary") || o.Status == tools.StatusSucceeded && tool != "grep" {
				t.Errorf("%s %q: %s", tool, p, got)
			}
		}
	}
	for _, p := range []string{"../*", "/etc/*", "lnk/*", "**/secret.txt", "abs/**"} {
		if got := d.call(t.Context(), "glob", m{"pattern": p}).Result.ForModel(); strings.Contains(got, `secret.txt","bytes`) {
			t.Errorf("glob %q: %s", p, got)
		}
	}
	if got := d.call(t.Context(), "grep", m{"pattern": "."}).Result.ForModel(); strings.Contains(got, "canary") {
		t.Errorf("grep follows links: %s", got)
	}
	if b, err := os.ReadFile(out); err != nil || string(b) != "the canary" {
		t.Errorf("the file outside holds %q, %v", b, err)
	}
	if list, _ := os.ReadDir(filepath.Dir(d.origin)); len(list) != 3 {
		t.Errorf("something was made outside: %v", list)
	}
}

// A folder is exchanged for a link that leads out, over and over, while files are
// read, written and found below it.
// R: T5
// case: abuse A24
func TestNoRaceOfLinksLeadsOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"dir/secret.txt": "inside\n"})
	outside := filepath.Join(filepath.Dir(d.origin), "other")
	write(t, filepath.Join(outside, "secret.txt"), "outside\n")
	if o := d.call(t.Context(), "write_file", m{"path": "begin.txt", "content": ""}); o.Status != tools.StatusSucceeded {
		t.Fatal(o.Result.ForModel())
	}
	dir, link := d.mine("dir"), d.mine("link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	var swaps atomic.Int64
	stop, stopped := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for stop.Err() == nil {
			if err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err == nil {
				swaps.Add(1)
			}
		}
	}()
	for i := 0; i < 400 || swaps.Load() < 200; i++ {
		for tool, args := range map[string]m{
			"read_file":  {"path": "dir/secret.txt"},
			"write_file": {"path": "dir/new.txt", "content": fmt.Sprint(i), "overwrite": true},
			"grep":       {"pattern": "side", "path": "dir"},
		} {
			if got := d.call(t.Context(), tool, args).Result.ForModel(); strings.Contains(got, "outside\\n") {
				t.Fatalf("%s: %s", tool, got)
			}
		}
	}
	stopped()
	<-ended
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("something was written outside: %v", list)
	}
}

// R: T5, L6, E3
func TestAFullDiskLeavesFilesAsTheyWere(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	d := deskIn(t, disk, map[string]string{"a.txt": strings.Repeat("a line\n", 1000)})
	if o := d.call(t.Context(), "write_file", m{"path": "b.txt", "content": "b\n"}); o.Status != tools.StatusSucceeded {
		t.Fatal(o.Result.ForModel())
	}
	big := strings.Repeat("x", 190_000)
	for tool, args := range map[string]m{
		"write_file": {"path": "b.txt", "content": big, "overwrite": true},
		"edit_file": {"edits": []m{
			{"path": "a.txt", "old_text": strings.Repeat("a line\n", 1000), "new_text": strings.Repeat("z", 190_000)},
			{"path": "b.txt", "old_text": "b\n", "new_text": "c\n"},
		}},
	} {
		got := d.call(t.Context(), tool, args).Result.ForModel()
		if !strings.Contains(got, "no space left") {
			t.Errorf("%s: %s", tool, got)
		}
		if tool == "edit_file" && !strings.Contains(got, "would fail in the same way") {
			t.Errorf("what would fail, too, was tried: %s", got)
		}
	}
	if d.read("b.txt") != "b\n" || !strings.HasPrefix(d.read("a.txt"), "a line\n") {
		t.Error("a file was changed")
	}
	if list, _ := filepath.Glob(d.mine(".baton-*")); list != nil {
		t.Errorf("left over: %v", list)
	}
}

// smallDisk is a file system of 192 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=192k,mode=755"); err != nil {
		t.Skip("only root can mount a small disk: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
