package definition

import (
	"reflect"
	"strings"
	"testing"
)

func env(name string) (string, bool) {
	v, ok := map[string]string{"SHOP_DATABASE_URL": "postgres://reader:s3cret@db/shop", "EMPTY": ""}[name]
	return v, ok
}

// R: D (appendix), G4
func TestInstallation(t *testing.T) {
	t.Parallel()
	got, faults := ParseInstallation("baton.yaml", []byte(`
addr: 127.0.0.1:8080
data_sources: {shop: {url: "${SHOP_DATABASE_URL}"}}
hosts:
  payments.internal: {address: "127.0.0.1:9911", allow_private: true, honours_idempotency_key: true, auth: {header: Authorization, secret: psp}}
  api.example.com: {}
mcp_servers: {files: {command: ["npx", "server"], trusted: false}, web: {url: "https://mcp.example.com"}}
smtp: {address: "127.0.0.1:2525", from: "Baton <baton@example.org>"}
tools_dir: ./tools
prices:
  anthropic/claude-test: {input: 3, output: 15, cached_input: 0.30, cache_write: 3.75}
  openai/gpt-test: {input: 0.15, output: 0.6}
  openai/own: {input: 0, output: 0}
`), env, "addr")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := Installation{
		DataSources: map[string]DataSource{"shop": {URL: "postgres://reader:s3cret@db/shop"}},
		Hosts: map[string]Host{
			"payments.internal": {Address: "127.0.0.1:9911", AllowPrivate: true, HonoursIdempotencyKey: true, Auth: HostAuth{"Authorization", "psp"}},
			"api.example.com":   {},
		},
		MCPServers: map[string]MCPServer{"files": {Command: []string{"npx", "server"}}, "web": {URL: "https://mcp.example.com"}},
		SMTP:       SMTP{"127.0.0.1:2525", "Baton <baton@example.org>"},
		ToolsDir:   "./tools",
		Prices: map[string]Price{
			"anthropic/claude-test": {3_000_000, 15_000_000, 300_000, 3_750_000},
			"openai/gpt-test":       {Input: 150_000, Output: 600_000},
			"openai/own":            {},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if k := got.Known(nil); !reflect.DeepEqual(k, Known{DataSources: []string{"shop"}, MCPServers: []string{"files", "web"}, Priced: []string{"anthropic/claude-test", "openai/gpt-test", "openai/own"}}) {
		t.Errorf("known %+v", k)
	}
}

func TestInstallationFaults(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"addr: x": "baton.yaml:1: addr: this key is not known",
		"data_sources: {shop: {url: \"${SHOP_URL}\"}}":                                             "baton.yaml:1: data_sources.shop.url: the environment variable SHOP_URL is not set",
		"data_sources: {shop: {url: \"${}\"}}":                                                     "${} is not a variable's name",
		"data_sources: {shop: {url: \"${EMPTY}\"}}":                                                "data_sources.shop.url: want a Postgres URL",
		"data_sources: {shop: {}}":                                                                 "data_sources.shop: the key url is missing",
		"data_sources: {\"a b\": {url: \"postgres://x\"}}":                                         "want a name of letters",
		"data_sources: {s: {url: \"postgres://x\", statements: {Bad: {}}}}":                        "a statement's name has small letters, digits and underscores",
		"data_sources: {s: {url: \"postgres://x\", statements: {a: {sql: x}}}}":                    "data_sources.s: the key write_url is missing",
		"data_sources: {s: {url: \"postgres://x\", statements: {a: {sql: x, effect: read_only}}}}": "want one of idempotent, side_effect",
		"data_sources: {s: {url: \"postgres://x\", statements: {a: {words: {en: {title: T, sentence: \"{ordr}\"}}, params: {order: {type: text}}}}}}": `there is no parameter "ordr"; did you mean order?`,
		"data_sources: {s: {url: \"postgres://x\", statements: {a: {params: {x: {type: mony}}}}}}":                                                    "did you mean money?",
		"data_sources: {s: {url: \"postgres://x\", statements: {a: {params: {x: {type: date, values: [a]}}}}}}":                                       "only a parameter of type text has values",
		"data_sources: {s: {url: \"postgres://x\", statements: {a: {params: {x: {type: text, many: true}}}}}}":                                        "a statement takes no lists",
		"data_sources: {s: {url: \"postgres://x\", statements: {a: {params: {x: {type: text, pattern: \"(\"}}}}}}":                                    "want a regular expression",
		"oauth: {x: {token_url: \"https://id.example.com/token?x=1\", client_id: a, client_secret: b}}":                                               "want an address such as",
		"oauth: {x: {token_url: \"https://id.example.com/token\", client_id: a}}":                                                                     "oauth.x: the key client_secret is missing",
		"hosts: {x: {adress: \"a:1\"}}":                            "hosts.x.adress: this key is not known; did you mean address?",
		"hosts: {x: {address: nowhere}}":                           `hosts.x.address: want host:port, got "nowhere"`,
		"hosts: {x: {auth: {header: Authorization}}}":              "hosts.x.auth: the key secret is missing",
		"prices: {gpt: {input: 1, output: 1}}":                     `prices.gpt: want a model, provider/model, of anthropic or openai, got "gpt"`,
		"prices: {scripted/x: {input: 1, output: 1}}":              "want a model, provider/model, of anthropic or openai",
		"prices: {openai/x: {input: 1}}":                           "prices.openai/x: the key output is missing",
		"prices: {openai/x: {input: -1, output: 1}}":               "prices.openai/x.input: want a sum, 0 or more",
		"prices: {openai/x: {input: 1, output: 0.0000001}}":        "with at most 6 decimal places",
		"mcp_servers: {x: {}}":                                     "mcp_servers.x: one of the keys command and url is due, not both",
		"mcp_servers: {x: {url: u, command: [c]}}":                 "one of the keys command and url is due, not both",
		"smtp: {address: \"127.0.0.1:25\"}":                        "smtp: the key from is missing",
		"data_sources: {shop: {url: \"mysql://root:hunter2@db\"}}": "want a Postgres URL, such as postgres://reader@db.example.com/shop",
	} {
		_, faults := ParseInstallation("baton.yaml", []byte(source), env)
		if !strings.Contains(faults.Error(), want) {
			t.Errorf("%s:\ngot  %v\nwant %s", source, faults, want)
		}
		if strings.Contains(faults.Error(), "hunter2") {
			t.Errorf("a password is repeated: %v", faults)
		}
	}
}
