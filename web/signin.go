package web

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"baton/templates"
)

// home leads to where the work is.
func (s *site) home(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, templates.InboxURL)
}

// showSignIn shows whom a link signs in and a button, or says how to get a link.
// It uses nothing up: mail scanners and previews open links too.
func (s *site) showSignIn(c echo.Context) error {
	token := c.QueryParam("token")
	if token == "" {
		if actorOf(c).SignedIn() {
			return c.Redirect(http.StatusSeeOther, templates.InboxURL)
		}
		return page(c, http.StatusOK, templates.SignedOut(templates.SignedOutPage{
			Frame:   s.frame(c, "", word(c, "sign_in.title")),
			JustNow: c.QueryParams().Has("bye"),
		}))
	}
	name, err := s.Accounts.PeekLink(c.Request().Context(), token)
	if err != nil {
		return err
	}
	return page(c, http.StatusOK, templates.SignIn(templates.SignInPage{
		Frame: s.frame(c, "", word(c, "sign_in.title")),
		Name:  name,
		Token: token,
	}))
}

// signIn uses the link up and begins a new login. One that the browser had
// before ends: whoever knew it is out.
func (s *site) signIn(c echo.Context) error {
	r := c.Request()
	token, err := formValue(c, "token")
	if err != nil {
		return err
	}
	login, err := s.Accounts.SignIn(r.Context(), token, r.UserAgent())
	if err != nil {
		return err
	}
	if former := s.login(r); former != "" {
		if err := s.Accounts.SignOut(r.Context(), former); err != nil {
			return err
		}
	}
	s.setLogin(c.Response(), r, login)
	to := templates.InboxURL
	if cookie, err := r.Cookie(portCookie(r, returnCookie)); err == nil {
		to = localPath(cookie.Value, to)
		c.SetCookie(s.cookie(cookie.Name, "", 0))
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// signOut ends the login. Somebody who isn't signed in is out already.
func (s *site) signOut(c echo.Context) error {
	r := c.Request()
	if login := s.login(r); login != "" {
		if err := s.Accounts.SignOut(r.Context(), login); err != nil {
			return err
		}
		s.setLogin(c.Response(), r, "")
	}
	return c.Redirect(http.StatusSeeOther, templates.SignInURL+"?bye")
}
