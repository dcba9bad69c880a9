package web

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

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
	p := templates.PromptPage{Frame: s.frame(c, templates.SectionSessions, r.say("prompt.title")), Text: text,
		Of: r.say("prompt.of", "contract", fmt.Sprint(contract), "agent", r.agent(agent.Slug), "version", fmt.Sprint(agent.Number))}
	p.Back = templates.SessionURL(v.ID.String())
	return page(c, http.StatusOK, templates.PromptView(p))
}
