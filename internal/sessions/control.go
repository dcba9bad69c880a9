package sessions

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"baton/internal/auth"
	"baton/internal/clean"
	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/postgres"
	"baton/internal/problem"
)

// MaxMessage bounds a supervisor's message, in characters.
const MaxMessage = 10_000

// byPerson is the data of an event that a person's control makes.
type byPerson struct {
	By   Author `json:"by"`
	Text string `json:"text,omitempty"`
}

// Cancel asks for a session's end. The worker carries it out within a step and
// withdraws its questions; until then it is requested. Problems:
// session_not_found, session_ended, session_cancelling, not_allowed.
func (s *Store) Cancel(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, session id.Session) (Session, error) {
	return s.control(ctx, actor, inserter, session, Outside{
		Event: NewEvent{Type: CancelRequested, Data: byPerson{By: AuthorOf(actor)}}, Cancel: true})
}

// Pause asks a session to stop at its next step and to stay so until Resume.
// Problems as for Cancel.
func (s *Store) Pause(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, session id.Session) (Session, error) {
	return s.control(ctx, actor, inserter, session, Outside{
		Event: NewEvent{Type: PauseRequested, Data: byPerson{By: AuthorOf(actor)}}, Pause: true})
}

// Resume lets a paused session go on, or takes back a pause that has not taken
// effect yet. Problems as for Cancel.
func (s *Store) Resume(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, session id.Session) (Session, error) {
	return s.control(ctx, actor, inserter, session, Outside{
		Event: NewEvent{Type: SessionResumed, Data: byPerson{By: AuthorOf(actor)}}, Resume: true})
}

// Message gives the agent a person's words, which it reads at its next step. A
// session that waits for people looks whether that settles what it waits for.
// Problems as for Cancel; message_missing, message_too_long.
func (s *Store) Message(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, session id.Session, text string) (Session, error) {
	text = strings.TrimSpace(clean.Text(text))
	if text == "" {
		return Session{}, problem.New(problem.Invalid, "message_missing", nil).At("text")
	}
	if count := utf8.RuneCountInString(text); count > MaxMessage {
		return Session{}, problem.New(problem.Invalid, "message_too_long", problem.Params{"count": count, "most": MaxMessage}).At("text")
	}
	return s.control(ctx, actor, inserter, session, Outside{
		Event: NewEvent{Type: MessageReceived, Data: byPerson{By: AuthorOf(actor), Text: text}}, Look: true})
}

func (s *Store) control(ctx context.Context, actor auth.Actor, inserter *jobs.Inserter, session id.Session, o Outside) (Session, error) {
	err := postgres.InTx(ctx, s.db, func(tx pgx.Tx) error {
		l, err := LockTx(ctx, tx, session)
		if err != nil {
			return err
		}
		if err := auth.Can(actor, auth.ControlSession, l.object()); err != nil {
			return hidden(err)
		}
		if l.Status.Ended() {
			return problem.New(problem.Conflict, "session_ended", problem.Params{"status": string(l.Status)})
		}
		if l.CancelRequested {
			if o.Cancel {
				return nil // asked for already
			}
			return problem.New(problem.Conflict, "session_cancelling", nil)
		}
		if err := OutsideTx(ctx, tx, inserter, l, o); err != nil {
			return err
		}
		return auth.AuditTx(ctx, tx, actor, auth.Entry{Verb: auth.ControlSession, Kind: "session", ID: session.String(), Team: l.Team, Note: string(o.Event.Type)})
	})
	if err != nil {
		return Session{}, postgres.Problem(err, "")
	}
	s.tell(session, nil)
	// Who may control a session is told how it stands, though their key may not
	// be for reading.
	return s.Get(ctx, auth.System(), session)
}

// hidden makes another team's session look like one that doesn't exist.
func hidden(err error) error {
	if problem.From(err).Kind == problem.NotFound {
		return problem.New(problem.NotFound, "session_not_found", nil)
	}
	return err
}
