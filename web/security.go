package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"baton/internal/problem"
)

// Nothing on a page is inline, so the policy needs neither nonces nor hashes.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; " +
	"img-src 'self' data:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// maxBody is the largest request that a page's form or a client may send.
const maxBody = 1 << 20

func safeHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store") // assets say otherwise
		return next(c)
	}
}

// hostChecked refuses requests that came to a name which isn't this server's.
// A site elsewhere can point its own name at this address (DNS rebinding), and
// would then share an origin with it. Plain addresses can't be pointed anywhere,
// so they pass.
func (s *site) hostChecked(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if s.ownHost(r.Host) || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
			return next(c)
		}
		host := r.Host
		if len(host) > 100 {
			host = host[:100] + "…"
		}
		return problem.New(problem.Forbidden, "host_unknown", problem.Params{"host": host})
	}
}

func (s *site) ownHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if s.PublicURL != nil && strings.EqualFold(host, s.PublicURL.Hostname()) {
		return true
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

func newOriginCheck(public *url.URL) *http.CrossOriginProtection {
	check := http.NewCrossOriginProtection()
	if public != nil {
		// Behind a proxy the Host may be another one than the browser sees.
		// The configuration has checked that the URL is one; a URL with more
		// than scheme and host would be refused here.
		_ = check.AddTrustedOrigin(public.Scheme + "://" + public.Host)
	}
	return check
}

// originChecked refuses requests that change something, unless they come from
// this server's own pages or from a program. A request that brings the cookie
// but says nothing about where it comes from is no modern browser's own, and is
// refused as well.
func (s *site) originChecked(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if err := s.origin.Check(r); err != nil {
			return problem.Wrap(err, problem.Forbidden, "cross_origin", nil)
		}
		silent := r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == ""
		if silent && !safe(r.Method) && s.login(r) != "" {
			return problem.New(problem.Forbidden, "origin_missing", nil)
		}
		return next(c)
	}
}

func safe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

func bodyLimited(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		r.Body = http.MaxBytesReader(c.Response(), r.Body, maxBody)
		return next(c)
	}
}
