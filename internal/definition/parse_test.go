package definition

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"baton/internal/permission"
)

const full = `
slug: refunds-desk
name: Refunds desk
team: support
model: scripted/duplicate-charge
playbook: ./duplicate-charge.star  # read beside this file
instructions: |
  You settle refund requests.
  Never promise what you have not seen.
tools: [query_db, http_request, read_file, ask_human]
data_source: shop
permission: {mode: ask, rules: [{tool: http_request, when: {method: GET, retries: 9007199254740993, path: [a, b], amount: {gt: 1.50, lte: 500}, to: {not: null}, command: {runs: [ls, git log *]}}, do: allow}, {tool: send_email, do: deny}]}
budgets: {steps_per_turn: 30, calls_per_turn: 25, calls: 100, same_tool_in_a_row: 8, window: 64000, tokens: 120000, cost_usd: 1.00, working_time: 20m, timeout: 10s, deadline: 60s}
hosts: [payments.internal, "api.example.com:8443"]
secrets: [psp]
mcp_servers: [files]
escalation: {priority: high, on_expiry: "option:refund_part", expires_after: 24h, hold: 0s, quorum: 2, no_self_approval: true, reason_codes: [duplicate_charge, over_limit]}
data: {default: token, fields: {/customer/email: token, /card: drop}}
language: zh-Hans
retention: {outputs: 30d, sessions: 365d}
`

func parse(source string) (Agent, Faults) {
	return Parse(File{Name: "a.yaml", Source: []byte(source), Playbook: []byte("def reply(s): pass")}, Known{
		Tools:       []string{"query_db", "http_request", "read_file", "send_email", "ask_human"},
		DataSources: []string{"shop"}, MCPServers: []string{"files"}, Priced: []string{"openai/priced"},
	})
}

// R: D (appendix)
func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	got, faults := parse(full)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := Agent{
		Slug: "refunds-desk", Name: "Refunds desk", Team: "support",
		Model: "scripted/duplicate-charge", Playbook: "./duplicate-charge.star",
		Instructions: "You settle refund requests.\nNever promise what you have not seen.\n",
		Tools:        []string{"query_db", "http_request", "read_file", "ask_human"},
		DataSource:   "shop", Hosts: []string{"payments.internal", "api.example.com:8443"},
		Secrets: []string{"psp"}, MCPServers: []string{"files"},
		Permission: permission.Policy{Mode: permission.AskFirst, Rules: []permission.Rule{
			{Tool: "http_request", When: map[string]any{"method": "GET", "retries": json.Number("9007199254740993"), "path": []any{"a", "b"},
				"amount": map[string]any{"gt": json.Number("1.50"), "lte": json.Number("500")}, "to": map[string]any{"not": nil}, "command": map[string]any{"runs": []any{"ls", "git log *"}}}, Do: permission.Allow},
			{Tool: "send_email", Do: permission.Deny},
		}},
		Budgets: Budgets{StepsPerTurn: 30, CallsPerTurn: 25, Calls: 100, SameToolInARow: 8, Window: 64000, Tokens: 120000, CostMicros: 1_000_000,
			WorkingTime: Duration(20 * time.Minute), Timeout: Duration(10 * time.Second), Deadline: Duration(time.Minute)},
		Escalation: Escalation{Priority: PriorityHigh, OnExpiry: "option:refund_part", ExpiresAfter: Duration(24 * time.Hour),
			Quorum: 2, NoSelfApproval: true, ReasonCodes: []string{"duplicate_charge", "over_limit"}},
		Data:      DataPolicy{Default: DataToken, Fields: map[string]DataRule{"/customer/email": DataToken, "/card": DataDrop}},
		Language:  "zh-Hans",
		Retention: Retention{Outputs: Duration(30 * Day), Sessions: Duration(365 * Day)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !got.Scripted() {
		t.Error("the model is not seen as scripted")
	}

	// What a version keeps is read back as the same.
	spec, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := readSpec(spec); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("read back %+v (%v)", again, err)
	}
}

