package grounding

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Ground is what a text may rest on. The zero value holds nothing.
type Ground struct {
	texts   strings.Builder // folded
	numbers map[string]*big.Rat
	sorted  []*big.Rat // the numbers, once they were looked through; nil if there are new ones
	dates   []date
	counts  map[int64]bool
	tries   int64

	words map[string]bool // the codes and addresses, folded
}

// maxGroups bounds the values of a column that are counted.
const maxGroups = 100

// Add adds a text that was shown.
func (g *Ground) Add(text string) {
	for _, f := range find(norm.NFKC.String(text)) {
		for _, r := range f.readings {
			g.addNumber(r)
		}
		for _, p := range f.parts {
			for _, r := range p.readings {
				g.addNumber(r)
			}
		}
		if f.Kind == Address || f.Kind == Code {
			if g.words == nil {
				g.words = map[string]bool{}
			}
			g.words[fold(f.Text)] = true
		}
		g.dates = append(g.dates, f.dates...)
	}
	g.texts.WriteString(fold(text))
	g.texts.WriteByte('\n')
}

// AddJSON adds the texts, numbers and names of a JSON value, and how many
// elements its lists have: in all, and by the values of each of their fields.
// What is no JSON is added as text.
func (g *Ground) AddJSON(raw json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		g.Add(string(raw))
		return
	}
	g.walk(v)
}

func (g *Ground) walk(v any) {
	switch v := v.(type) {
	case string:
		g.Add(v)
	case json.Number:
		g.Add(v.String())
	case []any:
		g.AddCount(len(v))
		g.countBy(v)
		for _, e := range v {
			g.walk(e)
		}
	case map[string]any:
		for name, e := range v {
			g.Add(name)
			g.walk(e)
		}
	}
}

// countBy counts the elements of a list by the values of their fields: of
// objects by name, of rows by position.
func (g *Ground) countBy(list []any) {
	groups := map[string]map[string]int{}
	one := func(field string, value any) {
		if groups[field] == nil {
			groups[field] = map[string]int{}
		}
		switch value.(type) {
		case map[string]any, []any:
			return
		}
		b, err := json.Marshal(value)
		if err == nil && (len(groups[field]) < maxGroups || groups[field][string(b)] > 0) {
			groups[field][string(b)]++
		}
	}
	for _, e := range list {
		switch e := e.(type) {
		case map[string]any:
			for name, value := range e {
				one(name, value)
			}
		case []any:
			for i, value := range e {
				one(strconv.Itoa(i), value)
			}
		}
	}
	for _, values := range groups {
		g.AddCount(len(values))
		for _, n := range values {
			g.AddCount(n)
		}
	}
}

// AddTries adds how often something was tried. As many tries are held, and
// fewer, since some of them may be meant; a try is what words such as times,
// calls and attempts stand beside.
func (g *Ground) AddTries(n int) { g.tries = max(g.tries, int64(n)) }

// hundred is from where a whole number may be a longer one, rounded.
var hundred = big.NewRat(100, 1)

// AddCount adds a number that whoever calls has counted.
func (g *Ground) AddCount(n int) {
	if g.counts == nil {
		g.counts = map[int64]bool{}
	}
	g.counts[int64(n)] = true
}

func (g *Ground) addNumber(r reading) {
	if g.numbers == nil {
		g.numbers = map[string]*big.Rat{}
	}
	g.numbers[r.key()], g.sorted = r.value, nil
}

// Holds says whether a fact stands in what was added.
func (g *Ground) Holds(f Fact) bool {
	if f.time != "" && g.at(f.time) {
		return true
	}
	held := false
	switch f.Kind {
	case Number:
		held = g.holdsNumber(f)
	case Date:
		held = slices.ContainsFunc(f.dates, func(d date) bool { return slices.ContainsFunc(g.dates, d.same) })
	case Address:
		held = g.words[fold(f.Text)]
	case Code:
		held = g.words[fold(f.Text)] || g.contains(f.Text)
	}
	return held || len(f.parts) > 0 && !slices.ContainsFunc(f.parts, func(p Fact) bool { return !g.holdsNumber(p) })
}

// at says whether a time of the day stands in the texts.
func (g *Ground) at(time string) bool {
	if strings.HasSuffix(time, ":") { // on the hour
		time += "00"
	}
	return g.contains(time)
}

func (g *Ground) holdsNumber(f Fact) bool {
	for _, r := range f.readings {
		if g.numbers[r.key()] != nil || f.money && g.numbers[r.scaled(2).key()] != nil || f.percent && g.numbers[r.scaled(-2).key()] != nil {
			return true
		}
		if r.value.IsInt() && r.value.Num().IsInt64() {
			if n := r.value.Num().Int64(); g.counts[n] || f.tries && n <= g.tries || n >= 1000 && g.year(int(min(n, 9999))) {
				return true
			}
		}
		switch {
		case f.about && g.within(r.value, r.margin()), (r.decimals > 0 || r.value.Cmp(hundred) >= 0) && g.within(r.value, half(r.decimals)):
			return true
		case f.percent && r.decimals > 0 && g.within(r.scaled(-2).value, half(r.decimals+2)):
			return true
		}
	}
	return false
}

// within says whether a number is held that is so near to value.
func (g *Ground) within(value, margin *big.Rat) bool {
	if g.sorted == nil {
		g.sorted = slices.SortedFunc(maps.Values(g.numbers), (*big.Rat).Cmp)
	}
	least := new(big.Rat).Sub(value, margin)
	i, _ := slices.BinarySearchFunc(g.sorted, least, (*big.Rat).Cmp)
	return i < len(g.sorted) && g.sorted[i].Cmp(new(big.Rat).Add(value, margin)) <= 0
}

func (g *Ground) year(n int) bool {
	for _, d := range g.dates {
		if d.year == n {
			return true
		}
	}
	return false
}

// contains says whether a code stands in the texts, as a word of its own.
func (g *Ground) contains(text string) bool {
	all, text := g.texts.String(), strings.TrimSpace(fold(text))
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	for from := 0; text != ""; {
		at := strings.Index(all[from:], text)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(all[:at])
		after, _ := utf8.DecodeRuneInString(all[at+len(text):])
		if !goesOn(before, first) && !goesOn(last, after) && !longer.MatchString(all[at+len(text):]) {
			return true
		}
		from = at + 1
		for from < len(all) && !utf8.RuneStart(all[from]) {
			from++
		}
	}
	return false
}

// goesOn says whether two runes are of one word: letters with letters, digits
// with digits. A time stands in 2026-11-12T10:30:00.
func goesOn(a, b rune) bool {
	return unicode.IsDigit(a) && unicode.IsDigit(b) || unicode.IsLetter(a) && unicode.IsLetter(b) && !unicode.Is(unicode.Han, a) && !unicode.Is(unicode.Han, b)
}

// Says says whether a word or phrase stands in the texts, as a word of its own.
func (g *Ground) Says(phrase string) bool { return g.contains(phrase) }

// longer says that a code goes on: ES-118 is not ES-118-2.
var longer = regexp.MustCompile(`^[-_][\pL\pN]`)

var spaces = regexp.MustCompile(`\s+`)

func fold(text string) string {
	return strings.ToLower(spaces.ReplaceAllString(norm.NFKC.String(text), " "))
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
