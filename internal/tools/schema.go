package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// argsSchema checks a tool's arguments and says everything that is wrong.
type argsSchema struct {
	root      *jsonschema.Schema
	sensitive []string
}

// offline refuses to load schemas from elsewhere: a tool's schema is whole.
type offline struct{}

func (offline) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema refers to %s: schemas must be whole", url)
}

func compileArgs(spec Spec) (*argsSchema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(spec.Schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if o, ok := doc.(map[string]any); !ok || o["type"] != "object" {
		return nil, errors.New("schema: its root is not of type object")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(offline{})
	c.AssertFormat()
	const name = "mem:args"
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	root, err := c.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	s := &argsSchema{root, spec.Sensitive}
	if spec.Example != nil {
		if wrong := s.check(spec.Example); len(wrong) > 0 {
			return nil, fmt.Errorf("example does not fit the schema: %s: want %s, got %s", wrong[0].Path, wrong[0].Expected, wrong[0].Got)
		}
	}
	return s, nil
}

// check lists all that is wrong with args, which are valid JSON.
func (s *argsSchema) check(args json.RawMessage) []FieldError {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return []FieldError{{"", "JSON", err.Error()}}
	}
	if exponent.Match(args) {
		var far []FieldError
		if s.outOfRange(v, "", &far); len(far) > 0 {
			return far
		}
	}
	err = s.root.Validate(v)
	if err == nil {
		return nil
	}
	ve, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []FieldError{{"", "arguments that fit the schema", err.Error()}}
	}
	var out []FieldError
	s.collect(ve, v, &out)
	slices.SortStableFunc(out, func(a, b FieldError) int { return strings.Compare(a.Path, b.Path) })
	out = slices.Compact(out)
	return out[:min(len(out), 50)]
}

// farExponent is beyond what any program counts with. Validating such a number
// exactly takes its size in memory, so it is refused before.
const farExponent = 400

// exponent is in documents with such a number, and in some without.
var exponent = regexp.MustCompile(`\d[eE][+-]?\d{3}`)

// outOfRange lists numbers whose exponent is out of all bounds.
func (s *argsSchema) outOfRange(v any, path string, out *[]FieldError) {
	switch v := v.(type) {
	case json.Number:
		_, exp, ok := strings.Cut(strings.ToLower(v.String()), "e")
		if n, err := strconv.Atoi(exp); ok && (err != nil || n > farExponent || n < -farExponent) {
			*out = append(*out, FieldError{path, fmt.Sprintf("a number with an exponent from -%d to %d", farExponent, farExponent), s.show(path, v)})
		}
	case []any:
		for i, el := range v {
			s.outOfRange(el, path+"/"+strconv.Itoa(i), out)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s.outOfRange(v[key], path+"/"+escapePointer(key), out)
		}
	}
}

// collect flattens the validator's tree to its leaves. Of alternatives only the
// one that fits best is explained.
func (s *argsSchema) collect(e *jsonschema.ValidationError, doc any, out *[]FieldError) {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		var best []FieldError
		for _, c := range e.Causes {
			var one []FieldError
			s.collect(c, doc, &one)
			if best == nil || len(one) < len(best) {
				best = one
			}
		}
		if len(best) > 0 {
			*out = append(*out, best...)
			return
		}
	}
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			s.collect(c, doc, out)
		}
		return
	}
	*out = append(*out, s.explain(e, doc)...)
}

var english = message.NewPrinter(language.English)

