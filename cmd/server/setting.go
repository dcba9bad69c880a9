package main

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"baton/internal/problem"
)

// setting is one line of the configuration: where it may come from, what it is
// when nobody says, and what is wrong with a value.
type setting struct {
	key    string // in baton.yaml, and the flag (with - for _)
	env    string
	def    string
	secret bool
	help   string
	check  func(value string) (mend string) // empty: the value is fine
}

var settings = []setting{
	{key: "addr", env: "BATON_ADDR", def: "127.0.0.1:8080", check: checkAddr,
		help: "address to serve pages on; port 0 picks a free one"},
	{key: "data_dir", env: "BATON_DATA_DIR", def: defaultDataDir(), check: notEmpty,
		help: "where the own Postgres and this machine's files are"},
	{key: "database_url", env: "DATABASE_URL", secret: true, check: checkDatabaseURL,
		help: "an existing Postgres (14 or newer) to use instead of the own one"},
	{key: "public_url", env: "BATON_PUBLIC_URL", check: checkPublicURL,
		help: "where people reach the pages, as in links that are sent; default http://<addr>"},
	{key: "secret_key", env: "BATON_SECRET_KEY", secret: true, check: checkSecretKey,
		help: "64 hex digits that seal secrets at rest; with the own Postgres a file beside its data by default"},
	{key: "log_format", env: "BATON_LOG_FORMAT", def: "text", check: oneOf("text", "json"),
		help: "text or json"},
	{key: "log_level", env: "BATON_LOG_LEVEL", def: "info", check: oneOf("debug", "info", "warn", "error"),
		help: "debug, info, warn or error"},
	{key: "anthropic_api_key", env: "ANTHROPIC_API_KEY", secret: true,
		help: "the key for Anthropic's models"},
	{key: "anthropic_base_url", env: "ANTHROPIC_BASE_URL", check: checkBaseURL,
		help: "another address that speaks like Anthropic's API"},
	{key: "openai_api_key", env: "OPENAI_API_KEY", secret: true,
		help: "the key for OpenAI's models, or for those of openai_base_url"},
	{key: "openai_base_url", env: "OPENAI_BASE_URL", check: checkBaseURL,
		help: "another address that speaks like OpenAI's Chat Completions"},
}

func (s setting) flag() string { return strings.ReplaceAll(s.key, "_", "-") }

// validate turns a wrong value into the problem setting_invalid, which names
// the setting, where the value came from, and the mend.
func (s setting) validate(value, source string) error {
	if s.check == nil {
		return nil
	}
	mend := s.check(value)
	if mend == "" {
		return nil
	}
	shown := value
	if s.secret {
		shown = masked
	}
	return problem.New(problem.Invalid, "setting_invalid",
		problem.Params{"setting": s.key, "source": source, "value": shown, "mend": mend}).At(s.key)
}

func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/baton"
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "baton")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "share", "baton")
}

func notEmpty(value string) string {
	if value == "" {
		return "name a folder, for instance /var/lib/baton"
	}
	return ""
}

func checkAddr(value string) string {
	const mend = "write host:port, for instance 127.0.0.1:8080, or :8080 for every interface"
	_, port, err := net.SplitHostPort(value)
	if err != nil {
		return mend
	}
	n, err := net.LookupPort("tcp", port) //nolint:noctx // names of ports stand in a table on the machine
	if err != nil || n < 0 {
		return mend
	}
	return ""
}

func checkDatabaseURL(value string) string {
	if value == "" || strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://") {
		return ""
	}
	return "write postgres://user:password@host:5432/database"
}

func checkPublicURL(value string) string {
	if value == "" {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "write the scheme and host only, for instance https://baton.example.org"
	}
	return ""
}

func checkBaseURL(value string) string {
	if value == "" {
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "write scheme, host and path, for instance https://llm.example.org/v1; a key has its own setting"
	}
	return ""
}

func checkSecretKey(value string) string {
	if value == "" {
		return ""
	}
	if len(value) != 64 || strings.Trim(strings.ToLower(value), "0123456789abcdef") != "" {
		return "make one with: openssl rand -hex 32"
	}
	return ""
}

func oneOf(words ...string) func(string) string {
	return func(value string) string {
		for _, w := range words {
			if value == w {
				return ""
			}
		}
		return "write one of: " + strings.Join(words, ", ")
	}
}

func logLevel(name string) slog.Level {
	var level slog.Level
	if err := level.UnmarshalText([]byte(name)); err != nil {
		panic(fmt.Sprintf("log level %q passed its check", name)) // a defect here, not the user's
	}
	return level
}
