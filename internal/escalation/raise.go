package escalation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"baton/internal/id"
	"baton/internal/jobs"
	"baton/internal/sessions"
)

// Bounds and defaults of a question's life.
const (
	MaxHold        = 30 * time.Minute
	DefaultExpires = 72 * time.Hour
)

// ExpireArgs is the job that looks at a question when its time is over. Its
// worker is in package decide.
type ExpireArgs struct {
	Escalation id.Escalation `json:"escalation"`
}

// Kind is the job's name.
func (ExpireArgs) Kind() string { return "escalation.expire" }

// InsertOpts gives it many tries: a question must not wait for ever because the
// database was away.
func (ExpireArgs) InsertOpts() river.InsertOpts { return river.InsertOpts{MaxAttempts: 25} }

// Raise is a question and where it belongs.
type Raise struct {
	Draft
	Session sessions.Session // that waits for the answer
	Call    int              // whose result the answer is; 0: of none
	Group   string           // of questions raised together; empty: none
	// OnExpiry is fail, continue, reject or option:<id>, empty for fail. What
	// can't be done without a person becomes fail: only an option that is known
	// to be reversible can be a default, and only an approval can be rejected.
	OnExpiry     string
	ExpiresAfter time.Duration // 0: DefaultExpires
	Hold         time.Duration // how long an answer in a browser can be taken back
}

const sqlRaise = `
insert into escalations (id, team_id, agent_slug, session_id, call, group_id, kind, trigger, priority, on_expiry, hold_ms,
                         title, question, reason_code, option_set, tool, tool_hash, error_type, error_class, parameters, problem,
                         due_at, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21,
        now() + $22::interval, now() + $23::interval)
returning expires_at`

// RaiseTx asks the question and plans its expiry. The caller parks the session
// in the same transaction, with Parking.Raised counting the questions and the
// event escalation.raised (Escalation.Event is its data) among the step's: so
// no session waits for nothing, and no question is asked for nobody.
func RaiseTx(ctx context.Context, tx pgx.Tx, inserter *jobs.Inserter, r Raise) (Escalation, error) {
	if err := r.check(); err != nil {
		return Escalation{}, fmt.Errorf("raise question: %w", err)
	}
	esc := id.New[id.Escalation]()
	question, err := json.Marshal(r.Question)
	if err != nil {
		return Escalation{}, fmt.Errorf("raise question: %w", err)
	}
	var expires time.Time
	err = tx.QueryRow(ctx, sqlRaise, esc, r.Session.Team, r.Session.Agent.Slug, r.Session.ID, r.Call, r.Group, r.Kind, r.Trigger,
		r.Priority, r.onExpiry(), r.Hold.Milliseconds(), r.Question.Title, question,
		r.Case.ReasonCode, r.Case.OptionSet, r.Case.Tool, r.Case.ToolHash, r.Case.ErrorType, r.Case.ErrorClass, r.Case.Parameters, r.Case.Problem,
		dueAfter[r.Priority], r.ExpiresAfter).Scan(&expires)
	if err != nil {
		return Escalation{}, fmt.Errorf("raise question of %s: %w", r.Session.ID, err)
	}
	if err := inserter.InsertTx(ctx, tx, ExpireArgs{esc}, &river.InsertOpts{ScheduledAt: expires}); err != nil {
		return Escalation{}, err
	}
	return Load(ctx, tx, esc)
}

// check refuses what no caller should ask, and fills in the defaults.
func (r *Raise) check() error {
	switch {
	case r.Session.ID.IsZero() || r.Call < 0:
		return errors.New("it belongs to no session")
	case r.Call == 0 && r.Kind != KindFailed:
		return errors.New("it belongs to no call")
	case r.Question.Title == "" || r.Question.Question == "":
		return errors.New("it has no title or no question")
	case len(r.Question.Options) > MaxOptions:
		return fmt.Errorf("it has %d options, at most %d are allowed", len(r.Question.Options), MaxOptions)
	case r.Kind == KindApproval && (r.Question.ActionRequest == nil || r.Question.ActionRequest.Digest == ""):
		return errors.New("it is an approval of no call")
	case len(r.Question.Allowed) == 0:
		return errors.New("it allows no answer")
	case dueAfter[r.Priority] == 0:
		return fmt.Errorf("priority %q is not known", r.Priority)
	case r.ExpiresAfter < 0 || r.Hold < 0 || r.Hold > MaxHold:
		return fmt.Errorf("expiry after %s or hold of %s can't be", r.ExpiresAfter, r.Hold)
	}
	if r.ExpiresAfter == 0 {
		r.ExpiresAfter = DefaultExpires
	}
	if len(r.Case.Parameters) == 0 {
		r.Case.Parameters = json.RawMessage("{}")
	}
	return nil
}

// onExpiry is what really happens if nobody answers. Silence is never consent.
func (r *Raise) onExpiry() string {
	switch name, option := strings.CutPrefix(r.OnExpiry, "option:"); {
	case option:
		if o, ok := r.Question.Default(name); ok {
			return "option:" + o.ID
		}
	case r.OnExpiry == OnExpiryContinue, r.OnExpiry == OnExpiryReject && r.Question.Allows(Reject):
		return r.OnExpiry
	}
	return OnExpiryFail
}

// What happens when nobody answers, besides option:<id>.
const (
	OnExpiryFail     = "fail"     // the session fails honestly
	OnExpiryContinue = "continue" // the agent goes on without an answer
	OnExpiryReject   = "reject"   // the call is refused
)

// Default is the named option if it can be taken without a person: if it is
// known to be reversible.
func (q Question) Default(name string) (Option, bool) {
	o, ok := q.Find(name)
	return o, ok && o.Action != nil && o.Reversible != nil && *o.Reversible
}
