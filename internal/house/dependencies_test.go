package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// required reads go.mod: the version of each module, and its tools.
func required(t *testing.T) (versions map[string]string, tools []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions = map[string]string{}
	for _, r := range mod.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	for _, tool := range mod.Tool {
		tools = append(tools, tool.Path)
	}
	return versions, tools
}

// moduleOf is the required module that a package belongs to; empty for the
// standard library's and ours.
func moduleOf(versions map[string]string, path string) string {
	best := ""
	for module := range versions {
		if (path == module || strings.HasPrefix(path, module+"/")) && len(module) > len(best) {
			best = module
		}
	}
	return best
}

var dependencyRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^ ]+) \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// R: Y3 — whoever adds a module says why, and under which licence it comes.
func TestEachDirectDependencyIsExplained(t *testing.T) {
	t.Parallel()
	versions, tools := required(t)
	direct := map[string]string{} // module -> who uses it
	for _, f := range source(t).files {
		for _, path := range f.imports() {
			if module := moduleOf(versions, path); module != "" {
				direct[module] = f.path
			}
		}
	}
	for _, tool := range tools {
		direct[moduleOf(versions, tool)] = "go.mod"
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, m := range dependencyRow.FindAllStringSubmatch(string(text), -1) {
		module, version := m[1], m[2]
		rows[module] = true
		switch {
		case direct[module] == "":
			t.Errorf("docs/dependencies.md lists %s, which nothing imports", module)
		case versions[module] != version:
			t.Errorf("docs/dependencies.md has %s at %s, go.mod at %s", module, version, versions[module])
		}
	}
	for module, user := range direct {
		if !rows[module] {
			t.Errorf("docs/dependencies.md has no row for %s %s, which %s uses: say why, and its licence", module, versions[module], user)
		}
	}
}
