package house

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var mutate = flag.Bool("mutate", false, "apply each mutation of docs/mutations.md and see its test fail")

// mutation is a guard that is taken away, and the test that has to miss it.
type mutation struct {
	name, file, pkg, test string
	guard, without        string // text of the file, and what takes its place
}

var (
	mutationHead = regexp.MustCompile("(?m)^### (.+)\n\n`([^`]+)`, missed by `([^ `]+) ([^`]+)`\n\n```diff\n((?:[-+].*\n)+)```$")
	diffLine     = regexp.MustCompile(`(?m)^([-+])(.*)$`)
)

func mutations(t *testing.T) (list []mutation) {
	t.Helper()
	text := fileText(t, "docs/mutations.md")
	for _, m := range mutationHead.FindAllStringSubmatch(text, -1) {
		one := mutation{name: m[1], file: m[2], pkg: m[3], test: m[4]}
		var from, to []string
		for _, line := range diffLine.FindAllStringSubmatch(m[5], -1) {
			if line[1] == "-" {
				from = append(from, line[2])
			} else {
				to = append(to, line[2])
			}
		}
		one.guard, one.without = strings.Join(from, "\n"), strings.Join(to, "\n")
		list = append(list, one)
	}
	if headings := strings.Count(text, "\n### "); headings != len(list) {
		t.Fatalf("docs/mutations.md has %d headings and %d mutations that can be read", headings, len(list))
	}
	return list
}

func fileText(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each guard that docs/mutations.md names stands in the source, once, and the
// test that it names is there. With -mutate each is taken away in turn, and its
// test has to fail.
// R: L1
func TestTheTestsMissEachGuardThatIsTakenAway(t *testing.T) {
	t.Parallel()
	list := mutations(t)
	if len(list) == 0 {
		t.Fatal("docs/mutations.md names no mutation")
	}
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			if n := strings.Count(fileText(t, m.file), m.guard); n != 1 {
				t.Fatalf("%s has the guard %d times, want once:\n%s", m.file, n, m.guard)
			}
			name, _, _ := strings.Cut(m.test, "/")
			out, err := exec.CommandContext(t.Context(), "grep", "-rlw", "--include=*_test.go", "func "+name, filepath.Join("../..", m.pkg)).Output()
			if err != nil || len(out) == 0 {
				t.Fatalf("%s has no test %s", m.pkg, name)
			}
			if *mutate {
				m.isMissed(t)
			}
		})
	}
}

// isMissed builds the test with the mutated file in place of the real one.
func (m mutation) isMissed(t *testing.T) {
	t.Helper()
	real, err := filepath.Abs(filepath.Join("../..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mutated, overlay := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(mutated, []byte(strings.Replace(fileText(t, m.file), m.guard, m.without, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {real: mutated}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-c", "-o", filepath.Join(dir, "mutated.test"), "./"+m.pkg)
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the mutation does not build, so it proves nothing: %s", out)
	}
	run := exec.CommandContext(t.Context(), filepath.Join(dir, "mutated.test"), "-test.run", "^"+strings.ReplaceAll(m.test, "/", "$/^")+"$", "-test.timeout", "90s")
	run.Dir = filepath.Join("../..", m.pkg)
	if out, err := run.CombinedOutput(); err == nil {
		t.Errorf("without the guard %s passes all the same:\n%s", m.test, out)
	}
}
