package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// listSummary stands for a list of more than 1,000 objects.
type listSummary struct {
	Elements int `json:"elements_summarised"`
	// Fields are those of the elements that are objects. The path "" stands for
	// elements that are none.
	Fields []fieldSummary    `json:"fields"`
	More   int               `json:"further_fields,omitempty"`
	First  []json.RawMessage `json:"first"`
	Last   []json.RawMessage `json:"last"`
}

// summarizeJSON puts summaries in the place of a document's long lists and
// leaves the rest as it is. It says no if there are none, or if what remains is
// too long all the same.
func summarizeJSON(doc json.RawMessage, f Format) (short json.RawMessage, cut *Truncated, note string, ok bool) {
	doc = compact(doc)
	if f.Strategy == Head || !holdsLongList(doc, 0) {
		return nil, nil, "", false
	}
	for _, less := range []shortener{{top: 5, fields: 60, edge: 5}, {top: 3, fields: 30, edge: 2}, {top: 1, fields: 12, edge: 1}} {
		less.room = f.MaxChars / 10
		less.value("", doc, 0)
		if utf8.RuneCount(less.b.Bytes()) > f.MaxChars {
			continue
		}
		cut = &Truncated{TotalBytes: int64(len(doc)), TotalLines: int64(less.elements), Shown: int64(less.shown)}
		if jsonKind(doc) == "array" { // its elements are the lines that are read on
			cut.NextOffset = int64(less.head)
		}
		return less.b.Bytes(), cut, "The answer is long. " + strings.Join(less.lists, " "), true
	}
	return nil, nil, "", false
}

// longJSON is a text that is a JSON document with a long list of objects, too long to show;
// nil if it is something else.
func longJSON(got Captured, f Format) json.RawMessage {
	doc := bytes.TrimSpace(got.Head)
	if f.Strategy == Head || got.Lost > 0 || len(doc) <= f.MaxChars || doc[0] != '[' && doc[0] != '{' || !json.Valid(doc) || !holdsLongList(compact(doc), 0) {
		return nil
	}
	return doc
}

// holdsLongList says whether a document has a list that is to be summarised.
func holdsLongList(doc json.RawMessage, depth int) (found bool) {
	switch kind := jsonKind(doc); {
	case kind == "object" && depth < fieldsDepth:
		eachMember(doc, func(_, value json.RawMessage) { found = found || holdsLongList(value, depth+1) })
	case kind == "array":
		all, objects := 0, 0
		eachElement(doc, func(v json.RawMessage) {
			if all++; jsonKind(v) == "object" {
				objects++
			}
		})
		return all > summarizeOver && objects*2 > all
	}
	return found
}

// shortener writes a document with summaries for its long lists.
type shortener struct {
	top, fields, edge int // what is told of each list: values, fields, elements at both ends
	room              int // characters for the elements at one end

	b                     bytes.Buffer
	lists                 []string // a sentence about each
	elements, shown, head int
}

func (s *shortener) value(path string, raw json.RawMessage, depth int) {
	switch kind := jsonKind(raw); {
	case kind == "object" && depth < fieldsDepth:
		s.b.WriteByte('{')
		n := 0
		eachMember(raw, func(key, value json.RawMessage) {
			if n++; n > 1 {
				s.b.WriteByte(',')
			}
			s.b.Write(key)
			s.b.WriteByte(':')
			var name string
			_ = json.Unmarshal(key, &name) // a key is a string
			s.value(path+"/"+escapePointer(name), value, depth+1)
		})
		s.b.WriteByte('}')
	case kind == "array":
		if !holdsLongList(raw, depth) {
			s.b.Write(raw)
			return
		}
		var list []json.RawMessage
		eachElement(raw, func(v json.RawMessage) { list = append(list, v) })
		s.list(path, list)
	default:
		s.b.Write(raw)
	}
}

func (s *shortener) list(path string, list []json.RawMessage) {
	var stats objectStats
	for _, v := range list {
		stats.add(v)
	}
	fields := stats.summary(s.top)
	sum := listSummary{
		Elements: len(list), Fields: fields[:min(s.fields, len(fields))], More: max(0, len(fields)-s.fields),
		First: fitList(list[:s.edge], s.room), Last: reversed(fitList(reversed(list[len(list)-s.edge:]), s.room)),
	}
	if sum.First == nil {
		sum.First = []json.RawMessage{}
	}
	short, err := marshal(sum)
	if err != nil { // cannot be: all of it was JSON
		short = json.RawMessage(`null`)
	}
	s.b.Write(short)
	s.elements += len(list)
	s.shown += len(sum.First) + len(sum.Last)
	s.head = len(sum.First)
	where := "The list"
	if path != "" {
		where = "The list at " + clip(path, 100)
	}
	s.lists = append(s.lists, fmt.Sprintf("%s has %d elements: their fields are summarised, and the first %d and the last %d are shown.", where, len(list), len(sum.First), len(sum.Last)))
}
