package decide

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"

	"baton/internal/auth"
	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/idempotency"
	"baton/internal/problem"
	"baton/internal/redact"
	"baton/internal/sessions"
)

// Answer is what somebody says to a question.
type Answer struct {
	// Version is that of the question which they saw.
	Version    int
	Type       escalation.DecisionType
	Option     string          // id or letter; to choose
	EditedArgs json.RawMessage // all arguments anew; to edit
	Values     json.RawMessage // of a form; to respond
	Message    string          // to the agent
	Rationale  string          // for the record
	// Hold is how long the answer can be taken back before it goes out; nil: as
	// the agent's definition says in a browser, not at all elsewhere.
	Hold *time.Duration
	// Once is the request's name, if its sender gave it one.
	Once *idempotency.Request
}

// Row is a question and the session that waits for it, both locked.
type Row struct {
	escalation.Escalation
	SessionStatus   sessions.Status
	CancelRequested bool
	WakeAt          *time.Time // the latest hold of the session's other answers
	// Tokens are the values that the agent knows by placeholders; nil is none.
	Tokens *redact.Tokens
}

// Writes are what an answer changes.
type Writes struct {
	// Replay says that this very answer was given before: nothing is written,
	// and the reply is the first one's.
	Replay bool
	// Escalation is the question as it is then, with its decision.
	Escalation escalation.Escalation
	Event      escalation.Event
	// Wake is the time before which the session must not go on; nil leaves it.
	Wake *time.Time
}

// Decide says what an answer changes. now is the database's time under the
// locks. Problems: escalation_not_found, not_allowed, only_people_answer;
// already_answered (with the winning decision), stale_version; cancelled,
// expired, superseded; and what is wrong with the answer itself:
// answer_type_not_allowed, answer_field_unexpected, option_unknown,
// message_missing, message_too_long, edited_args_invalid, values_invalid,
// hold_invalid.
func Decide(row Row, actor auth.Actor, answer Answer, now time.Time) (Writes, error) {
	if err := mayAnswer(actor, row.Escalation); err != nil {
		return Writes{}, err
	}
	answer, err := cleaned(answer)
	if err != nil {
		return Writes{}, err
	}
	answer.EditedArgs = row.Tokens.Conceal(answer.EditedArgs)
	if row.Decision != nil && own(row.Escalation, actor) && same(row.Escalation, answer) {
		return Writes{Replay: true, Escalation: asFirst(row.Escalation)}, nil
	}
	next, err := open(row, answer.Version, now)
	if err != nil {
		return Writes{}, err
	}
	d, approvals, err := judge(row, answer)
	if err != nil {
		return Writes{}, err
	}
	hold, err := holdOf(row.Escalation, actor, answer)
	if err != nil {
		return Writes{}, err
	}
	d.By, d.Via = decider(actor), actor.Via
	return write(row, next, d, approvals, hold, now), nil
}

// mayAnswer keeps everybody out who is not a person with the right to. A model
// has no way to be one.
func mayAnswer(actor auth.Actor, e escalation.Escalation) error {
	if err := auth.Can(actor, auth.AnswerEscalation, e.Object()); err != nil {
		return hidden(err)
	}
	if !escalation.Decides(actor) {
		o := e.Object()
		return problem.New(problem.Forbidden, "only_people_answer",
			problem.Params{"verb": string(auth.AnswerEscalation), "kind": o.Kind, "id": o.ID, "team": o.Team.String()})
	}
	return nil
}

// hidden makes another team's question look like one that doesn't exist.
func hidden(err error) error {
	if problem.From(err).Kind == problem.NotFound {
		return problem.New(problem.NotFound, "escalation_not_found", nil)
	}
	return err
}

// decider is the person behind the actor: the same in a browser and by key.
func decider(actor auth.Actor) escalation.Decider {
	return escalation.Decider{Kind: escalation.ByPerson, ID: actor.Person.String(), Name: actor.Name}
}

// own says whether the decision in force is the actor's. People change names.
func own(e escalation.Escalation, actor auth.Actor) bool {
	by := decider(actor)
	return e.Decision.By.Kind == by.Kind && e.Decision.By.ID == by.ID
}

func cleaned(a Answer) (Answer, error) {
	var err error
	if a.Message, err = escalation.Message(a.Message); err != nil {
		return a, err
	}
	if a.Rationale, err = escalation.Rationale(a.Rationale); err != nil {
		return a, err
	}
	a.EditedArgs, a.Values = present(a.EditedArgs), present(a.Values)
	return a, nil
}

