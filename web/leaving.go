package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"baton/internal/markdown"
	"baton/internal/problem"
	"baton/templates"
)

// leaving asks before an address that an agent wrote is opened: what it leads
// to may have been chosen by whoever wrote what the agent read.
func (s *site) leaving(c echo.Context) error {
	url, host, ok := markdown.Outside(c.QueryParam("to"))
	if !ok {
		return problem.New(problem.NotFound, "not_found", nil)
	}
	return page(c, http.StatusOK, templates.Leaving(templates.LeavingPage{
		Frame: s.frame(c, "", word(c, "leaving.page")), URL: url, Host: host,
	}))
}
