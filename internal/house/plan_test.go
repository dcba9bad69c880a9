package house

// plan says, for each room, which rooms of ours its code may import. An arrow
// that isn't here is a decision still to be taken; a room that isn't here has no
// place in the house yet. docs/design.md gives the reasons. Rooms are listed
// from the top down, some before they are built; nothing points up.
//
// Names below internal/ are written without it.
var plan = map[string][]string{
	"cmd/server": {"..."}, // it builds everything

	// The door for HTTP and what it shows.
	"web":             {"web/api", "jobs", "templates", "static", "escalation/decide", "escalation", "sessions", "definition", "tools/breaker", "tools", "permission", "auth", "live", "idempotency", "page", "markdown", "i18n", "telemetry", "insights", "redact", "clean", "id", "problem"},
	"web/api":         {"jobs", "escalation/decide", "escalation", "sessions", "definition", "tools/breaker", "tools", "permission", "auth", "live", "idempotency", "page", "i18n", "insights", "id", "problem"},
	"web/browsertest": {}, // a browser for tests
	// Pages name assets by their address, which carries the assets' digest.
	"templates":             {"templates/ui", "markdown", "i18n", "static"},
	"templates/ui":          {"i18n", "static"},
	"static":                {},
	"static/icons/generate": {},
	"migrations":            {},
	"house":                 {},

	// The loop, and work in the background. They are reached by jobs; cmd/server
	// alone imports them (and web, for the pages of insights).
	"agent":     {"grounding", "escalation", "sessions", "definition", "tools/breaker", "tools", "llm", "jobs", "live", "auth", "permission", "redact", "clean", "secrets", "telemetry", "postgres", "i18n", "id", "problem"},
	"notify":    {"escalation", "sessions", "definition", "jobs", "live", "auth", "mail", "secrets", "redact", "safehttp", "markdown", "telemetry", "postgres", "i18n", "page", "id", "problem"},
	"insights":  {"escalation", "sessions", "definition", "jobs", "live", "auth", "telemetry", "postgres", "page", "id", "problem"},
	"retention": {"escalation", "sessions", "jobs", "live", "auth", "telemetry", "postgres", "id", "problem"},
	"drills":    {"escalation", "sessions", "definition", "jobs", "live", "auth", "tools", "tools/drill", "telemetry", "postgres", "page", "id", "problem"},
	"demo":      {"escalation", "sessions", "definition", "auth", "tools", "postgres", "id", "problem"}, // one of its tools is its own
	"bench":     {"escalation", "sessions", "definition", "auth", "tools", "postgres", "id", "problem"},

	// The nouns.
	"escalation/decide": {"escalation", "sessions", "definition", "permission", "auth", "jobs", "live", "tools", "idempotency", "redact", "secrets", "telemetry", "postgres", "page", "i18n", "id", "problem"},
	"escalation":        {"sessions", "definition", "permission", "auth", "jobs", "live", "tools", "redact", "clean", "secrets", "idempotency", "telemetry", "postgres", "page", "i18n", "id", "problem"},
	"sessions":          {"definition", "jobs", "live", "auth", "tools", "permission", "redact", "clean", "secrets", "idempotency", "telemetry", "postgres", "page", "i18n", "id", "problem"},
	"definition":        {"permission", "tools", "auth", "secrets", "idempotency", "postgres", "page", "id", "problem"},

	// Models know tools by their Spec alone: see vocabulary below.
	"llm":           {"tools", "id", "problem"},
	"llm/scripted":  {"llm", "tools", "id", "problem"},
	"llm/anthropic": {"llm/provider", "llm", "tools", "telemetry", "id", "problem"},
	"llm/openai":    {"llm/provider", "llm", "tools", "telemetry", "id", "problem"},
	"llm/provider":  {"llm", "tools", "safehttp", "id", "problem"}, // what both share
	"llm/wiretest":  {"llm", "tools"},                              // a provider, for tests

	// Tools, and what keeps them safe. A tool that talks to a person is the
	// agent's: nothing here knows sessions.
	"tools/builtin":  {"tools", "tools/httpcall", "permission", "safehttp", "process", "mail", "redact", "clean", "secrets", "markdown", "postgres", "id", "problem"},
	"tools/mcp":      {"tools", "permission", "safehttp", "process", "redact", "clean", "secrets", "id", "problem"},
	"tools/declared": {"definition", "tools", "tools/httpcall", "permission", "safehttp", "redact", "clean", "secrets", "id", "problem"},
	"tools/oauth":    {"tools", "safehttp", "secrets", "postgres"},
	"tools/httpcall": {"tools", "safehttp", "redact"},
	"tools/drill":    {"tools", "id", "problem"},
	"tools/breaker":  {"tools", "auth", "postgres", "problem"}, // people reset it
	"tools":          {"permission", "safehttp", "redact", "clean", "secrets", "telemetry", "postgres", "id", "problem"},

	// The ground floor.
	"jobs":              {"postgres", "telemetry", "id", "problem"},
	"live":              {"postgres", "telemetry", "id", "problem"},
	"auth":              {"postgres", "page", "id", "problem"},
	"idempotency":       {"postgres", "id", "problem"},
	"telemetry":         {"redact", "problem"},
	"mail":              {"safehttp", "problem"},
	"secrets":           {"auth", "postgres", "id", "problem"}, // its verbs ask auth.Can
	"safehttp":          {"problem"},
	"process":           {"problem"},
	"postgres/pgtest":   {"postgres/embedded", "postgres/migrate", "postgres"},
	"postgres/embedded": {"postgres", "problem"},
	"postgres/migrate":  {"postgres", "migrations", "problem"},
	"postgres":          {"problem"},
	"permission":        {"problem"},
	"redact":            {"problem"},
	"clean":             {"problem"},
	"grounding":         {},
	"markdown":          {"problem"},
	"i18n":              {"problem"},
	"page":              {"id", "problem"},
	"id":                {"problem"},
	"problem":           {},
}

