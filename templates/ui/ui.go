// Package ui is the small parts that pages are made of: icons, tags, times,
// sentences with elements in them.
package ui

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"
)

// Initials are up to two letters that stand for a person: those of the first
// and last word of the name, or its first character where names aren't written
// in words.
func Initials(name string) string {
	var letters []rune
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool {
		return unicode.IsSpace(r) || r == '-' || r == '_' || r == '.'
	}) {
		r, _ := utf8.DecodeRuneInString(word)
		letters = append(letters, unicode.ToUpper(r))
	}
	switch {
	case len(letters) == 0:
		return "?"
	case len(letters) == 1 || unicode.Is(unicode.Han, letters[0]):
		return string(letters[:1])
	}
	return string([]rune{letters[0], letters[len(letters)-1]})
}

// machineTime is the form of the datetime attribute, to the millisecond.
func machineTime(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// coarse is d in whole minutes, from one minute on: what is an hour away
// doesn't need its seconds counted.
func coarse(d time.Duration) time.Duration {
	if d.Abs() < time.Minute {
		return d
	}
	return d.Truncate(time.Minute)
}

// Slots are the elements that stand in a sentence.
type Slots map[string]templ.Component

const slotMark = "\x1f"

// Slot is the value for a placeholder in a sentence whose place an element
// takes: Sentence(i18n.T(ctx, "due", "at", ui.Slot("at")), ui.Slots{"at": ...}).
// So each language keeps its own order of words.
func Slot(name string) string { return slotMark + name + slotMark }

// A piece of a sentence is text, or the name of a slot.
type piece struct {
	text string
	slot bool
}

// hyphened are words with hyphens in them, at which a line may break.
var hyphened = regexp.MustCompile(`[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+`)

// longestNumber is how long a number can be, in bytes, that is kept in one
// piece: longer ones have to break somewhere on a narrow screen.
const longestNumber = 24

// numbered cuts a text into its numbers with hyphens in them (48-2217), which
// are slots, and what stands between.
func numbered(text string) []piece {
	var all []piece
	end := 0
	for _, at := range hyphened.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		if len(word) > longestNumber || !strings.ContainsAny(word, "0123456789") {
			continue
		}
		if end < at[0] {
			all = append(all, piece{text: text[end:at[0]]})
		}
		all = append(all, piece{text: word, slot: true})
		end = at[1]
	}
	if end < len(text) {
		all = append(all, piece{text: text[end:]})
	}
	return all
}

func pieces(sentence string) []piece {
	var all []piece
	for i, part := range strings.Split(sentence, slotMark) {
		if part != "" {
			all = append(all, piece{text: part, slot: i%2 == 1})
		}
	}
	return all
}

func iconClass(more []string) string {
	return strings.Join(append([]string{"icon"}, more...), " ")
}
