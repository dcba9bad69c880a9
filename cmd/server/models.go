package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/llm/scripted"
)

// models gives sessions their models. Compiled playbooks are kept by content.
type models struct{ playbooks sync.Map }

// model is the model that a session names. The error says what to mend; it
// ends the session, not the process.
func (m *models) model(version definition.Version, name string) (llm.Model, error) {
	provider, _, _ := strings.Cut(name, "/")
	if provider != "scripted" {
		return nil, fmt.Errorf("there is no model provider %q in this build; scripted/<playbook> is there", provider)
	}
	if version.Playbook == "" {
		return nil, fmt.Errorf("version %d of %s has no playbook for its scripted model", version.Number, version.Slug)
	}
	sum := sha256.Sum256([]byte(version.Playbook))
	if compiled, ok := m.playbooks.Load(sum); ok {
		return compiled.(*scripted.Playbook), nil
	}
	compiled, err := scripted.Compile(filepath.Base(version.Agent.Playbook), version.Playbook)
	if err != nil {
		return nil, err
	}
	m.playbooks.Store(sum, compiled)
	return compiled, nil
}

// playbookFaults finds what is wrong with a playbook, for the room of
// definitions, which doesn't know the scripted model.
func playbookFaults(name, source string) definition.Faults {
	_, err := scripted.Compile(name, source)
	found, ok := errors.AsType[scripted.SourceErrors](err)
	if err != nil && !ok {
		return definition.Faults{{File: name, Reason: err.Error()}}
	}
	var faults definition.Faults
	for _, e := range found {
		faults = append(faults, definition.Fault{File: e.File, Line: e.Line, Column: e.Col, Reason: e.Reason})
	}
	return faults
}
