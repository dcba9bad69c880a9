// Package browsertest looks at pages the way people do, in a real Chromium: for
// tests only.
//
// A test opens a tab in a look (width, light or dark, language, with or without
// scripts) and goes through a page with clicks and keys. Whatever the browser
// complains about meanwhile fails the test: a violation of the content security
// policy, an error in the console, a request that failed. Axe finds what people
// with other senses can't use, Shot keeps a picture.
//
// There is one browser per test binary, and a tab with cookies of its own per
// test. A package that uses it ends its TestMain with Stop. Where no Chromium is
// installed the tests are skipped and say so; BATON_REQUIRE_BROWSER=1 makes that
// a failure. BATON_SCREENSHOTS names a folder for the pictures.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Names under which distributions install Chromium, best first.
var binaries = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"}

// browser is the one of this test binary, started when a test first asks.
var browser struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop []func()
}

func start(t testing.TB) context.Context {
	t.Helper()
	path := find()
	if path == "" {
		if os.Getenv("BATON_REQUIRE_BROWSER") == "1" {
			t.Fatal("no Chromium found on PATH, and BATON_REQUIRE_BROWSER=1 asks for one: install chromium")
		}
		t.Skip("no Chromium found on PATH: browser tests are skipped (install chromium to run them)")
	}
	browser.once.Do(func() { browser.err = launch(path) })
	if browser.err != nil {
		t.Fatalf("start %s: %v", path, browser.err)
	}
	return browser.ctx
}

func find() string {
	for _, name := range binaries {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func launch(path string) error {
	profile, err := os.MkdirTemp("", "baton-browser-")
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.UserDataDir(profile),
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("font-render-hinting", "none"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root
	}
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	browser.ctx = ctx //nolint:fatcontext // made once, for all tests of the package
	browser.stop = []func(){
		func() {
			closing, done := context.WithTimeout(ctx, 10*time.Second)
			defer done()
			_ = chromedp.Cancel(closing) // asks it to close; the next two make sure
		},
		end, endAllocator,
		func() { _ = os.RemoveAll(profile) },
	}
	if err := chromedp.Do(ctx); err != nil {
		Stop()
		return fmt.Errorf("open: %w", err)
	}
	return nil
}

// Stop ends the browser, if one runs.
func Stop() {
	for _, f := range browser.stop {
		f()
	}
	browser.stop = nil
}
