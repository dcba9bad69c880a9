package grounding

import (
	"regexp"
	"strconv"
	"strings"
)

// date is a day, a month or a year; what isn't said is 0.
type date struct{ year, month, day int }

func (d date) valid() bool {
	return d.month >= 1 && d.month <= 12 && d.day <= 31 && (d.year == 0 || d.year >= 1000)
}

// same says whether a date that is written in short may be the other one.
func (d date) same(source date) bool {
	return (d.year == 0 || source.year == 0 || d.year == source.year) && d.month == source.month && (d.day == 0 || d.day == source.day)
}

const month = `(Jan|January|Feb|February|Mar|March|Apr|April|May|Jun|June|Jul|July|Aug|August|Sep|Sept|September|Oct|October|Nov|November|Dec|December)`

// dateForm is a way to write a date; order says which group is what.
type dateForm struct {
	pattern *regexp.Regexp
	order   string
}

var dateForms = []dateForm{
	{regexp.MustCompile(`\b(\d{4})-(\d{2})-(\d{2})(?:T|\b)`), "ymd"},
	{regexp.MustCompile(`\b(\d{4})[./](\d{1,2})[./](\d{1,2})\b`), "ymd"},
	{regexp.MustCompile(`\b(\d{1,2})[./](\d{1,2})[./](\d{4}|\d{2})\b`), "dmy"},
	{regexp.MustCompile(`\b(\d{4}) ?年 ?(\d{1,2}) ?月 ?(\d{1,2}) ?[日号]`), "ymd"},
	{regexp.MustCompile(`\b(\d{4}) ?年 ?(\d{1,2}) ?月`), "ym"},
	{regexp.MustCompile(`\b(\d{1,2}) ?月 ?(\d{1,2}) ?[日号]`), "md"},
	{regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + month + `\b\.?,? (\d{4})\b`), "dmy"},
	{regexp.MustCompile(`\b` + month + `\b\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`), "mdy"},
	{regexp.MustCompile(`\b(\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + month + `\b`), "dm"},
	{regexp.MustCompile(`\b` + month + `\b\.? (\d{4})\b`), "my"},
	{regexp.MustCompile(`\b` + month + `\b\.? (\d{1,2})(?:st|nd|rd|th)?\b`), "md"},
}

// read is what a match may mean. Of 3/4/2026 either may be the month.
func (f dateForm) read(groups []string) (list []date) {
	var d date
	for i, part := range f.order {
		n := number(groups[i])
		switch part {
		case 'y':
			if d.year = n; len(groups[i]) == 2 {
				d.year += 2000
			}
		case 'm':
			d.month = n
		case 'd':
			d.day = n
		}
	}
	day := d.day > 0 || !strings.Contains(f.order, "d")
	if d.valid() && day {
		list = append(list, d)
	}
	turned := date{d.year, d.day, d.month}
	if f.order == "dmy" && digits(groups[1]) && turned.valid() && turned.day > 0 && turned != d {
		list = append(list, turned)
	}
	return list
}

func number(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return 1 + strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(s[:3]))/3
}
