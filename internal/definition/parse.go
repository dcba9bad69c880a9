package definition

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"baton/internal/permission"
)

// File is an agent's definition as an operator wrote it.
type File struct {
	Name     string // of the YAML file, for messages
	Source   []byte
	Playbook []byte // nil if there is none
}

// ReadFile reads a definition and the playbook that it names, which stands
// relative to it. Faults in the YAML are left to Parse; the errors here are of
// the files themselves.
func ReadFile(path string) (File, error) {
	source, err := readSmall(path)
	if err != nil {
		return File{}, fmt.Errorf("read definition: %w", err)
	}
	f := File{Name: filepath.Base(path), Source: source}
	agent, _ := Parse(File{Name: f.Name, Source: source, Playbook: []byte(" ")}, Known{})
	if agent.Playbook == "" {
		return f, nil
	}
	book := agent.Playbook
	if !filepath.IsAbs(book) {
		book = filepath.Join(filepath.Dir(path), book)
	}
	if f.Playbook, err = readSmall(book); err != nil {
		return File{}, fmt.Errorf("read playbook named in %s: %w", f.Name, err)
	}
	return f, nil
}

// readSmall reads a regular file of at most maxFileBytes (one more is read, so
// that the caller sees that there is more).
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Size() > maxFileBytes:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", path, info.Size(), maxFileBytes)
	}
	return os.ReadFile(path)
}

// Known is what exists in the installation for agents to name. A nil list is
// not checked.
type Known struct {
	Tools, DataSources, MCPServers []string
	Priced                         []string // the models of which a price is known
}

