package web

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/gorilla/websocket"
	"github.com/labstack/echo/v4"

	"baton/internal/i18n"
	"baton/internal/problem"
	"baton/templates"
	"baton/web/browsertest"
)

// showGallery serves every sample at /gallery/<name> under the headers that
// pages have, and the assets. It keeps what forms send.
func showGallery(t *testing.T) (*httptest.Server, *sent) {
	t.Helper()
	forms := &sent{values: make(chan map[string][]string, 16)}
	s := &site{Deps: Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, origin: newOriginCheck(nil)}
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.Use(s.identified, s.recovered, safeHeaders, s.read)
	e.GET("/static/:digest/*", asset)
	e.GET("/gallery/:name", func(c echo.Context) error {
		ctx := c.Request().Context()
		component, ok := sample{zh: i18n.Of(ctx) == i18n.Chinese}.gallery(ctx)[c.Param("name")]
		if !ok {
			return problem.New(problem.NotFound, "not_found", nil)
		}
		return page(c, http.StatusOK, component)
	})
	e.GET("/palette", func(c echo.Context) error {
		return page(c, http.StatusOK, templates.Finds(sample{}.finds(c.Request().Context(), c.QueryParam("q"))))
	})
	e.GET("/ws", func(c echo.Context) error { // a server on which nothing happens
		conn, err := new(websocket.Upgrader).Upgrade(c.Response(), c.Request(), nil)
		if err != nil {
			return err
		}
		defer conn.Close()
		for err == nil {
			_, _, err = conn.ReadMessage()
		}
		return nil
	})
	e.GET("/*", func(c echo.Context) error { return c.HTML(http.StatusOK, "<!doctype html><title>elsewhere</title>") })
	e.POST("/*", func(c echo.Context) error {
		if strings.HasSuffix(c.Request().URL.Path, "/seen") {
			return c.NoContent(http.StatusNoContent)
		}
		if err := readForm(c); err != nil {
			return err
		}
		form := map[string][]string{"": {c.Request().URL.Path}}
		maps.Copy(form, c.Request().PostForm)
		forms.values <- form
		return c.Redirect(http.StatusSeeOther, "/gallery/question-held")
	})
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	return server, forms
}

type sent struct{ values chan map[string][]string }

// Pages that are checked for barriers in every look; the others are so once, and
// looked at in all.
var checkedInEveryLook = []string{"inbox", "question", "session", "session-chart"}

// R: Y1, D1 — every state of every page, looked at and checked.
func TestEveryStateHoldsInEveryLook(t *testing.T) {
	t.Parallel()
	server, _ := showGallery(t)
	names := slices.Sorted(maps.Keys(sample{}.gallery(t.Context())))
	for _, name := range checkedInEveryLook {
		if !slices.Contains(names, name) {
			t.Errorf("there is no page %s", name)
		}
	}
	for _, look := range browsertest.Looks() {
		t.Run(look.String(), func(t *testing.T) {
			t.Parallel()
			tab := browsertest.Open(t, look)
			first := look == browsertest.Desk
			for _, name := range names {
				tab.Go(server.URL + "/gallery/" + name)
				tab.NoOverflow()
				if first || slices.Contains(checkedInEveryLook, name) {
					tab.Axe()
				}
				tab.Shot(name)
				if first || look.Width == browsertest.Phone.Width && !look.Dark && look.Language == browsertest.Phone.Language {
					checkKeys(t, tab, name)
					checkIcons(t, tab, name)
				}
			}
		})
	}
}

// No key means two things on a page, every key that is shown does something, and
// the map shows exactly those that do.
func checkKeys(t *testing.T, tab *browsertest.Tab, name string) {
	t.Helper()
	twice := browsertest.Eval[[]string](tab, `(() => {
		const seen = {};
		for (const e of document.querySelectorAll("[data-key]")) if (e.checkVisibility()) (seen[e.dataset.key] ??= []).push(e);
		const keys = Object.keys(seen);
		return keys.filter((key) => seen[key].length > 1 || keys.some((other) => other.startsWith(key + " ")));
	})()`)
	if len(twice) > 0 {
		t.Errorf("%s: keys with two meanings: %v", name, twice)
	}
	if !browsertest.Eval[bool](tab, `Boolean(document.getElementById("keys"))`) {
		return // a page of one card
	}
	works := browsertest.Eval[[]string](tab, `(() => {
		const keys = new Set(["?"]);
		for (const e of document.querySelectorAll("[data-key]")) if (e.checkVisibility() || e.dataset.key.includes(" ")) keys.add(e.dataset.key);
		if ([...document.querySelectorAll("[data-row]")].some((e) => e.checkVisibility())) for (const key of ["j", "k", "Enter"]) keys.add(key);
		return [...keys].sort();
	})()`)
	browsertest.Eval[bool](tab, `document.activeElement.blur(), true`)
	tab.Press("?")
	shown := browsertest.Eval[[]string](tab, `[...document.querySelectorAll("#keys[open] [data-for]")].filter((e) => e.checkVisibility()).map((e) => e.dataset.for).sort()`)
	if !slices.Equal(shown, works) {
		t.Errorf("%s: the map shows the keys %q; those that work are %q", name, shown, works)
	}
	if name == "question" || name == "session" {
		tab.Axe()
		tab.Shot(name + "-keys")
	}
	tab.Press(kb.Escape)
}

func checkIcons(t *testing.T, tab *browsertest.Tab, name string) {
	t.Helper()
	missing := browsertest.Eval[[]string](tab, `fetch(document.querySelector("use").getAttribute("href").split("#")[0]).then((r) => r.text()).then((sprite) =>
		[...new Set([...document.querySelectorAll("use")].map((u) => u.getAttribute("href").split("#")[1]))].filter((id) => !sprite.includes('"' + id + '"')))`)
	if len(missing) > 0 {
		t.Errorf("%s: no icon %s", name, strings.Join(missing, ", "))
	}
}
