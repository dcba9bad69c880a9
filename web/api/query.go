package api

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"baton/internal/page"
	"baton/internal/problem"
)

// maxText bounds a filter that is free text, in characters.
const maxText = 200

// query is a request's query parameters. It keeps the first fault: a handler
// reads all that it takes and then asks once.
type query struct {
	values url.Values
	err    error
}

// query reads the parameters, of which only those named are known. Problems:
// malformed, parameter_unknown, parameter_repeated, and those of each reader.
func (q Request) query(known ...string) *query {
	values, err := url.ParseQuery(q.URL.RawQuery)
	p := &query{values: values}
	if err != nil {
		p.fail(problem.Wrap(err, problem.Malformed, "malformed", nil))
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			p.fail(problem.New(problem.Invalid, "parameter_unknown", problem.Params{"name": shown(name), "known": cmp.Or(strings.Join(known, ", "), "—")}).At(shown(name)))
		} else if len(values[name]) > 1 {
			p.fail(problem.New(problem.Invalid, "parameter_repeated", problem.Params{"name": name}).At(name))
		}
	}
	return p
}

func (p *query) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *query) bad(name, expected string) {
	p.fail(problem.New(problem.Invalid, "parameter_invalid", problem.Params{"name": name, "expected": expected}).At(name))
}

// text is a parameter as it stands, empty if it isn't there.
func (p *query) text(name string) string {
	v := p.values.Get(name)
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) || utf8.RuneCountInString(v) > maxText {
		p.bad(name, "at most "+strconv.Itoa(maxText)+" characters")
		return ""
	}
	return v
}

// oneOf is a parameter that takes one of a closed set of words.
func oneOf[T ~string](p *query, name string, words ...T) T {
	v := T(p.text(name))
	if v == "" || slices.Contains(words, v) {
		return v
	}
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
	}
	p.bad(name, strings.Join(names, ", "))
	return ""
}

// time is a parameter that is a time, zero if it isn't there.
func (p *query) time(name string) time.Time {
	v := p.text(name)
	if v == "" {
		return time.Time{}
	}
	// A plus sign in a query is a space to those who didn't escape it.
	t, err := time.Parse(time.RFC3339, strings.Replace(v, " ", "+", 1))
	if err != nil {
		p.bad(name, "2026-01-31T09:30:00Z")
	}
	return t
}

// number is a parameter that is a whole number within bounds.
func (p *query) number(name string, absent, least, most int64) int64 {
	v := p.text(name)
	if v == "" {
		return absent
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		p.bad(name, strconv.FormatInt(least, 10)+" – "+strconv.FormatInt(most, 10))
		return absent
	}
	return n
}

// limit is how many rows a page may have.
func (p *query) limit() int {
	n, err := page.Limit(p.text("limit"))
	if err != nil {
		p.fail(err)
	}
	return n
}

// cursor is the position that a page goes on from, read by parse; the zero
// value on the first page.
func cursor[T any](p *query, list string, parse func(string) (T, error)) (after T) {
	position, err := page.Position(list, p.values.Get("cursor"))
	if err != nil {
		p.fail(err)
		return after
	}
	if position == "" {
		return after
	}
	after, err = parse(position)
	if err != nil {
		p.fail(page.Invalid())
	}
	return after
}
