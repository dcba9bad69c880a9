package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tool is one thing an agent can do.
//
// Run gets arguments that fit the schema. It must stop when ctx ends; a tool
// that does not is left behind and its result is dropped. An error is best a
// *Failure; any other error is classified by what it wraps (HTTP, SQLSTATE,
// errno). What is written to Writer(ctx) and reported with Report(ctx) is kept
// even if Run hangs or panics.
type Tool interface {
	Spec() Spec
	Run(ctx context.Context, args json.RawMessage) (Output, error)
}

// Func makes a tool of a function from typed arguments to a typed answer. The
// schema of the arguments is derived from A (a struct; `json` tags name fields,
// omitempty and omitzero make them optional, `jsonschema` tags describe them)
// unless spec has one. If O is Output it is taken as it is; else it becomes the
// output's data. The error is about A or spec, not about a call.
func Func[A, O any](spec Spec, run func(ctx context.Context, args A) (O, error)) (Tool, error) {
	if spec.Schema == nil {
		s, err := SchemaFor[A]()
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		spec.Schema = s
	}
	spec, err := spec.withDefaults()
	if err != nil {
		return nil, err
	}
	return &fn[A, O]{spec, run}, nil
}

type fn[A, O any] struct {
	spec Spec
	run  func(ctx context.Context, args A) (O, error)
}

func (f *fn[A, O]) Spec() Spec { return f.spec }

func (f *fn[A, O]) Run(ctx context.Context, args json.RawMessage) (Output, error) {
	var a A
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return Output{}, Fail(InvalidArguments, "The arguments could not be read: "+err.Error()).Because(err)
	}
	o, err := f.run(ctx, a)
	if out, ok := any(o).(Output); ok {
		return out, err
	}
	if err != nil {
		return Output{}, err
	}
	return written(o), nil
}

// written is an answer as output. One that is no JSON (it has a cycle, a channel,
// a MarshalJSON that fails) is left out: the tool has done its work all the same,
// and who is told of an error would do it again.
func written(answer any) (out Output) {
	lost := func(why any) Output {
		return Output{Data: json.RawMessage("null"), Notices: []string{
			fmt.Sprintf("The tool has done its work; its answer could not be written as JSON (%v). Do not repeat the call for that reason.", why),
		}}
	}
	defer func() {
		if p := recover(); p != nil {
			out = lost("a fault of the tool")
		}
	}()
	data, err := marshal(answer)
	if err != nil {
		return lost(err)
	}
	return Output{Data: data}
}

// SchemaFor derives the JSON Schema of a struct, in the form that model
// providers take: a missing slice or pointer is left out rather than null, and
// unknown fields are refused.
func SchemaFor[A any]() (json.RawMessage, error) {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		return nil, fmt.Errorf("derive schema: %w", err)
	}
	dropNull(s)
	if s.Type != "object" {
		return nil, fmt.Errorf("derive schema: arguments are %s, want a struct", s.Type)
	}
	b, err := marshal(s)
	if err != nil {
		return nil, fmt.Errorf("derive schema: %w", err)
	}
	return b, nil
}

// dropNull removes the "or null" that Go's nil slices and pointers bring.
func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	var kept []string
	for _, t := range s.Types {
		if t != "null" {
			kept = append(kept, t)
		}
	}
	if len(kept) == 1 {
		s.Type, s.Types = kept[0], nil
	}
	for _, sub := range s.Properties {
		dropNull(sub)
	}
	for _, sub := range s.Defs {
		dropNull(sub)
	}
	dropNull(s.Items)
	dropNull(s.AdditionalProperties)
}
