package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"baton/internal/postgres/pgtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	pgtest.Stop()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// root is the top folder of the module, seen from this package.
const root = "../.."

// module is the module's path, which begins the path of each package of ours.
const module = "baton"

// file is one Go file of ours.
type file struct {
	path      string // from the top folder, with slashes
	room      string // its folder
	test      bool
	generated bool
	ast       *ast.File
}

// imports lists what the file imports.
func (f file) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			panic(err) // the parser has read it
		}
		paths = append(paths, path)
	}
	return paths
}

// house is the whole source, parsed once for all tests.
type house struct {
	positions *token.FileSet
	files     []file
}

// at is a position as people write it.
func (h house) at(n ast.Node) string {
	p := h.positions.Position(n.Pos())
	rel, err := filepath.Rel(root, p.Filename)
	if err != nil {
		rel = p.Filename
	}
	return filepath.ToSlash(rel) + ":" + strconv.Itoa(p.Line)
}

// rooms lists the folders with Go files, sorted.
func (h house) rooms() []string {
	var rooms []string
	for _, f := range h.files {
		rooms = append(rooms, f.room)
	}
	slices.Sort(rooms)
	return slices.Compact(rooms)
}

var parseOnce = sync.OnceValues(parse)

// source returns the parsed source.
func source(t *testing.T) house {
	t.Helper()
	h, err := parseOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(h.files) < 50 {
		t.Fatalf("read %d files: the scan is broken", len(h.files))
	}
	return h
}

func parse() (house, error) {
	h := house{positions: token.NewFileSet()}
	err := walk(func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		tree, err := parser.ParseFile(h.positions, filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		h.files = append(h.files, file{
			path: name, room: path.Dir(name), ast: tree,
			test:      strings.HasSuffix(name, "_test.go"),
			generated: ast.IsGenerated(tree),
		})
		return nil
	})
	return h, err
}

// walk visits each file of the project by its path from the top folder. Test
// data and hidden folders aren't code of the project, except for .ci.
func walk(visit func(name string) error) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") && rel != "." && d.Name() != ".ci"
		switch {
		case d.IsDir() && (hidden || d.Name() == "testdata" || rel == "bin"):
			return fs.SkipDir
		case d.Type().IsRegular() && d.Name() != ".git": // a file, in a linked work tree
			return visit(filepath.ToSlash(rel))
		}
		return nil
	})
}
