package house

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"golang.org/x/mod/modfile"
)

// secrets are what an operator writes to .env, as the file's comment says.
var secrets = map[string]string{
	"POSTGRES_PASSWORD": strings.Repeat("5e", 16),
	"BATON_SECRET_KEY":  strings.Repeat("0123456789abcdef", 4),
}

func readCompose(t *testing.T, values map[string]string) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: root, Environment: maps.Clone(values), // the loader adds to it
		ConfigFiles: []types.ConfigFile{{Filename: "docker-compose.yml", Content: []byte(read(t, "docker-compose.yml"))}},
	})
}

func ourCompose(t *testing.T) *types.Project {
	t.Helper()
	c, err := readCompose(t, secrets)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// R: G3
func TestComposeRefusesToStartWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for name := range secrets {
		if _, err := readCompose(t, map[string]string{name: "x"}); err == nil {
			t.Errorf("it starts with %s alone", name)
		}
	}
}

// R: G3
func TestComposeHangsTogether(t *testing.T) {
	t.Parallel()
	c := ourCompose(t)
	for name, s := range c.Services {
		if s.Build == nil && !regexp.MustCompile(`:v?\d`).MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		}
		for other, on := range s.DependsOn {
			if c.Services[other].HealthCheck == nil || on.Condition != types.ServiceConditionHealthy {
				t.Errorf("%s starts without waiting until %s is well", name, other)
			}
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: %s can be reached from other machines, without https", name, p.Published)
			}
		}
	}
	server := c.Services["server"]
	if server.Deploy == nil || server.Deploy.Replicas == nil || *server.Deploy.Replicas != 2 || len(server.Ports) > 0 {
		t.Error("there are no two servers behind the proxy")
	}
	for _, name := range []string{"postgres", "proxy", "mail"} {
		if _, there := c.Services[name]; !there {
			t.Errorf("there is no %s", name)
		}
	}
	if proxy := c.Configs["proxy"].Content; !strings.Contains(proxy, "dynamic a server 8080") || !strings.Contains(proxy, "/readyz") {
		t.Errorf("the proxy is set up so:\n%s", proxy)
	}
}

// R: G3, G4
func TestTheServerTakesTheSettingsInCompose(t *testing.T) {
	t.Parallel()
	server := buildServer(t)
	known, servers := settingNames(t), 0
	c := ourCompose(t)
	for name, s := range c.Services {
		if s.Build == nil {
			continue
		}
		servers++
		config := exec.CommandContext(t.Context(), server, "config")
		config.Dir = t.TempDir()
		file := filepath.Join(config.Dir, "installation.yaml")
		if err := os.WriteFile(file, []byte(c.Configs["baton"].Content), 0o600); err != nil {
			t.Fatal(err)
		}
		for key, value := range s.Environment {
			if !slices.Contains(known, key) && key != "BATON_CONFIG" {
				t.Errorf("%s: the server has no setting %s", name, key)
			}
			if key == "BATON_CONFIG" {
				value = &file // where compose puts it there
			}
			config.Env = append(config.Env, key+"="+*value)
		}
		out, err := config.CombinedOutput()
		if err != nil {
			t.Errorf("%s: server config: %v\n%s", name, err, out)
		}
		for key := range s.Environment {
			if key != "BATON_CONFIG" && !strings.Contains(string(out), "environment "+key) {
				t.Errorf("%s: %s is not in force:\n%s", name, key, out)
			}
		}
		for key, secret := range secrets {
			if strings.Contains(string(out), secret) {
				t.Errorf("%s: the configuration shows %s:\n%s", name, key, out)
			}
		}
	}
	if servers == 0 {
		t.Error("docker-compose.yml has no server")
	}
}

// built is the program, made once for the tests that run it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func buildServer(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the server")
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "baton-house-"); built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-buildvcs=false", "-o", built.dir, "./cmd/server")
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatalf("build the server: %v", built.err)
	}
	return filepath.Join(built.dir, "server")
}

// settingNames are the environment variables that the server reads.
func settingNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, f := range source(t).files {
		if f.room != "cmd/server" || f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if field, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := field.Key.(*ast.Ident); ok && key.Name == "env" {
					if value, err := constants(nil).text(field.Value); err == nil {
						names = append(names, value)
					}
				}
			}
			return true
		})
	}
	return names
}

// R: G3
func TestTheImageIsBuiltWithOurGoAndRunsUnprivileged(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`^\d+\.\d+`).FindString(mod.Go.Version)
	dockerfile := read(t, "Dockerfile")
	for _, want := range []string{"FROM golang:" + version + " AS", "CGO_ENABLED=0", "\nUSER nonroot\n", "ENTRYPOINT [\"/server\"]"} {
		if !strings.Contains(dockerfile, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
}
