package markdown

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Bounds beyond which text is taken as it stands.
const (
	mostBytes = 16 << 10
	mostDepth = 6 // lists in quotes in lists
	mostCells = 2000
)

// Kind is what a block is.
type Kind int

// The kinds of blocks.
const (
	Paragraph Kind = iota // Spans
	Heading               // Spans; no level: an agent's text has no part in a page's outline
	List                  // Items
	Quote                 // Blocks
	Code                  // Text
	Rule                  // nothing
	Table                 // Rows, the first of which heads the others
)

// Block is a part of a text.
type Block struct {
	Kind    Kind
	Spans   []Span
	Blocks  []Block
	Items   [][]Block
	Ordered bool
	Start   int // the number of an ordered list's first item
	Text    string
	Rows    [][][]Span
}

// Span is a run of text in one style. Break stands for the end of a line.
type Span struct {
	Text                     string
	Strong, Em, Strike, Code bool
	Break                    bool
	URL, Host                string // of a link: where it leads, and whose that is
}

// Parsers of HTML are left out, so that it is text like any other.
var reader = func() parser.Parser {
	noHTML := func(list []util.PrioritizedValue, html any) (rest []util.PrioritizedValue) {
		for _, p := range list {
			if p.Value != html {
				rest = append(rest, p)
			}
		}
		return rest
	}
	p := parser.NewParser(
		parser.WithBlockParsers(noHTML(parser.DefaultBlockParsers(), parser.NewHTMLBlockParser())...),
		parser.WithInlineParsers(noHTML(parser.DefaultInlineParsers(), parser.NewRawHTMLParser())...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	return goldmark.New(goldmark.WithParser(p), goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify)).Parser()
}()

// Parse reads a text.
func Parse(source string) []Block {
	if strings.TrimSpace(source) == "" {
		return nil
	}
	if len(source) > mostBytes || cells(source) > mostCells {
		return plain(source)
	}
	src := []byte(source)
	d := document{src}
	return d.blocks(reader.Parse(text.NewReader(src)), 0)
}

// cells is at least how many cells the tables of a text have. A table's rows are
// filled up to the width of its head, so a few bytes can be thousands of cells;
// they are counted before there are any.
func cells(source string) (n int) {
	width := 0
	for line := range strings.Lines(source) {
		switch pipes := strings.Count(line, "|"); {
		case strings.Trim(line, "> \t\r\n") == "":
			width = 0
		case pipes > 0 && strings.Contains(line, "-") && strings.Trim(line, "|:-> \t\r\n*+.)0123456789") == "":
			width = pipes + 1 // what stands between a table's head and its rows
			n += width
		}
		n += width
	}
	return n
}

// plain is a text in which nothing is taken for more than a line's end.
func plain(source string) []Block {
	var spans []Span
	for i, line := range strings.Split(source, "\n") {
		if i > 0 {
			spans = append(spans, Span{Break: true})
		}
		spans = append(spans, Span{Text: line})
	}
	return []Block{{Kind: Paragraph, Spans: spans}}
}

type document struct{ source []byte }

func (d document) blocks(parent ast.Node, depth int) (list []Block) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if b, ok := d.block(n, depth); ok {
			list = append(list, b)
		}
	}
	return list
}

func (d document) block(n ast.Node, depth int) (Block, bool) {
	if depth >= mostDepth && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		return Block{Kind: Paragraph, Spans: []Span{{Text: d.lines(n)}}}, true
	}
	switch n := n.(type) {
	case *ast.Heading:
		return Block{Kind: Heading, Spans: d.spans(n, Span{})}, true
	case *ast.List:
		b := Block{Kind: List, Ordered: n.IsOrdered(), Start: n.Start}
		for item := n.FirstChild(); item != nil; item = item.NextSibling() {
			b.Items = append(b.Items, d.blocks(item, depth+1))
		}
		return b, true
	case *ast.Blockquote:
		return Block{Kind: Quote, Blocks: d.blocks(n, depth+1)}, true
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return Block{Kind: Code, Text: d.lines(n)}, true
	case *ast.ThematicBreak:
		return Block{Kind: Rule}, true
	case *east.Table:
		b := Block{Kind: Table}
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			var cells [][]Span
			for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
				cells = append(cells, d.spans(cell, Span{}))
			}
			b.Rows = append(b.Rows, cells)
		}
		return b, true
	case *ast.LinkReferenceDefinition:
		return Block{}, false
	}
	spans := d.spans(n, Span{})
	return Block{Kind: Paragraph, Spans: spans}, len(spans) > 0
}

// lines is a block's text as it stands, with that of the blocks in it.
func (d document) lines(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock {
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(d.source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimRight(b.String(), "\n")
}

// spans are the runs of text in a node, in the style that is around it.
func (d document) spans(parent ast.Node, style Span) (list []Span) {
	d.collect(parent, style, &list)
	return list
}

func (d document) collect(parent ast.Node, style Span, list *[]Span) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		s := style
		switch n := n.(type) {
		case *ast.Text:
			s.Text = string(util.UnescapePunctuations(n.Segment.Value(d.source)))
			*list = append(*list, s)
			if n.SoftLineBreak() || n.HardLineBreak() {
				*list = append(*list, Span{Break: true}) // who writes a line's end means it
			}
			continue
		case *ast.String:
			s.Text = string(n.Value)
			*list = append(*list, s)
			continue
		case *ast.CodeSpan:
			s.Code = true
			for t := n.FirstChild(); t != nil; t = t.NextSibling() {
				if t, ok := t.(*ast.Text); ok {
					s.Text += string(t.Segment.Value(d.source))
				}
			}
			*list = append(*list, s)
			continue
		case *ast.AutoLink:
			s.Text = string(n.Label(d.source))
			s.lead(string(n.URL(d.source)))
			*list = append(*list, s)
			continue
		case *ast.Emphasis:
			s.Strong, s.Em = s.Strong || n.Level > 1, s.Em || n.Level == 1
		case *east.Strikethrough:
			s.Strike = true
		case *ast.Link:
			s.lead(string(n.Destination))
		}
		d.collect(n, s, list)
	}
}

// lead makes a span a link, if people may be led there.
func (s *Span) lead(destination string) { s.URL, s.Host, _ = Outside(destination) }

// hostName is a name with a dot and a top level of letters, or an address of
// four numbers; with or without a port. A single number is an address, too, but
// nobody can read it.
var hostName = regexp.MustCompile(`^(([a-zA-Z0-9_]([a-zA-Z0-9_-]*[a-zA-Z0-9])?\.)+[a-zA-Z]{2,}|(\d{1,3}\.){3}\d{1,3})(:\d{1,5})?$`)

// Outside reads an address that people may be led to: one of the web, of a host
// whose name looks like no other's, without a name that pretends to be one
// before it.
func Outside(address string) (whole, host string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", "", false
	}
	if !hostName.MatchString(u.Host) || strings.Contains(u.Host, "xn--") {
		return "", "", false
	}
	return u.String(), u.Host, true
}
