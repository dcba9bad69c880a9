package tools

import (
	"fmt"
	"regexp"
)

// matchLine is a line as searches and compilers write it: a path, a line number,
// maybe a column, a text.
var matchLine = regexp.MustCompile(`^((?:[A-Za-z]:[\\/])?[^\s:][^:]*):(\d{1,9}):(?:(\d{1,9}):)?(.*)$`)

// matches summarises the result of a search: by file, with what repeats in the
// matches. It says no to what is something else.
func (d *digest) matches() bool {
	type match struct {
		line       int
		path, text string
	}
	var all []match
	var files, texts tally
	blank, other := 0, 0
	for i, l := range d.from.text {
		if l == "" || l == "--" {
			blank++
			continue
		}
		m := matchLine.FindStringSubmatch(l)
		if m == nil || maskLine(m[1]) == "<n>" { // a time of day is no path
			if other++; other > d.most(5) {
				return false
			}
			continue
		}
		all = append(all, match{i, m[1], m[4]})
		files.add(m[1], i)
		texts.add(maskLine(m[4]), i)
	}
	if len(all) <= summarizeOver/2 || len(all)*100 < (len(d.from.text)-blank)*95 {
		return false
	}
	if files.other > 0 {
		return false // nearly each line has a file of its own: that's no list of matches
	}
	list := files.top()
	d.say(fmt.Sprintf("%d matches in %s.", len(all), plural(len(list), "file", "files")))
	if other > 0 {
		d.say(fmt.Sprintf("%s.", plural(other, "further line is no match", "further lines are no matches")))
	}
	d.list(len(list), 25, d.f.MaxChars/5, func(n int) string {
		return fmt.Sprintf("Matches by file%s; the most first:", of(n, len(list)))
	}, func(i int) string { return fmt.Sprintf("%6d  %s", list[i].count, cutLine(list[i].name, 200)) })
	d.patterns(&texts, d.f.MaxChars/5)
	d.shown += d.list(len(list), 25, d.f.MaxChars/5, func(n int) string {
		return fmt.Sprintf("The first match in each file%s:", of(n, len(list)))
	}, func(i int) string { return d.line(list[i].first) })
	return true
}
