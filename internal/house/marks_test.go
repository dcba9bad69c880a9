package house

import (
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// update writes generated documents instead of comparing them.
var update = flag.Bool("update", false, "write the documents that are made from the source")

//go:embed requirements.txt
var requirementsText string

// requirement is a line of requirements.txt.
type requirement struct{ id, words string }

// chapter is a heading of requirements.txt and what stands below it.
type chapter struct {
	title        string
	requirements []requirement
}

// requirements reads requirements.txt.
func requirements(t *testing.T) []chapter {
	t.Helper()
	var chapters []chapter
	for _, line := range strings.Split(requirementsText, "\n") {
		if title, ok := strings.CutPrefix(line, "== "); ok {
			chapters = append(chapters, chapter{title: title})
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, words, ok := strings.Cut(line, "  ")
		if !ok || len(chapters) == 0 {
			t.Fatalf("requirements.txt: %q is neither a heading nor an id and its words", line)
		}
		last := &chapters[len(chapters)-1]
		last.requirements = append(last.requirements, requirement{id: id, words: words})
	}
	return chapters
}

// mark is one requirement or case that a test names.
type mark struct{ at, id, test string }

var (
	isMark   = regexp.MustCompile(`^// *(R|case)\b *:`)
	idOfR    = `(?:I18N|UI|[A-Z]\d{1,2}|[A-Z] \(appendix\))`
	idOfCase = `(?:fault F|abuse A|harness A|[FA])\d{1,2}`
	note     = `(?: \([^),]+\))?`
	// A list of ids, each with a note if need be, and words after a dash or a
	// colon.
	marksR    = regexp.MustCompile(`^// R: (` + idOfR + note + `(?:, ` + idOfR + note + `)*)(?: —.*|:.*)?$`)
	marksCase = regexp.MustCompile(`^// case: (` + idOfCase + note + `(?:, ` + idOfCase + note + `)*)(?: —.*|:.*)?$`)
	firstR    = regexp.MustCompile(`^` + idOfR)
	firstCase = regexp.MustCompile(`^(fault |abuse |harness )?([FA]\d{1,2})`)
)

// idsIn reads a comment line; ok is false for a mark that is badly written.
func idsIn(line string) (ids []string, ok bool) {
	if m := marksR.FindStringSubmatch(line); m != nil {
		for _, item := range strings.Split(m[1], ", ") {
			ids = append(ids, firstR.FindString(item))
		}
		return ids, true
	}
	m := marksCase.FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	list := "" // the name of a list counts until the next: fault F01, F02, abuse A13
	for _, item := range strings.Split(m[1], ", ") {
		id := firstCase.FindStringSubmatch(item)
		if id[1] != "" {
			list = id[1]
		}
		ids = append(ids, list+id[2])
	}
	return ids, true
}

// A part of a test may be a function of its own, testX.
var isTest = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example|test)[^a-z]`)

// marksIn collects the marks of all tests; a mark stands in a test or in the
// comment above it.
func marksIn(t *testing.T, h house) []mark {
	t.Helper()
	var marks []mark
	for _, f := range h.files {
		if !f.test {
			continue
		}
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if !isMark.MatchString(c.Text) {
					continue
				}
				ids, ok := idsIn(c.Text)
				if !ok {
					t.Errorf("%s: %q: write // R: E2, X4 or // case: fault F07", h.at(c), c.Text)
					continue
				}
				test := testAround(f.ast, c)
				if test == "" {
					t.Errorf("%s: the mark stands outside a test", h.at(c))
					continue
				}
				for _, id := range ids {
					marks = append(marks, mark{at: h.at(c), id: id, test: name(f.room) + "." + test})
				}
			}
		}
	}
	return marks
}

// testAround is the name of the test that a comment stands in or above.
func testAround(tree *ast.File, c *ast.Comment) string {
	for _, decl := range tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !isTest.MatchString(fn.Name.Name) {
			continue
		}
		begin := fn.Pos()
		if fn.Doc != nil {
			begin = fn.Doc.Pos()
		}
		if begin <= c.Pos() && c.Pos() < fn.End() {
			return fn.Name.Name
		}
	}
	return ""
}

func TestTestsNameRequirementsThatExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range requirements(t) {
		for _, r := range c.requirements {
			if known[r.id] {
				t.Errorf("requirements.txt has %s twice", r.id)
			}
			known[r.id] = true
		}
	}
	for _, m := range marksIn(t, source(t)) {
		if !known[m.id] {
			t.Errorf("%s: there is no %s in requirements.txt", m.at, m.id)
		}
	}
}

// R: Y2
func TestTheListOfRequirementsIsUpToDate(t *testing.T) {
	t.Parallel()
	golden(t, "docs/requirements.md", requirementsPage(requirements(t), marksIn(t, source(t))))
}

// promised are the requirements that are built: one of them without a test is a
// fault, not a gap. The harness is, sections 2.1 to 2.7 and what of 2.8 checks
// what a model says, with its cases.
var promised = regexp.MustCompile(`^(?:[LFEX]\d+|S[1-4]|P[1-7]|O[1-3]|A[1-689]|harness A\d+)$`)

// later are those of them that wait for a room that isn't built.
var later = map[string]string{
	"harness A22": "tools of other servers",
	"harness A23": "tools of other servers",
}

// R: L1, Y2
func TestWhatIsBuiltHasItsTest(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{}
	for _, m := range marksIn(t, source(t)) {
		shown[m.id] = true
	}
	looked := 0
	for _, c := range requirements(t) {
		for _, r := range c.requirements {
			if !promised.MatchString(r.id) {
				continue
			}
			looked++
			switch room := later[r.id]; {
			case !shown[r.id] && room == "":
				t.Errorf("%s (%s) has no test", r.id, r.words)
			case shown[r.id] && room != "":
				t.Errorf("%s has a test: it does not wait for %s any more", r.id, room)
			}
		}
	}
	if looked < 75 {
		t.Errorf("%d requirements were looked for, want the harness's 75 and more", looked)
	}
}

// golden compares a document with what it should be, or writes it.
func golden(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(root, name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is out of date: run make docs", name)
	}
}

func requirementsPage(chapters []chapter, marks []mark) string {
	tests := map[string]map[string]bool{}
	for _, m := range marks {
		if tests[m.id] == nil {
			tests[m.id] = map[string]bool{}
		}
		tests[m.id][m.test] = true
	}
	all, shown := 0, 0
	var without []string
	for _, c := range chapters {
		for _, r := range c.requirements {
			all++
			if len(tests[r.id]) > 0 {
				shown++
			} else {
				without = append(without, r.id)
			}
		}
	}

	var b strings.Builder
	b.WriteString("# Requirements and the tests that show them\n\n")
	b.WriteString("Made from internal/house/requirements.txt and the marks in the tests (`// R: E2`,\n" +
		"`// case: fault F07`) by `make docs`. Don't edit it.\n\n")
	fmt.Fprintf(&b, "%d of %d are named by a test. A name here says that a test looks at it, not that\n"+
		"nothing is left to do.\n", shown, all)
	for _, c := range chapters {
		fmt.Fprintf(&b, "\n## %s\n\n| id | what | tests |\n|---|---|---|\n", c.title)
		for _, r := range c.requirements {
			list := strings.Join(slices.Sorted(maps.Keys(tests[r.id])), "<br>")
			if list == "" {
				list = "none yet"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", r.id, strings.ReplaceAll(r.words, "|", `\|`), list)
		}
	}
	fmt.Fprintf(&b, "\n## Without a test yet\n\n%s\n", strings.Join(without, ", "))
	return b.String()
}

func TestMarksAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{"// R: E2", "E2"},
		{"// R: E2, X4 — and why", "E2 X4"},
		{"// R: X4 (numbers as written), C (appendix): no number changes", "X4 C (appendix)"},
		{"// R: UI, I18N — the reader's language", "UI I18N"},
		{"// case: fault F07, F08, abuse A13", "fault F07 fault F08 abuse A13"},
		{"// case: harness A7, A11", "harness A7 harness A11"},
	} {
		if ids, ok := idsIn(c.line); !ok || strings.Join(ids, " ") != c.want {
			t.Errorf("%q reads as %q (%t), want %q", c.line, strings.Join(ids, " "), ok, c.want)
		}
	}
	for _, line := range []string{"// R: E2 X4", "// R: appendix C", "// case: fault", "// R: "} {
		if ids, ok := idsIn(line); ok {
			t.Errorf("%q reads as %q, and is badly written", line, ids)
		}
	}
	if page := requirementsPage([]chapter{{title: "T", requirements: []requirement{{"E1", "one"}, {"E2", "two"}}}},
		[]mark{{id: "E2", test: "a.TestB"}, {id: "E2", test: "a.TestA"}}); !strings.Contains(page, "| E1 | one | none yet |") ||
		!strings.Contains(page, "| E2 | two | a.TestA<br>a.TestB |") || !strings.HasSuffix(page, "E1\n") || !strings.Contains(page, "1 of 2") {
		t.Errorf("the page is:\n%s", page)
	}
}
