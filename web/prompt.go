package web

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"baton/internal/definition"
	"baton/templates"
)

// showPrompt shows what the model of a session is told before anything else,
// exactly as it is sent. Whoever may read the session may read it.
func (s *site) showPrompt(c echo.Context) error {
	session, err := sessionAt(c)
	if err != nil {
		return err
	}
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	v, err := s.Sessions.Get(r.ctx, r.actor, session)
	if err != nil {
		return err
	}
	agent, err := s.version(r.ctx, v.Agent)
	if err != nil {
		return err
	}
	text, contract := s.Prompt(agent.Agent)
	p := templates.PromptPage{Frame: s.frame(c, templates.SectionSessions, r.say("prompt.title")), Text: text, Facts: r.promptFacts(agent, contract)}
	p.Back = templates.SessionURL(v.ID.String())
	return page(c, http.StatusOK, templates.PromptView(p))
}

// promptFacts say which texts it is made of.
func (r reader) promptFacts(agent definition.Version, contract int) []templates.Pair {
	return []templates.Pair{
		{Name: r.say("prompt.contract"), Value: r.say("prompt.version", "version", fmt.Sprint(contract))},
		{Name: r.say("prompt.instructions"), Value: r.say("fact.agent_version", "agent", r.agent(agent.Slug), "version", fmt.Sprint(agent.Number))},
	}
}
