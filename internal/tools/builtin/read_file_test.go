package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"baton/internal/tools"
	"baton/internal/tools/builtin"
)

// workspace is a directory with files, beside one that must not be read.
func workspace(t *testing.T) (dir string, b *bench) {
	t.Helper()
	base := t.TempDir()
	dir = filepath.Join(base, "work")
	for name, text := range map[string]string{
		"secret.txt": "outside", "work/a.txt": "one\ntwo\r\nthree", "work/sub/invoice_2026.csv": "id,total\n1,5\n", "work/empty": "",
		"work/odd.txt": "a\x00\x1b[31mred\xff\n", "work/long.txt": strings.Repeat("é", 5000) + "END\nnext\n",
	} {
		p := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var big strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&big, "row %d\n", i+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "big.txt"), []byte(big.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"lnk": "..", "abs": "/etc", "file": "../secret.txt", "round": "round", "fine": "a.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	spaces, err := builtin.NewWorkspaces(dir, filepath.Join(base, "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := builtin.ReadFile(spaces)
	return dir, newBench(t, tool, err)
}

func text(t *testing.T, o tools.Outcome) string {
	t.Helper()
	var s string
	if o.Status != tools.StatusSucceeded || json.Unmarshal(o.Result.Data(), &s) != nil {
		t.Fatalf("got %s", o.Result.ForModel())
	}
	return s
}

// R: T5, F8
func TestReadFileNumbersLines(t *testing.T) {
	t.Parallel()
	_, b := workspace(t)
	for _, name := range []string{"a.txt", "./a.txt", "sub/../a.txt", "fine"} {
		if got := text(t, b.call(t.Context(), "read_file", m{"path": name})); got != "     1\tone\n     2\ttwo\n     3\tthree\n" {
			t.Errorf("%s: %q", name, got)
		}
	}
	o := b.call(t.Context(), "read_file", m{"path": "big.txt", "offset": 100, "limit": 3})
	if got := text(t, o); got != "   101\trow 101\n   102\trow 102\n   103\trow 103\n" || o.Result.Meta().Truncated.NextOffset != 103 || o.Result.Meta().Truncated.TotalLines != 5000 || !strings.Contains(o.Result.Notices()[0], "101 to 103 of 5000; go on with offset 103") {
		t.Errorf("%q %s", got, o.Result.ForModel())
	}
	seen := 0
	for at := int64(0); ; {
		o := b.call(t.Context(), "read_file", m{"path": "big.txt", "offset": at})
		seen += strings.Count(text(t, o), "\trow ")
		tr := o.Result.Meta().Truncated
		if tr == nil {
			break
		}
		at = tr.NextOffset
	}
	if seen != 5000 {
		t.Errorf("paging saw %d lines", seen)
	}
	if o := b.call(t.Context(), "read_file", m{"path": "empty"}); text(t, o) != "" || !strings.Contains(o.Result.Notices()[0], "empty") {
		t.Errorf("%s", o.Result.ForModel())
	}
	if o := b.call(t.Context(), "read_file", m{"path": "a.txt", "offset": 9}); !strings.Contains(o.Result.ForModel(), "3 lines; offset 9 is beyond") {
		t.Errorf("%s", o.Result.ForModel())
	}
	if got := text(t, b.call(t.Context(), "read_file", m{"path": "long.txt"})); !strings.Contains(got, "bytes of this line left out") || !strings.Contains(got, "     2\tnext") || strings.Count(got, "é") != 2000 {
		t.Errorf("%d bytes", len(got))
	}
}

// R: T5, S3, E3
func TestReadFileSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	dir, b := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "pic.png"), []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xfe\xfd"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"sub/invoices_2026.csv": `The nearest is \"sub/invoice_2026.csv\"`,
		"nowhere/x":             `"files":[`,
		"sub":                   `is a directory`,
		"pipe":                  `no regular file`,
		"pic.png":               `image/png`,
		"odd.txt":               "␀red",
		"round":                 `could not be opened`,
	} {
		if got := b.call(t.Context(), "read_file", m{"path": name}).Result.ForModel(); !strings.Contains(got, want) || strings.Contains(got, dir) {
			t.Errorf("%s: want %s in %s", name, want, got)
		}
	}
}

// R: T5
// case: abuse A23
func TestReadFileStaysInside(t *testing.T) {
	t.Parallel()
	_, b := workspace(t)
	for _, name := range []string{
		"../secret.txt", "/etc/passwd", "lnk/secret.txt", "abs/passwd", "file", "sub/../../secret.txt", "..\\secret.txt", "a.txt\x00.png", "/proc/self/environ",
		"..", "../work/../secret.txt", strings.Repeat("a", 4000), strings.Repeat("a/", 2000), "./../secret.txt", "lnk/../secret.txt",
	} {
		o := b.call(t.Context(), "read_file", m{"path": name})
		if o.Result.Status() != tools.Error || strings.Contains(o.Result.ForModel(), "outside\"") || strings.Contains(o.Result.ForModel(), "root:") {
			t.Errorf("%.60q: %s", name, o.Result.ForModel())
		}
	}
	for _, name := range []string{"../secret.txt", "lnk/secret.txt", "file", "/etc/passwd", "abs/passwd"} {
		if o := b.call(t.Context(), "read_file", m{"path": name}); o.Result.ErrorType() != tools.PermissionDenied || !strings.Contains(o.Result.Message(), "leads out of the workspace") {
			t.Errorf("%s: %s", name, o.Result.ForModel())
		}
	}
}
