package api

import (
	"strconv"

	"baton/internal/id"
	"baton/internal/page"
	"baton/internal/problem"
)

func (a *API) listCalls(q Request) (Reply, error) {
	session, err := q.session()
	if err != nil {
		return Reply{}, err
	}
	p := q.query("limit", "cursor")
	after := cursor(p, "calls", parseCallNumber)
	limit := p.limit()
	if p.err != nil {
		return Reply{}, p.err
	}
	calls, err := a.calls(q, session, after+1, after+limit+1)
	if err != nil {
		return Reply{}, err
	}
	for i := range calls {
		if err := calls[i].dropData(); err != nil {
			return Reply{}, err
		}
	}
	return ok(page.Of("calls", calls, limit, func(c call) string { return strconv.Itoa(c.ID.N) }))
}

// maxCallNumber is more than any session's calls, and far from where numbers
// of the database end.
const maxCallNumber = 1 << 30

func parseCallNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < 0 || n > maxCallNumber) {
		err = strconv.ErrRange
	}
	return n, err
}

// calls reads the calls of a session from the first to the last number, open
// ones too.
func (a *API) calls(q Request, session id.Session, first, last int) ([]call, error) {
	events, err := a.Sessions.CallEvents(q.Context(), q.Actor, session, first, last)
	if err != nil {
		return nil, err
	}
	rows, err := a.Sessions.Calls(q.Context(), q.Actor, session, first-1, last-first+1)
	if err != nil {
		return nil, err
	}
	return foldCalls(events, rows, first, last)
}

// call is the call that the address names.
func (q Request) call() (id.Call, error) {
	c, err := id.ParseCall(q.PathValue("id"))
	if err != nil || c.N > maxCallNumber {
		return c, problem.New(problem.NotFound, "call_not_found", nil)
	}
	return c, nil
}

func (a *API) oneCall(q Request) (call, error) {
	name, err := q.call()
	if err != nil {
		return call{}, err
	}
	calls, err := a.calls(q, name.Session, name.N, name.N)
	if problem.Is(err, "session_not_found") || err == nil && len(calls) == 0 {
		return call{}, problem.New(problem.NotFound, "call_not_found", nil)
	}
	if err != nil {
		return call{}, err
	}
	return calls[0], nil
}

func (a *API) getCall(q Request) (Reply, error) {
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	c, err := a.oneCall(q)
	if err != nil {
		return Reply{}, err
	}
	return ok(c)
}
