package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"baton/internal/tools"
	"baton/internal/tools/httpcall"
)

//go:embed web_fetch.md
var webFetchText string

// Limits of a page that is looked through for its content: a hostile one must not
// take the program's stack, or minutes.
const (
	pageBytes = 2 << 20
	pageDepth = 400    // elements in one another
	pageNodes = 60_000 // elements and texts
)

const webFetchSchema = `{
  "type": "object",
  "properties": {
    "url": {"type": "string", "minLength": 1, "maxLength": 8000, "description": "absolute, http or https"}
  },
  "required": ["url"],
  "additionalProperties": false
}`

type webFetchArgs struct {
	URL string `json:"url"`
}

// WebFetch is the tool web_fetch on what a client reaches.
func WebFetch(client *httpcall.Client) (tools.Tool, error) {
	w := &webFetch{client}
	return tools.Func(tools.Spec{
		Name: "web_fetch", Version: "1", Description: strings.TrimSpace(webFetchText),
		Words: map[string]tools.Words{
			"en":      {Title: "Read a web page", Sentence: "Read the page {url}"},
			"zh-Hans": {Title: "阅读网页", Sentence: "阅读网页 {url}"},
		},
		Schema: json.RawMessage(webFetchSchema), Example: json.RawMessage(`{"url":"https://www.example.com/terms"}`),
		Effect: tools.EffectRead, Service: w.service,
		Format: tools.Format{Strategy: tools.Head, MaxLines: 1000},
		Failures: []tools.DeclaredFailure{
			{Name: "host_not_listed", Type: tools.PermissionDenied, When: "the host is not on the list, or leads to a private address"},
			{Name: "status_404", Type: tools.NotFound, When: "the page is not there"},
			{Name: "status_403", Type: tools.PermissionDenied, When: "the site does not let programs read it, or wants a sign-in"},
			{Name: "status_429", Type: tools.RateLimited, When: "the site asks to be left alone"},
			{Name: "status_500", Type: tools.Unavailable, When: "the site answers 500 to 504"},
			{Name: "timeout", Type: tools.Timeout, When: "the site does not answer in time"},
		},
	}, w.run)
}

type webFetch struct{ client *httpcall.Client }

func (w *webFetch) service(args json.RawMessage) string {
	if host, _, err := w.client.Host(field(args, "url")); err == nil {
		return host.Name
	}
	return ""
}

func (w *webFetch) run(ctx context.Context, a webFetchArgs) (tools.Output, error) {
	host, u, err := w.client.Host(a.URL)
	if err != nil {
		return tools.Output{}, w.client.Refused(a.URL, err)
	}
	req, err := http.NewRequestWithContext(httpcall.Context(ctx), http.MethodGet, u.String(), nil)
	if err != nil {
		return tools.Output{}, tools.Fail(tools.InvalidArguments, "The request can't be built: "+err.Error()+".", "Correct the url.")
	}
	req.Header.Set("User-Agent", "baton")
	req.Header.Set("Accept", "text/html,application/xhtml+xml,text/plain,*/*;q=0.5")
	answer, err := w.client.Do(ctx, req, host)
	if err != nil {
		return tools.Output{}, err
	}
	out := tools.Output{Notices: answer.Notices(), ContentType: answer.Kind()}
	kind := answer.Kind()
	if kind == "" {
		kind, _, _ = strings.Cut(http.DetectContentType(answer.Body), ";")
	}
	switch {
	case len(answer.Body) == 0:
		out.Notices = append(out.Notices, "The page is empty.")
	case kind == "text/html" || kind == "application/xhtml+xml":
		out.ContentType = "text/markdown"
		text, notice := pageText(answer.Body, answer.Header.Get("Content-Type"), u)
		out.Text = text
		if notice != "" {
			out.Notices = append(out.Notices, notice)
		}
	case tools.DescribeBinary(answer.Body) != nil:
		out.Data = tools.DescribeBinary(answer.Body)
		out.Notices = append(out.Notices, "It is no text; it is described.")
	default:
		out.Text = string(answer.Body)
	}
	if out.Text == "" && out.Data == nil {
		out.Data = json.RawMessage(`""`)
	}
	return out, nil
}

// pageText is what a page says, as Markdown, and a notice where it may not be all.
func pageText(body []byte, contentType string, u *url.URL) (text, notice string) {
	if len(body) > pageBytes {
		body, notice = body[:pageBytes], fmt.Sprintf("Of the page the first %d bytes were looked at.", pageBytes)
	}
	decoded, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		decoded = bytes.NewReader(body) // a character set that nobody knows: as UTF-8
	}
	doc, err := html.Parse(decoded)
	if err != nil {
		return string(body), "The page could not be read as HTML; this is its source."
	}
	if !modest(doc) {
		return plainText(doc), "The page is built in an unusual way; this is all of its text, navigation included."
	}
	if article, err := readability.FromDocument(doc, u); err == nil && article.Node != nil {
		if main, err := htmltomarkdown.ConvertNode(article.Node, converter.WithDomain(u.Scheme+"://"+u.Host)); err == nil && len(bytes.TrimSpace(main)) > 0 {
			return heading(article) + string(bytes.TrimSpace(main)) + "\n", notice
		}
	}
	if text = plainText(doc); text == "" {
		return "", "The page has no text of its own; perhaps scripts put it together in a browser. Look for another source."
	}
	return text, "Which part of the page is its main content could not be told; this is all of its text."
}

// heading is what stands above a page's content.
func heading(a readability.Article) string {
	var b strings.Builder
	if title := strings.Join(strings.Fields(a.Title()), " "); title != "" {
		fmt.Fprintf(&b, "# %s\n\n", title)
	}
	var by []string
	for _, part := range []string{a.Byline(), a.SiteName()} {
		if part = strings.Join(strings.Fields(part), " "); part != "" {
			by = append(by, part)
		}
	}
	if at, err := a.PublishedTime(); err == nil {
		by = append(by, at.Format("2006-01-02"))
	}
	if len(by) > 0 {
		fmt.Fprintf(&b, "%s\n\n", strings.Join(by, " · "))
	}
	return b.String()
}

// modest says whether a document is small and flat enough to be worked on by code
// that goes down into it.
func modest(doc *html.Node) bool {
	nodes, depth := 0, 0
	for n := doc; n != nil; {
		if nodes++; nodes > pageNodes || depth > pageDepth {
			return false
		}
		if n.FirstChild != nil {
			n = n.FirstChild
			depth++
			continue
		}
		for n != nil && n.NextSibling == nil {
			n = n.Parent
			depth--
		}
		if n != nil {
			n = n.NextSibling
		}
	}
	return true
}

// plainText is the text of a document without its scripts, a line for each block.
// It goes down without calling itself.
func plainText(doc *html.Node) string {
	var b strings.Builder
	for n := doc; n != nil; {
		hidden := n.Type == html.ElementNode && (n.DataAtom == atom.Script || n.DataAtom == atom.Style || n.DataAtom == atom.Noscript || n.DataAtom == atom.Template || n.DataAtom == atom.Head)
		if n.Type == html.TextNode {
			if words := strings.Join(strings.Fields(n.Data), " "); words != "" {
				b.WriteString(words)
				b.WriteByte('\n')
			}
		}
		if n.FirstChild != nil && !hidden {
			n = n.FirstChild
			continue
		}
		for n != nil && n.NextSibling == nil {
			n = n.Parent
		}
		if n != nil {
			n = n.NextSibling
		}
	}
	return b.String()
}
