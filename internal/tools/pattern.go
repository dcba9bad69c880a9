package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maskLine is a line without what differs from one of its kind to the next:
// numbers become <n> and words with digits in them, such as ids and digests,
// become <id>. A unit stays: 12ms is <n>ms. Lines with one mask are of one
// pattern.
func maskLine(line string) string {
	var b strings.Builder
	b.Grow(len(line))
	for i := 0; i < len(line); {
		if !wordByte(line[i]) {
			b.WriteByte(line[i])
			i++
			continue
		}
		end := i
		for end < len(line) && (wordByte(line[end]) || end > i && end+1 < len(line) && (line[end] == '.' || line[end] == ',') && digit(line[end-1]) && digit(line[end+1])) {
			end++
		}
		b.WriteString(maskWord(line[i:end]))
		i = end
	}
	return b.String()
}

func maskWord(word string) string {
	first := strings.IndexFunc(word, func(r rune) bool { return r >= '0' && r <= '9' })
	if first < 0 {
		return word
	}
	sign := strings.TrimLeft(word[:first], "-")
	rest := strings.TrimLeft(word[first:], "0123456789.,")
	if sign == "" && len(rest) <= 3 && !strings.ContainsAny(rest, "0123456789_-") {
		return word[:first] + "<n>" + rest
	}
	return "<id>"
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit(c) || c == '_' || c == '-' || c >= 0x80
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// maxPatterns is how many different patterns, files or values are counted apart.
// What comes after that many is counted together.
const maxPatterns = 10000

// tally counts things by name, in bounded memory.
type tally struct {
	by    map[string]*tallied
	other int // those of names that came after maxPatterns others
}

type tallied struct {
	name         string
	count, first int // first is the index of the line where it was seen first
}

func (t *tally) add(name string, line int) {
	if t.by == nil {
		t.by = map[string]*tallied{}
	}
	if got := t.by[name]; got != nil {
		got.count++
		return
	}
	if len(t.by) == maxPatterns {
		t.other++
		return
	}
	t.by[name] = &tallied{name, 1, line}
}

// top is all that was counted, most frequent first, then in order of appearance.
func (t *tally) top() []*tallied {
	list := make([]*tallied, 0, len(t.by))
	for _, got := range t.by {
		list = append(list, got)
	}
	slices.SortFunc(list, func(a, b *tallied) int {
		return cmp.Or(b.count-a.count, a.first-b.first, strings.Compare(a.name, b.name))
	})
	return list
}

// different says how many names there are.
func (t *tally) different() string {
	if t.other > 0 {
		return fmt.Sprintf("more than %d different", maxPatterns)
	}
	return fmt.Sprintf("%d different", len(t.by))
}