var (
	slugForm     = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	toolForm     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	ruleToolForm = regexp.MustCompile(`^([a-zA-Z0-9_-]{1,64}|\*)$`)
	nameForm     = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,62}$`)
	hostForm     = regexp.MustCompile(`^(\*|([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?(:[0-9]{1,5})?)$`)
	reasonForm   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	expiryForm   = regexp.MustCompile(`^(fail|continue|reject|option:[A-Za-z0-9_-]+)$`)
	languageForm = regexp.MustCompile(`^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$`)
)

// Parse reads an agent. It is pure. With faults the agent is what could be
// read, and is good for nothing but messages.
func Parse(f File, known Known) (Agent, Faults) {
	r := &reader{file: f.Name}
	a := defaults()
	root := r.document(f.Source)
	if root == nil {
		return a, r.faults.sorted()
	}
	seen := r.mapping(root, "", map[string]read{
		"slug":         r.matching(&a.Slug, slugForm, "small letters, digits and hyphens, such as refunds-desk"),
		"name":         r.text(&a.Name, 100),
		"team":         r.matching(&a.Team, slugForm, "a team's slug: small letters, digits and hyphens"),
		"model":        r.model(&a.Model),
		"playbook":     r.text(&a.Playbook, 500),
		"instructions": r.text(&a.Instructions, 100_000),
		"tools":        r.known(r.names(&a.Tools, toolForm, "a tool's name"), "tool", known.Tools),
		"data_source":  r.known(r.matching(&a.DataSource, nameForm, "a name from data_sources"), "data source", known.DataSources),
		"hosts":        r.names(&a.Hosts, hostForm, "a host name, such as api.example.com"),
		"secrets":      r.names(&a.Secrets, nameForm, "a secret's name"),
		"mcp_servers":  r.known(r.names(&a.MCPServers, nameForm, "a name from mcp_servers"), "MCP server", known.MCPServers),
		"permission":   func(n *yaml.Node, path string) { r.permission(n, path, &a.Permission, known.Tools) },
		"budgets":      func(n *yaml.Node, path string) { r.budgets(n, path, &a.Budgets) },
		"escalation":   func(n *yaml.Node, path string) { r.escalation(n, path, &a.Escalation) },
		"data":         func(n *yaml.Node, path string) { r.data(n, path, &a.Data) },
		"language":     r.matching(&a.Language, languageForm, "a language, such as en or zh-Hans"),
		"retention":    func(n *yaml.Node, path string) { r.retention(n, path, &a.Retention) },
	})
	for _, key := range []string{"slug", "model"} {
		if seen[key] == nil {
			r.refuse(root, "", Fault{Reason: "the key " + key + " is missing"})
		}
	}
	if a.Name == "" {
		a.Name = a.Slug
	}
	r.playbook(f, a, seen)
	if a.Budgets.CostMicros > 0 && !a.Scripted() && a.Model != "" && known.Priced != nil && !slices.Contains(known.Priced, a.Model) {
		r.refuse(seen["budgets"], "budgets.cost_usd", Fault{Reason: "the price of " + a.Model +
			" is not known, so this limit could not be kept: add the model to prices in baton.yaml, which a server reads when it starts"})
	}
	return a, r.faults.sorted()
}

// playbook checks what model and playbook say of each other, and the text.
func (r *reader) playbook(f File, a Agent, seen map[string]*yaml.Node) {
	refuse := func(reason string) {
		r.faults = append(r.faults, Fault{File: filepath.Base(a.Playbook), Reason: reason})
	}
	switch {
	case a.Scripted() && seen["playbook"] == nil:
		r.refuse(seen["model"], "model", Fault{Reason: "a scripted model needs a playbook: add the key playbook with the path of its file"})
	case a.Playbook == "":
	case f.Playbook == nil:
		r.refuse(seen["playbook"], "playbook", Fault{Reason: "the playbook's text is missing"})
	case len(f.Playbook) > maxFileBytes:
		refuse(fmt.Sprintf("the file has %d bytes, more than %d", len(f.Playbook), maxFileBytes))
	case !utf8.Valid(f.Playbook) || slices.Contains(f.Playbook, 0):
		refuse("the file is not UTF-8 text")
	}
}

// known reads with next, and then looks whether the names exist.
func (r *reader) known(next read, what string, names []string) read {
	return func(n *yaml.Node, path string) {
		before := len(r.faults)
		next(n, path)
		if names == nil || len(r.faults) > before {
			return
		}
		leaves := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			leaves = n.Content
		}
		for _, leaf := range leaves {
			if leaf = resolve(leaf); !slices.Contains(names, leaf.Value) {
				r.unknown(leaf, path, what, names)
			}
		}
	}
}

// definedUnder says where in baton.yaml what an agent names is defined.
var definedUnder = map[string]string{"data source": "data_sources", "MCP server": "mcp_servers"}

func (r *reader) unknown(n *yaml.Node, path, what string, names []string) {
	f := Fault{Reason: fmt.Sprintf("there is no %s %s", what, n.Value), Nearest: nearest(n.Value, names)}
	if f.Nearest == "" && len(names) > 0 {
		f.Reason += "; there are " + listed(names)
	}
	if key := definedUnder[what]; key != "" && f.Nearest == "" {
		f.Reason += fmt.Sprintf("; it is defined under %s in baton.yaml, which a server reads when it starts: see docs/configuration.md", key)
	}
	r.refuse(n, path, f)
}

func (r *reader) permission(n *yaml.Node, path string, p *permission.Policy, tools []string) {
	r.mapping(n, path, map[string]read{
		"mode": oneOf(r, &p.Mode, permission.ReadOnly, permission.AskFirst, permission.Auto),
		"rules": r.list(200, func(n *yaml.Node, path string) {
			var rule permission.Rule
			seen := r.mapping(n, path, map[string]read{
				"tool": func(n *yaml.Node, path string) {
					r.matching(&rule.Tool, ruleToolForm, "a tool's name, or \"*\" for all")(n, path)
					if rule.Tool != "" && rule.Tool != "*" && tools != nil && !slices.Contains(tools, rule.Tool) {
						r.unknown(n, path, "tool", tools)
					}
				},
				"do": oneOf(r, &rule.Do, permission.Allow, permission.Ask, permission.Deny),
				"when": func(n *yaml.Node, path string) {
					rule.When = map[string]any{}
					r.entries(n, path, func(key, value *yaml.Node, keyPath string) {
						rule.When[key.Value] = r.condition(value, keyPath, 0)
					})
				},
			})
			// A rule without its tool or verb would be one that never denies.
			for _, key := range []string{"tool", "do"} {
				if n.Kind == yaml.MappingNode && seen[key] == nil {
					r.refuse(n, path, Fault{Reason: "the key " + key + " is missing"})
				}
			}
			p.Rules = append(p.Rules, rule)
		}),
	})
}

func (r *reader) budgets(n *yaml.Node, path string, b *Budgets) {
	seen := r.mapping(n, path, map[string]read{
		"steps_per_turn":     r.whole(&b.StepsPerTurn, 1, math.MaxInt32),
		"calls_per_turn":     r.whole(&b.CallsPerTurn, 1, math.MaxInt32),
		"calls":              r.whole(&b.Calls, 1, math.MaxInt32),
		"same_tool_in_a_row": r.whole(&b.SameToolInARow, 1, math.MaxInt32),
		"tokens":             r.whole(&b.Tokens, 1, math.MaxInt64),
		"cost_usd":           r.micros(&b.CostMicros),
		"window":             r.whole(&b.Window, 1000, math.MaxInt32),
		"working_time":       r.duration(&b.WorkingTime, time.Second, maxSpan),
		"timeout":            r.duration(&b.Timeout, time.Second, maxTimeout),
		"deadline":           r.duration(&b.Deadline, time.Second, maxTimeout),
	})
	if b.Timeout > 0 && b.Deadline > 0 && b.Deadline < b.Timeout {
		r.refuse(seen["deadline"], path+".deadline", Fault{Expected: "at least the timeout, " + b.Timeout.String(), Got: b.Deadline.String()})
	}
}

func (r *reader) escalation(n *yaml.Node, path string, e *Escalation) {
	r.mapping(n, path, map[string]read{
		"priority":         oneOf(r, &e.Priority, PriorityLow, PriorityNormal, PriorityHigh),
		"on_expiry":        r.matching(&e.OnExpiry, expiryForm, "fail, continue, reject or option:<id>"),
		"expires_after":    r.duration(&e.ExpiresAfter, time.Second, maxSpan),
		"hold":             r.duration(&e.Hold, 0, maxHold),
		"quorum":           r.whole(&e.Quorum, 1, 20),
		"no_self_approval": r.boolean(&e.NoSelfApproval),
		"reason_codes":     r.names(&e.ReasonCodes, reasonForm, "small letters, digits and underscores, such as over_limit"),
	})
}

func (r *reader) data(n *yaml.Node, path string, d *DataPolicy) {
	r.mapping(n, path, map[string]read{
		"default": oneOf(r, &d.Default, DataPass, DataToken, DataDrop),
		"fields": func(n *yaml.Node, path string) {
			d.Fields = map[string]DataRule{}
			r.entries(n, path, func(key, value *yaml.Node, keyPath string) {
				if !strings.HasPrefix(key.Value, "/") || key.Value == "/" {
					r.refuse(key, keyPath, Fault{Expected: "a JSON pointer, such as /customer/email", Got: shown(key)})
				}
				var rule DataRule
				oneOf(r, &rule, DataPass, DataToken, DataDrop)(value, keyPath)
				d.Fields[key.Value] = rule
			})
		},
	})
}

func (r *reader) retention(n *yaml.Node, path string, t *Retention) {
	r.mapping(n, path, map[string]read{
		"outputs":  r.duration(&t.Outputs, time.Hour, maxSpan),
		"events":   r.duration(&t.Events, time.Hour, maxSpan),
		"sessions": r.duration(&t.Sessions, time.Hour, maxSpan),
	})
}
