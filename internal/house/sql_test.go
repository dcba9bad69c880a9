package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"baton/internal/postgres/pgtest"
)

// foreignSQL are the rooms that run SQL which isn't theirs, and so can't have
// it in constants.
var foreignSQL = []string{
	"tools/builtin",   // a model's query, on an operator's database
	"postgres/pgtest", // databases have names of their own
}

// otherSchemas are the rooms whose statements run on another database than
// Baton's, with what makes its schema there, in order: statements of the room by
// name, and SQL.
var otherSchemas = map[string][]string{
	"demo":  {"sqlShopSchema", "sqlShopIndexes", "sqlShopRights"}, // the sample business's
	"bench": {"create extension pg_stat_statements", "sqlLimitTable"},
}

// R: Y1 — a statement that Postgres refuses is found here, not by a person.
func TestEachStatementPreparesOnTheSchema(t *testing.T) {
	t.Parallel()
	statements := statementsOf(t, source(t))
	if len(statements) < 20 {
		t.Fatalf("found %d statements: the scan is broken", len(statements))
	}
	prepare(t, pgtest.Tx(t), slices.DeleteFunc(slices.Clone(statements), func(s statement) bool { return otherSchemas[s.room] != nil }))
	if os.Getenv("BATON_TEST_DATABASE_URL") != "" {
		return // where we may not be allowed to make roles and extensions
	}
	for room, schema := range otherSchemas {
		tx, err := pgtest.Open(t, pgtest.Empty(t)).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		statements := slices.DeleteFunc(slices.Clone(statements), func(s statement) bool { return s.room != room })
		for _, sql := range schema {
			if isStatement(sql) {
				i := slices.IndexFunc(statements, func(s statement) bool { return s.name == sql })
				if i < 0 {
					t.Fatalf("%s has no %s", room, sql)
				}
				sql = statements[i].sql
				statements = slices.Delete(statements, i, i+1)
			}
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				t.Fatalf("the schema of %s: %.60s: %v", room, sql, err)
			}
		}
		prepare(t, tx, statements)
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func prepare(t *testing.T, tx pgx.Tx, statements []statement) {
	t.Helper()
	for i, s := range statements {
		// The savepoint lets one refusal not hide the next.
		sub, err := tx.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sub.Prepare(t.Context(), fmt.Sprintf("house_%d", i), s.sql); err != nil {
			t.Errorf("%s: %s: %v", s.at, s.name, err)
		}
		if err := sub.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// statement is a constant with SQL in our code. One that is only a part of
// others is looked at within them.
type statement struct{ room, at, name, sql string }

func isStatement(name string) bool {
	rest, ok := strings.CutPrefix(name, "sql")
	return ok && (rest == "" || rest[0] >= 'A' && rest[0] <= 'Z')
}

func statementsOf(t *testing.T, h house) []statement {
	t.Helper()
	var statements []statement
	for _, room := range h.rooms() {
		values := constantsOf(h, room)
		parts := values.parts()
		for _, c := range values {
			if !isStatement(c.name) || parts[c.name] {
				continue
			}
			sql, err := values.text(c.value)
			if err != nil {
				t.Errorf("%s: can't read %s: %v", c.at, c.name, err)
				continue
			}
			statements = append(statements, statement{room: name(room), at: c.at, name: c.name, sql: sql})
		}
	}
	return statements
}

// constant is one constant of a room's code, wherever it stands in it.
type constant struct {
	at, name string
	value    ast.Expr
}

type constants []constant

func constantsOf(h house, room string) constants {
	var list constants
	for _, f := range h.files {
		if f.room != room || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.CONST {
				for _, spec := range decl.Specs {
					spec := spec.(*ast.ValueSpec)
					for i, value := range spec.Values {
						list = append(list, constant{at: h.at(spec), name: spec.Names[i].Name, value: value})
					}
				}
			}
			return true
		})
	}
	return list
}

// parts are the constants that others are made of.
func (list constants) parts() map[string]bool {
	parts := map[string]bool{}
	for _, c := range list {
		ast.Inspect(c.value, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				parts[id.Name] = true
			}
			return true
		})
	}
	return parts
}

// text evaluates a constant string: literals and constants of the same room,
// joined with +.
func (list constants) text(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.ParenExpr:
		return list.text(e.X)
	case *ast.BinaryExpr:
		left, err := list.text(e.X)
		if err != nil {
			return "", err
		}
		right, err := list.text(e.Y)
		return left + right, err
	case *ast.Ident:
		i := slices.IndexFunc(list, func(c constant) bool { return c.name == e.Name })
		if i < 0 {
			return "", fmt.Errorf("%s is no constant of this room", e.Name)
		}
		return list.text(list[i].value)
	}
	return "", fmt.Errorf("SQL is made of texts and constants joined with +, not of %T", e)
}

// Static statements are what the test above can prepare, and what no value can
// get into.
func TestQueriesAreConstants(t *testing.T) {
	t.Parallel()
	h := source(t)
	for _, f := range h.files {
		if f.test || slices.Contains(foreignSQL, name(f.room)) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if sql, ok := sqlArgument(n); ok && !namesStatement(sql) {
					t.Errorf("%s: the statement is no constant named sql...", h.at(n))
				}
			case *ast.AssignStmt: // a variable that picks one of several constants
				for i, left := range n.Lhs {
					if namesStatement(left) && (len(n.Lhs) != len(n.Rhs) || !namesStatement(n.Rhs[i])) {
						t.Errorf("%s: a variable named sql... holds no constant of that kind", h.at(n))
					}
				}
			}
			return true
		})
	}
}

func namesStatement(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && isStatement(id.Name)
}

// sqlArgument is the argument of a call of pgx that takes SQL.
func sqlArgument(call *ast.CallExpr) (ast.Expr, bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	switch method.Sel.Name {
	case "Exec", "Query", "QueryRow":
		if len(call.Args) >= 2 {
			return call.Args[1], true // after the context
		}
	case "Queue":
		if len(call.Args) >= 1 {
			return call.Args[0], true
		}
	}
	return nil, false
}

func TestConstantsAreReadThroughPlus(t *testing.T) {
	t.Parallel()
	lit := func(s string) ast.Expr { return &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(s)} }
	list := constants{{name: "columns", value: lit("id, name")}}
	sql := &ast.BinaryExpr{Op: token.ADD, X: lit("select "), Y: &ast.ParenExpr{X: &ast.BinaryExpr{Op: token.ADD, X: &ast.Ident{Name: "columns"}, Y: lit(" from t")}}}
	got, err := list.text(sql)
	if err != nil || got != "select id, name from t" {
		t.Errorf("text is %q, %v", got, err)
	}
	if _, err := list.text(&ast.Ident{Name: "other"}); err == nil {
		t.Error("a constant that isn't there was read")
	}
}