// R: P7, Q6, Q11
func TestDefaults(t *testing.T) {
	t.Parallel()
	a, faults := parse("slug: x\nmodel: scripted/some-model\nplaybook: x.star\n")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if a.Name != "x" || a.Team != "main" || a.Permission.Mode != permission.AskFirst || a.Language != "en" || !a.Scripted() {
		t.Errorf("got %+v", a)
	}
	if want := (Budgets{StepsPerTurn: 40, CallsPerTurn: 50, Calls: 200, SameToolInARow: 20, Window: 128_000, WorkingTime: Duration(20 * time.Minute)}); a.Budgets != want {
		t.Errorf("budgets %+v", a.Budgets)
	}
	if e := a.Escalation; e.OnExpiry != "fail" || e.ExpiresAfter.Std() != 72*time.Hour || e.Hold.Std() != 10*time.Second || e.Quorum != 1 || e.Priority != PriorityNormal {
		t.Errorf("escalation %+v", e)
	}
}

// R: D (appendix): refused with the line, what was expected, the nearest name.
// case: harness A26
func TestFaults(t *testing.T) {
	t.Parallel()
	const head = "slug: x\nmodel: scripted/m\nplaybook: m.star\n" // lines 1 to 3
	for source, want := range map[string]string{
		"":                             "a.yaml: the file is empty",
		"- a\n- b":                     "a.yaml:1: want a mapping (key: value), got a list",
		"slug: x":                      "a.yaml:1: the key model is missing",
		head + "a: [1":                 "a.yaml:4: not YAML: ",
		head + "modle: y":              "a.yaml:4: modle: this key is not known; did you mean model?",
		head + "qqqqqq: y":             "a.yaml:4: qqqqqq: this key is not known; there are budgets, data, ",
		head + "slug: y":               "a.yaml:4: slug: this key stands on line 1 already",
		head + "---\nslug: y":          "a.yaml:4: a second document begins here",
		"slug: Refunds Desk\nmodel: m": `a.yaml:1: slug: want small letters, digits and hyphens, such as refunds-desk, got "Refunds Desk"`,
		"slug: x\nmodel: gpt":          `a.yaml:2: model: want provider/model, such as scripted/refunds, got "gpt"`,
		"slug: x\nmodel: gemini/x":     "a.yaml:2: model: this build has no models of gemini; it has those of scripted, anthropic, openai",
		"slug: x\nmodel: openia/x":     "a.yaml:2: model: this build has no models of openia; did you mean openai?",
		"slug: x\nmodel: openai/dear\nbudgets:\n  cost_usd: 1\n":              "a.yaml:3: budgets.cost_usd: the price of openai/dear is not known, so this limit could not be kept: add the model to prices in baton.yaml",
		"slug: x\nmodel: script/p":                                            "a.yaml:2: model: this build has no models of script; did you mean scripted?",
		"slug: x\nmodel: scripted/p":                                          "a.yaml:2: model: a scripted model needs a playbook",
		head + "name: 12":                                                     `a.yaml:4: name: want a text; put it in quotes, got "12"`,
		head + "name:":                                                        "a.yaml:4: name: want a text, got nothing",
		head + `name: "a\0b"`:                                                 "a.yaml:4: name: the text holds a NUL character",
		head + "tools: query_db":                                              `a.yaml:4: tools: want a list, got "query_db"`,
		head + "tools: [query_bd]":                                            "a.yaml:4: tools: there is no tool query_bd; did you mean query_db?",
		head + "tools:\n- query_db\n- query_db":                               "a.yaml:6: tools[1]: query_db is listed already",
		head + "data_source: shp":                                             "a.yaml:4: data_source: there is no data source shp; did you mean shop?",
		head + "data_source: warehouse":                                       "a.yaml:4: data_source: there is no data source warehouse; there are shop; it is defined under data_sources in baton.yaml, which a server reads when it starts: see docs/configuration.md",
		head + "hosts: [\"http://x\"]":                                        `a.yaml:4: hosts[0]: want a host name, such as api.example.com, got "http://x"`,
		head + "permission: {mode: aks}":                                      `a.yaml:4: permission.mode: want one of read_only, ask, auto, got "aks"; did you mean ask?`,
		head + "permission: {rules: [{do: deny}]}":                            "a.yaml:4: permission.rules[0]: the key tool is missing",
		head + "permission: {rules: [{tool: \"*\"}]}":                         "a.yaml:4: permission.rules[0]: the key do is missing",
		head + "permission:\n  rules:\n  - {tool: \"*\", do: allow, wen: {}}": "a.yaml:6: permission.rules[0].wen: this key is not known; did you mean when?",
		head + "permission: {rules: [{tool: \"*\", do: deny, when: {a: {ltt: 3}}}]}":     "permission.rules[0].when.a.ltt: this key is not known; did you mean lt?",
		head + "permission: {rules: [{tool: \"*\", do: deny, when: {a: {lt: x}}}]}":      `when.a.lt: want a number, got "x"`,
		head + "permission: {rules: [{tool: \"*\", do: deny, when: {a: &a {not: *a}}}]}": "the value is nested too deep",
		head + "permission: {rules: [{tool: \"*\", do: deny, when: {a: &a [*a]}}]}":      "the value is nested too deep",
		head + "permission: {rules: [{tool: \"*\", do: deny, when: {a: {runs: [7]}}}]}":  "when.a.runs: want a command, or a list of them",
		head + "permission: {rules: [{tool: \"*\", do: deny, when: {a: {}}}]}":           "when.a: want at least one of lt, lte",
		head + "budgets: {calls: 0}":                     `a.yaml:4: budgets.calls: want a whole number from 1 to 2147483647, got "0"`,
		head + "budgets: {calls: 010}":                   `want a whole number`,
		head + "budgets: {calls: many}":                  `budgets.calls: want a whole number from 1 to 2147483647, got "many"`,
		head + "budgets: {cost_usd: -1}":                 `budgets.cost_usd: want a sum above 0 with at most 6 decimal places, got "-1"`,
		head + "budgets: {cost_usd: 0.0000001}":          `budgets.cost_usd: want a sum`,
		head + "budgets: {timeout: 0s}":                  `budgets.timeout: want a time from 1s to 1h, such as 30s, 20m, 72h or 30d, got "0s"`,
		head + "budgets: {timeout: -5s}":                 `budgets.timeout: want a time from 1s`,
		head + "budgets: {timeout: 60000}":               `budgets.timeout: want a time from 1s`,
		head + "budgets: {timeout: 60s, deadline: 30s}":  `budgets.deadline: want at least the timeout, 1m, got 30s`,
		head + "budgets: {working_time: 2h, step: 1}":    "budgets.step: this key is not known; did you mean steps_per_turn?",
		head + "escalation: {hold: 31m}":                 "escalation.hold: want a time from 0s to 30m",
		head + "escalation: {on_expiry: approve}":        "escalation.on_expiry: want fail, continue, reject or option:<id>",
		head + "escalation: {quorum: 1.5}":               "escalation.quorum: want a whole number",
		head + "escalation: {no_self_approval: \"yes\"}": `escalation.no_self_approval: want true or false, got "yes"`,
		head + "data: {fields: {email: drop}}":           "data.fields.email: want a JSON pointer, such as /customer/email",
		head + "language: English":                       "language: want a language, such as en or zh-Hans",
		head + "retention: {outputs: 10x}":               "retention.outputs: want a time",
		head + "a: &a [*a]":                              "a.yaml:4: ",
		"slug: \xff":                                     "the file is not UTF-8",
		"#" + strings.Repeat("x", maxFileBytes):          "more than 262144",
	} {
		_, faults := parse(source)
		if !strings.Contains(faults.Error(), want) {
			t.Errorf("%.80q:\ngot  %v\nwant %s", source, faults, want)
		}
	}
}

