// Package page cuts lists into pages by keyset: a page goes on from the last
// row of the one before, so that it costs the same however far back it lies,
// and rows that come or go meanwhile neither repeat nor hide others.
//
// A cursor is opaque to clients. It holds the name of its list and the position
// of a row in it, and is no secret: whoever makes one up gets a page from
// somewhere else in what they may see anyway.
//
// Whoever reads a page asks for one row more than its limit. If that row comes,
// there is a next page.
package page

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"baton/internal/problem"
)

// How many rows a page has if the client doesn't say, and at most.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// List is one page as the API has it.
type List[T any] struct {
	Items []T `json:"items"`
	// NextCursor leads to the next page, null on the last one.
	NextCursor *string `json:"next_cursor"`
}

// Of makes the page of rows, of which one more than limit was asked for.
// position says where in the list a row stands.
func Of[T any](list string, rows []T, limit int, position func(T) string) List[T] {
	if rows == nil {
		rows = []T{} // an empty list, not null
	}
	if len(rows) <= limit {
		return List[T]{Items: rows}
	}
	rows = rows[:limit]
	next := Cursor(list, position(rows[limit-1]))
	return List[T]{Items: rows, NextCursor: &next}
}

var encoding = base64.RawURLEncoding.Strict()

// Cursor is the cursor of a position in a list.
func Cursor(list, position string) string {
	return encoding.EncodeToString([]byte(list + " " + position))
}

// Position is where in the list a cursor stands, empty for no cursor. The
// problem is cursor_invalid, also for another list's cursor.
func Position(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	text, err := encoding.DecodeString(cursor)
	if err != nil || !utf8.Valid(text) || encoding.EncodeToString(text) != cursor { // the decoder passes over line ends
		return "", Invalid()
	}
	position, ours := strings.CutPrefix(string(text), list+" ")
	if !ours || position == "" {
		return "", Invalid()
	}
	return position, nil
}

// Invalid is the problem of a cursor that leads nowhere: cursor_invalid.
func Invalid() error {
	return problem.New(problem.Invalid, "cursor_invalid", nil).At("cursor")
}

// Limit reads how many rows a client asks for; empty is DefaultLimit. The
// problem is limit_invalid.
func Limit(text string) (int, error) {
	if text == "" {
		return DefaultLimit, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxLimit {
		return 0, problem.New(problem.Invalid, "limit_invalid", problem.Params{"least": 1, "most": MaxLimit}).At("limit")
	}
	return n, nil
}
