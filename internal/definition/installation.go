package definition

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Installation is what baton.yaml defines for agents to name.
type Installation struct {
	DataSources map[string]DataSource
	Hosts       map[string]Host
	MCPServers  map[string]MCPServer
	SMTP        SMTP
	OAuth       map[string]OAuth
	ToolsDir    string // of declared HTTP tools; empty if there are none
	// Tools are those of ToolsDir by name, once ReadTools has read them.
	Tools  map[string]DeclaredTool
	Prices map[string]Price // by model, provider/model
}

// Price is what a model costs: millionths of a US dollar for a million tokens.
// The last two are 0 where they are not told apart from Input.
type Price struct{ Input, Output, CachedInput, CacheWrite int64 }

// DataSource is a Postgres that query_db may read, by a SELECT-only role, and in
// which change_db may run the statements that stand here, by a role of its own.
type DataSource struct {
	URL        string // may hold a password
	WriteURL   string // as URL; empty if there are no statements
	Statements map[string]Statement
}

// Host is what the installation says about a host that agents call.
type Host struct {
	Address      string // host:port to dial instead of the name; empty: the name
	AllowPrivate bool   // private and loopback addresses are allowed
	// HonoursIdempotencyKey makes a write with a key safe to repeat.
	HonoursIdempotencyKey bool
	Auth                  HostAuth
}

// HostAuth names the secret that goes into a header. Zero: none.
type HostAuth struct {
	Header string
	Secret string
}

// MCPServer is a program or an address that gives tools.
type MCPServer struct {
	Command []string
	URL     string
	Trusted bool // its annotations are believed
}

// OAuth is what this installation is to an authorization server, which grants it
// access to a service by client credentials.
type OAuth struct {
	TokenURL     string
	ClientID     string
	ClientSecret string // the name of a secret
	Scopes       []string
	Audience     string // empty: the server wants none
}

// SMTP is where send_email delivers.
type SMTP struct {
	Address string
	From    string
}

// Known is what the installation has for agents to name, beside the tools.
func (i Installation) Known(tools []string) Known {
	k := Known{Tools: tools, DataSources: []string{}, MCPServers: []string{}, Priced: []string{}}
	for name := range i.DataSources {
		k.DataSources = append(k.DataSources, name)
	}
	for name := range i.MCPServers {
		k.MCPServers = append(k.MCPServers, name)
	}
	for model := range i.Prices {
		k.Priced = append(k.Priced, model)
	}
	slices.Sort(k.Priced)
	slices.Sort(k.DataSources)
	slices.Sort(k.MCPServers)
	return k
}

