package house

import (
	"bytes"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEachPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	h := source(t)
	comments := map[string]int{}
	for _, f := range h.files {
		if f.test || f.ast.Doc == nil {
			continue
		}
		comments[f.room]++
		begin := "Package " + f.ast.Name.Name + " "
		if f.ast.Name.Name == "main" {
			begin = "Command "
		}
		if text := f.ast.Doc.Text(); !strings.HasPrefix(text, begin) {
			t.Errorf("%s: the package's comment doesn't begin with %q", f.path, begin)
		}
	}
	for _, room := range h.rooms() {
		if comments[room] != 1 {
			t.Errorf("%s has %d package comments, want one", room, comments[room])
		}
	}
}

// R: G5 — who applies a migration to a busy database knows what it stops.
func TestEachMigrationBeginsWithItsLocks(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(root + "/migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d migrations (%v): the scan is broken", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(text, []byte("-- Locks: ")) {
			t.Errorf("%s doesn't begin with a comment \"-- Locks: ...\"", path.Base(name))
		}
	}
}

// Nothing happens because something is imported.
func TestNoInitFunctions(t *testing.T) {
	t.Parallel()
	h := source(t)
	for _, f := range h.files {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: an init function", h.at(fn))
			}
		}
	}
}

// A test that sleeps is slow on a fast machine and wrong on a slow one. In a
// bubble of testing/synctest no time passes.
func TestNoTestSleeps(t *testing.T) {
	t.Parallel()
	h := source(t)
	for _, f := range h.files {
		if !f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			sleeps, bubble := []ast.Node{}, false
			ast.Inspect(decl, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					bubble = bubble || called(call, "synctest", "Test")
					if called(call, "time", "Sleep") {
						sleeps = append(sleeps, call)
					}
				}
				return true
			})
			for _, call := range sleeps {
				if !bubble {
					t.Errorf("%s sleeps: wait for a signal, or use testing/synctest", h.at(call))
				}
			}
		}
	}
}

// called says whether a call is of pkg.fn.
func called(call *ast.CallExpr, pkg, fn string) bool {
	use, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || use.Sel.Name != fn {
		return false
	}
	x, ok := use.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// A panic in a goroutine that a tool started can't be caught by anybody else: it
// ends the server. tools.Go carries it to the call.
// R: L6
func TestToolsStartNoGoroutinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	h, seen := source(t), 0
	for _, f := range h.files {
		if f.test || !strings.HasPrefix(f.room, "internal/tools/") && !strings.HasPrefix(f.room, "tools/") {
			continue
		}
		seen++
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a bare go: use tools.Go", h.at(g))
			}
			return true
		})
	}
	if seen < 5 {
		t.Fatalf("looked at %d files of tools: the scan is broken", seen)
	}
}

var reasoned = regexp.MustCompile(`^//nolint:[a-z0-9,]+ // \S.{7,}`)

// R: Y3
func TestEachExceptionFromALinterHasItsReason(t *testing.T) {
	t.Parallel()
	h := source(t)
	for _, f := range h.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//nolint") && !reasoned.MatchString(c.Text) {
					t.Errorf("%s: write //nolint:linter // and the reason", h.at(c))
				}
			}
		}
	}
}

// Folders of the machine that somebody wrote a file on mean nothing elsewhere.
var machinePaths = regexp.MustCompile(`(^|[^\w.:/*-])(/home/\w|/Users/\w|/root/\w|/work/\w|[A-Z]:\\Users\\)`)

// speaksOfPaths are the files that have such paths as data.
var speaksOfPaths = []string{
	"internal/house/rules_test.go",   // the rule itself
	"internal/redact/redact_test.go", // texts that look like secrets and aren't
}

func TestNothingNamesAFolderOfAMachine(t *testing.T) {
	t.Parallel()
	seen := 0
	err := walk(func(name string) error {
		if slices.Contains(speaksOfPaths, name) {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || !utf8.Valid(text) {
			return err // fonts and images
		}
		seen++
		for i, line := range strings.Split(string(text), "\n") {
			if m := machinePaths.FindString(line); m != "" {
				t.Errorf("%s:%d names a folder of a machine: %s", name, i+1, m)
			}
		}
		return nil
	})
	if err != nil || seen < 80 {
		t.Fatalf("read %d files (%v): the scan is broken", seen, err)
	}
}
