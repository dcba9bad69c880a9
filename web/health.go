package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// healthz says that the process answers.
func healthz(c echo.Context) error {
	return c.String(http.StatusOK, "ok\n")
}

// A part that doesn't answer within this is taken not to.
const readyTimeout = 3 * time.Second

// readyz says whether requests can be served now. What is missing stands in the
// log: strangers may ask here.
func (s *site) readyz(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
	defer cancel()
	if s.Ready != nil {
		if err := s.Ready(ctx); err != nil {
			s.Log.WarnContext(ctx, "not ready", "error", err)
			return c.String(http.StatusServiceUnavailable, "not ready\n")
		}
	}
	return c.String(http.StatusOK, "ready\n")
}
