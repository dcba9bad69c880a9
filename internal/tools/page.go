package tools

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// pageLine is the length of a page's lines in characters. Longer lines are
// broken into pieces, each of which counts as a line, so that all of an output
// can be read and offsets stay as they are.
const pageLine = 2000

// pieces breaks a line for paging.
func pieces(line string) []string {
	if len(line) <= pageLine {
		return []string{line}
	}
	var out []string
	r := []rune(line)
	for chunk := range slices.Chunk(r, pageLine) {
		out = append(out, string(chunk))
	}
	return out
}

// pieceCount is how many pieces those are.
func pieceCount(line string) int {
	if len(line) <= pageLine {
		return 1
	}
	return (utf8.RuneCountInString(line) + pageLine - 1) / pageLine
}

// PageText reads on in a kept output: limit lines from the offset-th (from 0),
// as far as 30,000 characters go. A limit of 0 is 200.
func PageText(text string, offset, limit int) Output {
	if limit <= 0 {
		limit = 200
	}
	var all []string
	for _, l := range splitLines(text) {
		all = append(all, pieces(l)...)
	}
	offset = min(max(offset, 0), len(all))
	end, chars := offset, 0
	for end < len(all) && end-offset < limit {
		if chars += utf8.RuneCountInString(all[end]) + 1; chars > 30000 && end > offset {
			break
		}
		end++
	}
	t := &Truncated{TotalBytes: int64(len(text)), TotalLines: int64(len(all)), Shown: int64(end - offset)}
	if end < len(all) {
		t.NextOffset = int64(end)
	}
	return Output{Text: strings.Join(all[offset:end], "\n"), ContentType: "text/plain", Truncated: t}
}
