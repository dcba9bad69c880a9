package tools

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"baton/internal/clean"
)

// maxFieldText is how much of one value a sentence shows, in characters.
const maxFieldText = 200

var placeholderField = regexp.MustCompile(`\{([^{}]+)\}`)

// Describe says to people what a call does: the tool's title, and its sentence
// with the call's own values. The words are the tool's author's and the values
// are shown as they are, cleaned of what could hide or reorder them; nothing a
// model wrote about the call is in it. Sensitive values are left out, absent ones
// are a dash. A language that the tool does not have falls back to English, and
// a tool without words to its name.
func (s Spec) Describe(lang string, args json.RawMessage) (title, sentence string) {
	w, ok := s.Words[lang]
	if !ok {
		w = s.Words["en"]
	}
	if w.Title == "" {
		w.Title = s.Name
	}
	if w.Sentence == "" {
		return w.Title, w.Title
	}
	var doc any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		doc = nil
	}
	sentence = placeholderField.ReplaceAllStringFunc(w.Sentence, func(field string) string {
		field, many, _ := strings.Cut(field[1:len(field)-1], ":")
		path := strings.Split(field, ".")
		if s.sensitive(path) {
			return "•••"
		}
		if list, ok := at(doc, path).([]any); ok && many != "" {
			return listText(list, many)
		}
		return fieldText(at(doc, path))
	})
	return w.Title, sentence
}

// listText says how many there are, and names a single one. words are those for
// many, or for one and for many with a | between.
func listText(list []any, words string) string {
	one, many, two := strings.Cut(words, "|")
	if !two {
		many = one
	}
	if len(list) == 1 {
		switch list[0].(type) {
		case map[string]any, []any:
			return "1 " + one
		}
		return fieldText(list[0])
	}
	n := strconv.Itoa(len(list))
	for i := len(n) - 3; i > 0; i -= 3 {
		n = n[:i] + "," + n[i:]
	}
	return n + " " + many
}

// sensitive says whether a pointer marks the field or something around it.
func (s Spec) sensitive(path []string) bool {
	p := pointer(path)
	for _, marked := range s.Sensitive {
		if p == marked || strings.HasPrefix(p, marked+"/") {
			return true
		}
	}
	return false
}

func fieldText(v any) string {
	var text string
	switch t := v.(type) {
	case nil:
		return "–"
	case string:
		text = t
	case json.Number:
		return t.String()
	case map[string]any:
		if sum, ok := money(t); ok {
			return clip(clean.Line(sum), maxFieldText)
		}
		return jsonText(t)
	default:
		return jsonText(t)
	}
	if text = clean.Line(text); text == "" {
		return "–"
	}
	return clip(text, maxFieldText)
}

// ValueText is a value of a call's arguments for people, in one line: a text as it
// is, money as EUR 1,284.00, all else as JSON.
func ValueText(value json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return "–"
	}
	return fieldText(v)
}

// money is an amount with its currency, the one object that people read as a value:
// every digit of it, in groups.
func money(o map[string]any) (sum string, ok bool) {
	value, isText := o["value"].(string)
	currency, named := o["currency"].(string)
	if !isText || !named || len(o) != 2 {
		return "", false
	}
	whole, cents, _ := strings.Cut(value, ".")
	if digits := strings.TrimPrefix(whole, "-"); strings.Trim(digits, "0123456789") == "" {
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		value = strings.TrimSuffix(whole, strings.TrimPrefix(whole, "-")) + digits
		if cents != "" {
			value += "." + cents
		}
	}
	return currency + " " + value, true
}

func jsonText(v any) string {
	b, err := marshal(v)
	if err != nil {
		return "–"
	}
	return clip(clean.Line(string(b)), maxFieldText)
}
