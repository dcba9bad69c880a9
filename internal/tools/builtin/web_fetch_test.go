package builtin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"baton/internal/safehttp"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
	"baton/internal/tools/httpcall"
)

const articlePage = `<!doctype html><html lang="en"><head><title>Terms of return | Shop</title><meta name="author" content="Ana Ruiz">
<meta property="og:site_name" content="The Shop"><meta property="article:published_time" content="2026-03-04T05:06:07Z">
<script>alert("tracked")</script><style>.x{}</style></head><body>
<nav><a href="/a">Home</a><a href="/b">Buy now</a></nav><div class="ad">Cheap loans!</div>
<article><h1>Terms of return</h1><p>Goods can be sent back within <b>30 days</b> after they have arrived, in the packing in which they came. The money is paid back in the way in which it was paid, within ten days after the goods have come back to us.</p>
<h2>Who pays</h2><p>We pay for parcels from <a href="/countries">these countries</a>. From all others the customer pays, unless the goods were faulty, in which case we bear all costs that can be shown to us.</p>
<table><tr><th>Country</th><th>Days</th></tr><tr><td>France</td><td>30</td></tr></table>
<ul><li>No opened software.</li><li>No food.</li></ul><img src="https://tracker.example/x.png" onerror="alert(1)"></article>
<footer>Imprint, cookies, careers</footer></body></html>`

func pages(t *testing.T) *bench {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/terms":
			_, _ = io.WriteString(w, articlePage)
		case "/latin":
			w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
			_, _ = io.WriteString(w, strings.ReplaceAll(articlePage, "30 days", "30 days \xe9t\xe9"))
		case "/deep":
			_, _ = io.WriteString(w, strings.Repeat("<div><b>", 200_000)+"the bottom")
		case "/wide":
			_, _ = io.WriteString(w, strings.Repeat("<p>a</p>", 150_000))
		case "/script":
			_, _ = io.WriteString(w, `<html><body><div id="root"></div><script>render()</script></body></html>`)
		case "/list":
			_, _ = io.WriteString(w, `<html><body><p>short</p></body></html>`)
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, "<p>not a page</p>\nsecond")
		case "/pdf":
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = io.WriteString(w, "%PDF-1.7\n\xff\xfe\x00\x01\xff\xff\xff\x00\xfe")
		case "/empty":
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	client, err := httpcall.New([]httpcall.Host{{Host: safehttp.Host{Name: "shop.example", Address: strings.TrimPrefix(server.URL, "http://"), AllowPrivate: true}}}, httpcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	tool, err := builtin.WebFetch(client)
	return newBench(t, tool, err)
}

// R: T4, F8
func TestWebFetchReadsWhatThePageIsAbout(t *testing.T) {
	t.Parallel()
	b := pages(t)
	got := text(t, b.call(t.Context(), "web_fetch", m{"url": "http://shop.example/terms"}))
	for _, want := range []string{"# Terms of return", "Ana Ruiz", "The Shop", "2026-03-04", "**30 days**", "## Who pays", "[these countries](http://shop.example/countries)", "France", "- No food."} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in %s", want, got)
		}
	}
	for _, not := range []string{"Buy now", "Cheap loans", "careers", "alert", "tracked", "onerror"} {
		if strings.Contains(got, not) {
			t.Errorf("%q in %s", not, got)
		}
	}
	if got := text(t, b.call(t.Context(), "web_fetch", m{"url": "http://shop.example/latin"})); !strings.Contains(got, "30 days été") {
		t.Error(got)
	}
}

// R: T4, F6, F10, L5, S4
func TestWebFetchOfOddPages(t *testing.T) {
	t.Parallel()
	b := pages(t)
	for path, want := range map[string]string{
		"/deep":    "the bottom",
		"/wide":    "built in an unusual way",
		"/script":  "perhaps scripts put it together",
		"/list":    "short",
		"/text":    `\u003cp\u003enot a page`,
		"/pdf":     `"content_type":"application/pdf"`,
		"/empty":   "The page is empty.",
		"/nothing": `"not_found"`,
		"/away":    "is not on the list of hosts",
	} {
		got := b.call(t.Context(), "web_fetch", m{"url": "http://shop.example" + path}).Result.ForModel()
		if !strings.Contains(got, want) && !strings.Contains(got, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(want)) {
			t.Errorf("%s: want %s in %.1500s", path, want, got)
		}
	}
}

// Any public host may be read where the agent says so; no private one ever.
// R: T4, T3
// case: abuse A20
func TestWebFetchOfAnyHostKeepsToPublicOnes(t *testing.T) {
	t.Parallel()
	client, err := httpcall.New(nil, httpcall.Options{Public: true})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := builtin.WebFetch(client)
	b := newBench(t, tool, err)
	for _, url := range []string{"http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://0.0.0.0/", "http://2130706433/", "file:///etc/passwd", "http://user:pass@127.0.0.1/", "http://example.com:8080/"} {
		if o := b.call(t.Context(), "web_fetch", m{"url": url}); o.Status != tools.StatusDenied {
			t.Errorf("%s: %s %s", url, o.Status, o.Result.ForModel())
		}
	}
}

// FuzzPage looks for pages on which the search for their content fails.
func FuzzPage(f *testing.F) {
	f.Add(articlePage)
	f.Add("<table><tr><td><table>" + strings.Repeat("<p>x", 50))
	f.Add(`<a href="javascript:alert(1)">x</a><svg><math><style><!--`)
	f.Fuzz(func(t *testing.T, page string) {
		text, notice := builtin.PageText([]byte(page), "text/html; charset=utf-8", "http://shop.example/")
		if text == "" && notice == "" && strings.TrimSpace(page) != "" {
			t.Errorf("neither a text nor a reason for %q", page)
		}
		if strings.Contains(text, "](javascript:") {
			t.Errorf("a link that runs: %s", fmt.Sprintf("%q", text))
		}
	})
}
