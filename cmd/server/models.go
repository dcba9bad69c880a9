package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"baton/internal/definition"
	"baton/internal/llm"
	"baton/internal/llm/anthropic"
	"baton/internal/llm/openai"
	"baton/internal/llm/provider"
	"baton/internal/llm/scripted"
	"baton/internal/redact"
)

// models gives sessions their models. Compiled playbooks are kept by content.
type models struct {
	services  map[string]service // by provider; those that are set up
	prices    map[string]definition.Price
	playbooks sync.Map
}

// service is a provider's API.
type service interface {
	Model(name string, price llm.Price) llm.Model
	Check(ctx context.Context) error
}

// newModels sets up the providers that the configuration has a key or an
// address for.
func newModels(c config, prices map[string]definition.Price) (*models, error) {
	m := &models{services: map[string]service{}, prices: prices}
	for _, name := range []string{definition.Anthropic, definition.OpenAI} {
		if !c.hasProvider(name) {
			continue
		}
		s, err := openService(name, provider.Options{BaseURL: c.values[name+"_base_url"], Key: c.values[name+"_api_key"]})
		if err != nil {
			return nil, fmt.Errorf("set up the models of %s: %w", name, err)
		}
		m.services[name] = s
	}
	return m, nil
}

func openService(name string, o provider.Options) (service, error) {
	if name == definition.Anthropic {
		return anthropic.Open(o)
	}
	return openai.Open(o)
}

// model is the model that a session names. The error says what to mend; it
// ends the session, not the process.
func (m *models) model(version definition.Version, name string) (llm.Model, error) {
	provider, own, _ := strings.Cut(name, "/")
	switch provider {
	case definition.Anthropic, definition.OpenAI:
		return m.real(version, provider, own), nil
	case "scripted":
		return m.scripted(version)
	}
	return nil, fmt.Errorf("there is no model provider %q in this build; it has scripted, anthropic and openai", provider)
}

// real is a provider's model. What isn't set up can be, while the session waits
// for it: people are asked, and no work is lost.
func (m *models) real(version definition.Version, provider, own string) llm.Model {
	service, ok := m.services[provider]
	if !ok {
		return notSetUp{fmt.Sprintf("no key and no address for the models of %s: set %[2]s_API_KEY or %[2]s_BASE_URL and restart the server", provider, strings.ToUpper(provider))}
	}
	price, priced := m.prices[provider+"/"+own]
	if !priced && version.Agent.Budgets.CostMicros > 0 {
		return notSetUp{fmt.Sprintf("the agent's cost is limited, and the price of %s/%s is not known: add it to prices in baton.yaml and restart the server", provider, own)}
	}
	return service.Model(own, llm.Price(price))
}

// notSetUp stands for a model that this installation can't ask yet.
type notSetUp struct{ reason string }

func (n notSetUp) Next(context.Context, llm.Request) (llm.Reply, error) {
	return llm.Reply{}, &llm.Error{Kind: llm.InvalidRequest, Message: n.reason}
}

func (m *models) scripted(version definition.Version) (llm.Model, error) {
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

// modelKeys are secrets that may stand in baton.yaml.
func (c config) modelKeys() (keys []redact.Known) {
	for _, setting := range []string{"anthropic_api_key", "openai_api_key"} {
		if value := c.values[setting]; value != "" {
			keys = append(keys, redact.Known{Name: setting, Value: value})
		}
	}
	return keys
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
