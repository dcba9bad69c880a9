package house

import (
	"encoding/json"
	"go/ast"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"baton/internal/definition"
)

// parsers is what the room of definitions reads: functions by their name.
type parsers map[string]*ast.BlockStmt

func readParsers(t *testing.T) parsers {
	t.Helper()
	p := parsers{}
	for _, f := range source(t).files {
		if f.room != "internal/definition" || f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				p[fn.Name.Name] = fn.Body
			}
		}
	}
	return p
}

// keys are the keys that a function reads, with those inside them: a.b; a.NAME.b
// where b stands under names of the operator's; a[].b in a list.
func (p parsers) keys(function string) []string { return p.keysIn(p[function]) }

// keysIn are the keys of the mappings that stand in a piece of code.
func (p parsers) keysIn(code ast.Node) []string {
	var all []string
	ast.Inspect(code, func(n ast.Node) bool {
		pairs, ok := mapping(n)
		if !ok {
			return true
		}
		for _, e := range pairs {
			pair := e.(*ast.KeyValueExpr)
			key, err := strconv.Unquote(pair.Key.(*ast.BasicLit).Value)
			if err != nil {
				panic(err) // the parser has read it
			}
			all = append(all, key)
			for _, inside := range p.inside(pair.Value) {
				all = append(all, key+inside)
			}
		}
		return false
	})
	return all
}

// mapping are the entries of a map from keys to what reads them.
func mapping(n ast.Node) ([]ast.Expr, bool) {
	literal, ok := n.(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	m, ok := literal.Type.(*ast.MapType)
	if !ok {
		return nil, false
	}
	value, ok := m.Value.(*ast.Ident)
	return literal.Elts, ok && value.Name == "read"
}

// inside are the keys below a value, each with what leads to it.
func (p parsers) inside(value ast.Expr) []string {
	lead := "."
	var all []string
	ast.Inspect(value, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && strings.HasPrefix(f.Name, "named") {
				lead = ".NAME."
			}
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "list" {
				lead = "[]."
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "r" && n.Sel.Name != "mapping" && p[n.Sel.Name] != nil {
				for _, key := range p.keys(n.Sel.Name) {
					all = append(all, lead+key)
				}
			}
		case *ast.CompositeLit:
			if _, ok := mapping(n); ok {
				for _, key := range p.keysIn(n) {
					all = append(all, lead+key)
				}
				return false
			}
		}
		return true
	})
	return all
}

// keyRow is a row of a table of keys.
type keyRow struct{ key, kind, def, what string }

var keyLine = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (.*?) \\| (.*?) \\| (.*?) \\|$")

func keyRows(t *testing.T, doc string) []keyRow {
	t.Helper()
	_, table, found := strings.Cut(read(t, doc), "## Every key")
	if !found {
		t.Fatalf("%s has no table of keys", doc)
	}
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []keyRow
	for _, m := range keyLine.FindAllStringSubmatch(table, -1) {
		rows = append(rows, keyRow{m[1], m[2], m[3], m[4]})
	}
	return rows
}

// sameKeys compares a page's keys with those that are read. A mapping whose keys
// all have rows needs none of its own.
func sameKeys(t *testing.T, doc string, known []string) {
	t.Helper()
	rows := map[string]bool{}
	for _, r := range keyRows(t, doc) {
		if rows[r.key] {
			t.Errorf("%s has two rows for %s", doc, r.key)
		}
		rows[r.key] = true
		if !slices.Contains(known, r.key) {
			t.Errorf("%s has a row for %s, which nobody reads", doc, r.key)
		}
	}
	for _, key := range known {
		hasOthers := slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, key+".") })
		if !rows[key] && !hasOthers {
			t.Errorf("%s has no row for %s", doc, key)
		}
	}
	if len(known) < 10 {
		t.Fatalf("found %d keys: the scan is broken", len(known))
	}
}

// R: D (appendix) — whoever reads docs/agents.md knows all that an agent can be.
func TestThePageAboutAgentsHasEachKey(t *testing.T) {
	t.Parallel()
	known := readParsers(t).keys("Parse")
	for _, key := range []string{"slug", "budgets.calls", "permission.rules[].do", "retention.outputs"} {
		if !slices.Contains(known, key) {
			t.Fatalf("%s was not found among %v: the scan is broken", key, known)
		}
	}
	sameKeys(t, "docs/agents.md", known)
}

