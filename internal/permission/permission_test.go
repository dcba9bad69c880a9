package permission_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"baton/internal/permission"
)

var (
	read   = permission.Call{Tool: "http_request", Args: json.RawMessage(`{"method":"GET"}`)}
	write  = permission.Call{Tool: "http_request", Args: json.RawMessage(`{"method":"POST","amount":49.99,"to":["a@x.de","b@x.de"],"customer":{"id":9007199254740993}}`), Writes: true}
	goodby = permission.Call{Tool: "send_email", Args: json.RawMessage(`{}`), Writes: true, Irreversible: true}
)

// R: A6
func TestModeSpeaksWhereNoRuleDoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode permission.Mode
		call permission.Call
		want permission.Verb
	}{
		{permission.ReadOnly, read, permission.Allow}, {permission.ReadOnly, write, permission.Deny},
		{permission.AskFirst, read, permission.Allow}, {permission.AskFirst, write, permission.Ask}, {permission.AskFirst, goodby, permission.Ask},
		{permission.Auto, read, permission.Allow}, {permission.Auto, write, permission.Allow}, {permission.Auto, goodby, permission.Ask},
		{"", write, permission.Deny}, {"yolo", write, permission.Deny},
	} {
		if got := (permission.Policy{Mode: c.mode}).Decide(c.call); got.Do != c.want || got.Reason == "" {
			t.Errorf("%s, %s: %+v, want %s", c.mode, c.call.Args, got, c.want)
		}
	}
}

// R: A6
// case: abuse A27
func TestConditionsOnParsedArguments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when map[string]any
		want bool
	}{
		"equal":            {map[string]any{"method": "POST"}, true},
		"other case":       {map[string]any{"method": "post"}, false},
		"list":             {map[string]any{"method": []any{"PUT", "POST"}}, true},
		"star":             {map[string]any{"method": "P*T"}, true},
		"all must fit":     {map[string]any{"method": "POST", "amount": 5}, false},
		"bound":            {map[string]any{"amount": map[string]any{"lte": 50}}, true},
		"two bounds":       {map[string]any{"amount": map[string]any{"lte": 50, "gt": 49.99}}, false},
		"not":              {map[string]any{"method": map[string]any{"not": "GET"}}, true},
		"every element":    {map[string]any{"to": "*@x.de"}, true},
		"one element":      {map[string]any{"to": "a@x.de"}, false},
		"path":             {map[string]any{"customer.id": json.Number("9007199254740993")}, true},
		"pointer":          {map[string]any{"/customer/id": json.Number("9007199254740993")}, true},
		"next big number":  {map[string]any{"/customer/id": json.Number("9007199254740992")}, false},
		"text is no digit": {map[string]any{"customer.id": "9007199254740993"}, false},
		"absent":           {map[string]any{"nothing": "POST"}, false},
	} {
		p := permission.Policy{Mode: permission.AskFirst, Rules: []permission.Rule{{Tool: "http_request", When: c.when, Do: permission.Allow}}}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := p.Decide(write); (got.Do == permission.Allow) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A rule that denies isn't dodged by spelling, and one element is enough for it.
// R: A6
func TestDenyIsNotDodged(t *testing.T) {
	t.Parallel()
	for _, when := range []map[string]any{{"method": "post"}, {"to": "A@X.DE"}, {"to": []any{"b@x.de"}}} {
		p := permission.Policy{Mode: permission.Auto, Rules: []permission.Rule{{Tool: "*", When: when, Do: permission.Deny}, {Tool: "http_request", Do: permission.Allow}}}
		if got := p.Decide(write); got.Do != permission.Deny || got.Rule != 1 {
			t.Errorf("%v: %+v", when, got)
		}
	}
}

// The strictest rule wins in any order, and no rule lifts mode read_only.
// R: A6
// case: harness A19
func TestStrictestWins(t *testing.T) {
	t.Parallel()
	verbs := []permission.Verb{permission.Allow, permission.Ask, permission.Deny}
	rapid.Check(t, func(t *rapid.T) {
		strictest := 0
		var rules []permission.Rule
		for range rapid.IntRange(1, 5).Draw(t, "rules") {
			v := rapid.IntRange(0, 2).Draw(t, "verb")
			strictest = max(strictest, v)
			rules = append(rules, permission.Rule{Tool: "http_request", Do: verbs[v]})
		}
		rand.Shuffle(len(rules), func(i, j int) { rules[i], rules[j] = rules[j], rules[i] })
		p := permission.Policy{Mode: permission.AskFirst, Rules: rules}
		if got := p.Decide(write).Do; got != verbs[strictest] {
			t.Fatalf("%v: %s", rules, got)
		}
		p.Mode = permission.ReadOnly
		if got := p.Decide(write).Do; got != permission.Deny {
			t.Fatalf("read_only: %s", got)
		}
	})
}

// R: A6
func TestWrongPoliciesAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []permission.Policy{
		{}, {Mode: "all"},
		{Mode: permission.Auto, Rules: []permission.Rule{{Do: permission.Deny}}},
		{Mode: permission.Auto, Rules: []permission.Rule{{Tool: "x", Do: "maybe"}}},
		{Mode: permission.Auto, Rules: []permission.Rule{{Tool: "x", Do: permission.Ask, When: map[string]any{"a": map[string]any{"like": 1}}}}},
		{Mode: permission.Auto, Rules: []permission.Rule{{Tool: "x", Do: permission.Ask, When: map[string]any{"a": map[string]any{"lt": "1"}}}}},
	} {
		if p.Check() == nil {
			t.Errorf("%+v was taken", p)
		}
	}
	p := permission.Policy{Mode: permission.Auto, Rules: []permission.Rule{{Tool: "x", Do: permission.Deny}}}
	if p.Offers("x", false) || !p.Offers("y", true) || (permission.Policy{Mode: permission.ReadOnly}).Offers("y", true) {
		t.Error("offers what is denied")
	}
	same := p
	if p.Version() == (permission.Policy{Mode: permission.Auto}).Version() || p.Version() != same.Version() {
		t.Error("version does not name the content")
	}
}
