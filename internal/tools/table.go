package tools

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
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
	valuesSummary
}

// formatTable shortens a table: rows up to the limits; over 1,000 a summary.
func formatTable(t Table, f Format) (data json.RawMessage, cut *Truncated, note string) {
	whole, err := marshal(t)
	if err != nil {
		return nil, nil, ""
	}
	full := &Truncated{TotalBytes: int64(len(whole)), TotalLines: int64(t.RowCount)}
	if len(t.Rows) > summarizeOver {
		if data, shown, head := summarizeTable(t, f); data != nil {
			full.Shown, full.NextOffset = int64(shown), int64(head)
			return data, full, fmt.Sprintf("There are %d rows; each column is summarised, and the first %d and the last %d rows are shown.", len(t.Rows), head, shown-head)
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
			n += utf8.RuneCount(v) + 1
		}
		if i >= most || n > chars {
			return rows[:i]
		}
	}
	return rows
}

// summarizeTable tells less of each column until the whole fits; nil if it
// doesn't even so.
func summarizeTable(t Table, f Format) (data json.RawMessage, shown, head int) {
	columns := make([]values, len(t.Columns))
	for _, row := range t.Rows {
		for i := range columns {
			if i < len(row) {
				columns[i].add(row[i])
			} else {
				columns[i].nulls++
			}
		}
	}
	for _, less := range []struct{ top, first, last int }{{5, 20, 5}, {3, 10, 3}, {0, 3, 1}} {
		s := summary{
			Rows: len(t.Rows), RowCount: t.RowCount, Complete: t.Complete,
			First: fit(t.Rows, less.first, f.MaxChars/4), Last: reversed(fit(reversed(t.Rows), less.last, f.MaxChars/8)),
		}
		for i, c := range t.Columns {
			s.Columns = append(s.Columns, columnSummary{c, columns[i].summary(less.top)})
		}
		if data, err := marshal(s); err == nil && utf8.RuneCount(data) <= f.MaxChars {
			return data, len(s.First) + len(s.Last), len(s.First)
		}
	}
	return nil, 0, 0
}
