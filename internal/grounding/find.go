package grounding

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Kind is what a fact is.
type Kind string

// The kinds.
const (
	Number  Kind = "number"
	Date    Kind = "date"
	Code    Kind = "code"    // an id, a time, a version: letters or marks with digits
	Address Kind = "address" // of mail or of a page
)

// Fact is one thing in a text that must stand somewhere.
type Fact struct {
	Kind Kind
	Text string // as it is written

	readings []reading
	dates    []date
	money    bool   // a currency stands beside it
	percent  bool   // %, or the word
	about    bool   // it is said to be rounded
	tries    bool   // of tries, calls: what can be counted of a log
	time     string // as 24 hours have it, where it may be one
	parts    []Fact // of 35/40, 10-12 and 1 284: they may be two figures as well
}

var (
	address  = regexp.MustCompile(`https?://[^\s"'<>)\]}]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	currency = regexp.MustCompile(`(?i)(?:[€$£¥￥]|\b(?:eur|usd|gbp|chf|cny|rmb|jpy)) ?$`)
	priced   = regexp.MustCompile(`(?i)^ ?(?:[€$£¥￥元]|(?:eur|usd|gbp|chf|cny|rmb|jpy|euros?|dollars?|cents)\b)`)
	percent  = regexp.MustCompile(`(?i)^ ?(?:[%％]|per ?cent\b)`)
	rounded  = regexp.MustCompile(`(?i)(?:\b(?:about|around|approximately|roughly|almost|nearly|over|under|more than|less than|at least|at most|up to)|[~≈约近超过]) ?(?:[€$£¥￥] ?)?$`)
	scale    = regexp.MustCompile(`(?i)^ ?(?:(thousand|k)\b|(million|m)\b|(billion|bn)\b|(万)|(亿))`)
	ordinal  = regexp.MustCompile(`(?i)^\d+(?:st|nd|rd|th)$`)
	measured = regexp.MustCompile(`(?i)^([\d.,]*\d)(?:x|ms|s|sec|min|h|d|g|kg|mg|l|ml|m|km|cm|mm|b|kb|mb|gb|tb|eur|usd|gbp|chf|cny|rmb|am|pm|k|bn|-\p{L}[\p{L}-]*)$`)
	spaced   = regexp.MustCompile(`^\d{1,3}(?: \d{3})*$`) // 1 284 is one number, or two
	three    = regexp.MustCompile(`^\d{3}(?:\D|$)`)
	bullet   = regexp.MustCompile(`(?m)^[ \t]*(?:#{1,6} +)?\d{1,2}[.)、] |^[ \t]*\| *\d{1,3} *\|`)
	// idiom holds words for numbers that count nothing.
	idiom = regexp.MustCompile(`(?i)\b(?:half past|quarter (?:past|to)) \w+|\b\w+ and a half\b|\bone in \w+|\b(?:am|den|vom|zum|bis) \d{1,2}\.(?:[ ,;]|$)`)
	// several are the days before the last of some that share a month.
	several  = regexp.MustCompile(`\b(\d{1,2})` + nth + `( ?[-–,] ?| (?:to|and|or|bis|und|au|et|y) )(\d{1,2}` + nth + `(?: of| de)? ` + month + `(?:(?:\.|,| de)? \d{4}\b)?)`)
	firstDay = regexp.MustCompile(`^\d{1,2}`)
	clock    = regexp.MustCompile(`^(\d{1,2})[.:]?(\d\d)?$`)
	meridian = regexp.MustCompile(`(?i)^ ?(?:(a)\.?m\b|(p)\.?m\b|uhr\b|h\b)`)
	tried    = regexp.MustCompile(`(?i)^ ?(?:more |further )?(?:times|tries|attempts?|calls?|looks?|requests?|retries|次)`)
)

// exponents of the groups of scale.
var exponents = []int{3, 6, 9, 4, 8}

// Find finds the facts of a text, in no order. Figures that only count the
// points of a list are none.
func Find(text string) []Fact {
	text = bullet.ReplaceAllStringFunc(norm.NFKC.String(text), blank)
	return find(idiom.ReplaceAllStringFunc(text, blank))
}

func find(text string) (facts []Fact) {
	text = address.ReplaceAllStringFunc(text, func(s string) string {
		facts = append(facts, Fact{Kind: Address, Text: strings.TrimRight(s, ".,;:!?")})
		return blank(s)
	})
	for range 3 { // 14, 15 and 16 November are three days
		at := several.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		last := text[at[6]:at[7]]
		facts = append(facts, find(text[at[2]:at[3]]+last[len(firstDay.FindString(last)):])...)
		text = text[:at[2]] + blank(text[at[2]:at[6]]) + text[at[6]:]
	}
	forms := dateForms
	if !strings.ContainsAny(text, "0123456789") {
		forms = nil
	}
	for _, form := range forms {
		rest := []byte(text)
		for _, at := range form.pattern.FindAllStringSubmatchIndex(text, -1) {
			var groups []string
			for i := 2; i < len(at); i += 2 {
				groups = append(groups, text[at[i]:at[i+1]])
			}
			if dates := form.read(groups); len(dates) > 0 {
				end := at[1]
				if form.order == "dm" {
					end = at[len(at)-1] // what comes behind is not of it
				}
				written := text[at[0]:end]
				facts = append(facts, Fact{Kind: Date, Text: strings.TrimSuffix(written, "T"), dates: dates})
				copy(rest[at[0]:end], blank(written))
			}
		}
		text = string(rest)
	}
	for _, at := range tokens(text) {
		if f, ok := read(text, at[0], at[1]); ok {
			facts = append(facts, f)
		}
	}
	return facts
}

func blank(s string) string { return strings.Repeat(" ", len(s)) }

// tokens are where the words of a text stand. Marks between letters or digits
// belong to a word, those that group digits only between digits.
func tokens(text string) (list [][2]int) {
	start, before := -1, rune(0)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case part(r):
			if start < 0 {
				start = i
			}
		case start >= 0:
			next, _ := utf8.DecodeRuneInString(text[i+size:])
			joins := strings.ContainsRune("-_/.:#&", r) && part(before) && part(next) ||
				strings.ContainsRune(",'’", r) && unicode.IsDigit(before) && unicode.IsDigit(next) ||
				r == ' ' && spaced.MatchString(text[start:i]) && three.MatchString(text[i+1:])
			if !joins {
				list = append(list, [2]int{start, i})
				start = -1
			}
		}
		before = r
		i += size
	}
	if start >= 0 {
		list = append(list, [2]int{start, len(text)})
	}
	return list
}