// present is raw without space, or nothing where it is null.
func present(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw // no JSON: refused where it is looked at
	}
	if b.Len() == 0 || b.String() == "null" {
		return nil
	}
	return b.Bytes()
}

// same says whether an answer is equal to the decision in every field.
func same(e escalation.Escalation, a Answer) bool {
	d := e.Decision
	option := a.Option
	if o, ok := e.Question.Find(a.Option); ok {
		option = o.ID
	}
	return d.Type == a.Type && d.OptionID == option && d.Message == a.Message && d.Rationale == a.Rationale &&
		sameJSON(d.EditedArgs, a.EditedArgs) && sameJSON(d.Values, a.Values)
}

// sameJSON compares documents; numbers as they are written.
func sameJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	x, errA := decoded(a)
	y, errB := decoded(b)
	return errA == nil && errB == nil && reflect.DeepEqual(x, y)
}

func decoded(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// asFirst is the question as it was in the reply to the first such answer,
// whatever has become of it since.
func asFirst(e escalation.Escalation) escalation.Escalation {
	d := *e.Decision
	d.Outcome, d.UndoneAt = nil, nil
	e.Status, e.Version, e.HeldUntil, e.ClosedAt, e.Decision = escalation.Answered, d.Version, d.HeldUntil, nil, &d
	return e
}

// open says whether the question can still be answered, as somebody saw it, and
// the status that follows.
func open(row Row, version int, now time.Time) (escalation.Status, error) {
	next, legal := row.Status.After(escalation.MoveAnswer)
	switch {
	case !legal:
		return "", closed(row.Escalation)
	case row.CancelRequested || row.SessionStatus.Ended():
		return "", problem.New(problem.Gone, "cancelled", nil)
	case !now.Before(row.ExpiresAt):
		return "", problem.New(problem.Gone, "expired", nil)
	case version != row.Version:
		return "", problem.New(problem.Conflict, "stale_version", problem.Params{"version": row.Version}).With("version", row.Version)
	}
	return next, nil
}

// closed tells what became of a question that is no longer open.
func closed(e escalation.Escalation) error {
	switch e.Status {
	case escalation.Cancelled:
		return problem.New(problem.Gone, "cancelled", nil)
	case escalation.Expired:
		return problem.New(problem.Gone, "expired", nil)
	case escalation.Superseded:
		return problem.New(problem.Gone, "superseded", nil)
	}
	return problem.New(problem.Conflict, "already_answered", problem.Params{"by": e.Decision.By.Name}).With("decision", e.Decision)
}

// holdOf is how long the answer is held.
func holdOf(e escalation.Escalation, actor auth.Actor, a Answer) (time.Duration, error) {
	switch {
	case a.Hold == nil && actor.Via == "browser":
		return e.Hold, nil
	case a.Hold == nil:
		return 0, nil
	case *a.Hold < 0 || *a.Hold > escalation.MaxHold:
		return 0, problem.New(problem.Invalid, "hold_invalid", problem.Params{"most": int(escalation.MaxHold.Seconds())}).At("hold_seconds")
	}
	return *a.Hold, nil
}

// write puts a decision into the question, and makes the event that tells the
// agent.
func write(row Row, next escalation.Status, d escalation.Decision, approvals []escalation.Approval, hold time.Duration, now time.Time) Writes {
	e := row.Escalation
	e.Status, e.Version = next, e.Version+1
	d.ID, d.Version = id.New[id.Decision](), e.Version
	d.Escalation, d.Session, d.Team, d.Agent, d.Trigger, d.ReasonCode = e.ID, e.Session, e.TeamSlug, e.Agent, e.Trigger, e.Case.ReasonCode
	d.DecidedAt, d.Case = now, e.Case
	since := e.CreatedAt
	if e.SeenAt != nil {
		since = *e.SeenAt
	}
	d.TookMS = now.Sub(since).Milliseconds()
	w := Writes{}
	released := now
	if hold > 0 {
		released = now.Add(hold)
		d.HeldUntil = &released
		wake := released
		if row.WakeAt != nil && row.WakeAt.After(wake) {
			wake = *row.WakeAt
		}
		w.Wake = &wake
	}
	for i := range approvals {
		approvals[i].ExpiresAt = released.Add(escalation.ApprovalLifetime)
	}
	e.AnsweredAt, e.HeldUntil, e.Decision = &now, d.HeldUntil, &d
	if next.Final() {
		e.ClosedAt = &now
	}
	w.Escalation = e
	w.Event = e.Event()
	w.Event.Decision, w.Event.Approvals, w.Event.HeldUntil = &d, approvals, d.HeldUntil
	return w
}
