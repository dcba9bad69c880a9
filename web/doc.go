// Package web is the one door for HTTP: it turns requests into verbs of the
// domain, and what they return into pages, redirects and problem documents.
//
// Handlers all have one rhythm: read the request, call one verb with the actor,
// map the result to a page struct, render. They return errors and never write
// them: fail (errors.go) is the one place where a problem becomes a status, a
// page or a document. The table in routes.go names every address, what it
// takes, and whom it lets in. What programs are served is room api's; here it is
// mounted, and asked for a key (api.go).
//
// Around every handler stand, from the outside in: the request's id and its
// line in the log, recovery from panics, safe headers, the check of Host and of
// the request's origin, a limit on the body, and then who is asking and in
// which language.
//
// A safe method (GET, HEAD) never changes anything, and every state change
// needs a request that this server's own pages made. There are no tokens in
// forms for that: the browser says where a request comes from.
package web
