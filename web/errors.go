package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/i18n"
	"baton/internal/problem"
	"baton/templates"
	"baton/web/api"
)

// fail turns an error into the reply: the way to sign in, a page, or an RFC
// 9457 document, in the reader's language. The cause goes to the log and
// nowhere else.
func (s *site) fail(err error, c echo.Context) {
	r := c.Request()
	if c.Response().Committed {
		s.Log.ErrorContext(r.Context(), "reply broke off", "request_id", about(c).id, "error", err)
		return
	}
	if errors.Is(err, context.Canceled) && r.Context().Err() != nil {
		return // nobody is listening any more
	}
	p := toProblem(err)
	if forAPI(r) {
		p = s.toProgram(c, p)
	}
	status := statusOf(p)
	if status >= 500 {
		s.Log.ErrorContext(r.Context(), "request failed", "request_id", about(c).id, "path", r.URL.Path, "code", p.Code, "error", err)
	}
	if p.Kind == problem.Forbidden && p.Params["verb"] != nil {
		s.noteRefusal(c, p)
	}
	if status == http.StatusUnauthorized && forAPI(r) {
		c.Response().Header().Set("WWW-Authenticate", "Bearer")
	}
	switch {
	case wantsDocument(r):
		err = document(c, status, p)
	case status == http.StatusUnauthorized && r.Method == http.MethodGet:
		err = s.toSignIn(c)
	default:
		err = s.errorPage(c, status, p)
	}
	if err != nil {
		s.Log.ErrorContext(r.Context(), "error page failed", "request_id", about(c).id, "error", err)
		if !c.Response().Committed {
			_ = c.NoContent(http.StatusInternalServerError)
		}
	}
}

// statusOf is the HTTP status of a problem: the only place that knows.
func statusOf(p *problem.Error) int {
	switch p.Code { // those for which HTTP has a status of its own
	case "method_not_allowed", "method_unknown":
		return http.StatusMethodNotAllowed
	case "precondition_failed":
		return http.StatusPreconditionFailed
	case "media_type_unsupported":
		return http.StatusUnsupportedMediaType
	}
	switch p.Kind {
	case problem.Malformed:
		return http.StatusBadRequest
	case problem.Unauthenticated:
		return http.StatusUnauthorized
	case problem.Forbidden:
		return http.StatusForbidden
	case problem.NotFound:
		return http.StatusNotFound
	case problem.Conflict:
		return http.StatusConflict
	case problem.Gone:
		return http.StatusGone
	case problem.TooLarge:
		return http.StatusRequestEntityTooLarge
	case problem.Invalid:
		return http.StatusUnprocessableEntity
	case problem.Limited:
		return http.StatusTooManyRequests
	case problem.Unavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// toProblem also knows the errors of the router and of reading a body.
func toProblem(err error) *problem.Error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return problem.Wrap(err, problem.TooLarge, "too_large", nil)
	}
	if routing, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch routing.Code {
		case http.StatusNotFound:
			return problem.Wrap(err, problem.NotFound, "not_found", nil)
		case http.StatusMethodNotAllowed:
			return problem.Wrap(err, problem.Malformed, "method_not_allowed", nil)
		case http.StatusRequestEntityTooLarge:
			return problem.Wrap(err, problem.TooLarge, "too_large", nil)
		}
		if routing.Code < 500 {
			return problem.Wrap(err, problem.Malformed, "malformed", nil)
		}
	}
	return problem.From(err)
}

// toProgram puts what only makes sense in a browser into a program's terms.
func (s *site) toProgram(c echo.Context, p *problem.Error) *problem.Error {
	switch {
	case p.Code == "not_signed_in" && s.login(c.Request()) == "":
		return problem.Wrap(p, p.Kind, "key_missing", nil)
	case p.Code == "not_found" && unrouted(p):
		return problem.Wrap(p, p.Kind, "address_unknown", problem.Params{"document": api.Prefix + "/openapi.json"})
	case p.Code == "method_not_allowed":
		return problem.Wrap(p, p.Kind, "method_unknown", problem.Params{"method": c.Request().Method,
			"allowed": c.Response().Header().Get(echo.HeaderAllow), "document": api.Prefix + "/openapi.json"})
	}
	return p
}

// unrouted says whether a problem is the router's, rather than of a row that
// isn't there.
func unrouted(p *problem.Error) bool {
	_, ok := errors.AsType[*echo.HTTPError](errors.Unwrap(p))
	return ok
}

func (s *site) noteRefusal(c echo.Context, p *problem.Error) {
	if actor := actorOf(c); actor.SignedIn() {
		if err := s.Accounts.NoteRefusal(c.Request().Context(), actor, p); err != nil {
			s.Log.ErrorContext(c.Request().Context(), "refusal not on record", "request_id", about(c).id, "error", err)
		}
	}
}

// wantsDocument says whether a program is asking.
func wantsDocument(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return forAPI(r) ||
		strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}

// document sends p as RFC 9457 wants it. Its type is a URN of the code: there
// is no page to point at, and programs compare it as text.
func document(c echo.Context, status int, p *problem.Error) error {
	words := i18n.Explain(c.Request().Context(), p)
	doc := map[string]any{}
	for name, v := range p.Members {
		doc[name] = v
	}
	doc["type"] = "urn:baton:problem:" + p.Code
	doc["code"] = p.Code
	doc["title"] = words.What
	doc["detail"] = words.Why
	doc["hint"] = words.Do
	doc["status"] = status
	doc["instance"] = "urn:baton:request:" + about(c).id
	if p.Field != "" {
		doc["field"] = p.Field
	}
	if len(p.Params) > 0 {
		doc["params"] = p.Params
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return send(c, status, "application/problem+json", body)
}

func (s *site) errorPage(c echo.Context, status int, p *problem.Error) error {
	words := i18n.Explain(c.Request().Context(), p)
	return page(c, status, templates.Error(templates.ErrorPage{
		Frame:     s.frame(c, "", words.What),
		Status:    status,
		Problem:   words,
		Reference: about(c).id,
		SignIn:    !actorOf(c).SignedIn(),
	}))
}

// toSignIn shows the way in, and remembers where the person wanted to go.
func (s *site) toSignIn(c echo.Context) error {
	if wanted := localPath(c.Request().URL.RequestURI(), ""); wanted != "" && wanted != "/" {
		c.SetCookie(s.cookie(portCookie(c.Request(), returnCookie), wanted, auth.LinkLifetime))
	}
	return c.Redirect(http.StatusSeeOther, templates.SignInURL)
}
