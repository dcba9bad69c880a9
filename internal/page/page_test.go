package page_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"baton/internal/page"
	"baton/internal/problem"
)

// walk reads a list of the numbers 1..n page by page, as a store would.
func walk(t *rapid.T, n, limit int) (seen []int) {
	cursor := ""
	for {
		position, err := page.Position("numbers", cursor)
		if err != nil {
			t.Fatal(err)
		}
		after, _ := strconv.Atoi(position)
		var rows []int
		for i := after + 1; i <= n && len(rows) <= limit; i++ {
			rows = append(rows, i)
		}
		p := page.Of("numbers", rows, limit, strconv.Itoa)
		if len(p.Items) > limit {
			t.Fatalf("a page of %d has %d rows", limit, len(p.Items))
		}
		seen = append(seen, p.Items...)
		if p.NextCursor == nil {
			return seen
		}
		cursor = *p.NextCursor
	}
}

// R: I1
func TestPagesHoldEachRowOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 60).Draw(t, "rows"), rapid.IntRange(1, 20).Draw(t, "limit")
		var want []int
		for i := 1; i <= n; i++ {
			want = append(want, i)
		}
		if got := walk(t, n, limit); !slices.Equal(got, want) {
			t.Fatalf("%d rows in pages of %d: %v", n, limit, got)
		}
	})
}

// R: I1
func TestAnEmptyPageIsAnEmptyListWithoutANext(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(page.Of[int]("numbers", nil, 50, strconv.Itoa))
	if err != nil || string(got) != `{"items":[],"next_cursor":null}` {
		t.Errorf("%s, %v", got, err)
	}
}

// R: I1
func TestCursorsThatLeadNowhereAreRefused(t *testing.T) {
	t.Parallel()
	good := page.Cursor("sessions", "17")
	for _, cursor := range []string{"x", "17", good + "=", good[:len(good)-1], page.Cursor("calls", "17"), page.Cursor("sessions", ""), page.Cursor("sessions", "\xff"), "%00"} {
		if _, err := page.Position("sessions", cursor); !problem.Is(err, "cursor_invalid") || problem.From(err).Field != "cursor" {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	if position, err := page.Position("sessions", good); position != "17" || err != nil {
		t.Errorf("a good cursor: %q, %v", position, err)
	}
}

// R: I1
func TestLimitsAreBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 50, "1": 1, "200": 200} {
		if n, err := page.Limit(text); n != want || err != nil {
			t.Errorf("limit %q: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"0", "-1", "201", "ten", "1.5", " 5", "99999999999999999999"} {
		if _, err := page.Limit(text); !problem.Is(err, "limit_invalid") || problem.From(err).Field != "limit" {
			t.Errorf("limit %q: %v", text, err)
		}
	}
}

func FuzzPosition(f *testing.F) {
	f.Add("")
	f.Add(page.Cursor("sessions", "17"))
	f.Fuzz(func(t *testing.T, cursor string) {
		position, err := page.Position("sessions", cursor)
		if err == nil && cursor != "" && page.Cursor("sessions", position) != cursor {
			t.Errorf("%q is read as %q, which is written otherwise", cursor, position)
		}
	})
}
