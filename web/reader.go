package web

import (
	"context"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/templates"
)

// reader is whom a page is made for: what they may see, and in which words.
type reader struct {
	ctx    context.Context
	actor  auth.Actor
	now    time.Time
	agents map[string]string // names by slug
}

// manyAgents is how many agents are looked up by name at once; others are
// shown by their slug.
const manyAgents = 500

func (s *site) reader(c echo.Context) (reader, error) {
	return s.readerOf(c.Request().Context(), actorOf(c))
}

func (s *site) readerOf(ctx context.Context, actor auth.Actor) (reader, error) {
	r := reader{ctx: ctx, actor: actor, now: time.Now(), agents: map[string]string{}}
	agents, err := s.Definitions.List(r.ctx, r.actor, "", manyAgents)
	if err != nil {
		return r, err
	}
	for _, a := range agents {
		if a.Name != "" {
			r.agents[a.Slug] = a.Name
		}
	}
	return r, nil
}

// say says a sentence of the catalogue to this reader.
func (r reader) say(key string, pairs ...any) string { return i18n.T(r.ctx, key, pairs...) }

func (r reader) agent(slug string) string {
	if name := r.agents[slug]; name != "" {
		return name
	}
	return slug
}

// in picks the words of the reader's language; English stands in for one that
// has none.
func (r reader) in(words map[string]string) string {
	if w := words[string(i18n.Of(r.ctx))]; w != "" {
		return w
	}
	return words[string(i18n.English)]
}

// own says whether a decision is the reader's.
func (r reader) own(d escalation.Decision) bool {
	return d.By.Kind == escalation.ByPerson && !r.actor.Person.IsZero() && d.By.ID == r.actor.Person.String()
}

// mayAnswer says whether the reader is somebody who may answer the question, if
// it is open.
func (r reader) mayAnswer(e escalation.Escalation) bool {
	return escalation.Decides(r.actor) && auth.Can(r.actor, auth.AnswerEscalation, e.Object()) == nil
}

func (r reader) mayControl(team id.Team) bool {
	return auth.Can(r.actor, auth.ControlSession, auth.Object{Kind: "session", Team: team}) == nil
}

// seesExact says whether the reader is shown the exact words of failures, which
// are for those who look after agents.
func (r reader) seesExact(team id.Team) bool {
	return auth.Can(r.actor, auth.ReadFullOutput, auth.Object{Kind: "session", Team: team}) == nil
}

// firstLine is the beginning of a text, as a title.
func firstLine(text string, most int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return cut(text, most)
}

// cut shortens a text on a character's border.
func cut(text string, most int) string {
	if letters := []rune(text); len(letters) > most {
		return strings.TrimSpace(string(letters[:most-1])) + "…"
	}
	return text
}

func callURL(call id.Call) string {
	return templates.SessionURL(call.Session.String()) + "#" + callAnchor(call.N)
}

// version is what a session's agent was defined as. Versions never change.
func (s *site) version(ctx context.Context, agent sessions.AgentRef) (definition.Version, error) {
	if known, ok := s.versions.Load(agent); ok {
		return known.(definition.Version), nil
	}
	v, err := s.Definitions.Load(ctx, agent.ID, agent.Version)
	if err == nil {
		s.versions.Store(agent, v)
	}
	return v, err
}
