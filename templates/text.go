package templates

import (
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
)

func itoa(n int) string { return strconv.Itoa(n) }

// machine is the form of datetime attributes and of what scripts compare.
func machine(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// keyOf is the key that chooses the option with this letter.
func keyOf(letter string) string { return strings.ToLower(letter) }

// untilAttr says when a part of the page is over; nothing for one that stays.
func untilAttr(t time.Time) templ.Attributes {
	if t.IsZero() {
		return nil
	}
	return templ.Attributes{"data-until": machine(t)}
}
