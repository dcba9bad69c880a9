package tools

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds of what is told of objects that repeat.
const (
	maxFields   = 400 // counted apart
	fieldsDepth = 3   // how deep fields of fields are looked into
)

// objectStats counts the fields of objects that repeat.
type objectStats struct {
	root   fieldStats
	fields []*fieldStats
	by     map[string]*fieldStats
	seen   int // objects so far
	more   int // values of fields that came after maxFields others
}

type fieldStats struct {
	path   string                 // a JSON pointer
	below  map[string]*fieldStats // its own fields, by their keys as written
	in     int                    // objects that have it
	last   int                    // the last of them
	kinds  map[string]int
	values values
}

// fieldSummary is what is told of a field.
type fieldSummary struct {
	Path  string         `json:"path"`
	In    int            `json:"in"` // how many have it
	Types map[string]int `json:"types"`
	valuesSummary
}

// add counts an element; objects are looked into.
func (o *objectStats) add(doc json.RawMessage) {
	o.seen++
	if jsonKind(doc) == "object" {
		o.members(&o.root, doc, 1)
	} else if f := o.field(""); f != nil {
		o.value(f, doc, fieldsDepth)
	}
}

func (o *objectStats) value(f *fieldStats, raw json.RawMessage, depth int) {
	kind := jsonKind(raw)
	if f.last != o.seen {
		f.last = o.seen
		f.in++
	}
	f.kinds[kind]++
	switch kind {
	case "object":
		if depth < fieldsDepth {
			o.members(f, raw, depth+1)
		}
	case "array":
	default:
		f.values.add(raw)
	}
}

func (o *objectStats) members(of *fieldStats, raw json.RawMessage, depth int) {
	eachMember(raw, func(key, value json.RawMessage) {
		f := of.below[string(key)]
		if f == nil {
			name, err := textOf(key)
			if err == nil {
				f = o.field(of.path + "/" + escapePointer(string(name)))
			}
			if f == nil {
				o.more++
				return
			}
			if of.below == nil {
				of.below = map[string]*fieldStats{}
			}
			of.below[string(key)] = f
		}
		o.value(f, value, depth)
	})
}

func (o *objectStats) field(path string) *fieldStats {
	if f := o.by[path]; f != nil {
		return f
	}
	if len(o.fields) == maxFields {
		return nil
	}
	f := &fieldStats{path: path, kinds: map[string]int{}}
	if o.by == nil {
		o.by = map[string]*fieldStats{}
	}
	o.by[path] = f
	o.fields = append(o.fields, f)
	return f
}

func (o *objectStats) summary(top int) []fieldSummary {
	var out []fieldSummary
	for _, f := range o.fields {
		s := fieldSummary{Path: f.path, In: f.in, Types: f.kinds, valuesSummary: f.values.summary(top)}
		out = append(out, s)
	}
	return out
}

// objects summarises a text of JSON objects, one a line. It says no to what is
// something else.
func (d *digest) objects() bool {
	var stats objectStats
	blank, other := 0, 0
	var texts, byLevel tally
	for i, l := range d.from.text {
		if strings.TrimSpace(l) == "" {
			blank++
			continue
		}
		if l[0] != '{' || !json.Valid([]byte(l)) {
			if other++; other > d.most(5) {
				return false
			}
			continue
		}
		doc := compact(json.RawMessage(l))
		stats.add(doc)
		level, message := logFields(doc)
		if message != "" {
			texts.add(maskLine(message), i)
		}
		if level != "" {
			byLevel.add(level, i)
		}
	}
	if stats.seen <= summarizeOver/2 || stats.seen*100 < (len(d.from.text)-blank)*95 {
		return false
	}
	d.say(fmt.Sprintf("%d JSON objects, one a line.", stats.seen))
	if other > 0 {
		d.say(fmt.Sprintf("%s.", plural(other, "further line is no object", "further lines are no objects")))
	}
	fields := stats.summary(3)
	d.list(len(fields), 40, d.f.MaxChars/4, func(n int) string {
		return fmt.Sprintf("Fields%s:", of(n, len(fields)))
	}, func(i int) string { return fields[i].sentence(stats.seen) })
	if len(byLevel.by) > 0 {
		d.say("")
		d.say("By level: " + counts(&byLevel, 20, stats.seen-counted(&byLevel)) + ".")
	}
	d.patterns(&texts, d.f.MaxChars/6)
	d.errors(d.f.MaxChars / 6)
	return true
}

func counted(by *tally) int {
	n := by.other
	for _, k := range by.by {
		n += k.count
	}
	return n
}

// logFields are the level and the message of a record of a log that is written
// in JSON, under the names that loggers use.
func logFields(doc json.RawMessage) (level, message string) {
	eachMember(doc, func(key, value json.RawMessage) {
		switch string(key) {
		case `"level"`, `"lvl"`, `"severity"`:
			if jsonKind(value) == "string" {
				_ = json.Unmarshal(value, &level) // valid
			}
		case `"msg"`, `"message"`:
			if jsonKind(value) == "string" {
				_ = json.Unmarshal(value, &message) // valid
			}
		}
	})
	return strings.ToUpper(level), message
}

// sentence tells of a field in a line.
func (f fieldSummary) sentence(all int) string {
	var b strings.Builder
	b.WriteString(clip(f.Path, 100))
	if f.Path == "" {
		b.WriteString("(itself)")
	}
	if f.In < all {
		fmt.Fprintf(&b, ", in %d", f.In)
	}
	for _, kind := range []string{"string", "number", "boolean", "object", "array", "null"} {
		if n := f.Types[kind]; n == f.In {
			b.WriteString(": " + kind)
		} else if n > 0 {
			fmt.Fprintf(&b, ", %s %d", kind, n)
		}
	}
	switch {
	case f.Distinct > 0:
		fmt.Fprintf(&b, ", %s", plural(f.Distinct, "value", "different values"))
	case f.Distinct < 0:
		fmt.Fprintf(&b, ", more than %d different values", maxPatterns)
	}
	if f.Distinct != 1 && f.Min != nil && f.Max != nil {
		fmt.Fprintf(&b, ", from %s to %s", clip(string(f.Min), 60), clip(string(f.Max), 60))
	}
	if f.Sum != nil {
		fmt.Fprintf(&b, ", sum %s", f.Sum)
	}
	for i, t := range f.Top {
		switch {
		case i > 0:
			b.WriteString(", ")
		case f.Distinct < 0:
			fmt.Fprintf(&b, "; of the first %d ", maxPatterns)
		default:
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s %d times", clip(string(t.Value), 60), t.Count)
	}
	return b.String()
}