// forTests are the rooms that only tests may import, from anywhere.
var forTests = []string{"postgres/pgtest", "web/browsertest", "llm/wiretest"}

// testsMay is what the tests of a room use beside what lies below it.
var testsMay = map[string][]string{
	"agent":        {"llm/scripted", "llm/anthropic", "llm/openai", "llm/provider"},                                                          // its model
	"demo":         {"llm", "llm/scripted", "tools/builtin", "tools/declared", "tools/httpcall", "mail", "safehttp", "permission", "redact"}, // they play the sample playbooks on real tools
	"llm/provider": {"llm/anthropic", "llm/openai"},                                                                                          // what both come to
	"house":        {"definition", "llm/scripted"},                                                                                           // they read the examples in docs/
}

// never are the ways that must not exist, however long: from the first of a
// pair to the second.
var never = []struct{ from, to, why string }{
	{"agent", "escalation/decide", "nothing that a model writes can make a decision (K6)"},
	{"tools", "escalation/decide", "no tool can answer a question (K6)"},
	{"tools/builtin", "escalation/decide", "no tool can answer a question (K6)"},
	{"tools/mcp", "escalation/decide", "no tool can answer a question (K6)"},
	{"tools/declared", "escalation/decide", "no tool can answer a question (K6)"},
	{"tools/drill", "escalation/decide", "no tool can answer a question (K6)"},
	{"llm", "escalation/decide", "no model can answer a question (K6)"},
	{"llm/scripted", "escalation/decide", "no model can answer a question (K6)"},
	{"llm/anthropic", "escalation/decide", "no model can answer a question (K6)"},
	{"llm/openai", "escalation/decide", "no model can answer a question (K6)"},
	{"llm/provider", "escalation/decide", "no model can answer a question (K6)"},
	{"web", "agent", "starting a session inserts a job; the loop runs elsewhere"},
	{"escalation/decide", "agent", "an answer inserts a job; the loop runs elsewhere"},
	{"sessions", "escalation", "a session counts its open questions and knows nothing of them"},
	{"tools", "sessions", "a tool is given what it needs"},
	{"templates", "tools", "pages are drawn from structs of their own"},
	{"cmd/server", "postgres/pgtest", "what tests need stays out of the program"},
	{"cmd/server", "llm/wiretest", "what tests need stays out of the program"},
	{"cmd/server", "web/browsertest", "what tests need stays out of the program"},
}

// vocabulary is all that the rooms of models may name of package tools: a model
// is told what a tool is and what a call became, and can't run one.
var vocabulary = []string{"Spec", "Call", "Result", "Output", "Item", "Failure", "Meta"}

