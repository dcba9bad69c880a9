package web

import (
	"net/http"
	"time"

	"baton/internal/auth"
)

const (
	languageCookie = "baton_language"
	themeCookie    = "baton_theme"
	// returnCookie is where the person wanted to go before they were asked to
	// sign in. One-time links are opened from elsewhere, so a parameter would be
	// lost.
	returnCookie = "baton_return"
)

// loginCookie is the name of the cookie that holds the login. With the prefix
// __Host- a browser takes it over https only, from this very host only.
func (s *site) loginCookie() string {
	if s.https() {
		return "__Host-baton"
	}
	return "baton"
}

func (s *site) login(r *http.Request) string {
	cookie, err := r.Cookie(s.loginCookie())
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (s *site) cookie(name, value string, lifetime time.Duration) *http.Cookie {
	c := &http.Cookie{
		Name: name, Value: value, Path: "/",
		HttpOnly: true, Secure: s.https(), SameSite: http.SameSiteLaxMode,
		MaxAge: int(lifetime / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

func (s *site) setLogin(w http.ResponseWriter, token string) {
	http.SetCookie(w, s.cookie(s.loginCookie(), token, auth.LoginLifetime))
}