// part says whether a rune belongs to a word. Han characters stand beside
// figures without a space.
func part(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.Is(unicode.Han, r)
}

// read says what fact a word is, if it is one.
func read(text string, from, to int) (Fact, bool) {
	word := text[from:to]
	if n, ok := numberWords[strings.ToLower(word)]; ok {
		f := Fact{Kind: Number, Text: word, readings: readings(itoa(n))}
		f.around(text[:from], text[to:])
		return f, true
	}
	if !strings.ContainsAny(word, "0123456789") || ordinal.MatchString(word) {
		return Fact{}, false
	}
	figure := word
	if m := measured.FindStringSubmatch(word); m != nil {
		figure = m[1]
	}
	if list := readings(figure); len(list) > 0 && (figure[0] != '0' || len(figure) == 1 || figure[1] == '.' || figure[1] == ',') {
		f := Fact{Kind: Number, Text: word, readings: list}
		f.around(text[:from], text[from+len(figure):])
		if figures := strings.Fields(figure); len(figures) > 1 {
			f.parts = numbers(figures)
		}
		return f, true
	}
	f := Fact{Kind: Code, Text: word}
	if few := strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("-/:", r) }); len(few) == 2 && digits(few[0]) && digits(few[1]) && len(few[0]) <= 3 && len(few[1]) <= 3 {
		f.parts = numbers(few)
	}
	idiom := len(word) <= 4 && strings.Trim(word, "0123456789") != "" && !strings.ContainsAny(word, "-_/.:#&") && count(word) < 2
	return f, !idiom
}

func numbers(figures []string) (list []Fact) {
	for _, figure := range figures {
		list = append(list, Fact{Kind: Number, Text: figure, readings: readings(figure)})
	}
	return list
}

// beside is more bytes than the longest of what is looked for before a figure.
// All of a long text would be gone through anew for each of its figures.
const beside = 64

// around reads what stands beside a figure.
func (f *Fact) around(before, after string) {
	before = before[max(0, len(before)-beside):]
	f.money = currency.MatchString(before) || priced.MatchString(after)
	f.percent = percent.MatchString(after)
	f.about = rounded.MatchString(before)
	f.tries = tried.MatchString(after)
	f.time = timeOf(f.Text, after)
	if m := scale.FindStringSubmatch(after); m != nil {
		for i, name := range m[1:] {
			if name == "" {
				continue
			}
			f.about = true
			for j, r := range f.readings {
				f.readings[j] = r.scaled(exponents[i])
			}
		}
	}
}

// timeOf is the time that a figure with am, pm or Uhr behind it stands for.
func timeOf(figure, after string) string {
	hour := strings.TrimRight(figure, "amphAMPH")
	m, mark := clock.FindStringSubmatch(hour), meridian.FindStringSubmatch(figure[len(hour):]+after)
	if m == nil || mark == nil {
		return ""
	}
	h := number(m[1])
	switch {
	case mark[2] != "" && h < 12:
		h += 12
	case mark[1] != "" && h == 12:
		h = 0
	}
	return fmt.Sprintf("%02d:%s", h, m[2])
}

func count(word string) (n int) {
	for _, r := range word {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

var between = regexp.MustCompile(`(?i)^(?:,? ?(?:and|or|und|et|y) |[,、/&] ?|和)$`)

// Lists are how many codes the lists of a text name: "A-1, A-2 and A-3" is a
// list of three. One alone is none.
func Lists(text string) (lengths []int) {
	text = norm.NFKC.String(text)
	n, end := 0, -1
	for _, at := range tokens(text) {
		f, ok := read(text, at[0], at[1])
		if !ok || f.Kind != Code {
			continue
		}
		if end >= 0 && between.MatchString(text[end:at[0]]) {
			n++
		} else {
			lengths = append(lengths, n)
			n = 1
		}
		end = at[1]
	}
	lengths = append(lengths, n)
	return slices.DeleteFunc(lengths, func(n int) bool { return n < 2 })
}

// Whole is the whole number that a word stands for, -1 if it is none.
func Whole(word string) int {
	if strings.EqualFold(word, "one") {
		return 1
	}
	if n, ok := numberWords[strings.ToLower(word)]; ok {
		return int(n)
	}
	if n, err := strconv.Atoi(word); err == nil {
		return n
	}
	return -1
}

var sentenceEnd = regexp.MustCompile(`[.!?]["')\]]*\s+|[。！？；]|\n+`)

// Sentences are the sentences of a text.
func Sentences(text string) (list []string) {
	from := 0
	for _, at := range sentenceEnd.FindAllStringIndex(text, -1) {
		list = append(list, text[from:at[1]])
		from = at[1]
	}
	if strings.TrimSpace(text[from:]) != "" {
		list = append(list, text[from:])
	}
	return list
}
