package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"baton/internal/clean"
	"baton/internal/tools"
	"baton/templates"
)

// Names of inputs begin so: fields of a form that is filled in, and arguments
// of a call that is edited.
const (
	valuePrefix    = "value."
	argumentPrefix = "arg."
)

// property is what a form knows of one property of a JSON Schema. What else the
// schema says is checked when the answer comes.
type property struct {
	Type        json.RawMessage   `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	MaxLength   int               `json:"maxLength"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
}

func (p property) is(t string) bool { return string(p.Type) == `"`+t+`"` }

// longText is from how many characters on a text gets several lines.
const longText = 200

// formOf reads the properties of an object's schema in their order, and adds
// those that only the document has.
func formOf(schema, doc json.RawMessage) (names []string, properties map[string]property, required []string) {
	var object struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	properties = map[string]property{}
	if json.Unmarshal(schema, &object) == nil {
		for _, m := range members(object.Properties) {
			var p property
			if json.Unmarshal(m.value, &p) != nil {
				p = property{}
			}
			names, properties[m.name] = append(names, m.name), p
		}
	}
	for _, m := range members(doc) {
		if _, known := properties[m.name]; !known {
			names, properties[m.name] = append(names, m.name), property{Type: typeOf(m.value)}
		}
	}
	return names, properties, object.Required
}

// typeOf is the JSON Schema type of a value.
func typeOf(value json.RawMessage) json.RawMessage {
	switch {
	case len(value) == 0, value[0] == '{', value[0] == '[', string(value) == "null":
		return nil
	case value[0] == '"':
		return json.RawMessage(`"string"`)
	case value[0] == 't', value[0] == 'f':
		return json.RawMessage(`"boolean"`)
	}
	return json.RawMessage(`"number"`)
}

// fields are the inputs for an object, filled with the values of doc.
func (r reader) fields(schema, doc json.RawMessage, prefix string) []templates.Field {
	names, properties, required := formOf(schema, doc)
	now := map[string]json.RawMessage{}
	for _, m := range members(doc) {
		now[m.name] = m.value
	}
	var list []templates.Field
	for _, name := range names {
		p := properties[name]
		value, has := now[name]
		if len(value) > editMost {
			a := argument(name, value)
			list = append(list, templates.Field{Name: prefix + name, Label: cmp.Or(p.Title, name), Help: r.say("field.too_long"), Kind: templates.FieldFixed, Value: a.Value})
			continue
		}
		if !has && doc == nil {
			value = p.Default
		}
		f := templates.Field{Name: prefix + name, Label: p.Title, Help: p.Description, Value: shown(value)}
		// What is edited has a value already, and a field that isn't shown can't
		// be demanded by a browser.
		f.Required = doc == nil && slices.Contains(required, name)
		if f.Label == "" {
			f.Label = name
		}
		switch {
		case len(p.Enum) > 0:
			f.Kind, f.Value = templates.FieldChoice, string(value)
			f.Choices = []templates.Choice{{Label: r.say("field.choose")}}
			for _, v := range p.Enum {
				f.Choices = append(f.Choices, templates.Choice{Value: string(v), Label: shown(v)})
			}
		case p.is("boolean"):
			f.Kind = templates.FieldChoice
			f.Choices = []templates.Choice{{Label: r.say("field.choose")}, {Value: "true", Label: r.say("field.yes")}, {Value: "false", Label: r.say("field.no")}}
		case p.is("number"), p.is("integer"):
			f.Kind = templates.FieldNumber
		case p.is("string") && p.Format == "date":
			f.Kind = templates.FieldDate
		case p.is("string") && p.MaxLength <= longText && len(f.Value) <= longText && !strings.Contains(f.Value, "\n"):
			f.Kind = templates.FieldText
		default:
			f.Kind = templates.FieldLong
		}
		list = append(list, f)
	}
	return list
}