// withSQL are the rooms that talk to a database.
var withSQL = []string{
	"cmd/server", "agent", "notify", "insights", "retention", "drills", "demo", "bench",
	"escalation", "escalation/decide", "sessions", "definition", "tools/builtin", "tools/breaker", "tools/oauth", "auth", "jobs", "live",
	"idempotency", "secrets", "telemetry", "page", "id", // page and id are arguments of queries
	"postgres", "postgres/embedded", "postgres/migrate", "postgres/pgtest",
}

// door is a package of others that few rooms may import.
type door struct {
	path  string   // it and all below it
	rooms []string // of ours, with "..." for all below; code only
	tests []string // rooms whose tests may, too
}

// doors are the packages of others that the house lets in at one place. The
// longest path that fits an import counts.
var doors = []door{
	{path: "github.com/labstack/echo", rooms: []string{"web", "web/api"}},
	// The viewers of the benchmark are programs, in the binary that serves them.
	{path: "github.com/gorilla/websocket", rooms: []string{"web", "cmd/server"}, tests: []string{"web/browsertest"}},
	{path: "github.com/a-h/templ", rooms: []string{"web", "templates", "templates/ui"}},
	{path: "github.com/pressly/goose", rooms: []string{"postgres/migrate"}},
	{path: "github.com/riverqueue/river/rivermigrate", rooms: []string{"postgres/migrate"}},
	{path: "github.com/riverqueue/river/riverdriver", rooms: []string{"postgres/migrate", "jobs"}},
	// A lower room has the arguments of its jobs, the room above the worker.
	{path: "github.com/riverqueue/river", rooms: []string{"jobs", "sessions", "escalation", "escalation/decide", "agent", "notify", "insights", "retention", "drills", "cmd/server"}},
	{path: "github.com/anthropics", rooms: []string{"llm/anthropic"}},
	{path: "github.com/openai", rooms: []string{"llm/openai"}},
	{path: "go.starlark.net", rooms: []string{"llm/scripted"}},
	{path: "github.com/modelcontextprotocol", rooms: []string{"tools/mcp", "web"}},
	{path: "github.com/yuin/goldmark", rooms: []string{"markdown"}},
	{path: "mvdan.cc/sh", rooms: []string{"permission"}},
	{path: "code.dny.dev/ssrf", rooms: []string{"safehttp"}},
	{path: "github.com/spf13", rooms: []string{"cmd/server"}},
	{path: "github.com/emersion/go-smtp", rooms: []string{"demo"}, tests: []string{"mail", "tools/builtin"}},
	{path: "net/smtp", rooms: []string{"mail"}, tests: []string{"demo"}},
	{path: "github.com/nicksnyder/go-i18n", rooms: []string{"i18n"}},
	{path: "github.com/google/uuid", rooms: []string{"id"}},
	{path: "github.com/chromedp", rooms: []string{"web/browsertest"}, tests: []string{"web", "cmd/server"}},
	{path: "pgregory.net/rapid", tests: []string{"..."}},
	{path: "go.uber.org/goleak", tests: []string{"..."}},
	{path: "testing", rooms: []string{"postgres/pgtest", "web/browsertest", "llm/wiretest"}, tests: []string{"..."}},
	// No SQL at the door, in what is shown, or in what is pure.
	{path: "github.com/jackc/pgx", rooms: withSQL, tests: []string{"..."}},
	// The harness classifies what Postgres says of a tool's work.
	{path: "github.com/jackc/pgx/v5/pgconn", rooms: append([]string{"tools"}, withSQL...), tests: []string{"..."}},
	{path: "database/sql"}, // one way to the database; migrate has a bridge of pgx's own
	{path: "net/http", rooms: []string{"cmd/server", "web", "web/api", "web/browsertest", "static", "safehttp", "live", "telemetry", "tools", "tools/builtin", "tools/httpcall", "tools/mcp", "tools/declared", "llm/provider", "llm/anthropic", "llm/openai", "llm/wiretest", "notify", "demo"}, tests: []string{"..."}},
	{path: "log", rooms: []string{}}, // log/slog has a longer path
	{path: "log/slog", rooms: []string{"..."}, tests: []string{"..."}},
	{path: "unsafe"},
	{path: "C"},
}
