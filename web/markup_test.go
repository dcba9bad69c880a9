package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
)

// markup is a page, or a part of one, to be asked for elements.
type markup struct {
	t    *testing.T
	root *html.Node
}

func (r reply) markup(t *testing.T) markup {
	t.Helper()
	root, err := html.Parse(strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	return markup{t, root}
}

// test is one condition of a selector.
var test = regexp.MustCompile(`^(?:([a-z0-9]+)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:="([^"]*)")?\])`)

// all are the elements that a selector matches: tag, #id, .class, [name] and
// [name="value"] together, and a space between an element and one inside it.
func (m markup) all(selector string) []markup {
	m.t.Helper()
	first, rest, deeper := strings.Cut(selector, " ")
	var found []markup
	for n := range m.root.Descendants() {
		if n.Type != html.ElementNode || !m.matches(n, first) {
			continue
		}
		if here := (markup{m.t, n}); deeper {
			found = append(found, here.all(rest)...)
		} else {
			found = append(found, here)
		}
	}
	return found
}

func (m markup) matches(n *html.Node, selector string) bool {
	m.t.Helper()
	for selector != "" {
		part := test.FindStringSubmatch(selector)
		if part == nil {
			m.t.Fatalf("no selector: %q", selector)
		}
		selector = selector[len(part[0]):]
		at := markup{m.t, n}
		value, has := at.attr(part[4])
		switch id, _ := at.attr("id"); {
		case part[1] != "" && n.Data != part[1],
			part[2] != "" && id != part[2],
			part[3] != "" && !slices.Contains(at.classes(), part[3]),
			part[4] != "" && (!has || strings.Contains(part[0], "=") && value != part[5]):
			return false
		}
	}
	return true
}

func (m markup) classes() []string {
	class, _ := m.attr("class")
	return strings.Fields(class)
}

func (m markup) attr(name string) (string, bool) {
	for _, a := range m.root.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// one is the only element that a selector matches.
func (m markup) one(selector string) markup {
	m.t.Helper()
	found := m.all(selector)
	if len(found) != 1 {
		m.t.Fatalf("%d elements match %q, want one", len(found), selector)
	}
	return found[0]
}

// text is what stands in it, with single spaces.
func (m markup) text() string {
	var b strings.Builder
	for n := range m.root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data + " ")
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// says fails the test unless the text has all of these.
func (m markup) says(texts ...string) {
	m.t.Helper()
	for _, want := range texts {
		if got := m.text(); !strings.Contains(got, want) {
			m.t.Errorf("%q is not said: %q", want, got)
		}
	}
}

// compressed is how many bytes of a page go over the wire.
func compressed(ctx context.Context, t *testing.T, page templ.Component) int {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed) // as it is sent
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(page.Render(ctx, w), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}