// R: G4 — and docs/configuration.md all that an installation can have.
func TestThePageAboutTheConfigurationHasEachKey(t *testing.T) {
	t.Parallel()
	known := readParsers(t).keys("ParseInstallation")
	if !slices.Contains(known, "hosts.NAME.auth.header") {
		t.Fatalf("hosts.NAME.auth.header was not found among %v: the scan is broken", known)
	}
	cmd := exec.CommandContext(t.Context(), buildServer(t), "config")
	cmd.Dir, cmd.Env = t.TempDir(), []string{"HOME=/nonexistent"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("server config: %v", err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(\w+):`).FindAllStringSubmatch(string(out), -1) {
		known = append(known, m[1])
	}
	sameKeys(t, "docs/configuration.md", known)
}

// R: T11 — and docs/declared-tools.md all that a declared tool can be.
func TestThePageAboutDeclaredToolsHasEachKey(t *testing.T) {
	t.Parallel()
	known := readParsers(t).keys("ParseTool")
	if !slices.Contains(known, "request.url") || !slices.Contains(known, "params.NAME.type") {
		t.Fatalf("request.url was not found among %v: the scan is broken", known)
	}
	sameKeys(t, "docs/declared-tools.md", known)
}

func TestTheExamplesOfAgentsAndConfigurationAreRead(t *testing.T) {
	t.Parallel()
	agent := definition.File{Name: "docs/agents.md", Source: []byte(blocks(t, "docs/agents.md", "yaml")[0]), Playbook: []byte("x = 1")}
	if _, faults := definition.Parse(agent, definition.Known{DataSources: []string{"shop"}, Tools: []string{"query_db", "http_request", "read_file"}}); len(faults) > 0 {
		t.Error(faults)
	}
	lookup := func(name string) (string, bool) {
		return "postgres://reader@db.example.com/shop", name == "SHOP_DATABASE_URL"
	}
	settings := []string{"addr", "public_url", "log_format"} // their values are the server's to check
	i, faults := definition.ParseInstallation("docs/configuration.md", []byte(blocks(t, "docs/configuration.md", "yaml")[0]), lookup, settings...)
	if len(faults) > 0 || len(i.DataSources) != 1 || len(i.Hosts) != 2 {
		t.Errorf("%+v, %v", i, faults)
	}
}

// A default in the table is what an agent has that says nothing: to write it
// down changes nothing.
func TestTheDefaultsOfAnAgentAreThoseOfItsPage(t *testing.T) {
	t.Parallel()
	parse := func(source string) definition.Agent {
		a, faults := definition.Parse(definition.File{Name: "a.yaml", Source: []byte(source), Playbook: []byte("x = 1")}, definition.Known{})
		if len(faults) > 0 {
			t.Errorf("%s: %v", source, faults)
		}
		return a
	}
	const least = "slug: x\nmodel: scripted/x\nplaybook: x.star\n"
	want, checked := parse(least), 0
	for _, r := range keyRows(t, "docs/agents.md") {
		def, isValue := strings.CutPrefix(r.def, "`")
		if !isValue {
			continue
		}
		checked++
		def = strings.TrimSuffix(def, "`")
		source := least + r.key + ": " + def + "\n"
		if outer, inner, deep := strings.Cut(r.key, "."); deep {
			source = least + outer + ": {" + inner + ": " + def + "}\n"
		}
		if got := parse(source); !sameAgent(got, want) {
			t.Errorf("docs/agents.md says that %s is %s by default, and it isn't", r.key, def)
		}
	}
	if checked < 15 {
		t.Fatalf("found %d defaults: the scan is broken", checked)
	}
}

// sameAgent compares agents as they are kept; an empty list is none.
func sameAgent(a, b definition.Agent) bool {
	var kept [2]any
	for i, agent := range []definition.Agent{a, b} {
		text, err := json.Marshal(agent)
		if err != nil || json.Unmarshal(text, &kept[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(kept[0], kept[1])
}

// notYet are the fields of an agent that stand for keys that this build
// doesn't carry out.
var notYet = map[string]string{
	"secrets": "Secrets", "mcp_servers": "MCPServers",
	"escalation.quorum": "Quorum", "escalation.no_self_approval": "NoSelfApproval",
	"retention.outputs": "Outputs", "retention.events": "Events", "retention.sessions": "Sessions",
}

// What the page says is not carried out yet is exactly what nobody asks an
// agent's definition for.
func TestThePageAboutAgentsSaysWhatIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	for _, r := range keyRows(t, "docs/agents.md") {
		if _, known := notYet[r.key]; known != strings.HasPrefix(r.what, "*not yet*") {
			t.Errorf("docs/agents.md: %s is %q", r.key, r.what)
		}
	}
	for key, field := range notYet {
		group := map[string]string{"budgets": "Budgets", "escalation": "Escalation", "retention": "Retention"}[strings.Split(key, ".")[0]]
		if group == "" {
			group = "Agent"
		}
		for _, f := range source(t).files {
			if f.test || f.room == "internal/definition" {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				use, ok := n.(*ast.SelectorExpr)
				if !ok || use.Sel.Name != field {
					return true
				}
				if of, ok := use.X.(*ast.SelectorExpr); ok && of.Sel.Name == group {
					t.Errorf("%s uses %s.%s, and docs/agents.md says that %s is not carried out", source(t).at(n), group, field, key)
				}
				return true
			})
		}
	}
}
