package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"baton/static"
	"baton/templates"
)

type access uint8

const (
	signedIn access = iota // a person; others are shown the way in
	open                   // anybody: there is nothing of anybody's here
)

type route struct {
	method, path string
	access       access
	handler      echo.HandlerFunc
}

func (s *site) routes() []route {
	pages := []route{
		{http.MethodGet, "/", signedIn, s.home},
		{http.MethodGet, templates.InboxURL, signedIn, s.inbox},

		{http.MethodGet, templates.SignInURL, open, s.showSignIn},
		{http.MethodPost, templates.SignInURL, open, s.signIn},
		{http.MethodPost, templates.SignOutURL, open, s.signOut},
		{http.MethodPost, templates.PreferencesURL, open, s.setPreferences},

		{http.MethodGet, static.Prefix + ":digest/*", open, asset},
		{http.MethodGet, "/favicon.ico", open, favicon},
		{http.MethodGet, "/healthz", open, healthz},
		{http.MethodGet, "/readyz", open, s.readyz},
	}
	return append(pages, s.apiRoutes()...)
}
