package api

import (
	"errors"
	"net/http"
	"time"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/page"
	"baton/internal/problem"
)

// agentItem is an agent in a list.
type agentItem struct {
	Slug      string    `json:"slug"`
	Name      string    `json:"name"`
	Team      string    `json:"team"`
	Model     string    `json:"model"`
	Version   int       `json:"version"`
	Versions  int       `json:"versions"`
	UpdatedAt time.Time `json:"updated_at"`
}

func (a *API) listAgents(q Request) (Reply, error) {
	p := q.query("limit", "cursor")
	after := cursor(p, "agents", func(s string) (string, error) {
		if !definition.ValidSlug(s) {
			return "", page.Invalid()
		}
		return s, nil
	})
	limit := p.limit()
	if p.err != nil {
		return Reply{}, p.err
	}
	list, err := a.Definitions.List(q.Context(), q.Actor, after, limit+1)
	if err != nil {
		return Reply{}, err
	}
	items := make([]agentItem, len(list))
	for i, s := range list {
		items[i] = agentItem{s.Slug, s.Name, s.TeamSlug, s.Model, s.Version, s.Versions, s.UpdatedAt}
	}
	return ok(page.Of("agents", items, limit, func(i agentItem) string { return i.Slug }))
}

// agent is one version of an agent.
type agent struct {
	Slug       string           `json:"slug"`
	Name       string           `json:"name"`
	Team       string           `json:"team"`
	Model      string           `json:"model"`
	Version    int              `json:"version"`
	Current    bool             `json:"current"`
	Definition definition.Agent `json:"definition"` // with every default filled in
	Source     string           `json:"source"`     // YAML, as it was written
	Playbook   *string          `json:"playbook"`
	CreatedAt  time.Time        `json:"created_at"`
	CreatedBy  string           `json:"created_by"`
}

func agentOf(v definition.Version) agent {
	a := agent{
		Slug: v.Slug, Name: v.Name, Team: v.Agent.Team, Model: v.Agent.Model, Version: v.Number, Current: v.Current,
		Definition: v.Agent, Source: v.Source, CreatedAt: v.CreatedAt, CreatedBy: v.CreatedBy,
	}
	if v.Playbook != "" {
		a.Playbook = &v.Playbook
	}
	return a
}

// agentReply is a version of an agent with its ETag.
func agentReply(status int, v definition.Version) (Reply, error) {
	r, err := reply(status, agentOf(v))
	r.Version = v.Number
	return r, err
}

func (a *API) getAgent(q Request) (Reply, error) {
	p := q.query("version")
	version := p.number("version", 0, 1, 1<<30)
	if p.err != nil {
		return Reply{}, p.err
	}
	v, err := a.Definitions.Get(q.Context(), q.Actor, q.PathValue("slug"), int(version))
	if err != nil {
		return Reply{}, err
	}
	return agentReply(http.StatusOK, v)
}

// agentSource is the body of PUT /agents/{slug}.
type agentSource struct {
	Source   string `json:"source"`
	Playbook string `json:"playbook"`
}

func (a *API) putAgent(q Request) (Reply, error) {
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	seen, conditional, err := q.ifMatch()
	if err != nil {
		return Reply{}, err
	}
	var b agentSource
	if _, err := q.body(&b); err != nil {
		return Reply{}, err
	}
	if b.Source == "" {
		return Reply{}, missing("/source")
	}
	slug := q.PathValue("slug")
	f := definition.File{Name: slug + ".yaml", Source: []byte(b.Source), Playbook: []byte(b.Playbook)}
	if read, _ := definition.Parse(f, definition.Known{}); read.Slug != "" && read.Slug != slug {
		return Reply{}, problem.New(problem.Invalid, "agent_slug_differs", problem.Params{"slug": slug, "named": read.Slug}).At("/source")
	}
	var applied definition.Applied
	if conditional {
		applied, err = a.Definitions.ApplyOver(q.Context(), q.Actor, f, seen)
	} else {
		applied, err = a.Definitions.Apply(q.Context(), q.Actor, f)
	}
	if problem.Is(err, "precondition_failed") && q.Header.Get("If-Match") == "" {
		return Reply{}, problem.From(err).At("If-None-Match")
	}
	if err != nil {
		return Reply{}, inSource(err)
	}
	// Whoever may write an agent may see what they wrote.
	v, err := a.Definitions.Get(q.Context(), auth.System(), applied.Slug, applied.Version)
	if err != nil {
		return Reply{}, err
	}
	status := http.StatusOK
	if applied.Created && applied.Version == 1 {
		status = http.StatusCreated
	}
	r, err := agentReply(status, v)
	r.Location = Prefix + "/agents/" + v.Slug
	return r, err
}

// inSource puts a problem with a key of the definition where the client wrote
// it: into the source. The problem's own members say which line.
func inSource(err error) error {
	p, isProblem := errors.AsType[*problem.Error](err)
	if !isProblem || p.Kind == problem.Internal || isHeader(p.Field) {
		return err
	}
	if p.Field != "" || p.Code == "definition_invalid" {
		return p.At("/source")
	}
	return err
}