// filled is the object that a form's values make. A value that was left as it
// was shown stays exactly what it was; numbers stay as they are written. What
// doesn't fit its field is sent as text, and refused with the field's name.
func filled(schema, doc json.RawMessage, prefix string, form url.Values) json.RawMessage {
	names, properties, _ := formOf(schema, doc)
	now := map[string]json.RawMessage{}
	for _, m := range members(doc) {
		now[m.name] = m.value
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range names {
		written, sent := form[prefix+name]
		was, had := now[name]
		var value json.RawMessage
		switch {
		case !sent && had && len(was) > editMost:
			value = was // it was too long to be shown
		case !sent:
			continue
		case had && sameText(written[0], shown(was)), had && len(properties[name].Enum) > 0 && written[0] == string(was):
			value = was
		case written[0] == "":
			continue
		default:
			value = properties[name].read(written[0])
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(quoted(name))
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// sameText compares as browsers send: their lines end in CR LF.
func sameText(a, b string) bool {
	return strings.ReplaceAll(a, "\r\n", "\n") == strings.ReplaceAll(b, "\r\n", "\n")
}

// read makes a value of what was written.
func (p property) read(text string) json.RawMessage {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if p.is("string") && len(p.Enum) == 0 {
		return quoted(text)
	}
	// A choice, a number, true or false, or a whole document.
	if raw := json.RawMessage(strings.TrimSpace(text)); json.Valid(raw) {
		return raw
	}
	return quoted(text)
}

func quoted(text string) json.RawMessage {
	b, _ := json.Marshal(text) // a text always marshals
	return b
}

// shown is a value as a text: a string as it is, all else as JSON.
func shown(value json.RawMessage) string {
	var s string
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case json.Unmarshal(value, &s) == nil:
		return s
	case value[0] == '{' || value[0] == '[':
		var b bytes.Buffer
		if json.Indent(&b, value, "", "  ") == nil {
			return b.String()
		}
	}
	return string(value)
}

type member struct {
	name  string
	value json.RawMessage
}

// members are the members of a JSON object in their order; none if it is no
// object.
func members(doc json.RawMessage) (list []member) {
	d := json.NewDecoder(bytes.NewReader(doc))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var value json.RawMessage
		if err != nil || !ok || d.Decode(&value) != nil {
			return list
		}
		list = append(list, member{name, value})
	}
	return list
}

// What of a long value stands on the page at once; the rest can be opened.
const (
	itemsAtOnce = 3
	textAtOnce  = 600
	// editMost is how long a value may be that people change in a form.
	editMost = 4000
)

// argument is a value under its name. A list is shown item by item.
func argument(name string, value json.RawMessage) templates.Argument {
	var items []json.RawMessage
	if json.Unmarshal(value, &items) == nil && len(items) > 0 {
		lines := make([]string, len(items))
		for i, item := range items {
			lines[i] = clean.Text(itemText(item))
		}
		a := templates.Argument{Name: name, Value: strings.Join(lines[:min(len(lines), itemsAtOnce)], "; ")}
		if len(lines) > itemsAtOnce {
			a.Count, a.More, a.Whole = len(lines), len(lines)-itemsAtOnce, strings.Join(lines, "\n")
		}
		return a
	}
	text := clean.Text(shown(value))
	a := templates.Argument{Name: name, Value: text, Hidden: masked.FindString(text) == text && text != ""}
	if head := cut(text, textAtOnce); head != text {
		a.Value, a.Whole = head, text
	}
	return a
}

// itemText is one item of a list: an object as its members, one after the other.
func itemText(item json.RawMessage) string {
	parts := []string{}
	for _, m := range members(item) {
		parts = append(parts, m.name+" "+shown(m.value))
	}
	if len(parts) == 0 {
		return shown(item)
	}
	return strings.Join(parts, ", ")
}

// arguments are the members of a document for showing. A value of which a part
// was redacted is hidden where that part is all of it.
func arguments(doc json.RawMessage) (list []templates.Argument) {
	for _, m := range members(doc) {
		// The ledger has the bytes that run; people are shown what they hold.
		list = append(list, argument(clean.Line(m.name), m.value))
	}
	return list
}

// misfits says field by field what is wrong with a form, as far as it can be
// told from the fields.
func (r reader) misfits(schema json.RawMessage, values json.RawMessage, wrong []tools.FieldError) (list []templates.Pair) {
	names, properties, required := formOf(schema, nil)
	has := map[string]bool{}
	for _, m := range members(values) {
		has[m.name] = true
	}
	for _, name := range names {
		p := properties[name]
		bad := slices.ContainsFunc(wrong, func(e tools.FieldError) bool {
			return e.Path == "/"+name || strings.HasPrefix(e.Path, "/"+name+"/")
		})
		var what string
		switch {
		case slices.Contains(required, name) && !has[name]:
			what = r.say("field.needs_value")
		case !bad:
			continue
		case len(p.Enum) > 0, p.is("boolean"):
			what = r.say("field.needs_choice")
		case p.is("number"), p.is("integer"):
			what = r.say("field.needs_number")
		case p.Format == "date":
			what = r.say("field.needs_date")
		default:
			what = r.say("field.needs_other")
		}
		label := p.Title
		if label == "" {
			label = name
		}
		list = append(list, templates.Pair{Name: label, Value: what})
	}
	return list
}