// explain puts one leaf into words.
func (s *argsSchema) explain(e *jsonschema.ValidationError, doc any) []FieldError {
	path := pointer(e.InstanceLocation)
	got := s.show(path, at(doc, e.InstanceLocation))
	one := func(expected string) []FieldError { return []FieldError{{path, expected, got}} }
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return one(strings.Join(k.Want, " or "))
	case *kind.Required:
		var out []FieldError
		for _, name := range k.Missing {
			out = append(out, FieldError{path + "/" + escapePointer(name), "required" + s.typeOf(e.InstanceLocation, name), "nothing"})
		}
		return out
	case *kind.AdditionalProperties:
		valid := s.properties(e.InstanceLocation)
		var out []FieldError
		for _, name := range k.Properties {
			at := path + "/" + escapePointer(name)
			want := "no such field; the fields are " + some(valid)
			if near := nearest(name, valid); near != "" {
				want = fmt.Sprintf("no such field; the nearest is %q, the fields are %s", near, some(valid))
			}
			out = append(out, FieldError{at, want, s.show(at, field(doc, e.InstanceLocation, name))})
		}
		return out
	case *kind.FalseSchema:
		return one("no value here")
	case *kind.Enum:
		var values []string
		for _, w := range k.Want {
			values = append(values, show(w))
		}
		return one("one of " + some(values))
	case *kind.Const:
		return one(show(k.Want))
	case *kind.Format:
		return one("text in the format " + k.Want)
	case *kind.Pattern:
		return one("text that matches " + k.Want)
	case *kind.Minimum:
		return one("at least " + rat(k.Want))
	case *kind.Maximum:
		return one("at most " + rat(k.Want))
	case *kind.ExclusiveMinimum:
		return one("more than " + rat(k.Want))
	case *kind.ExclusiveMaximum:
		return one("less than " + rat(k.Want))
	case *kind.MultipleOf:
		return one("a multiple of " + rat(k.Want))
	case *kind.MinLength:
		return one("at least " + plural(k.Want, "character", "characters"))
	case *kind.MaxLength:
		return one("at most " + plural(k.Want, "character", "characters"))
	case *kind.MinItems:
		return one("at least " + plural(k.Want, "element", "elements"))
	case *kind.MaxItems:
		return one("at most " + plural(k.Want, "element", "elements"))
	case *kind.UniqueItems:
		return one(fmt.Sprintf("elements that differ; %d and %d are equal", k.Duplicates[0], k.Duplicates[1]))
	}
	return one(e.ErrorKind.LocalizedString(english))
}

// at finds the value at a location, nil if there is none.
func at(doc any, location []string) any {
	for _, step := range location {
		switch v := doc.(type) {
		case map[string]any:
			doc = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			doc = v[i]
		default:
			return nil
		}
	}
	return doc
}

func field(doc any, location []string, name string) any {
	o, _ := at(doc, location).(map[string]any)
	return o[name]
}

// schemaAt is the schema of the value at a location, nil where that can't be
// told (alternatives).
func (s *argsSchema) schemaAt(location []string) *jsonschema.Schema {
	sch := s.root
	for _, step := range location {
		for sch != nil && sch.Ref != nil {
			sch = sch.Ref
		}
		if sch == nil {
			return nil
		}
		if next, ok := sch.Properties[step]; ok {
			sch = next
		} else {
			sch = sch.Items2020
		}
	}
	for sch != nil && sch.Ref != nil {
		sch = sch.Ref
	}
	return sch
}

func (s *argsSchema) properties(location []string) []string {
	sch := s.schemaAt(location)
	if sch == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(sch.Properties))
}

func (s *argsSchema) typeOf(location []string, name string) string {
	sch := s.schemaAt(append(slices.Clone(location), name))
	if sch == nil || sch.Types == nil || sch.Types.IsEmpty() {
		return ""
	}
	return " " + strings.Join(sch.Types.ToStrings(), " or ")
}

// show is a value for a message, short, and not at all if it is sensitive.
func (s *argsSchema) show(path string, v any) string {
	for _, p := range s.sensitive {
		if path == p || strings.HasPrefix(path, p+"/") {
			return "a value that is not shown"
		}
	}
	return show(v)
}

func show(v any) string {
	switch t := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object with " + plural(len(t), "field", "fields")
	case []any:
		return "a list of " + plural(len(t), "element", "elements")
	case string:
		if r := []rune(t); len(r) > 40 {
			return fmt.Sprintf("text of %d characters, %q...", len(r), string(r[:20]))
		}
		return fmt.Sprintf("text %q", t)
	case json.Number:
		return "number " + t.String()
	}
	return fmt.Sprintf("%v", v)
}

func rat(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func pointer(location []string) string {
	var b strings.Builder
	for _, step := range location {
		b.WriteString("/" + escapePointer(step))
	}
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
