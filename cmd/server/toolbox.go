package main

import (
	"fmt"
	"slices"
	"sync"

	"baton/internal/agent"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// toolbox makes the tools of agents, each bound to what its agent may use.
type toolbox struct {
	installation definition.Installation
	store        *sessions.Store
	makers       map[string]func(definition.Version) (tools.Tool, error)

	mu   sync.Mutex
	made map[versionKey]*tools.Registry
}

type versionKey struct {
	agent   id.Agent
	version int
}

func newToolbox(installation definition.Installation, store *sessions.Store) *toolbox {
	return &toolbox{installation: installation, store: store,
		makers: map[string]func(definition.Version) (tools.Tool, error){},
		made:   map[versionKey]*tools.Registry{}}
}

// names are the tools that a definition may list.
func (b *toolbox) names() []string {
	names := []string{}
	for name := range b.makers {
		names = append(names, name)
	}
	for _, t := range agent.Own(b.store) {
		names = append(names, t.Spec().Name)
	}
	slices.Sort(names)
	return names
}

// registry is the set of tools of an agent's version: those that it lists, and
// the loop's own. Versions don't change, so a registry is made once.
func (b *toolbox) registry(v definition.Version) (*tools.Registry, error) {
	key := versionKey{v.ID, v.Number}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.made[key]; r != nil {
		return r, nil
	}
	list := agent.Own(b.store)
	have := map[string]bool{}
	for _, t := range list {
		have[t.Spec().Name] = true
	}
	for _, name := range v.Agent.Tools {
		if have[name] {
			continue
		}
		maker := b.makers[name]
		if maker == nil {
			return nil, fmt.Errorf("there is no tool %q in this build", name)
		}
		t, err := maker(v)
		if err != nil {
			return nil, fmt.Errorf("tool %s of agent %s: %w", name, v.Slug, err)
		}
		list = append(list, t)
		have[name] = true
	}
	r, err := tools.NewRegistry(list...)
	if err != nil {
		return nil, err
	}
	b.made[key] = r
	return r, nil
}
