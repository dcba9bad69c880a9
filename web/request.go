package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/i18n"
	"baton/internal/problem"
)

// asked is what is known about a request; it travels with it.
type asked struct {
	id    string
	actor auth.Actor
	// unknown is why the actor is nobody, where that isn't simply the lack of a
	// cookie: the database didn't answer, the login has ended.
	unknown error
	counts  *counted // once somebody has asked
}

type askedKey struct{}

func about(c echo.Context) *asked {
	return c.Request().Context().Value(askedKey{}).(*asked)
}

func actorOf(c echo.Context) auth.Actor { return about(c).actor }

// identified gives the request an id: the reference on an error page and the
// key to its lines in the log. One that the client sent is not trusted.
func (s *site) identified(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		a := &asked{id: rand.Text()[:12]}
		r := c.Request()
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), askedKey{}, a)))
		c.Response().Header().Set("X-Request-Id", a.id)
		return next(c)
	}
}

// logged writes one line for each request. The query is left out: links to
// sign in carry their token there.
func (s *site) logged(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		began := time.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		r, w := c.Request(), c.Response()
		level := slog.LevelInfo
		if strings.HasPrefix(r.URL.Path, "/static/") || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			level = slog.LevelDebug
		}
		s.Log.LogAttrs(r.Context(), level, "request",
			slog.String("request_id", about(c).id),
			slog.String("method", r.Method),
			slog.String("path", r.URL.Path),
			slog.Int("status", w.Status),
			slog.Int64("bytes", w.Size),
			slog.Duration("took", time.Since(began)),
			slog.String("actor", about(c).actor.ID),
		)
		return nil
	}
}

// recovered turns a panic into a problem. The stack goes to the log.
func (s *site) recovered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if cause, ok := v.(error); ok && errors.Is(cause, http.ErrAbortHandler) {
				panic(v) // meant for the server, which cuts the connection
			}
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}()
		return next(c)
	}
}

// read finds out who is asking and in which language they read. Nobody is
// turned away here: open pages want to know too.
func (s *site) read(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		a, r := about(c), c.Request()
		byKey := false
		if forAPI(r) {
			a.actor, byKey, a.unknown = s.byKey(r)
		}
		if login := s.login(r); login != "" && !byKey && !strings.HasPrefix(r.URL.Path, "/static/") {
			actor, err := s.Accounts.ActorByLogin(r.Context(), login)
			a.actor, a.unknown = actor, err
		}
		wish := ""
		if cookie, err := r.Cookie(languageCookie); err == nil {
			wish = cookie.Value
		}
		l := i18n.Match(a.actor.Language, wish, r.Header.Get("Accept-Language"))
		c.SetRequest(r.WithContext(i18n.With(r.Context(), l)))
		return next(c)
	}
}

// requireSignIn lets signed-in people pass.
func requireSignIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		switch a := about(c); {
		case a.unknown != nil:
			return a.unknown
		case !a.actor.SignedIn():
			return problem.New(problem.Unauthenticated, "not_signed_in", nil)
		}
		return next(c)
	}
}
