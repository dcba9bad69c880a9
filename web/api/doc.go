// Package api is what programs see of Baton: REST under /api/v1, and the
// document that describes it.
//
// Each operation is a row of the table in routes.go. Its handler has one rhythm:
// read the request, call one verb with the actor, reply with what came of it.
// Handlers write nothing: they return a Reply or an error, and the web room,
// which has found out who is asking, sends either. Errors are problems; there
// the one switch from a problem to a status and to an RFC 9457 document stands.
//
// What holds for all operations stands in one place each:
//
//   - serve.go: which scope a key needs, ETag and If-None-Match, Idempotency-Key.
//   - decode.go: strict bodies. A field that isn't known, a key twice, trailing
//     data and the rest are refused by name, since what a client meant and the
//     server left out is found by nobody.
//   - query.go: query parameters, as strict.
//   - openapi/: the document, a piece for each kind of resource. The tests of
//     the web room hold every reply that they see to it.
package api
