package templates

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/a-h/templ/generator"
	parser "github.com/a-h/templ/parser/v2"

	"baton/static"
)

// sources are the templates of this room and below: path and text.
func sources(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".templ") {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	if err != nil || len(found) < 3 {
		t.Fatalf("found %d templates: %v", len(found), err)
	}
	return found
}

func TestGeneratedFilesAreThoseOfTheTemplates(t *testing.T) {
	t.Parallel()
	for path := range sources(t) {
		parsed, err := parser.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		var made bytes.Buffer
		if _, err := generator.Generate(parsed, &made, generator.WithVersion(templ.Version()), generator.WithFileName(filepath.ToSlash(path))); err != nil {
			t.Fatal(err)
		}
		want, err := format.Source(made.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(strings.TrimSuffix(path, ".templ") + "_templ.go")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(fileNames.ReplaceAll(got, nil), fileNames.ReplaceAll(want, nil)) {
			t.Errorf("%s is newer than what was generated from it: run go tool templ generate", path)
		}
	}
}

// The generator notes where it was started from.
var fileNames = regexp.MustCompile("FileName: `[^`]*`")

// R: K3
// case: abuse A05
func TestTemplatesHaveNothingInline(t *testing.T) {
	t.Parallel()
	for what, pattern := range map[string]*regexp.Regexp{
		"a style attribute":         regexp.MustCompile(`[\s"]style=`),
		"a handler":                 regexp.MustCompile(`\son[a-z]+=`),
		"a style block":             regexp.MustCompile(`<style`),
		"a script block":            regexp.MustCompile(`<script[^>]*>[^<]`),
		"a script without a source": regexp.MustCompile(`<script(?:\s+type=\S+)?\s*>`),
		"an address elsewhere":      regexp.MustCompile(`(?:src|href|action)=[{"\s]*"?https?:`),
		"unescaped markup":          regexp.MustCompile(`templ\.Raw|@templ\.JSON`),
		"a script of templ's":       regexp.MustCompile(`(?m)^(?:script|css) \w+\(`),
	} {
		for path, text := range sources(t) {
			if found := pattern.FindString(text); found != "" {
				t.Errorf("%s has %s: %q", path, what, found)
			}
		}
	}
}

// R: I18N — all words come from the catalogue.
func TestTemplatesHaveNoWordsOfTheirOwn(t *testing.T) {
	t.Parallel()
	tagText := regexp.MustCompile(`>([^<>{}@\n]*[A-Za-z]{2,}[^<>{}@\n]*)<`)
	spoken := regexp.MustCompile(`(?:aria-label|title|placeholder|alt)="([^"]+)"`)
	allowed := map[string]bool{"Baton": true, "server user link ": true}
	for path, text := range sources(t) {
		for _, pattern := range []*regexp.Regexp{tagText, spoken} {
			for _, m := range pattern.FindAllStringSubmatch(text, -1) {
				if word := m[1]; !allowed[word] && strings.TrimSpace(word) != "" {
					t.Errorf("%s says %q itself", path, word)
				}
			}
		}
	}
}

func TestEveryAssetThatATemplateNamesExists(t *testing.T) {
	t.Parallel()
	sprite, _ := static.Open("icons/sprite.svg")
	for path, text := range sources(t) {
		for _, m := range regexp.MustCompile(`static\.URL\("([^"]+)"\)`).FindAllStringSubmatch(text, -1) {
			if _, ok := static.Open(m[1]); !ok {
				t.Errorf("%s wants %s", path, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`Icon\("([^"]+)"`).FindAllStringSubmatch(text, -1) {
			if !bytes.Contains(sprite.Body, []byte(`id="`+m[1]+`"`)) {
				t.Errorf("%s wants the icon %s", path, m[1])
			}
		}
	}
}
