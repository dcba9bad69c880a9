package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"baton/internal/definition"
	"baton/internal/postgres/embedded"
	"baton/internal/problem"
)

// masked stands for a secret wherever configuration is shown.
const masked = "••••••"

// config is what is in force: flags over environment over baton.yaml over
// defaults.
type config struct {
	values  map[string]string
	sources map[string]string // default, baton.yaml, environment, flag
	file    string            // the configuration file that was read, if any
	text    []byte            // and its text, for the rooms that read parts of it
	unknown []string          // keys of the file that nobody knows
}

func (c config) addr() string        { return c.values["addr"] }
func (c config) dataDir() string     { return c.values["data_dir"] }
func (c config) databaseURL() string { return c.values["database_url"] }
func (c config) publicURL() string   { return c.values["public_url"] }
func (c config) secretKey() string   { return c.values["secret_key"] }

// hasProvider says whether a provider of models is set up: by a key, or by an
// address that may want none.
func (c config) hasProvider(name string) bool {
	return c.values[name+"_api_key"] != "" || c.values[name+"_base_url"] != ""
}

// installationKeys stand in baton.yaml beside the settings; the rooms that they
// belong to read them.
var installationKeys = []string{"data_sources", "hosts", "mcp_servers", "oauth", "prices", "smtp", "tools_dir"}

// ownVariables are those of the environment that are no settings: where the
// file and Postgres's programs are.
var ownVariables = []string{"BATON_CONFIG", "BATON_PG_BIN"}

// testVariables begin like ours and are for those who work on Baton.
var testVariables = []string{"BATON_TEST_", "BATON_REQUIRE_BROWSER", "BATON_REQUIRE_NPM", "BATON_SCREENSHOTS", "BATON_LONG_FAULTS"}

// loadConfig reads the configuration and finds all that is wrong with it.
// Problems: setting_invalid, setting_unknown, config_unreadable, config_missing.
func loadConfig(flags *pflag.FlagSet, environ func(string) (string, bool)) (config, error) {
	c := config{values: map[string]string{}, sources: map[string]string{}}
	for _, s := range settings {
		c.values[s.key], c.sources[s.key] = s.def, "default"
	}
	all, err := c.readFile(flags, environ)
	if err != nil {
		return c, err
	}
	for _, s := range settings {
		if value, ok := environ(s.env); ok {
			c.values[s.key], c.sources[s.key] = value, "environment "+s.env
		}
		if flag := flags.Lookup(s.flag()); flag != nil && flag.Changed {
			c.values[s.key], c.sources[s.key] = flag.Value.String(), "flag --"+s.flag()
		}
	}
	for _, s := range settings {
		if err := s.validate(c.values[s.key], c.sources[s.key]); err != nil {
			all = append(all, err)
		}
	}
	return c, all.orNil()
}

// unknownVariables says which variables look like settings and are none: a
// mistyped name would be passed over in silence.
func (c config) unknownVariables(environ []string) (warnings []string) {
	known := slices.Clone(ownVariables)
	for _, s := range settings {
		known = append(known, s.env)
	}
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		forTests := slices.ContainsFunc(testVariables, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		if !strings.HasPrefix(name, "BATON_") || forTests || slices.Contains(known, name) || bytes.Contains(c.text, []byte("${"+name+"}")) {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s is set, but there is no such setting. Did you mean %s?", name, nearestOf(name, known)))
	}
	slices.Sort(warnings)
	return warnings
}

// readFile reads --config or BATON_CONFIG, which must exist, or else
// baton.yaml in the working directory, which may. What is wrong with single
// lines is listed.
func (c *config) readFile(flags *pflag.FlagSet, environ func(string) (string, bool)) (wrong problems, err error) {
	path, by := "baton.yaml", ""
	if value, ok := environ("BATON_CONFIG"); ok && value != "" {
		path, by = value, "BATON_CONFIG"
	}
	if flag := flags.Lookup("config"); flag != nil && flag.Changed {
		path, by = flag.Value.String(), "--config"
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if by == "" {
			return nil, nil
		}
		return nil, problem.Wrap(err, problem.NotFound, "config_missing", problem.Params{"file": path, "by": by})
	}
	if err != nil {
		return nil, problem.Wrap(err, problem.Invalid, "config_unreadable", problem.Params{"file": path, "said": err.Error()})
	}
	c.file, c.text = path, text
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, problem.Wrap(err, problem.Invalid, "config_unreadable", problem.Params{"file": path, "said": err.Error()})
	}
	if len(root.Content) == 0 {
		return nil, nil // an empty file says nothing
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, problem.New(problem.Invalid, "config_unreadable", problem.Params{"file": path, "said": "line 1: a list of `setting: value` lines was expected"})
	}
	for i := 0; i < len(top.Content); i += 2 {
		if err := c.take(path, top.Content[i], top.Content[i+1]); err != nil {
			wrong = append(wrong, err)
		}
	}
	return wrong, nil
}

