package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"baton/internal/problem"
	"baton/static"
)

// asset serves an embedded file. An address with another digest comes from a
// page of another version of the server (one is being replaced by the next): it
// gets the file as it is here, but no browser may keep that under this address.
func asset(c echo.Context) error {
	a, ok := static.Open(c.Param("*"))
	if !ok {
		return problem.New(problem.NotFound, "not_found", nil)
	}
	h := c.Response().Header()
	if c.Param("digest") == static.Digest() {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if a.Gzip != nil {
		h.Add("Vary", "Accept-Encoding")
		if takesGzip(c.Request()) {
			h.Set("Content-Encoding", "gzip")
			return c.Blob(http.StatusOK, a.Type, a.Gzip)
		}
	}
	return c.Blob(http.StatusOK, a.Type, a.Body)
}

// favicon answers browsers that ask at the old place.
func favicon(c echo.Context) error {
	return c.Redirect(http.StatusFound, static.URL("icons/brand.svg"))
}
