package house

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"baton/internal/definition"
	"baton/internal/llm/scripted"
)

// blocks are the pieces of code in a document, by their language.
func blocks(t *testing.T, name, language string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllStringSubmatch(read(t, name), -1) {
		found = append(found, m[1]+"\n")
	}
	if len(found) == 0 {
		t.Fatalf("%s has no example in %s", name, language)
	}
	return found
}

func TestTheExampleOfAPlaybookIsOne(t *testing.T) {
	t.Parallel()
	const doc = "docs/adding-a-playbook.md"
	playbook := blocks(t, doc, "starlark")[0]
	if _, err := scripted.Compile("lost-parcel.star", playbook); err != nil {
		t.Errorf("%s: %v", doc, err)
	}
	agent := definition.File{Name: "lost-parcels.yaml", Source: []byte(blocks(t, doc, "yaml")[0]), Playbook: []byte(playbook)}
	if _, faults := definition.Parse(agent, definition.Known{}); len(faults) > 0 {
		t.Errorf("%s: %v", doc, faults)
	}
}

// The tool of the page is written into the places that the page names, in an
// overlay, and the server built with it.
func TestTheExampleOfAToolCompilesWhereThePagePutsIt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the server")
	}
	const doc = "docs/adding-a-tool.md"
	code := blocks(t, doc, "go")
	makers := read(t, "cmd/server/makers.go")
	const beginning = "map[string]toolMaker{\n"
	if len(code) != 2 || !strings.Contains(makers, beginning) {
		t.Fatalf("%d examples; the map of makers is there: %v", len(code), strings.Contains(makers, beginning))
	}
	dir, replace := t.TempDir(), map[string]string{}
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"internal/tools/builtin/parcel_status.go": code[0],
		"internal/tools/builtin/parcel_status.md": blocks(t, doc, "markdown")[0],
		"cmd/server/makers.go":                    strings.Replace(makers, beginning, beginning+code[1], 1),
	} {
		at := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(top, filepath.FromSlash(name))] = at
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-overlay", file, "-o", filepath.Join(dir, "server"), "./cmd/server")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", doc, err, out)
	}
}

// What the page names of package tools must exist.
func TestTheExampleOfAToolNamesWhatExists(t *testing.T) {
	t.Parallel()
	const doc = "docs/adding-a-tool.md"
	there := exported(source(t), "internal/tools")
	code, err := parser.ParseFile(token.NewFileSet(), doc, blocks(t, doc, "go")[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	var names, keys []string
	for _, m := range regexp.MustCompile("`tools\\.([A-Z]\\w*)").FindAllStringSubmatch(read(t, doc), -1) {
		names = append(names, m[1])
	}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "tools" {
				names = append(names, n.Sel.Name)
			}
		case *ast.CompositeLit:
			if use, ok := n.Type.(*ast.SelectorExpr); ok && use.Sel.Name == "Spec" {
				for _, e := range n.Elts {
					keys = append(keys, e.(*ast.KeyValueExpr).Key.(*ast.Ident).Name)
				}
			}
		}
		return true
	})
	if len(names) < 10 || len(keys) < 5 {
		t.Fatalf("found %d names and %d fields: the scan is broken", len(names), len(keys))
	}
	for _, name := range names {
		if !slices.Contains(there, name) {
			t.Errorf("%s names tools.%s, which isn't there", doc, name)
		}
	}
	fields := exportedFields(source(t), "internal/tools", "Spec")
	for _, key := range keys {
		if !slices.Contains(fields, key) {
			t.Errorf("%s gives a Spec the field %s, which it doesn't have", doc, key)
		}
	}
}

// exported lists the names that a room's code gives to others.
func exported(h house, room string) []string {
	var names []string
	add := func(id *ast.Ident) {
		if id.IsExported() {
			names = append(names, id.Name)
		}
	}
	for _, f := range h.files {
		if f.room != room || f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names
}

// exportedFields lists the fields of a room's struct.
func exportedFields(h house, room, name string) []string {
	var fields []string
	for _, f := range h.files {
		if f.room != room || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, id := range field.Names {
						fields = append(fields, id.Name)
					}
				}
			}
			return true
		})
	}
	return fields
}
