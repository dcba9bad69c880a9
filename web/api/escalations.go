package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/escalation/decide"
	"baton/internal/id"
	"baton/internal/page"
	"baton/internal/problem"
)

func (a *API) listEscalations(q Request) (Reply, error) {
	p := q.query("status", "kind", "trigger", "agent", "team", "since", "limit", "cursor")
	f := escalation.Filter{
		Status:  oneOf(p, "status", escalation.Statuses()...),
		Kind:    oneOf(p, "kind", escalation.KindOptions, escalation.KindApproval, escalation.KindInput, escalation.KindFailed, escalation.KindCompleted),
		Trigger: oneOf(p, "trigger", escalation.Triggers()...),
		Agent:   p.text("agent"), Team: p.text("team"), Since: p.time("since"),
		After: cursor(p, "escalations", parsePlace),
	}
	limit := p.limit()
	if p.err != nil {
		return Reply{}, p.err
	}
	f.Limit = limit + 1
	list, err := a.Escalations.List(q.Context(), q.Actor, f)
	if err != nil {
		return Reply{}, err
	}
	return ok(page.Of("escalations", list, limit, func(e escalation.Escalation) string { return place(e.Cursor()) }))
}

// place writes where in a list a question stands; parsePlace reads it.
func place(c escalation.Cursor) string {
	return c.DueAt.UTC().Format(time.RFC3339Nano) + " " + c.ID.String()
}

func parsePlace(s string) (c escalation.Cursor, err error) {
	due, name, _ := strings.Cut(s, " ")
	if c.DueAt, err = time.Parse(time.RFC3339Nano, due); err != nil {
		return c, err
	}
	if c.ID, err = id.Parse[id.Escalation](name); err == nil && c.ID.IsZero() {
		err = errors.New("no id")
	}
	return c, err
}

// escalation is the question that the address names.
func (q Request) escalation() (id.Escalation, error) {
	e, err := id.Parse[id.Escalation](q.PathValue("id"))
	if err != nil || e.IsZero() {
		return e, problem.New(problem.NotFound, "escalation_not_found", nil)
	}
	return e, nil
}

func escalationReply(e escalation.Escalation) (Reply, error) {
	r, err := ok(e)
	r.Version = e.Version
	return r, err
}

func (a *API) getEscalation(q Request) (Reply, error) {
	name, err := q.escalation()
	if err != nil {
		return Reply{}, err
	}
	p := q.query("wait")
	wait := time.Duration(p.number("wait", 0, 0, int64(maxWait/time.Second))) * time.Second
	if p.err != nil {
		return Reply{}, p.err
	}
	e, err := a.Escalations.Get(q.Context(), q.Actor, name)
	if err != nil {
		return Reply{}, err
	}
	// What the client has already is waited on to change; else what is decided
	// is told at once.
	known := q.Header.Get("If-None-Match")
	if wait > 0 && (matches(known, e.Version) || known == "" && e.Status == escalation.Pending) {
		changed, err := a.waitForChange(q, e, wait)
		if err != nil {
			return Reply{}, err
		}
		if changed {
			if e, err = a.Escalations.Get(q.Context(), q.Actor, name); err != nil {
				return Reply{}, err
			}
		}
	}
	return escalationReply(e)
}

// answer is the body of POST /escalations/{id}/answer.
type answer struct {
	Version     int      `json:"version"`
	Decision    decision `json:"decision"`
	Rationale   string   `json:"rationale"`
	HoldSeconds *int64   `json:"hold_seconds"`
}

type decision struct {
	Type       escalation.DecisionType `json:"type"`
	OptionID   string                  `json:"option_id"`
	EditedArgs json.RawMessage         `json:"edited_args"`
	Values     json.RawMessage         `json:"values"`
	Message    string                  `json:"message"`
}

// verb is the answer as the verb takes it.
func (b answer) verb() decide.Answer {
	a := decide.Answer{
		Version: b.Version, Type: b.Decision.Type, Option: b.Decision.OptionID, EditedArgs: noNull(b.Decision.EditedArgs),
		Values: noNull(b.Decision.Values), Message: b.Decision.Message, Rationale: b.Rationale,
	}
	if b.HoldSeconds != nil {
		// Within what a duration can hold; the verb says what it may be.
		hold := time.Duration(min(max(*b.HoldSeconds, -1), 1<<31)) * time.Second
		a.Hold = &hold
	}
	return a
}

func (a *API) answerEscalation(q Request) (Reply, error) {
	name, err := q.escalation()
	if err != nil {
		return Reply{}, err
	}
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	seen, conditional, err := q.ifMatch()
	if err != nil {
		return Reply{}, err
	}
	var b answer
	text, err := q.body(&b)
	if err != nil {
		return Reply{}, err
	}
	once, err := q.once(text)
	if err != nil {
		return Reply{}, err
	}
	switch {
	case conditional && b.Version == 0:
		b.Version = seen
	case conditional && b.Version != seen:
		return Reply{}, problem.New(problem.Malformed, "precondition_invalid", nil).At("If-Match")
	case b.Version == 0:
		return Reply{}, missing("/version")
	}
	if b.Decision.Type == "" {
		return Reply{}, missing("/decision/type")
	}
	v := b.verb()
	v.Once = once
	e, err := a.Desk.Answer(q.Context(), q.Actor, name, v)
	if err != nil {
		return Reply{}, inAnswer(err)
	}
	if stored, replayed := once.Reply(); stored != nil {
		if err := json.Unmarshal(stored, &struct {
			Version *int `json:"version"`
		}{&e.Version}); err != nil {
			return Reply{}, err
		}
		return Reply{Status: http.StatusOK, Body: stored, Version: e.Version, Replayed: replayed}, nil
	}
	return escalationReply(e)
}

// inAnswer puts a problem with a field of an answer where the client wrote it.
func inAnswer(err error) error {
	p, isProblem := errors.AsType[*problem.Error](err)
	if isProblem {
		switch p.Field {
		case "type", "option_id", "edited_args", "values", "message":
			return p.At("/decision/" + p.Field)
		}
	}
	return inBody(err)
}

func (a *API) undoEscalation(q Request) (Reply, error) {
	name, err := q.escalation()
	if err != nil {
		return Reply{}, err
	}
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	if err := q.noBody(); err != nil {
		return Reply{}, err
	}
	e, err := a.Desk.Undo(q.Context(), q.Actor, name)
	if err != nil {
		return Reply{}, err
	}
	return escalationReply(e)
}

// listPrecedents takes the right to read decisions; whoever has it may know of
// the questions of their teams.
func (a *API) listPrecedents(q Request) (Reply, error) {
	name, err := q.escalation()
	if err != nil {
		return Reply{}, err
	}
	if p := q.query(); p.err != nil {
		return Reply{}, p.err
	}
	e, err := a.Escalations.Get(q.Context(), auth.System(), name)
	if err != nil {
		return Reply{}, err
	}
	if !q.Actor.Member(e.Team) {
		return Reply{}, problem.New(problem.NotFound, "escalation_not_found", nil)
	}
	list, err := a.Escalations.Similar(q.Context(), q.Actor, e)
	if err != nil {
		return Reply{}, err
	}
	return ok(page.Of("precedents", list, escalation.MaxSimilar, func(d escalation.Decision) string { return d.ID.String() }))
}
