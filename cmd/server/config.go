package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"baton/internal/definition"
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
}

func (c config) addr() string        { return c.values["addr"] }
func (c config) dataDir() string     { return c.values["data_dir"] }
func (c config) databaseURL() string { return c.values["database_url"] }
func (c config) publicURL() string   { return c.values["public_url"] }
func (c config) secretKey() string   { return c.values["secret_key"] }

// installationKeys stand in baton.yaml beside the settings; the rooms that they
// belong to read them.
var installationKeys = []string{"data_sources", "hosts", "mcp_servers", "smtp", "tools_dir"}

// loadConfig reads the configuration. Problems: setting_invalid,
// setting_unknown, config_unreadable.
func loadConfig(flags *pflag.FlagSet, environ func(string) (string, bool)) (config, error) {
	c := config{values: map[string]string{}, sources: map[string]string{}}
	for _, s := range settings {
		c.values[s.key], c.sources[s.key] = s.def, "default"
	}
	if err := c.readFile(flags, environ); err != nil {
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
			return c, err
		}
	}
	return c, nil
}

// readFile reads --config or BATON_CONFIG, which must exist, or else
// baton.yaml in the working directory, which may.
func (c *config) readFile(flags *pflag.FlagSet, environ func(string) (string, bool)) error {
	path, named := "baton.yaml", false
	if value, ok := environ("BATON_CONFIG"); ok && value != "" {
		path, named = value, true
	}
	if flag := flags.Lookup("config"); flag != nil && flag.Changed {
		path, named = flag.Value.String(), true
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil
	}
	if err != nil {
		return problem.Wrap(err, problem.Invalid, "config_unreadable", problem.Params{"file": path, "said": err.Error()})
	}
	c.file, c.text = path, text
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return problem.Wrap(err, problem.Invalid, "config_unreadable", problem.Params{"file": path, "said": err.Error()})
	}
	if len(root.Content) == 0 {
		return nil // an empty file says nothing
	}
	top := root.Content[0]
	if top.Kind != yaml.MappingNode {
		return problem.New(problem.Invalid, "config_unreadable", problem.Params{"file": path, "said": "line 1: a list of `setting: value` lines was expected"})
	}
	for i := 0; i < len(top.Content); i += 2 {
		if err := c.take(path, top.Content[i], top.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
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
	return problem.New(problem.Invalid, "setting_unknown",
		problem.Params{"setting": key.Value, "source": where, "nearest": nearestSetting(key.Value)}).At(key.Value)
}

func nearestSetting(name string) string {
	best, distance := "", 1<<30
	for _, s := range settings {
		if d := levenshtein.ComputeDistance(name, s.key); d < distance {
			best, distance = s.key, d
		}
	}
	for _, known := range installationKeys {
		if d := levenshtein.ComputeDistance(name, known); d < distance {
			best, distance = known, d
		}
	}
	return best
}

// installation reads the parts of baton.yaml that agents name entries of.
func (c config) installation() (definition.Installation, error) {
	others := make([]string, len(settings))
	for i, s := range settings {
		others[i] = s.key
	}
	found, faults := definition.ParseInstallation(c.file, c.text, os.LookupEnv, others...)
	if len(faults) > 0 {
		return found, problem.Wrap(faults, problem.Invalid, "config_unreadable", problem.Params{"file": c.file, "said": faults[0].Error()})
	}
	return found, nil
}

// print writes what is in force and where each value came from, secrets masked.
func (c config) print(w io.Writer) {
	for _, s := range settings {
		value := c.values[s.key]
		if s.secret && value != "" {
			value = masked
		}
		fmt.Fprintf(w, "%-13s %-40s # %s\n", s.key+":", value, c.sources[s.key])
	}
}

func (c config) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: logLevel(c.values["log_level"])}
	if c.values["log_format"] == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
