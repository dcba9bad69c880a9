package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"baton/internal/tools"
)

// ParamType is what a value means, in the words of a business.
type ParamType string

// The types of parameters, and how a model writes them.
const (
	ParamText    ParamType = "text"    // a text
	ParamInteger ParamType = "integer" // a whole number
	ParamNumber  ParamType = "number"
	ParamBoolean ParamType = "boolean"
	ParamCount   ParamType = "count" // how many: a whole number from 0
	ParamDate    ParamType = "date"  // 2026-03-31
	ParamTime    ParamType = "time"  // 2026-03-31T12:00:00Z
	ParamEmail   ParamType = "email"
	ParamParty   ParamType = "party" // who it is about: a person's or a company's name or id
	// ParamMoney is {value: "12.50", currency: EUR}: exact, and never without its
	// currency.
	ParamMoney ParamType = "money"
)

// Param is one argument of what an operator declares.
type Param struct {
	Name        string
	Type        ParamType
	Description string
	Values      []string // of a text: it is one of these
	Pattern     string   // of a text: a regular expression that it fits as a whole
	Currencies  []string // of money; empty: any
	Optional    bool
	Sensitive   bool // never shown or stored in clear
	Many        bool // a list of them
}

var (
	paramForm    = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
)

// params are named parameters in the order of their names.
func (r *reader) params(n *yaml.Node, path string, byName map[string]Param) []Param {
	var list []Param
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p := byName[name]
		if p.Name = name; !paramForm.MatchString(name) {
			r.refuse(n, path+"."+name, Fault{Reason: "a parameter's name has small letters, digits and underscores, such as order_id"})
		}
		list = append(list, p)
	}
	return list
}

func (r *reader) param(n *yaml.Node, path string) (p Param) {
	seen := r.mapping(n, path, map[string]read{
		"type":        oneOf(r, &p.Type, ParamText, ParamInteger, ParamNumber, ParamBoolean, ParamCount, ParamDate, ParamTime, ParamEmail, ParamParty, ParamMoney),
		"description": r.text(&p.Description, 500),
		"values": r.list(100, func(n *yaml.Node, path string) {
			var v string
			r.text(&v, 200)(n, path)
			p.Values = append(p.Values, v)
		}),
		"pattern":    r.expression(&p.Pattern),
		"currencies": r.names(&p.Currencies, currencyForm, "a currency's code, such as EUR"),
		"optional":   r.boolean(&p.Optional),
		"sensitive":  r.boolean(&p.Sensitive),
		"many":       r.boolean(&p.Many),
	})
	r.required(n, path, seen, "type")
	for key, only := range map[string]ParamType{"values": ParamText, "pattern": ParamText, "currencies": ParamMoney} {
		if seen[key] != nil && p.Type != only && p.Type != "" {
			r.refuse(seen[key], path+"."+key, Fault{Reason: fmt.Sprintf("only a parameter of type %s has %s", only, key)})
		}
	}
	return p
}

// expression reads a regular expression. Both Go's and the validator of schemas
// know the same kind.
func (r *reader) expression(dst *string) read {
	return func(n *yaml.Node, path string) {
		var s string
		r.text(&s, 500)(n, path)
		if _, err := regexp.Compile(s); err != nil {
			r.want(n, path, "a regular expression (RE2)")
			return
		}
		*dst = s
	}
}

