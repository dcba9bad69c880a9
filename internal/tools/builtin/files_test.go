package builtin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"baton/internal/tools"
	"baton/internal/tools/builtin"
)

// said checks what a call answers, by status and by parts of what the model reads.
func (d *desk) said(tool string, args any, status tools.Status, parts ...string) {
	d.t.Helper()
	o := d.call(d.t.Context(), tool, args)
	got := o.Result.ForModel()
	if o.Status != status {
		d.t.Errorf("%s %v: %s, want %s: %.1000s", tool, args, o.Status, status, got)
	}
	for _, part := range parts {
		if !strings.Contains(got, part) {
			d.t.Errorf("%s %v: want %s in %s", tool, args, part, got)
		}
	}
}

// R: T5, S3, X1
func TestWriteFileKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": "old\n", "sub/x": ""})
	d.said("write_file", m{"path": "new/deep/b.txt", "content": "one\ntwo"}, tools.StatusSucceeded, `"lines":2`, `"was":"nothing"`)
	if got := d.read("new/deep/b.txt"); got != "one\ntwo" {
		t.Errorf("%q", got)
	}
	d.said("write_file", m{"path": "new/deep/b.txt", "content": "one\ntwo"}, tools.StatusSucceeded, `"was":"the_same"`)
	d.said("write_file", m{"path": "a.txt", "content": "new"}, tools.StatusFailed, `"conflict"`, "with other text", "overwrite")
	if got := d.read("a.txt"); got != "old\n" {
		t.Errorf("%q", got)
	}
	d.said("write_file", m{"path": "a.txt", "content": "new", "overwrite": true}, tools.StatusSucceeded, `"was":"other_text"`)
	d.said("write_file", m{"path": "sub", "content": "x", "overwrite": true}, tools.StatusFailed, "is a directory")
	d.said("write_file", m{"path": "a.txt/b", "content": "x"}, tools.StatusFailed, "not a directory")
	d.said("write_file", m{"path": ".", "content": "x"}, tools.StatusFailed, "is a directory")
	if left, _ := filepath.Glob(d.mine("*/.baton-*")); left != nil {
		t.Errorf("left over: %v", left)
	}
}

// R: T5, S3, E3
func TestEditFileSaysWhyATextIsNotReplaced(t *testing.T) {
	t.Parallel()
	text := "status: open\namount: 5\nstatus: open\n\tindented  text\nlast\n"
	d := newDesk(t, map[string]string{"a.txt": text, "dos.txt": "one\r\ntwo\r\n", "pic": "\xff\xfe\x00\x01\xff\xfe\x00\xff"})
	one := func(path, was, is string) m { return m{"edits": []m{{"path": path, "old_text": was, "new_text": is}}} }
	d.said("edit_file", one("a.txt", "status: open", "status: paid"), tools.StatusFailed, `"conflict"`, "stands 2 times", "Give more of the text", "replace_all", `"lines":[1,3]`)
	d.said("edit_file", one("a.txt", "status: open\namount", "status: paid\namount"), tools.StatusSucceeded, `"replaced":1`, `"line":1`)
	d.said("edit_file", one("a.txt", "indented text\nlast", "x"), tools.StatusFailed, `"not_found"`, "with other white space", `"line":4`, "indented  text")
	d.said("edit_file", one("a.txt", "amount: 5\nnothing", "x"), tools.StatusFailed, "Its first line does, at line 2")
	d.said("edit_file", one("a.txt", "nowhere", "x"), tools.StatusFailed, "does not stand in")
	d.said("edit_file", one("dos.txt", "one\ntwo", "x"), tools.StatusFailed, `\\r\\n`)
	d.said("edit_file", one("a.txt", "last", "last"), tools.StatusFailed, "are the same")
	d.said("edit_file", one("b.txt", "x", "y"), tools.StatusFailed, "There is no file", `"nearest":"a.txt"`)
	d.said("edit_file", m{"edits": []m{{"path": "a.txt", "old_text": "t", "new_text": "T", "replace_all": true}}}, tools.StatusSucceeded, `"replaced":`)
	if got := d.read("a.txt"); got != "sTaTus: paid\namounT: 5\nsTaTus: open\n\tindenTed  TexT\nlasT\n" {
		t.Errorf("%q", got)
	}
}

// R: T5, X6
func TestEditFileMakesTheEditsThatCanBeMade(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": "one\ntwo\n", "b.txt": "three\n"})
	d.said("edit_file", m{"edits": []m{
		{"path": "a.txt", "old_text": "one", "new_text": "1"},
		{"path": "a.txt", "old_text": "four", "new_text": "4"},
		{"path": "b.txt", "old_text": "three", "new_text": "3"},
		{"path": "../c", "old_text": "three", "new_text": "3"},
	}}, tools.StatusPartial, `"completed":[{"item":"1. a.txt"`, `"item":"2. a.txt"`, `"permission_denied"`, "2 items are completed, 2 failed")
	if d.read("a.txt") != "1\ntwo\n" || d.read("b.txt") != "3\n" {
		t.Error("what could be done was not done")
	}
}

