package api

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"baton/internal/auth"
)

func documentOf(t *testing.T) map[string]any {
	t.Helper()
	text, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func member(v any, names ...string) any {
	for _, name := range names {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

// R: I1
func TestTheDocumentAndTheRoutesAreTheSame(t *testing.T) {
	t.Parallel()
	d := documentOf(t)
	if d["openapi"] != "3.1.0" {
		t.Errorf("openapi is %v", d["openapi"])
	}
	var written, real []string
	paths, _ := member(d, "paths").(map[string]any)
	for path, item := range paths {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				written = append(written, strings.ToUpper(method)+" "+path)
			}
		}
	}
	for _, r := range New(Deps{}).Routes() {
		real = append(real, r.Method+" "+r.Path)
	}
	slices.Sort(written)
	slices.Sort(real)
	if !slices.Equal(written, real) {
		t.Errorf("the document has\n%v\nthe routes are\n%v", written, real)
	}
}

// scopes are what a person's key needs for each verb, as appendix A has it.
var scopes = map[auth.Verb]string{
	auth.ReadSession: "session:read", auth.StartSession: "session:start", auth.ControlSession: "session:control",
	auth.ReadAgent: "session:read", auth.WriteAgent: "agent:write",
	auth.ReadEscalation: "escalation:read", auth.AnswerEscalation: "escalation:answer", auth.ReadDecision: "decision:read",
	auth.ResetTool: "admin",
}

// R: I1
func TestEachOperationIsDescribed(t *testing.T) {
	t.Parallel()
	d := documentOf(t)
	ids := map[string]bool{}
	for _, r := range New(Deps{}).Routes() {
		item := member(d, "paths", r.Path)
		o := member(item, strings.ToLower(r.Method))
		name := r.Method + " " + r.Path
		operation, _ := member(o, "operationId").(string)
		summary, _ := member(o, "summary").(string)
		if operation == "" || ids[operation] || summary == "" || strings.HasSuffix(summary, ".") {
			t.Errorf("%s: operationId %q, summary %q", name, operation, summary)
		}
		ids[operation] = true
		if scope, _ := member(o, "x-scope").(string); scope != scopes[r.Verb] {
			t.Errorf("%s: x-scope is %q, want %q", name, scope, scopes[r.Verb])
		}
		if member(o, "responses", "default") == nil {
			t.Errorf("%s: no word about problems", name)
		}
		text, _ := json.Marshal(item)
		for _, parameter := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(r.Path, -1) {
			if !strings.Contains(string(text), "#/components/parameters/") && !strings.Contains(string(text), `"name":"`+parameter[1]+`"`) {
				t.Errorf("%s: no word about {%s}", name, parameter[1])
			}
		}
	}
}

// R: I1
func TestNoReferenceLeadsNowhere(t *testing.T) {
	t.Parallel()
	d := documentOf(t)
	text, _ := json.Marshal(d)
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`"\$ref":"#/components/(\w+)/(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		used[m[1]+"/"+m[2]] = true
		if member(d, "components", m[1], m[2]) == nil {
			t.Errorf("nothing is at %s/%s", m[1], m[2])
		}
	}
	for _, kind := range []string{"schemas", "parameters", "responses", "headers"} {
		parts, _ := member(d, "components", kind).(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			if !used[kind+"/"+name] {
				t.Errorf("nothing refers to %s/%s", kind, name)
			}
		}
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	t.Parallel()
	whole := map[string]any{"a": map[string]any{"b": 1}}
	if err := merge(whole, map[string]any{"a": map[string]any{"c": 2}}); err != nil || member(whole, "a", "c") != 2 {
		t.Errorf("%v, %v", whole, err)
	}
	if err := merge(whole, map[string]any{"a": map[string]any{"b": 3}}); err == nil {
		t.Error("the same key of two pieces was taken")
	}
}
