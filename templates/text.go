package templates

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"baton/internal/i18n"
)

func itoa(n int) string { return strconv.Itoa(n) }

// seq is the number of an event, for programs.
func seq(n int64) string { return strconv.FormatInt(n, 10) }

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

// left is how long it is yet, in whole seconds.
func left(ctx context.Context, d time.Duration) string {
	return i18n.Span(ctx, max(0, d+time.Second-1).Truncate(time.Second))
}