// R: M1, P7
func TestACostIsLimitedWhereThePriceIsKnown(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"slug: x\nmodel: openai/priced\nbudgets: {cost_usd: 1}",
		"slug: x\nmodel: openai/dear\nbudgets: {tokens: 1000}",
		"slug: x\nmodel: scripted/x\nplaybook: ./x.star\nbudgets: {cost_usd: 1}",
	} {
		if _, faults := parse(source); len(faults) > 0 {
			t.Errorf("%q: %v", source, faults)
		}
	}
}

func TestAllFaultsAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	_, faults := parse("slug: X!\nmodle: y\nbudgets:\n  calls: 0\n  tokens: none\nlanguage: English\n")
	var lines []int
	for _, f := range faults {
		lines = append(lines, f.Line)
	}
	if want := []int{1, 1, 2, 4, 5, 6}; !reflect.DeepEqual(lines, want) {
		t.Errorf("faults on lines %v, want %v:\n%v", lines, want, faults)
	}
	p := faults.Problem()
	if p.Code != "definition_invalid" || p.Params["n"] != 6 || len(p.Members["errors"].([]Fault)) != 6 {
		t.Errorf("problem %+v", p)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30d": 30 * Day, "1d12h": 36 * time.Hour, "72h": 72 * time.Hour, "20m": 20 * time.Minute, "1h30m": 90 * time.Minute, "0s": 0, "500ms": 500 * time.Millisecond,
	} {
		d, err := ParseDuration(text)
		if err != nil || d.Std() != want {
			t.Errorf("%s: %s %v", text, d.Std(), err)
		}
		if again, err := ParseDuration(d.String()); err != nil || again != d {
			t.Errorf("%s was written as %s", text, d)
		}
	}
	for _, text := range []string{"", "5", "d", "-1d", "1dd", "1d-5h", "3 days", "1.5d"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q was read as %s", text, d)
		}
	}
}

