package browsertest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/axe/axe.min.js
var axe string

// patience is how long one action may take on a busy machine.
const patience = 60 * time.Second

// Look is how a page is looked at.
type Look struct {
	Width, Height int64
	Dark          bool
	Language      string // as in Accept-Language
	NoScripts     bool
}

// Looks that tests name.
var (
	Desk  = Look{Width: 1440, Height: 900, Language: "en"}
	Phone = Look{Width: 390, Height: 844, Language: "en"}
)

// Looks are those that every page is to be seen in. Where a browser is required
// (CI) or pictures are wanted these are all eight: wide and narrow, light and
// dark, English and Chinese. Elsewhere two that differ in everything: looking
// takes a second each.
func Looks() []Look {
	if os.Getenv("BATON_REQUIRE_BROWSER") != "1" && os.Getenv("BATON_SCREENSHOTS") == "" {
		far := Phone
		far.Dark, far.Language = true, "zh-CN"
		return []Look{Desk, far}
	}
	var all []Look
	for _, look := range []Look{Desk, Phone} {
		for _, dark := range []bool{false, true} {
			for _, language := range []string{"en", "zh-CN"} {
				look.Dark, look.Language = dark, language
				all = append(all, look)
			}
		}
	}
	return all
}

// String names a look for pictures: en-light-1440.
func (l Look) String() string {
	light := "light"
	if l.Dark {
		light = "dark"
	}
	return fmt.Sprintf("%s-%s-%d", l.Language[:2], light, l.Width)
}

// Tab is one page in the browser, with cookies of its own.
type Tab struct {
	t    testing.TB
	ctx  context.Context
	look Look

	mu         sync.Mutex
	complaints []string
	expected   []string
}

// Open opens a tab. It closes at the end of the test, which fails if the
// browser complained about anything that Expect didn't name.
func Open(t testing.TB, look Look) *Tab {
	t.Helper()
	parent := start(t)
	ctx, end := chromedp.NewContext(parent, chromedp.WithNewBrowserContext())
	tab := &Tab{t: t, ctx: ctx, look: look}
	if err := chromedp.Do(ctx); err != nil {
		end()
		t.Fatalf("open a tab: %v", err)
	}
	if err := chromedp.Listen(ctx, tab.hear); err != nil {
		t.Fatalf("listen to the tab: %v", err)
	}
	t.Cleanup(func() {
		end()
		for _, c := range tab.Complaints() {
			t.Errorf("the browser complained: %s", c)
		}
	})
	phone := look.Width < 700
	options := []chromedp.EmulateViewportOption{}
	if phone {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	tab.do(
		chromedp.EmulateViewport(look.Width, look.Height, options...),
		tab.media(),
		call(network.Enable, network.EnableParams{}),
		call(log.Enable, cdp.Empty{}),
		call(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": look.Language}}),
		call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: look.NoScripts}),
	)
	return tab
}

// media tells the page how its reader's system is set up.
func (tab *Tab) media(more ...*emulation.MediaFeature) chromedp.Action[chromedp.Void] {
	scheme := "light"
	if tab.look.Dark {
		scheme = "dark"
	}
	return call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: append([]*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}, more...)})
}

// ForceColors lets the reader's system choose all colours, as high contrast
// themes do.
func (tab *Tab) ForceColors() {
	tab.t.Helper()
	tab.do(tab.media(&emulation.MediaFeature{Name: "forced-colors", Value: "active"}))
}

// hear runs inside the loop that reads from the browser: it only takes notes.
func (tab *Tab) hear(event any) {
	note := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		note = "uncaught: " + e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			note += " " + x.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			note = "console: "
			for _, a := range e.Args {
				note += string(a.Value) + a.Description
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Source == "security" || e.Entry.Source == "violation" {
			note = string(e.Entry.Source) + ": " + e.Entry.Text + " " + e.Entry.URL
		}
	case *network.EventLoadingFailed:
		if !e.Canceled {
			note = "request failed: " + e.ErrorText + " " + string(e.Type)
		}
	}
	if note == "" {
		return
	}
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.complaints = append(tab.complaints, note)
}

