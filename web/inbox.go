package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"baton/templates"
)

// inbox shows the questions that wait.
func (s *site) inbox(c echo.Context) error {
	return page(c, http.StatusOK, templates.Inbox(templates.InboxPage{
		Frame: s.frame(c, templates.SectionInbox, word(c, "inbox.title")),
	}))
}
