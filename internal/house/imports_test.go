package house

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

// name is a room's name in the plan.
func name(room string) string { return strings.TrimPrefix(room, "internal/") }

// ours is the name of the room that an import path leads to, if it is ours.
func ours(path string) (string, bool) {
	rel, ok := strings.CutPrefix(path, module+"/")
	return name(rel), ok
}

// arrows are the imports between our rooms, in their code or in their tests.
func arrows(h house, tests bool) map[string][]string {
	graph := map[string][]string{}
	for _, f := range h.files {
		if f.test != tests {
			continue
		}
		for _, path := range f.imports() {
			if to, ok := ours(path); ok {
				graph[name(f.room)] = append(graph[name(f.room)], to)
			}
		}
	}
	for from := range graph {
		slices.Sort(graph[from])
		graph[from] = slices.Compact(graph[from])
	}
	return graph
}

// reach finds the shortest way along arrows, ends included; nil if there is none.
func reach(graph map[string][]string, from, to string) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range graph[queue[0]] {
			if _, seen := came[next]; seen {
				continue
			}
			came[next] = queue[0]
			if next == to {
				way := []string{to}
				for at := queue[0]; at != ""; at = came[at] {
					way = append(way, at)
				}
				slices.Reverse(way)
				return way
			}
			queue = append(queue, next)
		}
	}
	return nil
}

// listed says whether a list of rooms has one; "..." has all.
func listed(rooms []string, room string) bool {
	return slices.Contains(rooms, room) || slices.Contains(rooms, "...")
}

func TestEachRoomIsInThePlan(t *testing.T) {
	t.Parallel()
	for _, room := range source(t).rooms() {
		if _, ok := plan[name(room)]; !ok {
			t.Errorf("%s has no place in the plan of the house: add it to plan_test.go and docs/design.md", room)
		}
	}
	for room, may := range plan {
		for _, to := range may {
			if _, ok := plan[to]; !ok && to != "..." {
				t.Errorf("the plan lets %s import %s, which it doesn't have", room, to)
			}
		}
	}
}

func TestThePlanHasNoCircles(t *testing.T) {
	t.Parallel()
	for room := range plan {
		if way := reach(plan, room, room); way != nil {
			t.Errorf("the plan goes in a circle: %s", strings.Join(way, " -> "))
		}
	}
}

// A test may build what lies below its room, and so use all that its room
// reaches, not only what its code names.
func TestRoomsImportOnlyWhatThePlanLets(t *testing.T) {
	t.Parallel()
	h := source(t)
	for from, list := range arrows(h, false) {
		for _, to := range list {
			if !listed(plan[from], to) {
				t.Errorf("%s imports %s, which the plan doesn't let it", from, to)
			}
		}
	}
	for from, list := range arrows(h, true) {
		for _, to := range list {
			below := to == from || listed(plan[from], "...") || slices.Contains(forTests, to) || slices.Contains(testsMay[from], to) || reach(plan, from, to) != nil
			if !below {
				t.Errorf("a test of %s imports %s, which isn't below it", from, to)
			}
		}
	}
}

// R: K6
// case: abuse A27
func TestWhatMustNeverBeReachedIsNot(t *testing.T) {
	t.Parallel()
	code := arrows(source(t), false)
	for _, ban := range never {
		for _, graph := range []map[string][]string{code, withoutTop(plan)} {
			if way := reach(graph, ban.from, ban.to); way != nil {
				t.Errorf("%s: %s", strings.Join(way, " -> "), ban.why)
			}
		}
	}
}

// withoutTop leaves out the room that may import all: what it reaches, code
// alone can say.
func withoutTop(plan map[string][]string) map[string][]string {
	graph := maps.Clone(plan)
	maps.DeleteFunc(graph, func(_ string, may []string) bool { return slices.Contains(may, "...") })
	return graph
}

func TestReachFindsTheWay(t *testing.T) {
	t.Parallel()
	graph := map[string][]string{"a": {"b", "c"}, "c": {"d"}, "d": {"a"}}
	for _, c := range []struct{ from, to, want string }{
		{"a", "d", "a c d"}, {"b", "a", ""}, {"a", "a", ""}, {"a", "x", ""},
	} {
		if got := strings.Join(reach(graph, c.from, c.to), " "); got != c.want {
			t.Errorf("way from %s to %s is %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

func TestForeignPackagesComeInByTheirDoors(t *testing.T) {
	t.Parallel()
	for _, f := range source(t).files {
		room := name(f.room)
		for _, path := range f.imports() {
			d, ok := doorOf(path)
			if !ok || listed(d.rooms, room) || f.test && listed(d.tests, room) {
				continue
			}
			t.Errorf("%s imports %s, which comes in by %s only", f.path, path, strings.Join(append(slices.Clone(d.rooms), d.tests...), ", "))
		}
	}
}

func doorOf(path string) (door, bool) {
	var best door
	for _, d := range doors {
		if (path == d.path || strings.HasPrefix(path, d.path+"/")) && len(d.path) > len(best.path) {
			best = d
		}
	}
	return best, best.path != ""
}

// R: M1, M2 — models are told about tools and can't run them.
func TestModelsKnowToolsByTheirVocabularyAlone(t *testing.T) {
	t.Parallel()
	for _, f := range source(t).files {
		if f.test || !strings.HasPrefix(name(f.room)+"/", "llm/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			use, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := use.X.(*ast.Ident); ok && pkg.Name == "tools" && !slices.Contains(vocabulary, use.Sel.Name) {
				t.Errorf("%s: tools.%s is not in the vocabulary of models", source(t).at(use), use.Sel.Name)
			}
			return true
		})
	}
}

// R: T3
// case: abuse A20
func TestConnectionsAreMadeThroughTheSafeDoor(t *testing.T) {
	t.Parallel()
	// Whoever makes a client or dials by itself goes round the check of
	// addresses in safehttp.
	banned := map[string]bool{
		"http.Client": true, "http.DefaultClient": true, "http.Transport": true, "http.DefaultTransport": true,
		"http.Get": true, "http.Head": true, "http.Post": true, "http.PostForm": true,
		"net.Dial": true, "net.DialTimeout": true, "net.Dialer": true, "tls.Dial": true, "tls.Dialer": true, "smtp.Dial": true, "smtp.SendMail": true,
	}
	h := source(t)
	for _, f := range h.files {
		if f.test || name(f.room) == "safehttp" || slices.Contains(forTests, name(f.room)) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			use, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := use.X.(*ast.Ident); ok && banned[fmt.Sprintf("%s.%s", pkg.Name, use.Sel.Name)] {
				t.Errorf("%s: %s.%s connects past internal/safehttp", h.at(use), pkg.Name, use.Sel.Name)
			}
			return true
		})
	}
}
