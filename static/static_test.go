package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestAnAddressCarriesTheDigestOfAllAssets(t *testing.T) {
	t.Parallel()
	if got, want := URL("css/app.css"), "/static/"+Digest()+"/css/app.css"; got != want || len(Digest()) != 8 {
		t.Errorf("URL = %q, want %q", got, want)
	}
}

func TestEveryAssetHasATypeAndItsCompressedFormIsTheSame(t *testing.T) {
	t.Parallel()
	for name, a := range assets().assets {
		if a.Type == "" || len(a.Body) == 0 {
			t.Errorf("%s has type %q and %d bytes", name, a.Type, len(a.Body))
		}
		if a.Gzip == nil {
			continue
		}
		r, err := gzip.NewReader(bytes.NewReader(a.Gzip))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(r); err != nil || !bytes.Equal(body, a.Body) {
			t.Errorf("%s: unpacks to something else (%v)", name, err)
		}
	}
}

// The sheet is written in parts; each of them is served.
func TestEachPartOfTheSheetIsInIt(t *testing.T) {
	t.Parallel()
	parts, err := filepath.Glob("css/*.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if !slices.Contains(sheets, strings.TrimSuffix(filepath.Base(part), ".css")) {
			t.Errorf("%s is in no sheet", part)
		}
	}
	a, _ := Open("css/app.css")
	for _, m := range regexp.MustCompile(`url\(\.\./([^)]+)\)`).FindAllSubmatch(a.Body, -1) {
		if _, ok := Open(string(m[1])); !ok {
			t.Errorf("the sheet asks for %s, which isn't there", m[1])
		}
	}
	if opened, closed := bytes.Count(a.Body, []byte("{")), bytes.Count(a.Body, []byte("}")); opened != closed {
		t.Errorf("%d braces open, %d close", opened, closed)
	}
}

// The budget: what a first visit loads, compressed.
func TestAssetsStayWithinTheirBudget(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"css/app.css": 12 << 10, "icons/sprite.svg": 5 << 10, "vendor/htmx-4.0.1.min.js": 14 << 10} {
		a, ok := Open(name)
		if !ok || len(a.Gzip) > limit {
			t.Errorf("%s: %d bytes compressed, at most %d", name, len(a.Gzip), limit)
		}
	}
	for name, a := range assets().assets {
		if strings.HasPrefix(name, "js/") && len(a.Gzip) > 4<<10 {
			t.Errorf("%s: %d bytes compressed, at most 4 KiB", name, len(a.Gzip))
		}
	}
	for _, font := range []string{"fonts/inter.woff2", "fonts/jetbrains-mono.woff2"} {
		if a, _ := Open(font); len(a.Body) > 50_000 {
			t.Errorf("%s: %d bytes", font, len(a.Body))
		}
	}
}

// R: UI — what isn't ours is what it says it is.
func TestVendoredFilesHaveTheDigestsOnRecord(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("vendor/vendor.json")
	if err != nil {
		t.Fatal(err)
	}
	var vendored []struct{ File, Name, Version, Licence, Source, SHA384 string }
	if err := json.Unmarshal(raw, &vendored); err != nil {
		t.Fatal(err)
	}
	licences, err := os.ReadFile("vendor/LICENSES.txt")
	if err != nil {
		t.Fatal(err)
	}
	onRecord := map[string]bool{}
	for _, v := range vendored {
		onRecord[v.File] = true
		a, ok := Open(v.File)
		if !ok {
			t.Errorf("%s isn't there", v.File)
			continue
		}
		sum := sha512.Sum384(a.Body)
		if got := "sha384-" + base64.StdEncoding.EncodeToString(sum[:]); got != v.SHA384 {
			t.Errorf("%s has the digest %s", v.File, got)
		}
		if v.Version == "" || v.Licence == "" || !strings.HasPrefix(v.Source, "https://") {
			t.Errorf("%s: version, licence or source is missing", v.File)
		}
		if !bytes.Contains(licences, []byte(v.Name+" "+v.Version)) {
			t.Errorf("LICENSES.txt has no text for %s %s", v.Name, v.Version)
		}
	}
	for name := range assets().assets {
		foreign := strings.HasPrefix(name, "vendor/") && strings.HasSuffix(name, ".js") || strings.HasPrefix(name, "fonts/") || name == "icons/sprite.svg"
		if foreign && !onRecord[name] {
			t.Errorf("%s isn't in vendor.json", name)
		}
	}
}

func TestTheSpriteHasTheIconsOfTheList(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("icons/icons.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(list))
	if !slices.IsSorted(want) {
		t.Error("icons.txt isn't sorted")
	}
	sprite, _ := Open("icons/sprite.svg")
	var got []string
	for _, m := range regexp.MustCompile(`<symbol id="([^"]+)"`).FindAllSubmatch(sprite.Body, -1) {
		got = append(got, string(m[1]))
	}
	if !slices.Equal(got, want) {
		t.Errorf("sprite has %v, the list %v", got, want)
	}
}

// Scripts load nothing from elsewhere and make no code from text.
func TestScriptsKeepToThePolicy(t *testing.T) {
	t.Parallel()
	for name, a := range assets().assets {
		if !strings.HasPrefix(name, "js/") {
			continue
		}
		for _, banned := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function", "document.write", "http://", "https://", ".style."} {
			if bytes.Contains(a.Body, []byte(banned)) {
				t.Errorf("%s has %s", name, banned)
			}
		}
	}
}