// schema is JSON Schema of one value.
func (p Param) schema() map[string]any {
	s := map[string]any{}
	switch p.Type {
	case ParamInteger:
		s["type"] = "integer"
	case ParamCount:
		s["type"], s["minimum"] = "integer", 0
	case ParamNumber:
		s["type"] = "number"
	case ParamBoolean:
		s["type"] = "boolean"
	case ParamDate:
		s["type"], s["format"], s["pattern"] = "string", "date", `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	case ParamTime:
		s["type"], s["format"] = "string", "date-time"
	case ParamEmail:
		s["type"], s["format"], s["maxLength"] = "string", "email", 320
	case ParamMoney:
		currency := map[string]any{"type": "string", "pattern": "^[A-Z]{3}$", "description": "ISO 4217"}
		if len(p.Currencies) > 0 {
			currency = map[string]any{"type": "string", "enum": p.Currencies}
		}
		s["type"], s["additionalProperties"], s["required"] = "object", false, []string{"value", "currency"}
		s["properties"] = map[string]any{
			"value":    map[string]any{"type": "string", "pattern": `^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,4})?$`, "description": "decimal, such as 12.50"},
			"currency": currency,
		}
	default:
		s["type"], s["minLength"], s["maxLength"] = "string", 1, 10_000
		if len(p.Values) > 0 {
			s = map[string]any{"type": "string", "enum": p.Values}
		}
		if p.Pattern != "" {
			s["pattern"] = `^(?:` + p.Pattern + `)$`
		}
	}
	if p.Many {
		s = map[string]any{"type": "array", "items": s, "maxItems": 500}
	}
	if p.Description != "" {
		s["description"] = p.Description
	}
	return s
}

// Schema is the JSON Schema of an object with these parameters.
func Schema(params []Param) json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, p := range params {
		properties[p.Name] = p.schema()
		if !p.Optional {
			required = append(required, p.Name)
		}
	}
	b, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		panic("schema of parameters: " + err.Error()) // maps of texts and numbers
	}
	return b
}

// Example is arguments that fit these parameters, as far as no pattern is asked for;
// given stands where the operator gave one.
func Example(params []Param, given json.RawMessage) json.RawMessage {
	if given != nil {
		return given
	}
	values := map[string]any{}
	for _, p := range params {
		if p.Optional {
			continue
		}
		if p.Pattern != "" {
			return nil // nothing is said rather than something wrong
		}
		v := p.example()
		if p.Many {
			v = []any{v}
		}
		values[p.Name] = v
	}
	b, err := json.Marshal(values)
	if err != nil {
		return nil
	}
	return b
}

func (p Param) example() any {
	switch p.Type {
	case ParamInteger, ParamCount, ParamNumber:
		return 1
	case ParamBoolean:
		return true
	case ParamDate:
		return "2026-03-31"
	case ParamTime:
		return "2026-03-31T12:00:00Z"
	case ParamEmail:
		return "ana@example.com"
	case ParamMoney:
		currency := "EUR"
		if len(p.Currencies) > 0 {
			currency = p.Currencies[0]
		}
		return map[string]any{"value": "12.50", "currency": currency}
	}
	if len(p.Values) > 0 {
		return p.Values[0]
	}
	return strings.ReplaceAll(p.Name, "_", " ")
}

// Sensitive are the pointers of the parameters that are never shown.
func Sensitive(params []Param) (pointers []string) {
	for _, p := range params {
		if p.Sensitive {
			pointers = append(pointers, "/"+p.Name)
		}
	}
	return pointers
}

// Fields are the places that a template can name: a parameter, or value and
// currency of money.
func Fields(params []Param) (fields []string) {
	for _, p := range params {
		fields = append(fields, p.Name)
		if p.Type == ParamMoney && !p.Many {
			fields = append(fields, p.Name+".value", p.Name+".currency")
		}
	}
	return fields
}

// languages are those in which words for people are written.
var languages = []string{"en", "zh-Hans"}

// wordsIn are what people read about a tool in one language.
func (r *reader) wordsIn(n *yaml.Node, path string) (w tools.Words) {
	seen := r.mapping(n, path, map[string]read{
		"title": r.text(&w.Title, 60), "sentence": r.text(&w.Sentence, 200), "reversal": r.text(&w.Reversal, 300),
	})
	r.required(n, path, seen, "title", "sentence")
	return w
}

var fieldInBraces = regexp.MustCompile(`\{([^{}]*)\}`)

// checkWords refuses languages that nobody reads, and sentences that name a field
// that there is not.
func (r *reader) checkWords(n *yaml.Node, path string, words map[string]tools.Words, params []Param) {
	if _, english := words["en"]; words != nil && !english {
		r.refuse(n, path, Fault{Reason: "the key en is missing"})
	}
	fields := Fields(params)
	for _, language := range slices.Sorted(maps.Keys(words)) {
		if !slices.Contains(languages, language) {
			r.refuse(n, path+"."+language, Fault{Expected: "one of " + listed(languages), Got: strconv.Quote(language)})
		}
		for _, m := range fieldInBraces.FindAllStringSubmatch(words[language].Sentence, -1) {
			name, _, _ := strings.Cut(m[1], ":")
			if !slices.Contains(fields, name) {
				r.refuse(n, path+"."+language+".sentence", Fault{Reason: fmt.Sprintf("there is no parameter %q", name), Nearest: nearest(name, fields)})
			}
		}
	}
}

var effects = []tools.Effect{tools.EffectRead, tools.EffectIdempotent, tools.EffectSide, tools.EffectIrreversible}
