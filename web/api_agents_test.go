package web

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// sourceBody is the body that applies a definition.
func sourceBody(t *testing.T, slug, team, instructions string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"source": agentYAML(slug, team, instructions), "playbook": "def reply(s): return []"})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// R: I1, G8
func TestAnAgentIsChangedOnlyOverWhatItsWriterHasSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("admin")
	first := p.get("/agents/desk")
	if a := first.ok(t, http.StatusOK); a["version"] != 1.0 || a["current"] != true || a["team"] != "support" || first.header.Get("ETag") != `"1"` {
		t.Errorf("%v, ETag %s", a, first.header.Get("ETag"))
	}
	changed := p.put("/agents/desk", sourceBody(t, "desk", "support", "More."), "If-Match", first.header.Get("ETag"))
	if a := changed.ok(t, http.StatusOK); a["version"] != 2.0 || a["created_by"] != "admin" || changed.header.Get("ETag") != `"2"` {
		t.Errorf("%v, ETag %s", a, changed.header.Get("ETag"))
	}
	p.put("/agents/desk", sourceBody(t, "desk", "support", "Less."), "If-Match", `"1"`).refused(t, http.StatusPreconditionFailed, "precondition_failed", "If-Match")
	p.put("/agents/desk", sourceBody(t, "desk", "support", "Less."), "If-None-Match", "*").refused(t, http.StatusPreconditionFailed, "precondition_failed", "If-None-Match")
	for _, bad := range []string{"1", `W/"1"`, `"one"`, `"1", "2"`, "*"} {
		p.put("/agents/desk", sourceBody(t, "desk", "support", "Less."), "If-Match", bad).refused(t, http.StatusBadRequest, "precondition_invalid", "If-Match")
	}
	made := p.put("/agents/new-desk", sourceBody(t, "new-desk", "support", "Help."), "If-None-Match", "*")
	if made.ok(t, http.StatusCreated); made.header.Get("Location") != "/api/v1/agents/new-desk" {
		t.Errorf("Location %q", made.header.Get("Location"))
	}
	// The same once more, without a condition, changes nothing.
	if a := p.put("/agents/desk", sourceBody(t, "desk", "support", "More.")).ok(t, http.StatusOK); a["version"] != 2.0 {
		t.Errorf("the same again is version %v", a["version"])
	}
	old := p.get("/agents/desk?version=1").ok(t, http.StatusOK)
	if old["current"] != false || !strings.Contains(old.text("source"), "Help.") {
		t.Errorf("version 1: %v", old)
	}
	p.get("/agents/desk?version=9").refused(t, http.StatusNotFound, "agent_not_found", "")
	for tag, want := range map[string]int{`"2"`: http.StatusNotModified, `"1", W/"2"`: http.StatusNotModified, "*": http.StatusNotModified, `"1"`: http.StatusOK} {
		if got := p.get("/agents/desk", "If-None-Match", tag); got.status != want || (got.body == "") != (want == http.StatusNotModified) || got.header.Get("ETag") != `"2"` {
			t.Errorf("If-None-Match %s: %d %s", tag, got.status, got.body)
		}
	}
}

// R: I1
func TestADefinitionWithFaultsIsRefusedWithEachLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.program("admin")
	bad := p.put("/agents/desk", `{"source": "slug: desk\nteam: support\nmodle: scripted/p\ntools: 7\n"}`).refused(t, http.StatusUnprocessableEntity, "definition_invalid", "/source")
	faults, _ := bad["errors"].([]any)
	named := map[any]any{}
	for _, f := range faults {
		fault := f.(map[string]any)
		named[fault["path"]] = fault["line"]
	}
	if named["modle"] != 3.0 || named["tools"] != 4.0 {
		t.Errorf("faults: %v", bad["errors"])
	}
	p.put("/agents/desk", sourceBody(t, "other", "support", "Help.")).refused(t, http.StatusUnprocessableEntity, "agent_slug_differs", "/source")
	p.put("/agents/desk", sourceBody(t, "desk", "nowhere", "Help.")).refused(t, http.StatusUnprocessableEntity, "team_unknown", "/source")
	p.put("/agents/desk", `{"source": ""}`).refused(t, http.StatusUnprocessableEntity, "field_missing", "/source")
	p.put("/agents/desk", `{"yaml": "x"}`).refused(t, http.StatusUnprocessableEntity, "field_unknown", "/yaml")
	if n := count(t, w.db, `select count(*) from agent_versions`); n != 2 {
		t.Errorf("%d versions", n)
	}
}

// R: I1, K2
func TestAgentsAreListedByTheirSlugs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.apply("archive", "support")
	p := w.program("viewer")
	items, next := p.get("/agents?limit=1").ok(t, http.StatusOK).items()
	if len(items) != 1 || items[0]["slug"] != "archive" || next == "" {
		t.Fatalf("%v, %q", items, next)
	}
	items, next = p.get("/agents?cursor="+next).ok(t, http.StatusOK).items()
	if len(items) != 1 || items[0]["slug"] != "desk" || items[0]["name"] != "DESK" || items[0]["team"] != "support" || next != "" {
		t.Errorf("%v, %q", items, next)
	}
	p.get("/agents/ledger").refused(t, http.StatusNotFound, "agent_not_found", "")
}
