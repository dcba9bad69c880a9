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

// anyID stands for the id in an address, as the router writes it.
const anyID = ":id"

func (s *site) routes() []route {
	pages := []route{
		{http.MethodGet, "/", signedIn, s.home},
		{http.MethodGet, templates.InboxURL, signedIn, s.inbox},
		{http.MethodGet, templates.EscalationURL(anyID), signedIn, s.showQuestion},
		{http.MethodPost, templates.AnswerURL(anyID), signedIn, s.answerQuestion},
		{http.MethodPost, templates.UndoURL(anyID), signedIn, s.undoAnswer},
		{http.MethodPost, templates.SeenURL(anyID), signedIn, s.seeQuestion},
		{http.MethodGet, templates.DecisionsURL, signedIn, s.decisions},
		{http.MethodGet, templates.DecisionURL(anyID), signedIn, s.showDecision},
		{http.MethodGet, templates.SessionsURL, signedIn, s.listSessions},
		{http.MethodGet, templates.SessionURL(anyID), signedIn, s.showSession},
		{http.MethodGet, templates.SessionURL(anyID) + "/calls/:n", signedIn, s.showCall},
		{http.MethodGet, templates.SessionURL(anyID) + "/calls/:n/output", signedIn, s.showOutput},
		{http.MethodGet, templates.PromptURL(anyID), signedIn, s.showPrompt},
		{http.MethodPost, templates.PauseURL(anyID), signedIn, s.control(s.Sessions.Pause)},
		{http.MethodPost, templates.AllowURL(anyID), signedIn, s.control(s.allow)},
		{http.MethodPost, templates.ResumeURL(anyID), signedIn, s.control(s.Sessions.Resume)},
		{http.MethodPost, templates.CancelURL(anyID), signedIn, s.control(s.Sessions.Cancel)},

		{http.MethodGet, templates.LeavingURL(""), signedIn, s.leaving},
		{http.MethodGet, templates.PaletteURL, signedIn, s.palette},

		{http.MethodGet, templates.SignInURL, open, s.showSignIn},
		{http.MethodPost, templates.SignInURL, open, s.signIn},
		{http.MethodPost, templates.SignOutURL, open, s.signOut},
		{http.MethodPost, templates.PreferencesURL, open, s.setPreferences},

		{http.MethodGet, static.Prefix + ":digest/*", open, asset},
		{http.MethodGet, "/favicon.ico", open, favicon},
		{http.MethodGet, "/ws", open, s.live},
		{http.MethodGet, "/healthz", open, healthz},
		{http.MethodGet, "/readyz", open, s.readyz},
	}
	return append(pages, s.apiRoutes()...)
}
