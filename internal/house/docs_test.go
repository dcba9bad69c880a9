package house

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	links := 0
	err := walk(func(name string) error {
		if path.Ext(name) != ".md" {
			return nil
		}
		for _, m := range markdownLink.FindAllStringSubmatch(read(t, name), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(root, path.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which isn't there", name, m[1])
			}
		}
		return nil
	})
	if err != nil || links < 5 {
		t.Fatalf("found %d links (%v): the scan is broken", links, err)
	}
}

var namedFile = regexp.MustCompile("`((?:[a-z0-9]+/)+[a-z0-9_]+\\.(?:go|templ|sql|txt|json))`")

func TestDocumentsNameFilesThatAreThere(t *testing.T) {
	t.Parallel()
	files := 0
	err := walk(func(name string) error {
		if path.Ext(name) != ".md" {
			return nil
		}
		for _, m := range namedFile.FindAllStringSubmatch(read(t, name), -1) {
			files++
			_, here := os.Stat(filepath.Join(root, m[1]))
			_, inside := os.Stat(filepath.Join(root, "internal", m[1]))
			if here != nil && inside != nil && !strings.Contains(m[1], "reports") { // the page of an example
				t.Errorf("%s names %s, which isn't there", name, m[1])
			}
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("found %d files (%v): the scan is broken", files, err)
	}
}

var roomRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\*to come\\*)?")

// generators are parts of the room that they write for.
var generators = []string{"static/icons/generate"}

func TestTheDesignNamesEachRoomThatIsThere(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{} // room -> is it still to come
	for _, m := range roomRow.FindAllStringSubmatch(read(t, "docs/design.md"), -1) {
		rows[m[1]] = m[2] != ""
	}
	there := map[string]bool{}
	for _, room := range source(t).rooms() {
		there[room] = !slices.Contains(generators, room)
	}
	maps.DeleteFunc(there, func(_ string, counts bool) bool { return !counts })
	for room := range there {
		if toCome, ok := rows[room]; !ok {
			t.Errorf("docs/design.md has no row for %s", room)
		} else if toCome {
			t.Errorf("docs/design.md says that %s is to come, and it is there", room)
		}
	}
	for room, toCome := range rows {
		if !there[room] && !toCome {
			t.Errorf("docs/design.md has a row for %s, which isn't there", room)
		}
	}
}

// R: G4 — whoever reads README.md knows all settings.
func TestTheReadmeNamesEachSetting(t *testing.T) {
	t.Parallel()
	readme, settings := read(t, "README.md"), settingNames(t)
	for _, name := range settings {
		if !strings.Contains(readme, "| `"+name+"` |") {
			t.Errorf("README.md has no row for the setting %s", name)
		}
	}
	if len(settings) < 5 {
		t.Fatalf("found %d settings: the scan is broken", len(settings))
	}
}

// R: I5 — and all commands.
func TestTheReadmeNamesEachCommand(t *testing.T) {
	t.Parallel()
	server, readme := buildServer(t), read(t, "README.md")
	named := 0
	for queue := []string{""}; len(queue) > 0; queue = queue[1:] {
		help, err := exec.CommandContext(t.Context(), server, append(strings.Fields(queue[0]), "--help")...).Output()
		if err != nil {
			t.Fatalf("server%s --help: %v", queue[0], err)
		}
		_, list, group := strings.Cut(string(help), "Available Commands:\n")
		if !group {
			if named++; !strings.Contains(readme, "`server"+queue[0]+"`") && !strings.Contains(readme, "`server"+queue[0]+" ") {
				t.Errorf("README.md doesn't name server%s", queue[0])
			}
			continue
		}
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if name := strings.Fields(line)[0]; name != "help" {
				queue = append(queue, queue[0]+" "+name)
			}
		}
	}
	if named < 10 {
		t.Fatalf("found %d commands: the scan is broken", named)
	}
}
