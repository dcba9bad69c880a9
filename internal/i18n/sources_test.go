package i18n

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"baton/internal/problem"
)

// forms are the plural forms of a sentence; a sentence without plurals has
// "other" alone.
type forms map[string]string

func readLocale(t *testing.T, l Language) map[string]forms {
	t.Helper()
	raw, err := locales.ReadFile("locales/" + string(l) + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatalf("%s: %v", l, err)
	}
	sentences := make(map[string]forms, len(file))
	for key, v := range file {
		switch v := v.(type) {
		case string:
			sentences[key] = forms{"other": v}
		case map[string]any:
			sentences[key] = forms{}
			for form, s := range v {
				text, ok := s.(string)
				if !ok {
					t.Fatalf("%s: %s.%s is no text; keys are flat", l, key, form)
				}
				sentences[key][form] = text
			}
		}
	}
	return sentences
}

var placeholder = regexp.MustCompile(`\{\{\s*\.(\w+)\s*\}\}`)

func placeholders(f forms) []string {
	var names []string
	for _, s := range f {
		for _, m := range placeholder.FindAllStringSubmatch(s, -1) {
			names = append(names, m[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestEachLanguageHasTheSameSentencesWithTheSamePlaceholders(t *testing.T) {
	t.Parallel()
	want := readLocale(t, English)
	for _, l := range Languages()[1:] {
		got := readLocale(t, l)
		for key, f := range want {
			if _, ok := got[key]; !ok {
				t.Errorf("%s lacks %q", l, key)
				continue
			}
			if e, o := placeholders(f), placeholders(got[key]); !slices.Equal(e, o) {
				t.Errorf("%q has placeholders %v in English and %v in %s", key, e, o, l)
			}
		}
		for key := range got {
			if _, ok := want[key]; !ok {
				t.Errorf("English lacks %q, which %s has", key, l)
			}
		}
	}
}

func TestPluralFormsAreThoseOfTheLanguage(t *testing.T) {
	t.Parallel()
	for l, allowed := range map[Language][]string{English: {"one", "other"}, Chinese: {"other"}} {
		for key, f := range readLocale(t, l) {
			if f["other"] == "" {
				t.Errorf("%s: %q has no form \"other\"", l, key)
			}
			for form, s := range f {
				if !slices.Contains(allowed, form) {
					t.Errorf("%s: %q has the form %q, which the language lacks", l, key, form)
				}
				if strings.TrimSpace(s) != s || strings.Contains(placeholder.ReplaceAllString(s, ""), "{{") {
					t.Errorf("%s: %q is badly written: %q", l, key, s)
				}
			}
		}
	}
}

// use is one place in the code that names a sentence or a problem.
type use struct {
	at    string
	key   string
	names []string // parameters given, where they can be read off the source
	known bool     // whether names is complete
}

type sources struct {
	literals map[string]bool // every string constant in the code
	says     []use           // i18n.T and i18n.Say with a constant key
	problems []use           // problem.New, problem.Wrap and problem.Error literals
	failures []use           // why a session failed: literals of the type failure
}

func TestEachSentenceIsUsedAndEachUseHasASentence(t *testing.T) {
	t.Parallel()
	src, catalogue := readSources(t), readLocale(t, English)
	for key := range catalogue {
		if !strings.HasPrefix(key, "problem.") && !src.literals[key] && !src.family(key) {
			t.Errorf("nothing uses %q", key)
		}
	}
	for _, u := range src.says {
		f, ok := catalogue[u.key]
		if !ok {
			t.Errorf("%s: no sentence %q", u.at, u.key)
			continue
		}
		if want := placeholders(f); u.known {
			given := slices.DeleteFunc(slices.Clone(u.names), func(n string) bool { return n == "n" && len(f) > 1 })
			for _, name := range want {
				if !slices.Contains(u.names, name) {
					t.Errorf("%s: %q needs %q, which isn't given", u.at, u.key, name)
				}
			}
			for _, name := range given {
				if !slices.Contains(want, name) {
					t.Errorf("%s: %q has no place for %q", u.at, u.key, name)
				}
			}
		}
	}
}

// family says whether a key is of those that are made of a code which the code
// names: error_type.<type>.what, failure.<code>.why. A limit's failure is
// budget_<limit>; unknown is said of a code that has no words.
func (src sources) family(key string) bool {
	if rest, ok := strings.CutPrefix(key, "error_type."); ok {
		code, _, _ := strings.Cut(rest, ".")
		return src.literals[code]
	}
	rest, ok := strings.CutPrefix(key, "failure.")
	code, _, _ := strings.Cut(rest, ".")
	if limit, budget := strings.CutPrefix(code, "budget_"); budget {
		return src.literals[limit]
	}
	return ok && (code == "unknown" || slices.ContainsFunc(src.failures, func(u use) bool { return u.key == code }))
}

// R: S3 — a session that fails says why, in words.
func TestEachFailureOfASessionHasItsThreeSentences(t *testing.T) {
	t.Parallel()
	src, catalogue := readSources(t), readLocale(t, English)
	if len(src.failures) < 4 {
		t.Fatalf("found %d failures: the scan is broken", len(src.failures))
	}
	for _, u := range src.failures {
		for _, part := range []string{".what", ".why", ".do"} {
			sentence, ok := catalogue["failure."+u.key+part]
			if !ok {
				t.Errorf("%s: no sentence failure.%s%s", u.at, u.key, part)
			}
			for _, name := range placeholders(sentence) {
				if u.known && !slices.Contains(u.names, name) {
					t.Errorf("%s: failure.%s%s needs the parameter %q, which isn't given", u.at, u.key, part, name)
				}
			}
		}
	}
}

// R: S3, K3 — no problem reaches a person without words.
func TestEachProblemCodeHasItsThreeSentences(t *testing.T) {
	t.Parallel()
	src, catalogue := readSources(t), readLocale(t, English)
	codes := map[string]bool{}
	for kind := problem.Internal; kind <= problem.Unavailable; kind++ {
		codes[kind.String()] = true // the words for codes that have none
	}
	for _, u := range src.problems {
		codes[u.key] = true
		for _, part := range []string{".what", ".why", ".do"} {
			for _, name := range placeholders(catalogue["problem."+u.key+part]) {
				if u.known && !slices.Contains(u.names, name) {
					t.Errorf("%s: problem.%s%s needs the parameter %q, which isn't given", u.at, u.key, part, name)
				}
			}
		}
	}
	for code := range codes {
		for _, part := range []string{".what", ".why", ".do"} {
			if _, ok := catalogue["problem."+code+part]; !ok {
				t.Errorf("problem %q has no sentence problem.%s%s", code, code, part)
			}
		}
	}
	for key := range catalogue {
		if rest, ok := strings.CutPrefix(key, "problem."); ok {
			code, _, _ := strings.Cut(rest, ".")
			if !codes[code] {
				t.Errorf("%q is about a code that no code raises", key)
			}
		}
	}
}

func readSources(t *testing.T) sources {
	t.Helper()
	src := sources{literals: map[string]bool{}}
	root := filepath.Join("..", "..")
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == "testdata" || (strings.HasPrefix(name, ".") && len(name) > 2) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, path, code, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			src.take(files, n)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(src.says) == 0 || len(src.literals) < 50 {
		t.Fatalf("read %d uses and %d constants: the scan is broken", len(src.says), len(src.literals))
	}
	return src
}

func (src *sources) take(files *token.FileSet, n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if s, ok := text(n); ok {
			src.literals[s] = true
		}
	case *ast.CallExpr:
		at := files.Position(n.Pos()).String()
		switch selector(n.Fun) {
		case "i18n.T":
			src.say(at, n.Args, 1)
		case "i18n.Say":
			src.say(at, n.Args, 0)
		case "problem.New":
			src.problem(at, n.Args, 1)
		case "problem.Wrap":
			src.problem(at, n.Args, 2)
		case "postgres.Problem": // its second argument is the code for no rows
			if code, ok := text(n.Args[len(n.Args)-1]); ok && code != "" {
				src.problems = append(src.problems, use{at: at, key: code})
			}
		}
	case *ast.CompositeLit:
		at := files.Position(n.Pos()).String()
		switch selector(n.Type) {
		case "problem.Error":
			if u := coded(n); u.key != "" {
				u.at, u.known = at, false // parameters may be added
				src.problems = append(src.problems, u)
			}
		case "failure":
			if u := coded(n); u.key != "" {
				u.at = at
				src.failures = append(src.failures, u)
			}
		}
	}
}

// coded reads a literal with the fields Code and Params.
func coded(n *ast.CompositeLit) (u use) {
	u.known = true
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		switch selector(kv.Key) {
		case "Code":
			u.key, _ = text(kv.Value)
		case "Params":
			u.names, u.known = parameters(kv.Value)
		}
	}
	return u
}

// parameters are the names in a literal of parameters.
func parameters(e ast.Expr) (names []string, known bool) {
	params, ok := e.(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	known = true
	for _, e := range params.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			known = false
			continue
		}
		name, ok := text(kv.Key)
		names, known = append(names, name), known && ok
	}
	return names, known
}

func (src *sources) say(at string, args []ast.Expr, first int) {
	if len(args) <= first {
		return
	}
	key, ok := text(args[first])
	if !ok {
		return
	}
	u := use{at: at, key: key, known: true}
	for i := first + 1; i < len(args); i += 2 {
		name, ok := text(args[i])
		u.names, u.known = append(u.names, name), u.known && ok && i+1 < len(args)
	}
	src.says = append(src.says, u)
}

func (src *sources) problem(at string, args []ast.Expr, first int) {
	if len(args) <= first+1 {
		return
	}
	code, ok := text(args[first])
	if !ok {
		return
	}
	u := use{at: at, key: code}
	switch params := args[first+1].(type) {
	case *ast.Ident:
		u.known = params.Name == "nil"
	case *ast.CompositeLit:
		u.names, u.known = parameters(params)
	}
	src.problems = append(src.problems, u)
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

func selector(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}