func (c *config) take(path string, key, value *yaml.Node) error {
	where := fmt.Sprintf("%s line %d", path, key.Line)
	for _, s := range settings {
		if s.key == key.Value {
			if value.Kind != yaml.ScalarNode {
				return problem.New(problem.Invalid, "setting_invalid",
					problem.Params{"setting": s.key, "source": where, "value": "a list or a block", "mend": "write one value"}).At(s.key)
			}
			c.values[s.key], c.sources[s.key] = value.Value, where
			return nil
		}
	}
	for _, known := range installationKeys {
		if known == key.Value {
			return nil
		}
	}
	c.unknown = append(c.unknown, key.Value)
	return problem.New(problem.Invalid, "setting_unknown",
		problem.Params{"setting": key.Value, "source": where, "nearest": nearestSetting(key.Value)}).At(key.Value)
}

func nearestSetting(name string) string {
	known := slices.Clone(installationKeys)
	for _, s := range settings {
		known = append(known, s.key)
	}
	return nearestOf(name, known)
}

func nearestOf(name string, known []string) string {
	best, distance := "", 1<<30
	for _, k := range known {
		if d := levenshtein.ComputeDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// installation reads the parts of baton.yaml that agents name entries of.
func (c config) installation() (definition.Installation, error) {
	others := slices.Clone(c.unknown) // said already
	for _, s := range settings {
		others = append(others, s.key)
	}
	found, faults := definition.ParseInstallation(c.file, c.text, os.LookupEnv, others...)
	if len(faults) > 0 {
		return found, problem.New(problem.Invalid, "config_invalid", problem.Params{"file": c.file, "n": len(faults), "faults": faults.Error()})
	}
	if found.ToolsDir == "" {
		return found, nil
	}
	dir := found.ToolsDir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(c.file), dir)
	}
	var err error
	if found.Tools, faults, err = definition.ReadTools(dir); err != nil {
		return found, problem.Wrap(err, problem.Invalid, "config_unreadable", problem.Params{"file": dir, "said": err.Error()})
	}
	for name, t := range found.Tools {
		if _, there := found.OAuth[t.Auth.OAuth]; t.Auth.OAuth != "" && !there {
			faults = append(faults, definition.Fault{File: t.File, Path: "auth.oauth", Reason: fmt.Sprintf("there is no %s under oauth in %s", t.Auth.OAuth, c.file)})
		}
		if slices.Contains(ownTools(), name) {
			faults = append(faults, definition.Fault{File: t.File, Path: "name", Reason: name + " is a tool that comes with Baton; take another name"})
		}
	}
	if len(faults) > 0 {
		return found, problem.New(problem.Invalid, "config_invalid", problem.Params{"file": dir, "n": len(faults), "faults": faults.Error()})
	}
	return found, nil
}

// print writes what is in force and where each value came from, secrets masked,
// and what commands would work on.
func (c config) print(w io.Writer) {
	for _, s := range settings {
		value, source := c.values[s.key], c.sources[s.key]
		if s.key == "secret_key" && value == "" && c.databaseURL() == "" {
			source = "made on first use, in " + c.keyFile()
			if _, err := os.Stat(c.keyFile()); err == nil {
				value, source = masked, "file "+c.keyFile()
			}
		}
		if s.secret && value != "" {
			value = masked
		}
		fmt.Fprintf(w, "%-19s %-40s # %s\n", s.key+":", value, source)
	}
	fmt.Fprintf(w, "# Commands work on %s.\n", c.worksOn())
}

// worksOn is what a command would open, for people.
func (c config) worksOn() string {
	if c.databaseURL() != "" {
		return "the database that database_url names"
	}
	what, dir := "the server", c.dataDir()
	run, running := embedded.Owner(dir)
	if !running {
		if run, running = embedded.Owner(demoDir(c)); running {
			what, dir = "the demo", demoDir(c)
		}
	}
	switch {
	case running && run.Addr != "":
		return fmt.Sprintf("%s, with %s that runs there (process %d, http://%s)", dir, what, run.PID, run.Addr)
	case running:
		return fmt.Sprintf("%s, with %s that runs there (process %d)", dir, what, run.PID)
	case installed(dir):
		return dir + "; no server runs there"
	}
	return dir + ", where nothing is yet; a server makes it"
}

func (c config) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: logLevel(c.values["log_level"])}
	if c.values["log_format"] == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