// R: D (appendix): the playbook is read relative to the file.
func TestReadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("agents/books/a.star", "def reply(s): pass")
	f, err := ReadFile(write("agents/a.yaml", "slug: a\nmodel: scripted/a\nplaybook: books/a.star\n"))
	if err != nil || string(f.Playbook) != "def reply(s): pass" || f.Name != "a.yaml" {
		t.Errorf("got %q %v", f.Playbook, err)
	}
	if f, err := ReadFile(write("b.yaml", "slug: a\nmodel: other/a\n")); err != nil || f.Playbook != nil {
		t.Errorf("without a playbook: %q %v", f.Playbook, err)
	}
	for name, path := range map[string]string{
		"missing file":     filepath.Join(dir, "none.yaml"),
		"a folder":         dir,
		"missing playbook": write("c.yaml", "slug: a\nmodel: scripted/a\nplaybook: none.star\n"),
		"too large":        write("d.yaml", strings.Repeat("#", maxFileBytes+1)),
	} {
		if _, err := ReadFile(path); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

// R: Y1
func FuzzParse(f *testing.F) {
	for _, seed := range []string{full, "a: &a [*a, *a]", "<<: {a: b}", "? [a]\n: b", "!!binary x", "slug: !!int 1", "budgets: {cost_usd: 1e9999999}", "\t", "a: |2\n x", "{[", "permission: {rules: [{when: {a: .nan}}]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		a, faults := parse(source)
		if len(faults) > 0 {
			_ = faults.Error()
			return
		}
		if a.Slug == "" || a.Model == "" {
			t.Fatalf("%q was accepted as %+v", source, a)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Fatalf("%q: %v", source, err)
		}
	})
}
