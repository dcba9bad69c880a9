package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/i18n"
	"baton/internal/problem"
	"baton/templates"
)

const preferencesLifetime = 365 * 24 * time.Hour

// Whether pages act on single keys, as the form says it.
const (
	keysOn  = "on"
	keysOff = "off"
)

// setPreferences keeps the theme, the language, or whether keys act: with the
// account of who is signed in, and what the sign-in page shows too in a cookie.
func (s *site) setPreferences(c echo.Context) error {
	if err := readForm(c); err != nil {
		return err
	}
	r, actor := c.Request(), actorOf(c)
	theme, setTheme := r.PostForm["theme"]
	language, setLanguage := r.PostForm["language"]
	keys, setKeys := r.PostForm["keys"]
	if setTheme {
		wish := theme[0]
		if wish == "system" {
			wish = ""
		}
		if wish != "" && wish != string(templates.ThemeLight) && wish != string(templates.ThemeDark) {
			return problem.New(problem.Invalid, "theme_unknown", problem.Params{"theme": wish}).At("theme")
		}
		actor.Theme = wish
		c.SetCookie(s.cookie(themeCookie, wish, preferencesLifetime))
	}
	if setLanguage {
		if !i18n.Known(language[0]) {
			return problem.New(problem.Invalid, "language_unknown", problem.Params{"language": language[0]}).At("language")
		}
		actor.Language = language[0]
		c.SetCookie(s.cookie(languageCookie, language[0], preferencesLifetime))
	}
	if setKeys {
		if keys[0] != keysOn && keys[0] != keysOff {
			return problem.New(problem.Invalid, "keys_unknown", problem.Params{"keys": keys[0]}).At("keys")
		}
		actor.KeysOff = keys[0] == keysOff
	}
	if actor.SignedIn() {
		if err := s.Accounts.SetPreferences(r.Context(), actor, actor.Preferences); err != nil {
			return err
		}
	}
	return c.Redirect(http.StatusSeeOther, localPath(r.PostForm.Get("return"), templates.InboxURL))
}

// readForm reads the request's body as a form; afterwards it stands in
// Request.PostForm.
func readForm(c echo.Context) error {
	if err := c.Request().ParseForm(); err != nil {
		if p := toProblem(err); p.Kind == problem.TooLarge {
			return p
		}
		return problem.Wrap(err, problem.Malformed, "malformed", nil)
	}
	return nil
}

func formValue(c echo.Context, name string) (string, error) {
	if err := readForm(c); err != nil {
		return "", err
	}
	return c.Request().PostForm.Get(name), nil
}