var (
	variable    = regexp.MustCompile(`\$\{([^}]*)\}`)
	envForm     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerForm  = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
	dialForm    = regexp.MustCompile(`^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$`)
	urlForm     = regexp.MustCompile(`^(postgres|postgresql)://.|^[a-z_]+=`)
	addressForm = regexp.MustCompile(`^https?://[^\s/@?#]+(/[^\s?#]*)?$`)
	scopeForm   = regexp.MustCompile(`^[!#-\[\]-~]{1,200}$`)
	// A statement's tool is change_db__NAME, of at most 64 characters.
	statementForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,50}$`)
	mailForm      = regexp.MustCompile(`^[^@\s<>]+@[^@\s<>]+$|^[^<>\r\n]+ <[^@\s<>]+@[^@\s<>]+>$`)
)

// ParseInstallation reads these parts of baton.yaml. lookup finds environment
// variables for ${NAME}. others are the file's top-level keys that belong to
// somebody else; they are passed over.
func ParseInstallation(name string, source []byte, lookup func(string) (string, bool), others ...string) (Installation, Faults) {
	r := &reader{file: name, expand: func(text string) (string, error) { return expandVariables(text, lookup) }}
	var i Installation
	if len(bytes.TrimSpace(source)) == 0 {
		return i, nil // an installation that defines nothing
	}
	root := r.document(source)
	if root == nil {
		return i, r.faults
	}
	keys := map[string]read{
		"data_sources": func(n *yaml.Node, path string) { i.DataSources = named(r, n, path, r.dataSource) },
		"hosts":        func(n *yaml.Node, path string) { i.Hosts = named(r, n, path, r.host) },
		"mcp_servers":  func(n *yaml.Node, path string) { i.MCPServers = named(r, n, path, r.mcpServer) },
		"oauth":        func(n *yaml.Node, path string) { i.OAuth = named(r, n, path, r.oauth) },
		"smtp": func(n *yaml.Node, path string) {
			r.required(n, path, r.mapping(n, path, map[string]read{
				"address": r.matching(&i.SMTP.Address, dialForm, "host:port"),
				"from":    r.matching(&i.SMTP.From, mailForm, "a mail address"),
			}), "address", "from")
		},
		"tools_dir": r.text(&i.ToolsDir, 500),
		"prices": func(n *yaml.Node, path string) {
			i.Prices = namedBy(r, n, path, realModel, "a model, provider/model, of "+Anthropic+" or "+OpenAI, r.price)
		},
	}
	for _, key := range others {
		keys[key] = func(*yaml.Node, string) {}
	}
	r.mapping(root, "", keys)
	return i, r.faults.sorted()
}

// named reads a mapping from names to entries of one type.
func named[T any](r *reader, n *yaml.Node, path string, each func(n *yaml.Node, path string) T) map[string]T {
	return namedBy(r, n, path, nameForm.MatchString, "a name of letters, digits, dots, hyphens and underscores", each)
}

// namedBy is named for names of another form.
func namedBy[T any](r *reader, n *yaml.Node, path string, fits func(string) bool, expected string, each func(n *yaml.Node, path string) T) map[string]T {
	all := map[string]T{}
	r.entries(n, path, func(key, value *yaml.Node, keyPath string) {
		if !fits(key.Value) {
			r.refuse(key, keyPath, Fault{Expected: expected, Got: shown(key)})
		}
		all[key.Value] = each(value, keyPath)
	})
	return all
}

// realModel says whether a text names a model that has a price.
func realModel(name string) bool { return ValidModel(name) && !Scripted(name) }

// required adds a fault for each key that a mapping lacks.
func (r *reader) required(n *yaml.Node, path string, seen map[string]*yaml.Node, keys ...string) {
	for _, key := range keys {
		if n.Kind == yaml.MappingNode && seen[key] == nil {
			r.refuse(n, path, Fault{Reason: "the key " + key + " is missing"})
		}
	}
}

func (r *reader) dataSource(n *yaml.Node, path string) (d DataSource) {
	seen := r.mapping(n, path, map[string]read{
		"url": r.postgresURL(&d.URL), "write_url": r.postgresURL(&d.WriteURL),
		"statements": func(n *yaml.Node, path string) {
			d.Statements = r.namedStatements(n, path, named(r, n, path, r.statement))
		},
	})
	r.required(n, path, seen, "url")
	if len(d.Statements) > 0 {
		r.required(n, path, seen, "write_url")
	}
	return d
}

// namedStatements gives statements their names.
func (r *reader) namedStatements(n *yaml.Node, path string, all map[string]Statement) map[string]Statement {
	for name, s := range all {
		if !statementForm.MatchString(name) {
			r.refuse(n, path+"."+name, Fault{Reason: "a statement's name has small letters, digits and underscores, such as close_order"})
		}
		s.Name = name
		all[name] = s
	}
	return all
}

// postgresURL reads an address that may hold a password: it is not repeated.
func (r *reader) postgresURL(dst *string) read {
	return func(n *yaml.Node, path string) {
		url, ok := r.scalar(n, path, "a Postgres URL")
		if ok && !urlForm.MatchString(url) {
			r.refuse(n, path, Fault{Expected: "a Postgres URL, such as postgres://reader@db.example.com/shop"})
		}
		*dst = url
	}
}

func (r *reader) host(n *yaml.Node, path string) (h Host) {
	r.mapping(n, path, map[string]read{
		"address":                 r.matching(&h.Address, dialForm, "host:port"),
		"allow_private":           r.boolean(&h.AllowPrivate),
		"honours_idempotency_key": r.boolean(&h.HonoursIdempotencyKey),
		"auth": func(n *yaml.Node, path string) {
			r.required(n, path, r.mapping(n, path, map[string]read{
				"header": r.matching(&h.Auth.Header, headerForm, "a header's name"),
				"secret": r.matching(&h.Auth.Secret, nameForm, "a secret's name"),
			}), "header", "secret")
		},
	})
	return h
}

func (r *reader) oauth(n *yaml.Node, path string) (o OAuth) {
	seen := r.mapping(n, path, map[string]read{
		"token_url":     r.matching(&o.TokenURL, addressForm, "an address such as https://id.example.com/oauth/token"),
		"client_id":     r.text(&o.ClientID, 500),
		"client_secret": r.matching(&o.ClientSecret, nameForm, "a secret's name"),
		"scopes":        r.names(&o.Scopes, scopeForm, "a scope"),
		"audience":      r.text(&o.Audience, 500),
	})
	r.required(n, path, seen, "token_url", "client_id", "client_secret")
	return o
}

func (r *reader) mcpServer(n *yaml.Node, path string) (m MCPServer) {
	seen := r.mapping(n, path, map[string]read{
		"command": r.list(100, func(n *yaml.Node, path string) {
			var word string
			r.text(&word, 1000)(n, path)
			m.Command = append(m.Command, word)
		}),
		"url":     r.text(&m.URL, 1000),
		"trusted": r.boolean(&m.Trusted),
	})
	if n.Kind == yaml.MappingNode && (seen["command"] == nil) == (seen["url"] == nil) {
		r.refuse(n, path, Fault{Reason: "one of the keys command and url is due, not both"})
	}
	return m
}

// price reads what a model costs, in US dollars for a million tokens.
func (r *reader) price(n *yaml.Node, path string) (p Price) {
	r.required(n, path, r.mapping(n, path, map[string]read{
		"input":        r.sum(&p.Input, 0),
		"output":       r.sum(&p.Output, 0),
		"cached_input": r.sum(&p.CachedInput, 1),
		"cache_write":  r.sum(&p.CacheWrite, 1),
	}), "input", "output")
	return p
}

// expandVariables replaces each ${NAME}; one that is not set is an error that
// names it, never an empty text.
func expandVariables(text string, lookup func(string) (string, bool)) (string, error) {
	var missing []string
	out := variable.ReplaceAllStringFunc(text, func(ref string) string {
		name := ref[2 : len(ref)-1]
		if !envForm.MatchString(name) {
			missing = append(missing, fmt.Sprintf("%s is not a variable's name", ref))
			return ""
		}
		value, ok := lookup(name)
		if !ok {
			missing = append(missing, fmt.Sprintf("the environment variable %s is not set", name))
		}
		return value
	})
	if missing != nil {
		return "", fmt.Errorf("%s", strings.Join(missing, "; "))
	}
	return out, nil
}
