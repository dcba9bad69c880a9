// Package clean makes text from outside safe to store, to show and to feed to a
// model: valid UTF-8, no NUL, no terminal escapes, no control characters, and
// nothing invisible that makes a reader see another text than the machine.
//
// What only moves a cursor goes; what could hide or reorder text is written out
// ("[U+202E]"), so that the attempt can be seen. Cleaning is idempotent, never
// fails, and never makes text more than about eight times as long.
package clean

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text cleans text of several lines. CRLF becomes LF; of a line that was
// overwritten by carriage returns (a progress bar) the last state is kept.
func Text(s string) string {
	if plain(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = stripEscapes(s)
	s = overwrite(s)
	return visible(s)
}

// Line cleans text that must stay on one line, such as a name or a title: line
// breaks and tabs become spaces, runs of spaces one, and both ends are trimmed.
func Line(s string) string {
	return strings.Join(strings.FieldsFunc(Text(s), unicode.IsSpace), " ")
}

// plain is the quick way out: printable ASCII, tabs and newlines.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}

// overwrite resolves what a terminal does on CR and backspace.
func overwrite(s string) string {
	if !strings.ContainsAny(s, "\r\b") {
		return s
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.Contains(line, "\b") {
			line = backspace(line)
		}
		if strings.Contains(line, "\r") {
			line = lastState(line)
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// lastState is the last part between carriage returns that shows anything.
func lastState(line string) string {
	parts := strings.Split(line, "\r")
	for i := len(parts) - 1; i > 0; i-- {
		if strings.TrimSpace(parts[i]) != "" {
			return parts[i]
		}
	}
	return parts[0]
}

func backspace(line string) string {
	out := make([]byte, 0, len(line))
	for _, r := range line {
		if r != '\b' {
			out = utf8.AppendRune(out, r)
			continue
		}
		if last, n := utf8.DecodeLastRune(out); n > 0 && last != '\r' {
			out = out[:len(out)-n]
		}
	}
	return string(out)
}

// visible drops or writes out what can't be seen. What shows nothing by itself
// goes first: whether a character joins others depends on those that stay.
func visible(s string) string {
	s = strings.TrimPrefix(strings.Map(shown, s), "\uFEFF")
	var b strings.Builder
	b.Grow(len(s))
	prev := rune(-1)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if invisible(r) && !joins(prev, r, s[i+n:]) {
			n = spellRun(&b, s[i:])
		} else {
			b.WriteRune(r)
		}
		prev = r
		i += n
	}
	return b.String()
}

// shown is what stands for a character that is not to be kept as it is; -1 is
// nothing.
func shown(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r == 0:
		return '\u2400'
	case r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
		return '\n'
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return -1 // a control character
	case r >= 0xFDD0 && r <= 0xFDEF, r&0xFFFE == 0xFFFE:
		return '\uFFFD' // never a character
	}
	return r
}

// spellRun writes out the run of invisible characters that s begins with, and
// says how many bytes it has. A long run (text smuggled in tag characters) is
// only counted, so that it does not grow.
func spellRun(b *strings.Builder, s string) (size int) {
	var run []rune
	for _, r := range s {
		if !invisible(r) {
			break
		}
		run = append(run, r)
		size += utf8.RuneLen(r)
	}
	if len(run) > 3 {
		fmt.Fprintf(b, "[%d invisible characters]", len(run))
		return size
	}
	for _, r := range run {
		fmt.Fprintf(b, "[U+%04X]", r)
	}
	return size
}

// invisible says whether r is not seen, or changes the order in which others
// are seen.
func invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x034f, r == 0x061c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, // Mongolian selectors
		r >= 0x200b && r <= 0x200f, // zero width, direction marks
		r >= 0x202a && r <= 0x202e, // bidi embeddings and overrides
		r >= 0x2060 && r <= 0x206f, // joiners, isolates, invisible operators
		r >= 0xfe00 && r <= 0xfe0f, // variation selectors
		r == 0xfeff,
		r >= 0xfff0 && r <= 0xfffb,
		r >= 0x1bca0 && r <= 0x1bca3,
		r >= 0x1d173 && r <= 0x1d17a,
		r >= 0xe0000 && r <= 0xe0fff: // tags, more selectors
		return true
	}
	return false
}

// joins says whether an invisible character does honest work between prev and
// what follows: a joiner inside an emoji or in a script that needs it, one
// variation selector after a character.
func joins(prev, r rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch {
	case r >= 0xfe00 && r <= 0xfe0f:
		return prev > 0x20 && !invisible(prev) && !invisible(next) || r == 0xfe0f && prev > 0x20 && !invisible(prev) && next == 0x200d
	case r == 0x200d && (emoji(prev) || prev == 0xfe0f):
		return emoji(next)
	case r == 0x200c || r == 0x200d:
		return needsJoiners(prev) && needsJoiners(next)
	}
	return false
}

func emoji(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2600 && r <= 0x27bf || r >= 0x2190 && r <= 0x21ff || r >= 0x2b00 && r <= 0x2bff
}

func needsJoiners(r rune) bool {
	return !invisible(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
		unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
}