// Expect says that complaints with this text in them are part of the test: the
// console also tells of pages that answer with an error status.
func (tab *Tab) Expect(text string) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	tab.expected = append(tab.expected, text)
}

// Complaints are what the browser complained about and nobody expected.
func (tab *Tab) Complaints() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	var left []string
next:
	for _, c := range tab.complaints {
		for _, e := range tab.expected {
			if strings.Contains(c, e) {
				continue next
			}
		}
		left = append(left, c)
	}
	return left
}

func (tab *Tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, end := context.WithTimeout(tab.ctx, patience)
	defer end()
	if err := chromedp.Do(ctx, steps...); err != nil {
		tab.t.Fatalf("%s: %v", tab.look, err)
	}
}

// SetCookie sets a cookie for the server at url.
func (tab *Tab) SetCookie(url, name, value string) {
	tab.t.Helper()
	tab.do(call(network.SetCookie, network.SetCookieParams{Name: name, Value: value, URL: url, HTTPOnly: new(true)}))
}

// SetZone puts the tab into a time zone.
func (tab *Tab) SetZone(name string) {
	tab.t.Helper()
	tab.do(call(emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: name}))
}

// Go opens an address and waits until it has loaded.
func (tab *Tab) Go(url string) {
	tab.t.Helper()
	tab.do(chromedp.Navigate(url))
}

// Click clicks the first visible element that the selector matches, with the
// mouse.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	tab.do(tab.click(selector))
}

// Follow clicks, and waits until the page that this leads to has loaded.
func (tab *Tab) Follow(selector string) {
	tab.t.Helper()
	tab.load(tab.click(selector))
}

// click waits for the element: on a busy machine a page takes its time to show
// what an earlier click has opened.
func (tab *Tab) click(selector string) chromedp.Action[chromedp.Void] {
	tab.t.Helper()
	find := fmt.Sprintf(`(() => {
		const e = [...document.querySelectorAll(%q)].find((e) => e.checkVisibility());
		if (!e) return null;
		e.scrollIntoView({ block: "center" });
		const r = e.getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`, selector)
	at := Eval[[]float64](tab, find)
	for began := time.Now(); len(at) != 2; at = Eval[[]float64](tab, find) {
		if time.Since(began) > patience {
			tab.t.Fatalf("%s %s: nothing visible matches %s", tab.look, tab.Path(), selector)
		}
		<-time.After(20 * time.Millisecond)
	}
	return chromedp.MouseClickXY(at[0], at[1])
}

// Press presses keys, one after the other.
func (tab *Tab) Press(keys string) {
	tab.t.Helper()
	tab.do(chromedp.KeyEvent(keys))
}

// Hold presses a key and keeps it down, as a keyboard repeats it, until the
// JavaScript expression is true; then it lets go. What the page doesn't take of
// a press does what the browser does with it, as in Press.
func (tab *Tab) Hold(key rune, until string, options ...chromedp.KeyOption) {
	tab.t.Helper()
	strokes := kb.Encode(key)
	down, up := *strokes[0], *strokes[len(strokes)-1]
	for _, option := range options {
		option(&down)
		option(&up)
	}
	if down.Modifiers == 0 && len(strokes) == 3 {
		down.Text = strokes[1].Text // so it is typed only if the page lets it
	}
	began := time.Now()
	for held := false; !held; held = Eval[bool](tab, until) {
		if time.Since(began) > patience {
			tab.t.Fatalf("%s: held a key until %s, in vain", tab.look, until)
		}
		tab.do(call(input.DispatchKeyEvent, down))
		down.AutoRepeat = new(true)
	}
	tab.do(call(input.DispatchKeyEvent, up))
}

// PressToLoad presses keys and waits for the page that this leads to.
func (tab *Tab) PressToLoad(keys string) {
	tab.t.Helper()
	tab.load(chromedp.KeyEvent(keys))
}

// EvalToLoad evaluates JavaScript and waits for the page that this leads to.
func (tab *Tab) EvalToLoad(expression string) {
	tab.t.Helper()
	tab.load(chromedp.Evaluate[chromedp.Void](expression))
}

