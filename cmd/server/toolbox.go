package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/agent"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/secrets"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
	"baton/internal/tools/oauth"
)

// toolbox makes the tools of agents, each bound to what its agent may use.
type toolbox struct {
	installation definition.Installation
	dataDir      string
	store        *sessions.Store
	secrets      *secrets.Store
	grants       *oauth.Grants
	more         map[string]toolMaker // beside those that come with Baton

	mu      sync.Mutex
	sources map[string]*pgxpool.Pool
	made    map[versionKey]madeRegistry
}

type versionKey struct {
	agent   id.Agent
	version int
}

type madeRegistry struct {
	registry *tools.Registry
	at       time.Time
}

// remakeAfter is how soon a changed secret reaches the tools that use it.
const remakeAfter = 30 * time.Second

func newToolbox(installation definition.Installation, dataDir string, store *sessions.Store, values *secrets.Store) *toolbox {
	return &toolbox{installation: installation, dataDir: dataDir, store: store, secrets: values,
		sources: map[string]*pgxpool.Pool{}, made: map[versionKey]madeRegistry{}}
}

// close ends the connections to data sources.
func (b *toolbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, pool := range b.sources {
		pool.Close()
	}
}

// names are the tools that a definition may list.
func (b *toolbox) names() []string {
	names := []string{}
	for name := range b.makers() {
		names = append(names, name)
	}
	for _, t := range agent.Own(b.store) {
		names = append(names, t.Spec().Name)
	}
	for name := range b.installation.Tools {
		names = append(names, name)
	}
	for _, source := range b.installation.DataSources {
		for name := range source.Statements {
			names = append(names, builtin.ChangeDBPrefix+name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ownTools are the names of the tools that come with Baton.
func ownTools() []string { return (&toolbox{}).names() }

// spelledOut are the tools of an agent one by one: change_db stands for all
// statements of its data source.
func (b *toolbox) spelledOut(a definition.Agent) (names []string) {
	for _, name := range a.Tools {
		if name != changeDB {
			names = append(names, name)
			continue
		}
		for statement := range b.installation.DataSources[a.DataSource].Statements {
			names = append(names, builtin.ChangeDBPrefix+statement)
		}
	}
	return names
}

// registry is the set of tools of an agent's version: those that it lists, and
// the loop's own.
func (b *toolbox) registry(v definition.Version) (*tools.Registry, error) {
	key := versionKey{v.ID, v.Number}
	b.mu.Lock()
	defer b.mu.Unlock()
	if made, ok := b.made[key]; ok && time.Since(made.at) < remakeAfter {
		return made.registry, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	list := agent.Own(b.store)
	have := map[string]bool{}
	for _, t := range list {
		have[t.Spec().Name] = true
	}
	makers := b.makers()
	for _, name := range b.spelledOut(v.Agent) {
		if have[name] {
			continue
		}
		maker := makers[name]
		if statement, ok := strings.CutPrefix(name, builtin.ChangeDBPrefix); ok {
			maker = b.changeDB(statement)
		}
		if t, ok := b.installation.Tools[name]; ok {
			maker = b.declared(t)
		}
		if maker == nil {
			return nil, fmt.Errorf("there is no tool %q in this build", name)
		}
		t, err := maker(ctx, v)
		if err != nil {
			return nil, fmt.Errorf("tool %s of agent %s: %w", name, v.Slug, err)
		}
		list = append(list, limited{t, v.Agent.Budgets.Timeout.Std(), v.Agent.Budgets.Deadline.Std()})
		have[name] = true
	}
	r, err := tools.NewRegistry(list...)
	if err != nil {
		return nil, err
	}
	b.made[key] = madeRegistry{r, time.Now()}
	return r, nil
}
