package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/page"
	"baton/internal/problem"
	"baton/internal/sessions"
)

func (a *API) listSessions(q Request) (Reply, error) {
	p := q.query("status", "agent", "team", "since", "q", "limit", "cursor")
	f := sessions.Filter{
		Status: oneOf(p, "status", sessions.Statuses()...),
		Agent:  p.text("agent"), Team: p.text("team"), Since: p.time("since"), Q: p.text("q"),
		Before: cursor(p, "sessions", id.Parse[id.Session]),
	}
	limit := p.limit()
	if p.err != nil {
		return Reply{}, p.err
	}
	f.Limit = limit + 1
	list, err := a.Sessions.List(q.Context(), q.Actor, f)
	if err != nil {
		return Reply{}, err
	}
	return ok(page.Of("sessions", list, limit, func(s sessions.Session) string { return s.ID.String() }))
}

// newSession is the body of POST /sessions.
type newSession struct {
	Agent  string          `json:"agent"` // slug
	Task   string          `json:"task"`
	Inputs json.RawMessage `json:"inputs"`
	Model  string          `json:"model"`
}

func (a *API) startSession(q Request) (Reply, error) {
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	var b newSession
	text, err := q.body(&b)
	if err != nil {
		return Reply{}, err
	}
	once, err := q.once(text)
	if err != nil {
		return Reply{}, err
	}
	if b.Agent == "" {
		return Reply{}, missing("/agent")
	}
	agent, err := a.agentToStart(q, b.Agent)
	if err != nil {
		return Reply{}, err
	}
	session, err := a.Sessions.Start(q.Context(), q.Actor, a.Inserter,
		sessions.New{Agent: agent, Task: b.Task, Inputs: noNull(b.Inputs), Model: b.Model, Once: once})
	if err != nil {
		return Reply{}, inBody(err)
	}
	if stored, replayed := once.Reply(); stored != nil {
		if err := json.Unmarshal(stored, &struct {
			ID *id.Session `json:"id"`
		}{&session.ID}); err != nil {
			return Reply{}, err
		}
		return Reply{Status: http.StatusCreated, Body: stored, Location: sessionAddress(session.ID), Replayed: replayed}, nil
	}
	r, err := reply(http.StatusCreated, session)
	r.Location = sessionAddress(session.ID)
	return r, err
}

// agentToStart reads the agent that a body names. Starting takes no right to
// read agents; whether the actor may start this one is for the verb to say.
func (a *API) agentToStart(q Request, slug string) (definition.Version, error) {
	agent, err := a.Definitions.Get(q.Context(), auth.System(), slug, 0)
	if problem.Is(err, "agent_not_found") || err == nil && !q.Actor.Member(agent.Team) {
		// The address exists; it is the body that names nothing.
		return agent, problem.New(problem.Invalid, "agent_not_found", nil).At("/agent")
	}
	return agent, err
}

func sessionAddress(s id.Session) string { return Prefix + "/sessions/" + s.String() }

// noNull is raw, or nothing where it is JSON's null.
func noNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// session is the session that the address names.
func (q Request) session() (id.Session, error) {
	session, err := id.Parse[id.Session](q.PathValue("id"))
	if err != nil || session.IsZero() {
		return session, problem.New(problem.NotFound, "session_not_found", nil)
	}
	return session, nil
}

func (a *API) getSession(q Request) (Reply, error) {
	session, err := q.session()
	if err != nil {
		return Reply{}, err
	}
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	s, err := a.Sessions.Get(q.Context(), q.Actor, session)
	if err != nil {
		return Reply{}, err
	}
	return ok(s)
}

func (a *API) listEvents(q Request) (Reply, error) {
	session, err := q.session()
	if err != nil {
		return Reply{}, err
	}
	p := q.query("after", "limit", "cursor")
	after := max(p.number("after", 0, 0, 1<<62), cursor(p, "events", parseInt))
	limit := p.limit()
	if p.err != nil {
		return Reply{}, p.err
	}
	events, err := a.Sessions.Events(q.Context(), q.Actor, session, after, limit+1)
	if err != nil {
		return Reply{}, err
	}
	return ok(page.Of("events", events, limit, func(e sessions.Event) string { return strconv.FormatInt(e.Seq, 10) }))
}

func parseInt(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

// control is one of the verbs that stop a session or let it go on.
type control func(context.Context, auth.Actor, *jobs.Inserter, id.Session) (sessions.Session, error)

func (a *API) pauseSession(q Request) (Reply, error)  { return a.control(q, a.Sessions.Pause) }
func (a *API) resumeSession(q Request) (Reply, error) { return a.control(q, a.Sessions.Resume) }
func (a *API) cancelSession(q Request) (Reply, error) { return a.control(q, a.Sessions.Cancel) }

func (a *API) control(q Request, verb control) (Reply, error) {
	session, err := q.session()
	if err != nil {
		return Reply{}, err
	}
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	if err := q.noBody(); err != nil {
		return Reply{}, err
	}
	s, err := verb(q.Context(), q.Actor, a.Inserter, session)
	if err != nil {
		return Reply{}, err
	}
	return ok(s)
}

// message is the body of POST /sessions/{id}/messages.
type message struct {
	Text string `json:"text"`
}

func (a *API) messageSession(q Request) (Reply, error) {
	session, err := q.session()
	if err != nil {
		return Reply{}, err
	}
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	var b message
	if _, err := q.body(&b); err != nil {
		return Reply{}, err
	}
	s, err := a.Sessions.Message(q.Context(), q.Actor, a.Inserter, session, b.Text)
	if err != nil {
		return Reply{}, inBody(err)
	}
	return ok(s)
}
