package tools

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shares of a cut, and what is kept of the middle.
const (
	headShare   = 70 // percent; the tail gets the rest
	errorLines  = 20 // lines from the middle that tell of errors
	errorChars  = 3000
	gapSentence = "[... %s left out ...]"
)

// shown is a text as the model gets it.
type shown struct {
	text   string
	cut    *Truncated // nil if it is whole
	notice string
}

// formatText shortens a clean text to the limits: whole if it fits; its summary
// if it is very long and has structure; else its head and its tail (or its head
// alone), and from between the lines that tell of errors, which survive every cut. total and lost speak of what was captured
// before; gap is the line at which something was lost, -1 if nothing was.
func formatText(text string, f Format, total Captured, gap int) shown {
	lines := splitLines(text)
	if gap < 0 && len(lines) <= f.MaxLines && utf8.RuneCountInString(text) <= f.MaxChars && longest(lines) <= f.MaxLine {
		return shown{text: text}
	}
	if s, ok := summarizeText(lines, f, total, gap); ok {
		return s
	}
	short := make([]string, len(lines))
	for i, l := range lines {
		short[i] = cutLine(l, f.MaxLine)
	}
	head, tail := shares(short, f)
	kept := between(short, head, len(lines)-tail)
	var b strings.Builder
	next := 0 // the line after the last one written
	skipTo := func(i int) {
		lost := gap >= next && gap <= i && total.Lost > 0
		if i > next || lost {
			fmt.Fprintf(&b, gapSentence+"\n", left(lines[next:i], lost, total.Lost))
		}
		next = i
	}
	write := func(i int) {
		skipTo(i)
		b.WriteString(short[i])
		b.WriteByte('\n')
		next = i + 1
	}
	for i := range head {
		write(i)
	}
	for _, i := range kept {
		write(i)
	}
	for i := len(lines) - tail; i < len(lines); i++ {
		write(i)
	}
	skipTo(len(lines))
	out := strings.TrimSuffix(b.String(), "\n")
	n := head + len(kept) + tail
	cut := &Truncated{TotalBytes: total.TotalBytes, TotalLines: total.TotalLines, Shown: int64(n), NextOffset: nextOffset(lines, short, head)}
	return shown{out, cut, notice(head, len(kept), tail, len(lines), total)}
}

func notice(head, kept, tail, lines int, total Captured) string {
	what := fmt.Sprintf("The output has %s (%d bytes); %d are shown", plural(int(total.TotalLines), "line", "lines"), total.TotalBytes, head+kept+tail)
	var parts []string
	if head > 0 {
		parts = append(parts, "the first "+plural(head, "line", "lines"))
	}
	if kept > 0 {
		parts = append(parts, plural(kept, "line", "lines")+" from the middle that tell of errors")
	}
	if tail > 0 {
		parts = append(parts, "the last "+plural(tail, "line", "lines"))
	}
	if head+kept+tail == lines && total.Lost == 0 {
		return what + ", long ones shortened."
	}
	return what + ": " + strings.Join(parts, ", ") + "."
}

// left says how much of the text was left out, and whether more was lost.
func left(lines []string, gap bool, lost int64) string {
	n := 0
	for _, l := range lines {
		n += len(l) + 1
	}
	out := fmt.Sprintf("%s, %d bytes", plural(len(lines), "line", "lines"), n)
	switch {
	case gap && len(lines) == 0:
		return fmt.Sprintf("%d bytes, which were not kept,", lost)
	case gap:
		return out + fmt.Sprintf(", and %d bytes that were not kept,", lost)
	}
	return out
}

// shares is how many lines of head and tail fit the limits.
func shares(lines []string, f Format) (head, tail int) {
	percent := headShare
	if f.Strategy == Head {
		percent = 100
	}
	take := func(maxLines, maxChars int, line func(int) string, from int) int {
		n, chars := 0, 0
		for from+n < len(lines) && n < maxLines {
			chars += utf8.RuneCountInString(line(n)) + 1
			if chars > maxChars {
				break
			}
			n++
		}
		return n
	}
	head = take(f.MaxLines*percent/100, f.MaxChars*percent/100, func(i int) string { return lines[i] }, 0)
	tail = take(f.MaxLines-f.MaxLines*percent/100, f.MaxChars-f.MaxChars*percent/100, func(i int) string { return lines[len(lines)-1-i] }, head)
	return head, tail
}

// between are the lines from the middle that tell of errors. Where there are too
// many, those of a kind that was not there yet come first, so that one fault that
// is told a hundred times hides no other.
func between(lines []string, from, to int) []int {
	var first, again []int
	kinds := map[string]bool{}
	for i := from; i < to; i++ {
		if !tellsOfError(lines[i]) {
			continue
		}
		if kind := maskLine(lines[i]); !kinds[kind] && len(first) < errorLines {
			kinds[kind] = true
			first = append(first, i)
		} else if len(again) < errorLines {
			again = append(again, i)
		}
	}
	var kept []int
	chars := 0
	for _, i := range append(first, again...) {
		n := utf8.RuneCountInString(lines[i])
		if len(kept) == errorLines {
			break
		}
		if chars+n > errorChars {
			continue
		}
		chars += n
		kept = append(kept, i)
	}
	slices.Sort(kept)
	return kept
}

// nextOffset is where PageText goes on: at the first piece of the first line
// that isn't shown whole.
func nextOffset(lines, short []string, head int) int64 {
	n := 0
	for i, l := range lines {
		if i >= head || l != short[i] {
			return int64(n)
		}
		n += pieceCount(l)
	}
	return int64(n)
}

// cutLine shortens one line to limit characters, keeping both its ends.
func cutLine(line string, limit int) string {
	n := utf8.RuneCountInString(line)
	if n <= limit {
		return line
	}
	head := limit * headShare / 100
	r := []rune(line)
	return string(r[:head]) + fmt.Sprintf(" [... %d characters left out ...] ", n-limit) + string(r[n-(limit-head):])
}

func longest(lines []string) int {
	most := 0
	for _, l := range lines {
		if len(l) > most {
			most = max(most, utf8.RuneCountInString(l))
		}
	}
	return most
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
