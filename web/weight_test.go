package web

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"baton/internal/i18n"
	"baton/static"
)

// What a first visit may weigh, in bytes as they go over the wire.
const (
	pageMost   = 25 << 10
	scriptMost = 28 << 10
	allMost    = 70 << 10 // without fonts
)

// R: UI — the budget of each page, in each language.
func TestEachPageStaysWithinItsWeight(t *testing.T) {
	t.Parallel()
	for _, language := range i18n.Languages() {
		ctx := i18n.With(t.Context(), language)
		pages := sample{zh: language == i18n.Chinese}.gallery(ctx)
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			var b bytes.Buffer
			if err := pages[name].Render(ctx, &b); err != nil {
				t.Fatal(err)
			}
			html := compressed(ctx, t, pages[name])
			scripts := scriptsOf(t, b.String())
			all := html + scripts + len(mustAsset(t, "css/app.css").Gzip) + len(mustAsset(t, "icons/sprite.svg").Gzip)
			if html > pageMost || scripts > scriptMost || all > allMost {
				t.Errorf("%s in %s: %d bytes, %d of scripts, %d in all; at most %d, %d, %d", name, language, html, scripts, all, pageMost, scriptMost, allMost)
			}
		}
	}
}

var (
	scriptSource = regexp.MustCompile(`<script[^>]* src="/static/[0-9a-f]+/([^"]+)"`)
	imported     = regexp.MustCompile(`from "\./([^"]+)"`)
)

// scriptsOf is what the scripts of a page weigh, with all that they import.
func scriptsOf(t *testing.T, page string) (n int) {
	t.Helper()
	seen := map[string]bool{}
	var load func(name string)
	load = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		asset := mustAsset(t, name)
		n += len(asset.Gzip)
		for _, m := range imported.FindAllSubmatch(asset.Body, -1) {
			load("js/" + string(m[1]))
		}
	}
	for _, m := range scriptSource.FindAllStringSubmatch(page, -1) {
		load(m[1])
	}
	if !seen["js/app.js"] || strings.Contains(page, `class="app"`) && !seen["js/live.js"] {
		t.Fatalf("found the scripts %v: the scan is broken", slices.Sorted(maps.Keys(seen)))
	}
	return n
}

func mustAsset(t *testing.T, name string) static.Asset {
	t.Helper()
	asset, ok := static.Open(name)
	if !ok {
		t.Fatalf("no asset %s", name)
	}
	return asset
}
