package tools

import (
	"fmt"
	"slices"
)

// Registry is the set of tools that one agent may use. It doesn't change once
// made; it is safe for concurrent use.
type Registry struct {
	tools map[string]entry
	names []string
}

type entry struct {
	tool Tool
	spec Spec
	hash string
	args *argsSchema
}

// NewRegistry makes a registry. It refuses two tools of one name, a spec with
// values that can't be, a schema that does not compile and an example that does
// not fit it.
func NewRegistry(list ...Tool) (*Registry, error) {
	r := &Registry{tools: map[string]entry{}}
	for _, t := range list {
		spec, err := t.Spec().withDefaults()
		if err != nil {
			return nil, err
		}
		if _, twice := r.tools[spec.Name]; twice {
			return nil, fmt.Errorf("tool %s stands twice", spec.Name)
		}
		args, err := compileArgs(spec)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		r.tools[spec.Name] = entry{t, spec, spec.Hash(), args}
		r.names = append(r.names, spec.Name)
	}
	slices.Sort(r.names)
	return r, nil
}

// Names are the tools' names, sorted.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Specs are the tools' specs with all defaults filled in, sorted by name.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, 0, len(r.names))
	for _, n := range r.names {
		specs = append(specs, r.tools[n].spec)
	}
	return specs
}

// Lookup finds a tool and its spec, with all defaults filled in.
func (r *Registry) Lookup(name string) (Tool, Spec, bool) {
	e, ok := r.tools[name]
	return e.tool, e.spec, ok
}

// Hash is the hash of a tool's spec, empty if there is no such tool.
func (r *Registry) Hash(name string) string { return r.tools[name].hash }
