package tools

import (
	"fmt"
	"regexp"
	"strings"
)

// logTime is how a record of a log begins: a date and time, a time of day, or
// one of them after a name as access logs and logfmt have it.
var logTime = regexp.MustCompile(`^\[?(` +
	`\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?` +
	`|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?` +
	`|\d\d:\d\d:\d\d(?:[.,]\d{1,9})?` +
	`)\]?(?:\s|$)` +
	`|^[IWEF](\d{4} \d\d:\d\d:\d\d(?:\.\d{1,9})?)\s` +
	`|^(?:time|ts|timestamp)="?([^\s"]+)"?\s` +
	`|^\S{1,64} \S{1,64} \S{1,64} \[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] `)

// logLevel names a level as a field, logStatus the status in an access log.
var (
	logLevel  = regexp.MustCompile(`(?:^|\s)(?:level|lvl|severity)="?([A-Za-z]+)`)
	logStatus = regexp.MustCompile(`^"[^"]*" (\d{3})(?:\s|$)`)
)

var levels = map[string]string{
	"TRACE": "TRACE", "DEBUG": "DEBUG", "INFO": "INFO", "NOTICE": "NOTICE", "WARN": "WARN", "WARNING": "WARN", "ERROR": "ERROR", "ERR": "ERROR",
	"CRIT": "CRITICAL", "CRITICAL": "CRITICAL", "ALERT": "ALERT", "EMERG": "EMERGENCY", "FATAL": "FATAL", "PANIC": "PANIC", "SEVERE": "SEVERE", "LOG": "LOG",
}

// record is one line of a log that begins with a time.
type record struct{ time, level, text string }

func parseRecord(line string) (record, bool) {
	if !mayHaveTime(line) {
		return record{}, false
	}
	m := logTime.FindStringSubmatchIndex(line)
	if m == nil {
		return record{}, false
	}
	r := record{text: strings.TrimSpace(line[m[1]:])}
	for g := 2; g < len(m); g += 2 {
		if m[g] >= 0 {
			r.time = line[m[g]:m[g+1]]
		}
	}
	if m[4] >= 0 { // the letter before the date
		r.level = map[byte]string{'I': "INFO", 'W': "WARN", 'E': "ERROR", 'F': "FATAL"}[line[0]]
	} else {
		r.level = levelOf(r.text)
	}
	return r, true
}

// mayHaveTime says no, quickly, to most lines that don't begin with a time.
func mayHaveTime(line string) bool {
	if strings.HasPrefix(line, "t") { // a field, whose time may be a number
		return true
	}
	for i := 2; i+1 < len(line) && i < 250; i++ {
		if line[i] == ':' && digit(line[i-1]) && digit(line[i-2]) && digit(line[i+1]) {
			return true
		}
	}
	return false
}

// levelOf is the level that stands among the first words of a record, or in a
// field, or else the status of an access log. It is empty where none stands.
func levelOf(text string) string {
	if m := logLevel.FindStringSubmatch(text); m != nil {
		return strings.ToUpper(m[1])
	}
	if m := logStatus.FindStringSubmatch(text); m != nil {
		return "status " + m[1]
	}
	rest := text
	for range 4 {
		var word string
		word, rest, _ = strings.Cut(strings.TrimLeft(rest, " \t"), " ")
		bare := strings.Trim(word, "[]()<>|:")
		// Without brackets or a colon only capitals are a level: "error" may be
		// the beginning of a sentence.
		if name := levels[strings.ToUpper(bare)]; name != "" && (bare == strings.ToUpper(bare) || bare != word) {
			return name
		}
	}
	return ""
}

// log summarises a log: its first and last time, how many records have which
// level, what repeats, what tells of errors. It says no to what is something
// else. Lines without a time go on with the record before them.
func (d *digest) log() bool {
	var byLevel, texts tally
	var first, last record
	records, blank, more, without := 0, 0, 0, 0
	for i, l := range d.from.text {
		if l == "" {
			blank++
			continue
		}
		r, ok := parseRecord(l)
		if !ok {
			if more++; more > d.most(40) {
				return false
			}
			continue
		}
		if records++; records == 1 {
			first = r
		}
		last = r
		if r.level == "" {
			without++
		} else {
			byLevel.add(r.level, i)
		}
		texts.add(maskLine(r.text), i)
	}
	if records <= summarizeOver/2 || records*100 < (len(d.from.text)-blank)*60 {
		return false
	}
	d.say(fmt.Sprintf("%d records of a log, the first of %s, the last of %s.", records, first.time, last.time))
	if more > 0 {
		d.say(fmt.Sprintf("%s.", plural(more, "further line has no time of its own", "further lines have no time of their own")))
	}
	if len(byLevel.by) > 0 {
		d.say("By level: " + counts(&byLevel, 20, without) + ".")
	}
	d.patterns(&texts, d.f.MaxChars/4)
	d.errors(d.f.MaxChars / 5)
	return true
}

// counts lists names with how often they are there.
func counts(by *tally, most, without int) string {
	var parts []string
	all := by.top()
	for _, k := range all[:min(most, len(all))] {
		parts = append(parts, fmt.Sprintf("%s %d", clip(k.name, 60), k.count))
	}
	others := by.other
	for _, k := range all[min(most, len(all)):] {
		others += k.count
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("others %d", others))
	}
	if without > 0 {
		parts = append(parts, fmt.Sprintf("none %d", without))
	}
	return strings.Join(parts, ", ")
}
