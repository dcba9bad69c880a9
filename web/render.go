package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"baton/internal/i18n"
	"baton/templates"
)

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// Buffers that grew beyond this are not kept.
const keepBuffer = 1 << 20

// page renders a component and sends it. Nothing is sent until all of it is
// rendered, so that a fault in the middle still becomes an error page.
func page(c echo.Context, status int, component templ.Component) error {
	buffer := buffers.Get().(*bytes.Buffer)
	defer func() {
		if buffer.Cap() <= keepBuffer {
			buffer.Reset()
			buffers.Put(buffer)
		}
	}()
	if err := component.Render(c.Request().Context(), buffer); err != nil {
		return err
	}
	return send(c, status, "text/html; charset=utf-8", buffer.Bytes())
}

var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails on a bad level only
	return w
}}

// Compressing less than this saves no packet.
const minCompressed = 1400

// send writes a whole reply, compressed for who takes it. Pages carry no
// secret (forms have no tokens), so compression tells nobody anything.
func send(c echo.Context, status int, contentType string, body []byte) error {
	h := c.Response().Header()
	h.Add("Vary", "Accept-Encoding")
	if len(body) < minCompressed || !takesGzip(c.Request()) {
		return c.Blob(status, contentType, body)
	}
	small := new(bytes.Buffer)
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	w.Reset(small)
	if _, err := w.Write(body); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	h.Set("Content-Encoding", "gzip")
	return c.Blob(status, contentType, small.Bytes())
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			return strings.TrimSpace(quality) != "q=0"
		}
	}
	return false
}

// frame is what stands around the page for this reader.
func (s *site) frame(c echo.Context, section templates.Section, title string) templates.Frame {
	r, actor := c.Request(), actorOf(c)
	f := templates.Frame{
		Title:    title,
		Section:  section,
		Sections: templates.Sections(),
		Waiting:  s.counts(c).open(),
		Theme:    s.theme(c),
		Path:     r.URL.Path,
		Now:      time.Now(),
	}
	if actor.SignedIn() {
		f.Me = &templates.Me{ID: actor.Person.String(), Name: actor.Name}
		f.KeysOff = actor.KeysOff
	}
	return f
}

func (s *site) theme(c echo.Context) templates.Theme {
	wish := actorOf(c).Theme
	if wish == "" {
		if cookie, err := c.Request().Cookie(themeCookie); err == nil {
			wish = cookie.Value
		}
	}
	switch t := templates.Theme(wish); t {
	case templates.ThemeLight, templates.ThemeDark:
		return t
	default:
		return templates.ThemeSystem
	}
}

func word(c echo.Context, key string, pairs ...any) string {
	return i18n.T(c.Request().Context(), key, pairs...)
}
