package clean

import (
	"strings"
	"unicode/utf8"
)

// maxString bounds a string sequence (a title, a link, a clipboard payload). One
// that has not ended by then is no sequence: only its introducer is dropped, so
// that a stray escape can't swallow the rest of an output.
const maxString = 4096

// stripEscapes removes terminal sequences, in their 7-bit form (ESC [) and as
// C1 characters (U+009B). The text of a hyperlink stays, its address goes.
func stripEscapes(s string) string {
	if !strings.ContainsFunc(s, introduces) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if introduces(r) {
			i += sequence(s[i:], r, n)
			continue
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String()
}

// sequence is the length of the escape sequence that s begins with.
func sequence(s string, first rune, n int) int {
	kind := first - 0x40 // as the byte after ESC
	if first == 0x1b {
		if n >= len(s) {
			return n
		}
		kind = rune(s[n])
		if kind < 0x20 || kind > 0x7e {
			return n
		}
		n++
	}
	switch kind {
	case '[':
		return control(s, n)
	case ']', 'P', 'X', '^', '_':
		return payload(s, n)
	}
	if first == 0x1b && kind <= 0x2f { // intermediates, then one final byte
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
			n++
		}
	}
	return n
}

// control ends a control sequence: parameters, intermediates, a final byte.
func control(s string, n int) int {
	for i := n; i < len(s) && i < n+256; i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return i
		}
	}
	return n
}

// payload ends a string sequence, at BEL, ESC \ or U+009C.
func payload(s string, n int) int {
	for i := n; i < len(s) && i < n+maxString; i++ {
		switch {
		case s[i] == '\a':
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case strings.HasPrefix(s[i:], "\u009c"):
			return i + 2
		case s[i] == '\n' || s[i] == 0x1b:
			return n
		}
	}
	return n
}
