package tools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Table is the data of tools that bring rows.
type Table struct {
	Columns []Column            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
	// RowCount is how many rows there are in all, -1 if that isn't known.
	RowCount int `json:"row_count"`
	// Complete says that all rows are in Rows.
	Complete bool `json:"complete"`
}

// Column is one column of a table.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// summarizeOver is the number of rows over which a table is summarised.
const summarizeOver = 1000

// summary is a table of many rows, counted by code.
type summary struct {
	Columns  []columnSummary     `json:"columns"`
	First    [][]json.RawMessage `json:"first_rows"`
	Last     [][]json.RawMessage `json:"last_rows"`
	Rows     int                 `json:"rows_summarised"`
	RowCount int                 `json:"row_count"`
	Complete bool                `json:"complete"`
}

type columnSummary struct {
	Column
	Nulls    int             `json:"nulls"`
	Distinct int             `json:"distinct"` // -1: more than 10,000
	Min      json.RawMessage `json:"min,omitempty"`
	Max      json.RawMessage `json:"max,omitempty"`
	Top      []topValue      `json:"top,omitempty"`
}

type topValue struct {
	Value json.RawMessage `json:"value"`
	Count int             `json:"count"`
}

// formatTable shortens a table: rows up to the limits; over 1,000 a summary.
func formatTable(t Table, f Format) (data json.RawMessage, cut *Truncated, note string) {
	whole, err := marshal(t)
	if err != nil {
		return nil, nil, ""
	}
	full := &Truncated{TotalBytes: int64(len(whole)), TotalLines: int64(t.RowCount)}
	if len(t.Rows) > summarizeOver {
		s := summary{Rows: len(t.Rows), RowCount: t.RowCount, Complete: t.Complete, First: fit(t.Rows, 20, f.MaxChars/4), Last: t.Rows[len(t.Rows)-5:]}
		for i, c := range t.Columns {
			s.Columns = append(s.Columns, summarize(t.Rows, i, c))
		}
		if data, err = marshal(s); err == nil && len(data) <= f.MaxChars*2 {
			full.Shown, full.NextOffset = int64(len(s.First)+len(s.Last)), int64(len(s.First))
			return data, full, fmt.Sprintf("There are %d rows; each column is summarised, and the first %d and the last %d rows are shown.", len(t.Rows), len(s.First), len(s.Last))
		}
	}
	rows := fit(t.Rows, f.MaxRows, f.MaxChars)
	if len(rows) == len(t.Rows) {
		return whole, nil, ""
	}
	full.Shown, full.NextOffset = int64(len(rows)), int64(len(rows))
	total := "how many there are in all is not known"
	if t.RowCount >= 0 {
		total = fmt.Sprintf("there are %d", t.RowCount)
	}
	t.Rows, t.Complete = rows, false
	data, _ = marshal(t)
	return data, full, fmt.Sprintf("The first %d rows are shown; %s.", len(rows), total)
}

// fit is as many rows from the beginning as the limits allow.
func fit(rows [][]json.RawMessage, most, chars int) [][]json.RawMessage {
	n := 0
	for i, row := range rows {
		for _, v := range row {
			n += len(v) + 1
		}
		if i >= most || n > chars {
			return rows[:i]
		}
	}
	return rows
}

const maxDistinct = 10000

func summarize(rows [][]json.RawMessage, i int, c Column) columnSummary {
	s := columnSummary{Column: c}
	counts := map[string]int{}
	for _, row := range rows {
		if i >= len(row) || bytes.Equal(row[i], []byte("null")) {
			s.Nulls++
			continue
		}
		if v := string(row[i]); counts[v] > 0 || len(counts) < maxDistinct {
			counts[v]++
		}
		if s.Min == nil || compareJSON(row[i], s.Min) < 0 {
			s.Min = row[i]
		}
		if s.Max == nil || compareJSON(row[i], s.Max) > 0 {
			s.Max = row[i]
		}
	}
	s.Distinct = len(counts)
	if len(counts) >= maxDistinct {
		s.Distinct = -1
	}
	values := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	for _, v := range values[:min(5, len(values))] {
		if counts[v] > 1 && len(v) <= 200 {
			s.Top = append(s.Top, topValue{json.RawMessage(v), counts[v]})
		}
	}
	for _, v := range []*json.RawMessage{&s.Min, &s.Max} {
		if len(*v) > 200 {
			*v = nil
		}
	}
	return s
}

// compareJSON orders numbers as numbers, all else as text.
func compareJSON(a, b json.RawMessage) int {
	x, err1 := json.Number(a).Float64()
	y, err2 := json.Number(b).Float64()
	if err1 == nil && err2 == nil {
		return cmp.Compare(x, y)
	}
	return bytes.Compare(a, b)
}

// formatJSON shortens data that is no table: a long list to its first and last
// elements, anything else to its text.
func formatJSON(data json.RawMessage, f Format) (json.RawMessage, *Truncated, string) {
	if len(data) <= f.MaxChars {
		return data, nil, ""
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 1 {
		head := fitList(list, f.MaxChars*headShare/100)
		tail := fitList(reversed(list[len(head):]), f.MaxChars*(100-headShare)/100)
		if len(head) > 0 {
			short, err := marshal(map[string]any{"first": head, "last": reversed(tail), "left_out": len(list) - len(head) - len(tail), "elements": len(list)})
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

func fitList(list []json.RawMessage, chars int) []json.RawMessage {
	n := 0
	for i, v := range list {
		if n += len(v) + 1; n > chars {
			return list[:i]
		}
	}
	return list
}

func reversed(list []json.RawMessage) []json.RawMessage {
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
