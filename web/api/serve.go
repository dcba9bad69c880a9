package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/idempotency"
	"baton/internal/jobs"
	"baton/internal/problem"
	"baton/internal/sessions"
	"baton/internal/tools/breaker"
)

// Prefix is where the API is.
const Prefix = "/api/v1"

// Deps are what the operations work on.
type Deps struct {
	Sessions    *sessions.Store
	Definitions *definition.Store
	Escalations *escalation.Store
	Breakers    *breaker.Breakers
	Desk        *decide.Desk
	Inserter    *jobs.Inserter
	// Stopping is closed when the server is about to end: requests that wait
	// for something reply then. Nil: it never ends.
	Stopping <-chan struct{}
}

// API is the operations on their stores.
type API struct{ Deps }

// New makes the API.
func New(deps Deps) *API { return &API{deps} }

// Request is a request with whom it comes from. Its body is bounded already;
// its path parameters are in PathValue.
type Request struct {
	*http.Request
	Actor auth.Actor
}

// Reply is what is sent back.
type Reply struct {
	Status int
	// Body is JSON. Nil sends none.
	Body json.RawMessage
	// Version is that of the resource, 0 for one without versions. It goes out
	// as ETag.
	Version int
	// Location is the address of what was made.
	Location string
	// Replayed says that this is the reply to an earlier request with the same
	// Idempotency-Key.
	Replayed bool
}

// Header is what goes out besides the body.
func (r Reply) Header() http.Header {
	h := http.Header{}
	if r.Version > 0 {
		h.Set("ETag", etag(r.Version))
	}
	if r.Location != "" {
		h.Set("Location", r.Location)
	}
	if r.Replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	return h
}

func ok(v any) (Reply, error) { return reply(http.StatusOK, v) }

func reply(status int, v any) (Reply, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Reply{}, fmt.Errorf("marshal reply: %w", err)
	}
	return Reply{Status: status, Body: body}, nil
}

// Route is one operation.
type Route struct {
	Method string
	Path   string    // below Prefix, with {name} for parameters
	Verb   auth.Verb // what it does; empty: it is open to anybody
	handle func(Request) (Reply, error)
}

// Serve does what a request asks for.
func (r Route) Serve(q Request) (Reply, error) {
	if r.Verb != "" {
		if err := checkScope(q.Actor, r.Verb); err != nil {
			return Reply{}, err
		}
	}
	a, err := r.handle(q)
	if err != nil {
		return Reply{}, err
	}
	if r.Method == http.MethodGet && a.Version > 0 && matches(q.Header.Get("If-None-Match"), a.Version) {
		a.Status, a.Body = http.StatusNotModified, nil
	}
	return a, nil
}

// checkScope refuses a key that can't do the verb to anything, whatever its
// owner's role: that depends on the object, and is for the verb to say. Without
// this a list would be empty for a key that may not read it.
func checkScope(actor auth.Actor, verb auth.Verb) error {
	if actor.Kind == auth.KindPerson {
		return nil
	}
	for team := range actor.Roles {
		actor.Roles, actor.Operator = map[id.Team]auth.Role{team: auth.Admin}, true
		return refusedKey(actor, verb, auth.Can(actor, verb, auth.Object{Kind: "key", ID: actor.ID, Team: team}))
	}
	return nil
}

// refusedKey says of a refusal that it is the key's, not its owner's role's: the
// problem agent_not_allowed or scope_missing.
func refusedKey(actor auth.Actor, verb auth.Verb, err error) error {
	if !problem.Is(err, "not_allowed") {
		return err
	}
	params := problem.From(err).Params
	if actor.Kind == auth.KindAgent {
		return problem.Wrap(err, problem.Forbidden, "agent_not_allowed", params)
	}
	params["scope"] = string(verb.Scope())
	return problem.Wrap(err, problem.Forbidden, "scope_missing", params)
}

func etag(version int) string { return `"` + strconv.Itoa(version) + `"` }

// matches says whether a list of entity tags has the version. A weak tag counts,
// as RFC 9110 has it for If-None-Match.
func matches(header string, version int) bool {
	for tag := range strings.SplitSeq(header, ",") {
		tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
		if tag == "*" || tag == etag(version) {
			return true
		}
	}
	return false
}

// ifMatch is the version that If-Match names. given says whether it names one;
// If-None-Match: * is version 0, which says that there must be none. The
// problem is precondition_invalid.
func (q Request) ifMatch() (version int, given bool, err error) {
	none, match := q.Header.Get("If-None-Match"), strings.TrimSpace(q.Header.Get("If-Match"))
	invalid := func(header string) error {
		return problem.New(problem.Malformed, "precondition_invalid", nil).At(header)
	}
	switch {
	case match == "" && none == "":
		return 0, false, nil
	case match == "":
		if strings.TrimSpace(none) != "*" {
			return 0, false, invalid("If-None-Match")
		}
		return 0, true, nil
	case none != "":
		return 0, false, invalid("If-None-Match")
	}
	digits, open := strings.CutPrefix(match, `"`)
	digits, closed := strings.CutSuffix(digits, `"`)
	version, err = strconv.Atoi(digits)
	if err != nil || !open || !closed || version < 1 {
		return 0, false, invalid("If-Match")
	}
	return version, true, nil
}

// once is the request's name, if it has one; body is what was read of it.
func (q Request) once(body []byte) (*idempotency.Request, error) {
	keys := q.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return nil, nil //nolint:nilnil // a request without a name is nil, as package idempotency has it
	}
	return idempotency.New(q.Actor.ID, strings.Join(keys, " "), q.Method, q.URL.EscapedPath(), string(body))
}