// After a crash the files tell whether an edit was made.
// R: X7, T5
func TestEditFileIsVerifiedInItsFiles(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	spaces, err := builtin.NewWorkspaces(filepath.Join(base, "work"), filepath.Join(base, "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	tool, err := builtin.EditFile(spaces)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(base, "work", "a.txt"), "paid, open\n")
	write(t, filepath.Join(base, "work", "b.txt"), "late\n")
	for args, want := range map[string]tools.Landed{
		`{"edits":[{"path":"b.txt","old_text":"soon","new_text":"late"}]}`:                                                     tools.DidLand,
		`{"edits":[{"path":"b.txt","old_text":"late","new_text":"soon"}]}`:                                                     tools.DidNotLand,
		`{"edits":[{"path":"a.txt","old_text":"open","new_text":"paid"}]}`:                                                     tools.LandUnknown, // both are there
		`{"edits":[{"path":"b.txt","old_text":"late","new_text":""}]}`:                                                         tools.DidNotLand,
		`{"edits":[{"path":"b.txt","old_text":"x","new_text":"late"},{"path":"b.txt","old_text":"late","new_text":"soon"}]}`:   tools.LandUnknown,
		`{"edits":[{"path":"b.txt","old_text":"late","new_text":"soon"},{"path":"b.txt","old_text":"late","new_text":"now"}]}`: tools.DidNotLand,
	} {
		if got, err := tool.Spec().Verify(t.Context(), []byte(args), ""); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", args, got, err, want)
		}
	}
	if got, err := tool.Spec().Verify(t.Context(), []byte(`{"edits":[{"path":"none","old_text":"x","new_text":"y"}]}`), ""); err == nil || got != tools.LandUnknown {
		t.Errorf("a file that is not there: %s, %v", got, err)
	}
}

// R: T5, F8, S4
func TestGlobFindsTheNewestFirst(t *testing.T) {
	t.Parallel()
	files := map[string]string{"old.csv": "", "sub/deep/new.csv": "12345", "sub/other.txt": ""}
	for i := range 120 {
		files[fmt.Sprintf("many/%03d.log", i)] = ""
	}
	d := newDesk(t, files)
	for name, at := range map[string]time.Time{"old.csv": time.Unix(1e9, 0), "sub/deep/new.csv": time.Unix(2e9, 0)} {
		if err := os.Chtimes(filepath.Join(d.origin, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	d.said("glob", m{"pattern": "**/*.csv"}, tools.StatusSucceeded, `{"path":"sub/deep/new.csv","bytes":5,"modified":"2033-05-18T03:33:20Z"},{"path":"old.csv"`, `"total":2`)
	d.said("glob", m{"pattern": "./sub/*.{txt,md}"}, tools.StatusSucceeded, "sub/other.txt", `"total":1`)
	d.said("glob", m{"pattern": "many/*"}, tools.StatusSucceeded, `"total":120`, "120 files match; the 100 newest are shown")
	d.said("glob", m{"pattern": "*.pdf"}, tools.StatusSucceeded, `"total":0`, "No file matches", "All 123 files of the workspace were looked at")
	d.said("glob", m{"pattern": "[a"}, tools.StatusFailed, "no pattern that can be read")
	d.said("glob", m{"pattern": "/etc/*"}, tools.StatusDenied, "leads out of the workspace")
}

// R: T5, F8, S4, E2
func TestGrepGroupsByFile(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 3000) + "needle" + strings.Repeat("ü", 3000)
	d := newDesk(t, map[string]string{
		"a.csv": "id,total\nA-1001,5\nA-1002,6\r\n", "sub/b.csv": "A-1003,7", "notes.txt": "a-1001 (late)\n", "pic.bin": "\xff\xfe\x00A-1001\xff\xfe\x00\xff\xff", "long.txt": long,
	})
	d.said("grep", m{"pattern": "A-10[0-9]{2}"}, tools.StatusSucceeded, `a.csv\n     2\tA-1001,5\n     3\tA-1002,6\nsub/b.csv\n     1\tA-1003,7\n`, "3 lines in 2 files match")
	d.said("grep", m{"pattern": "A-1001 (", "literal": true, "ignore_case": true}, tools.StatusSucceeded, `notes.txt\n     1\ta-1001 (late)`)
	d.said("grep", m{"pattern": "A-", "path": "sub"}, tools.StatusSucceeded, "1 lines in 1 files")
	d.said("grep", m{"pattern": "A-", "glob": "*.csv"}, tools.StatusSucceeded, "2 lines in 1 files")
	d.said("grep", m{"pattern": "A-", "offset": 1, "limit": 1}, tools.StatusSucceeded, `a.csv\n     3\tA-1002`, "2 to 2 are shown", "offset 2")
	d.said("grep", m{"pattern": "A-", "offset": 9}, tools.StatusSucceeded, "offset 9 is beyond them")
	d.said("grep", m{"pattern": "needle"}, tools.StatusSucceeded, "[...]", "éneedleü")
	d.said("grep", m{"pattern": "nothing like it"}, tools.StatusSucceeded, `"matches":0`, "No line matches. 4 text files of the workspace were searched to their end. 1 files are no text")
	d.said("grep", m{"pattern": "a(b"}, tools.StatusFailed, "no regular expression", "Set literal")
	d.said("grep", m{"pattern": "x", "path": "sab"}, tools.StatusFailed, "There is no file", `"sub/"`)
}

// R: L4
func TestASearchEndsWithItsCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"a.txt": strings.Repeat("line\n", 100_000)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, args := range map[string]m{"grep": {"pattern": "z"}, "glob": {"pattern": "**"}} {
		if o := d.call(ctx, tool, args); o.Status != tools.StatusCancelled {
			t.Errorf("%s: %s %s", tool, o.Status, o.Result.ForModel())
		}
	}
}
