package house

import (
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/mod/modfile"
)

// compose is what these tests read of docker-compose.yml. The reference
// implementation's parser would bring a dozen modules for it.
type compose struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Build       string            `yaml:"build"`
		Environment map[string]string `yaml:"environment"`
		Volumes     []string          `yaml:"volumes"`
		Ports       []string          `yaml:"ports"`
		DependsOn   map[string]struct {
			Condition string `yaml:"condition"`
		} `yaml:"depends_on"`
		Healthcheck *struct {
			Test []string `yaml:"test"`
		} `yaml:"healthcheck"`
	} `yaml:"services"`
	Volumes map[string]any `yaml:"volumes"`
}

// secrets are what an operator writes to .env, as the file's comment says.
var secrets = map[string]string{
	"POSTGRES_PASSWORD": strings.Repeat("5e", 16),
	"BATON_SECRET_KEY":  strings.Repeat("0123456789abcdef", 4),
}

func readCompose(t *testing.T) compose {
	t.Helper()
	text, err := interpolate(read(t, "docker-compose.yml"), secrets)
	if err != nil {
		t.Fatal(err)
	}
	var c compose
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

var variable = regexp.MustCompile(`\$\{(\w+)(?::([-?])([^}]*))?\}`)

// interpolate puts values in as compose does: ${X}, ${X:-default}, ${X:?refusal}.
func interpolate(text string, values map[string]string) (string, error) {
	var refused error
	text = variable.ReplaceAllStringFunc(text, func(s string) string {
		m := variable.FindStringSubmatch(s)
		value := values[m[1]]
		switch {
		case value != "":
			return value
		case m[2] == "-":
			return m[3]
		}
		refused = fmt.Errorf("%s is not set: %s", m[1], m[3])
		return ""
	})
	return text, refused
}

func TestComposeRefusesToStartWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for name := range secrets {
		if _, err := interpolate(read(t, "docker-compose.yml"), map[string]string{name: "x"}); err == nil {
			t.Errorf("it starts with %s alone", name)
		}
	}
}

func TestComposeHangsTogether(t *testing.T) {
	t.Parallel()
	c := readCompose(t)
	for name, s := range c.Services {
		if s.Build == "" && !regexp.MustCompile(`:\d`).MatchString(s.Image) {
			t.Errorf("%s: the image %q has no version", name, s.Image)
		}
		for other, on := range s.DependsOn {
			if c.Services[other].Healthcheck == nil || on.Condition != "service_healthy" {
				t.Errorf("%s starts without waiting until %s is well", name, other)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[from]; !ok {
				t.Errorf("%s: the volume %s isn't declared", name, from)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s: %s can be reached from other machines, without https", name, p)
			}
		}
	}
}

// R: G3, G4
func TestTheServerTakesTheSettingsInCompose(t *testing.T) {
	t.Parallel()
	server := buildServer(t)
	known, servers := settingNames(t), 0
	for name, s := range readCompose(t).Services {
		if s.Build == "" {
			continue
		}
		servers++
		config := exec.CommandContext(t.Context(), server, "config")
		config.Dir = t.TempDir()
		for key, value := range s.Environment {
			if !slices.Contains(known, key) {
				t.Errorf("%s: the server has no setting %s", name, key)
			}
			config.Env = append(config.Env, key+"="+value)
		}
		out, err := config.CombinedOutput()
		if err != nil {
			t.Errorf("%s: server config: %v\n%s", name, err, out)
		}
		for key := range s.Environment {
			if !strings.Contains(string(out), "environment "+key) {
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
