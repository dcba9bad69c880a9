package grounding

import (
	"regexp"
	"slices"
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

// months are the names of the months in the languages that agents write most.
// May is a month only with its capital: in small letters it is a verb.
var months = [][]string{
	{"jan", "january", "januar", "janvier", "enero"}, {"feb", "february", "februar", "février", "febrero"}, {"mar", "march", "märz", "mars", "marzo"},
	{"apr", "april", "avril", "abril"}, {"May", "Mai", "mai", "mayo"}, {"jun", "june", "juni", "juin", "junio"}, {"jul", "july", "juli", "juillet", "julio"},
	{"aug", "august", "août", "agosto"}, {"sep", "sept", "september", "septembre", "septiembre"}, {"oct", "okt", "october", "oktober", "octobre", "octubre"},
	{"nov", "november", "novembre", "noviembre"}, {"dec", "dez", "december", "dezember", "décembre", "diciembre"},
}

var month = func() string {
	var names []string
	for _, m := range months {
		for _, name := range m {
			if name == "May" || name == "Mai" || name == "mai" {
				names = append(names, name)
				continue
			}
			names = append(names, "(?i:"+name+")")
		}
	}
	return "(" + strings.Join(names, "|") + ")"
}()

// nth may follow a day.
const nth = `(?:st|nd|rd|th|\.|er)?`

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
	{regexp.MustCompile(`\b(\d{1,2})` + nth + `(?: of| de)? ` + month + `(?:\.|,| de)? (\d{4})\b`), "dmy"},
	{regexp.MustCompile(`\b` + month + `\.? (\d{1,2})` + nth + `,? (\d{4})\b`), "mdy"},
	{regexp.MustCompile(`\b(\d{1,2})` + nth + `(?: of| de)? ` + month + `(?:$|[^\pL\d])`), "dm"},
	{regexp.MustCompile(`\b` + month + `(?:\.| de)? (\d{4})\b`), "my"},
	{regexp.MustCompile(`\b` + month + `\.? (\d{1,2})(?:st|nd|rd|th)?\b`), "md"},
	{regexp.MustCompile(`\b(\d{1,2})\.(\d{1,2})\.`), "dm"},
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
	for i, names := range months {
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, s) }) {
			return i + 1
		}
	}
	return 0
}
