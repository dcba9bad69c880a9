package clean

import (
	"strings"
	"unicode/utf8"
)

// Ready is how much of a text that still goes on can be cleaned by itself, with
// the same outcome as with all that follows: the rest begins with a terminal
// sequence whose end has not come, or is a part of a character or a line's end.
func Ready(s string) int {
	line := strings.LastIndexByte(s, '\n') + 1 // no sequence goes over it
	if i := strings.IndexFunc(s[line:], introduces); i >= 0 {
		return line + i
	}
	for i := 1; i <= min(utf8.UTFMax-1, len(s)-line); i++ {
		if tail := s[len(s)-i:]; utf8.RuneStart(tail[0]) && !utf8.FullRuneInString(tail) {
			return len(s) - i
		}
	}
	return len(strings.TrimSuffix(s, "\r"))
}

// introduces says whether a terminal sequence begins with r.
func introduces(r rune) bool { return r == 0x1b || r >= 0x80 && r < 0xa0 && r != 0x85 }
