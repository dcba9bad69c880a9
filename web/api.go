package web

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/problem"
	"baton/web/api"
)

// apiRoutes are the operations of the API as routes of the site.
func (s *site) apiRoutes() []route {
	operations := api.New(api.Deps{
		Sessions: s.Sessions, Definitions: s.Definitions, Escalations: s.Escalations, Breakers: s.Breakers, Desk: s.Desk,
		Inserter: s.Inserter, Stopping: s.Stopping,
	})
	var routes []route
	for _, r := range operations.Routes() {
		who := signedIn
		if r.Verb == "" {
			who = open
		}
		path := strings.NewReplacer("{", ":", "}", "").Replace(r.Path) // as the router writes parameters
		routes = append(routes, route{r.Method, api.Prefix + path, who, operation(r)})
		if path == "/" {
			routes = append(routes, route{r.Method, api.Prefix, who, operation(r)})
		}
	}
	return routes
}

// operation sends what an operation of the API replies.
func operation(r api.Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		request := c.Request()
		for i, name := range c.ParamNames() {
			request.SetPathValue(name, c.ParamValues()[i])
		}
		reply, err := r.Serve(api.Request{Request: request, Actor: actorOf(c)})
		if err != nil {
			return err
		}
		for name, values := range reply.Header() {
			c.Response().Header()[name] = values
		}
		if reply.Body == nil {
			return c.NoContent(reply.Status)
		}
		return send(c, reply.Status, "application/json", reply.Body)
	}
}

// forAPI says whether a request is a program's, which may come with a key.
func forAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// byKey finds out whom a request's key stands for. given says whether there is
// one: then nothing else counts, a cookie neither.
func (s *site) byKey(r *http.Request) (actor auth.Actor, given bool, err error) {
	if keyInQuery(r) {
		return actor, true, problem.New(problem.Unauthenticated, "key_in_query", nil)
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return actor, false, nil
	}
	scheme, key, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return actor, true, problem.New(problem.Unauthenticated, "key_invalid", nil)
	}
	actor, err = s.Accounts.ActorByKey(r.Context(), strings.TrimSpace(key))
	return actor, true, err
}

// keyInQuery finds a key where it would end up in logs and histories: it is
// refused there even beside a good one, so that its owner notices.
func keyInQuery(r *http.Request) bool {
	for name, values := range r.URL.Query() {
		switch strings.ToLower(name) {
		case "access_token", "token", "api_key", "key", "authorization":
			return true
		}
		for _, v := range values {
			if strings.Contains(v, "baton_") {
				return true
			}
		}
	}
	return false
}
