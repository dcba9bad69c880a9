package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// formatJSON shortens data that is no table: lists of more than 1,000 elements
// to their summary, a long list to its first and last elements, anything else to
// its text.
func formatJSON(data json.RawMessage, f Format) (json.RawMessage, *Truncated, string) {
	if utf8.RuneCount(data) <= f.MaxChars {
		return data, nil, ""
	}
	if short, cut, note, ok := summarizeJSON(data, f); ok {
		return short, cut, note
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 1 {
		head := fitList(list, f.MaxChars*headShare/100)
		tail := fitList(reversed(list[len(head):]), f.MaxChars*(100-headShare)/100)
		if len(head) > 0 {
			form := map[string]any{"first": head, "last": reversed(tail), "left_out": len(list) - len(head) - len(tail), "elements": len(list)}
			if v, ok := scalars(list); ok {
				form["values"] = v
			}
			short, err := marshal(form)
			if err == nil {
				cut := &Truncated{TotalBytes: int64(len(data)), TotalLines: int64(len(list)), Shown: int64(len(head) + len(tail)), NextOffset: int64(len(head))}
				return short, cut, fmt.Sprintf("The list has %d elements; the first %d and the last %d are shown.", len(list), len(head), len(tail))
			}
		}
	}
	text := keptJSON(data)
	total := Captured{TotalBytes: int64(len(text)), TotalLines: int64(strings.Count(text, "\n") + 1)}
	s := formatText(text, f, total, -1)
	return jsonString(s.text), s.cut, "The answer is JSON, too long to show whole; it is shown as text. " + s.notice
}

// scalars counts the elements of a very long list, if none has elements itself.
func scalars(list []json.RawMessage) (valuesSummary, bool) {
	var v values
	for _, el := range list {
		if kind := jsonKind(el); kind == "object" || kind == "array" || len(list) <= summarizeOver {
			return valuesSummary{}, false
		}
		v.add(el)
	}
	return v.summary(10), true
}

func fitList(list []json.RawMessage, chars int) []json.RawMessage {
	n := 0
	for i, v := range list {
		if n += utf8.RuneCount(v) + 1; n > chars {
			return list[:i]
		}
	}
	return list
}

func reversed[E any](list []E) []E {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

// keptJSON is data as lines that can be paged through: a list with one element a
// line, a table with one row a line, all else indented.
func keptJSON(data json.RawMessage) string {
	var t Table
	if json.Unmarshal(data, &t) == nil && t.Columns != nil && t.Rows != nil {
		var b strings.Builder
		for _, row := range t.Rows {
			line, err := marshal(row)
			if err != nil {
				break
			}
			b.Write(line)
			b.WriteByte('\n')
		}
		return b.String()
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		var b strings.Builder
		for _, v := range list {
			b.Write(compact(v))
			b.WriteByte('\n')
		}
		return b.String()
	}
	var b bytes.Buffer
	if json.Indent(&b, data, "", "  ") != nil {
		return string(data)
	}
	return b.String()
}