func (tab *Tab) load(trigger chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	ctx, end := context.WithTimeout(tab.ctx, patience)
	defer end()
	if _, err := chromedp.Run(ctx, chromedp.WaitEvent(page.LoadEventFired, nil, trigger)); err != nil {
		tab.t.Fatalf("%s: wait for the next page: %v", tab.look, err)
	}
}

// Eval evaluates JavaScript on the page; a promise is awaited.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	ctx, end := context.WithTimeout(tab.ctx, patience)
	defer end()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tab.t.Fatalf("%s: evaluate %s: %v", tab.look, expression, err)
	}
	return v
}

// Path is the address of the page without its host.
func (tab *Tab) Path() string {
	tab.t.Helper()
	return Eval[string](tab, `location.pathname + location.search`)
}

// Text is the visible text of the first element that the selector matches;
// empty if there is none or it isn't shown.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	return Eval[string](tab, fmt.Sprintf(`((e) => e?.checkVisibility() ? e.innerText : "")(document.querySelector(%q))`, selector))
}

// Wait waits until the JavaScript expression is true. A page that is left while
// it is asked is no answer; the next one is asked then.
func (tab *Tab) Wait(expression string) {
	tab.t.Helper()
	ctx, end := context.WithTimeout(tab.ctx, patience)
	defer end()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool]("Boolean("+expression+")", chromedp.WithPollingTimeout(patience)))
		if err == nil {
			return
		}
		if !pageLeft(err) || ctx.Err() != nil {
			tab.t.Fatalf("%s: wait for %s: %v", tab.look, expression, err)
		}
	}
}

// pageLeft says whether the browser has lost the page that was asked.
func pageLeft(err error) bool {
	refused, ok := errors.AsType[*cdproto.Error](err)
	return ok && (strings.Contains(refused.Message, "context") || strings.Contains(refused.Message, "navigated"))
}

type violation struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// Axe fails the test for everything on the page that breaks the rules of
// accessibility, WCAG 2.2 AA and axe's own good practice.
func (tab *Tab) Axe() {
	tab.t.Helper()
	ctx, end := context.WithTimeout(tab.ctx, patience)
	defer end()
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](axe)); err != nil {
		tab.t.Fatalf("load axe: %v", err)
	}
	for _, v := range Eval[[]violation](tab, `axe.run({ resultTypes: ["violations"], preload: false }).then((r) => r.violations.map((v) => ({
		id: v.id, help: v.help, nodes: v.nodes.map((n) => n.target.join(" ") + "  " + n.failureSummary)})))`) {
		tab.t.Errorf("%s %s: %s: %s\n\t%s", tab.look, tab.Path(), v.ID, v.Help, strings.Join(v.Nodes, "\n\t"))
	}
}

// Shot keeps a picture of what is on the screen, if BATON_SCREENSHOTS names a
// folder.
func (tab *Tab) Shot(name string) {
	tab.t.Helper()
	folder := os.Getenv("BATON_SCREENSHOTS")
	if folder == "" {
		return
	}
	Eval[bool](tab, `document.fonts.ready.then(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true)))))`)
	ctx, end := context.WithTimeout(tab.ctx, patience)
	defer end()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		tab.t.Fatalf("take a picture: %v", err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		tab.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+"-"+tab.look.String()+".png"), picture, 0o644); err != nil {
		tab.t.Fatal(err)
	}
}

// NoOverflow fails the test if the page is wider than the screen.
func (tab *Tab) NoOverflow() {
	tab.t.Helper()
	if over := Eval[int](tab, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
		widest := Eval[string](tab, `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className).slice(0, 5).join(", ")`)
		tab.t.Errorf("%s %s is %d px wider than the screen: %s", tab.look, tab.Path(), over, widest)
	}
}

// Offline tells the page that the network is gone, or back.
func (tab *Tab) Offline(gone bool) {
	tab.t.Helper()
	tab.do(call(network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: gone}))
}
