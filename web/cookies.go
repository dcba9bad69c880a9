package web

import (
	"net"
	"net/http"
	"time"

	"baton/internal/auth"
)

const (
	languageCookie = "baton_language"
	themeCookie    = "baton_theme"
	// returnCookie is where the person wanted to go before they were asked to
	// sign in. One-time links are opened from elsewhere, so a parameter would be
	// lost. The port is added to it, as to the login's.
	returnCookie = "baton_return"
)

// loginCookie is the name of the cookie that holds the login. With the prefix
// __Host- a browser takes it over https only, from this very host only. Without
// https it has the port in it: browsers share cookies among all ports of a host,
// and to sign in at one server would sign out at the next.
func (s *site) loginCookie(r *http.Request) string {
	if s.https() {
		return "__Host-baton"
	}
	return portCookie(r, "baton")
}

// portCookie is a cookie's name for the port that the request came to.
func portCookie(r *http.Request, name string) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		return name + "_" + port
	}
	return name
}

func (s *site) login(r *http.Request) string {
	cookie, err := r.Cookie(s.loginCookie(r))
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

func (s *site) setLogin(w http.ResponseWriter, r *http.Request, token string) {
	http.SetCookie(w, s.cookie(s.loginCookie(r), token, auth.LoginLifetime))
}
