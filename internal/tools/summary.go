package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// summarizeOver is the number of lines, rows or elements over which what has
// structure is summarised instead of cut.
const summarizeOver = 1000

// The least room in which a summary of a text is worth more than its lines.
const (
	summaryChars = 4000
	summaryLines = 150
)

// lines is a text that is too long to show, line by line.
type lines struct {
	text []string
	gap  int // the line before which something was lost, -1 if nothing was
}

// offset is where PageText finds a line.
func (l lines) offset(i int) int {
	n := 0
	for _, t := range l.text[:i] {
		n += pieceCount(t)
	}
	if l.gap >= 0 && i >= l.gap {
		n++ // the line that tells of the gap
	}
	return n
}

// summarizeText counts what has structure: records of a log, matches of a
// search, JSON objects one a line. All numbers in a summary are counted, none is
// estimated, and one text has one summary. A text without structure has none.
func summarizeText(text []string, f Format, total Captured, gap int) (s shown, ok bool) {
	if f.Strategy == Head || len(text) <= summarizeOver || f.MaxChars < summaryChars || f.MaxLines < summaryLines {
		return shown{}, false
	}
	l := lines{text, gap}
	d := &digest{from: l, f: f}
	if gap >= 0 {
		d.say(fmt.Sprintf("%d of %d lines were kept and are counted here; those between line %d and what follows it are lost.", len(text), total.TotalLines, gap))
	}
	var what string
	switch {
	case d.objects():
		what = "the objects are summarised"
	case d.log():
		what = "the log is summarised"
	case d.matches():
		what = "the matches are summarised"
	default:
		return shown{}, false
	}
	head := d.excerpt("first", 0, min(10, len(text)), f.MaxChars/10)
	tail := min(20, len(text)-head)
	d.excerpt("last", len(text)-tail, len(text), f.MaxChars/5)
	cut := &Truncated{TotalBytes: total.TotalBytes, TotalLines: total.TotalLines, Shown: int64(d.shown), NextOffset: int64(l.offset(head))}
	note := fmt.Sprintf("The output has %s (%d bytes); %s, and %d are shown.", plural(int(total.TotalLines), "line", "lines"), total.TotalBytes, what, d.shown)
	return shown{strings.TrimSuffix(d.b.String(), "\n"), cut, note}, true
}

// digest is a summary being written.
type digest struct {
	b     strings.Builder
	from  lines
	f     Format
	shown int // lines of the text that stand in it
}

// most is how many lines may be of another kind, if percent of 100 may.
func (d *digest) most(percent int) int { return len(d.from.text) * percent / 100 }

func (d *digest) say(line string) {
	d.b.WriteString(line)
	d.b.WriteByte('\n')
}

// list writes items under a title, as many as there are up to most and as room,
// in characters, allows. The title is given how many those are; without items
// it isn't written. It returns how many were written.
func (d *digest) list(n, most, room int, title func(shown int) string, item func(i int) string) int {
	var items []string
	for i := range min(n, most) {
		it := item(i)
		if room -= utf8.RuneCountInString(it) + 3; room < 0 {
			break
		}
		items = append(items, it)
	}
	if len(items) == 0 {
		return 0
	}
	d.say("")
	d.say(title(len(items)))
	for _, it := range items {
		d.say("  " + it)
	}
	return len(items)
}

// of says how many of a list stand in it.
func of(shown, all int) string {
	if shown == all {
		return ""
	}
	return fmt.Sprintf(", %d of %d shown", shown, all)
}

// excerptLine is how much of a line is quoted in a summary, in characters.
const excerptLine = 400

func (d *digest) line(i int) string {
	return cutLine(d.from.text[i], min(d.f.MaxLine, excerptLine))
}

// numbered is a line with the number by which read_output finds it, from 1.
func (d *digest) numbered(i int) string {
	return fmt.Sprintf("line %d: %s", d.from.offset(i)+1, d.line(i))
}

// excerpt writes lines as they are. If they don't all fit it drops those further
// from the end of the text that they are at.
func (d *digest) excerpt(which string, from, to, room int) int {
	at := func(i int) int { return from + i }
	if which == "last" {
		at = func(i int) int { return to - 1 - i }
	}
	n := 0
	for n < to-from {
		if room -= utf8.RuneCountInString(d.line(at(n))) + 1; room < 0 {
			break
		}
		n++
	}
	if n == 0 {
		return 0
	}
	d.say("")
	if d.shown += n; which == "last" {
		d.say(fmt.Sprintf("The last %s:", plural(n, "line", "lines")))
		from = to - n
	} else {
		d.say(fmt.Sprintf("The first %s:", plural(n, "line", "lines")))
	}
	for i := range n {
		d.say(d.line(from + i))
	}
	return n
}

// errors writes lines that tell of errors, first one of each pattern.
func (d *digest) errors(room int) {
	var by tally
	all := 0
	for i, l := range d.from.text {
		if tellsOfError(l) {
			by.add(maskLine(l), i)
			all++
		}
	}
	kinds := by.top()
	title := func(n int) string {
		return fmt.Sprintf("%s of errors, %s by pattern%s; the first of each:", plural(all, "line tells", "lines tell"), by.different(), of(n, len(kinds)))
	}
	d.shown += d.list(len(kinds), errorLines, room, title, func(i int) string {
		if k := kinds[i]; k.count > 1 {
			return fmt.Sprintf("%d times, first %s", k.count, d.numbered(k.first))
		}
		return d.numbered(kinds[i].first)
	})
}

// patterns writes what repeats in texts, numbers and ids apart.
func (d *digest) patterns(by *tally, room int) {
	var kinds []*tallied
	for _, k := range by.top() {
		if k.count > 1 {
			kinds = append(kinds, k)
		}
	}
	title := func(n int) string {
		return fmt.Sprintf("Patterns (numbers and ids are masked), %s%s; the most frequent:", by.different(), of(n, len(by.by)))
	}
	d.list(len(kinds), 20, room, title, func(i int) string {
		return fmt.Sprintf("%6d  %s", kinds[i].count, cutLine(kinds[i].name, 200))
	})
}
