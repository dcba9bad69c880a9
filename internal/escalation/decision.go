package escalation

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/sessions"
)

// DeciderKind is what kind of decider it was. No model is among them.
type DeciderKind string

// The kinds of deciders.
const (
	ByPerson DeciderKind = "person"
	ByRule   DeciderKind = "rule"
	ByExpiry DeciderKind = "expiry" // nobody answered, and the agent's definition says what then
)

// Decider is who decided.
type Decider struct {
	Kind DeciderKind `json:"kind"`
	ID   string      `json:"id"`
	Name string      `json:"name"`
}

// Decision is an answer to one escalation. It never changes; UndoneAt and
// Outcome are what became of it.
type Decision struct {
	ID         id.Decision     `json:"id"`
	Escalation id.Escalation   `json:"escalation_id"`
	Session    id.Session      `json:"session_id"`
	Team       string          `json:"team"` // slug
	Agent      string          `json:"agent"`
	Trigger    Trigger         `json:"trigger"`
	ReasonCode string          `json:"reason_code"`
	Type       DecisionType    `json:"type"`
	OptionID   string          `json:"option_id"`
	Option     string          `json:"option"` // the letter that was shown
	Label      string          `json:"label"`
	Message    string          `json:"message"`   // to the agent
	Rationale  string          `json:"rationale"` // for the record
	EditedArgs json.RawMessage `json:"edited_args"`
	Values     json.RawMessage `json:"values"`
	By         Decider         `json:"decided_by"`
	Via        string          `json:"via"`
	RuleID     *string         `json:"rule_id"`
	Suggestion *Suggestion     `json:"suggestion"`
	HeldUntil  *time.Time      `json:"held_until"`
	UndoneAt   *time.Time      `json:"undone_at"`
	Outcome    *Outcome        `json:"outcome"`
	DecidedAt  time.Time       `json:"decided_at"`
	TookMS     int64           `json:"took_ms"` // since it was first seen, or else asked
	// Question is the question as it was then; nil inside an escalation, which
	// has it already.
	Question *Question `json:"question,omitempty"`

	Version int  `json:"-"` // of the escalation, with this decision
	Case    Case `json:"-"`
}

// Suggestion says which option was suggested to the decider.
type Suggestion struct {
	OptionID string `json:"option_id"`
	Followed bool   `json:"followed"`
}

// Mark is what became of a decision.
type Mark string

// The marks.
const (
	MarkUndone      Mark = "undone"
	MarkApplied     Mark = "applied"
	MarkApplyFailed Mark = "apply_failed"
	MarkSucceeded   Mark = "succeeded"
	MarkFailed      Mark = "failed"
	MarkPartly      Mark = "partly" // never written: read from how the session ended
	MarkReverted    Mark = "reverted"
	MarkOverruled   Mark = "overruled"
)

// Outcome is how a decision turned out: the latest of its marks that says so.
// Applied is the outcome of what let nothing happen: it was carried out.
type Outcome struct {
	Status Mark      `json:"status"`
	At     time.Time `json:"at"`
}

// MarshalJSON writes the decision as the API has it.
func (d Decision) MarshalJSON() ([]byte, error) {
	type plain Decision
	w := struct {
		plain
		Session *id.Session `json:"session_id"`
	}{plain: plain(d)}
	if !d.Session.IsZero() {
		w.Session = &d.Session
	}
	if d.Question != nil {
		q := d.Question.filled()
		w.plain.Question = &q
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Decision) UnmarshalJSON(b []byte) error {
	type plain Decision
	if err := json.Unmarshal(b, (*plain)(d)); err != nil {
		return err
	}
	d.EditedArgs, d.Values = notNull(d.EditedArgs), notNull(d.Values)
	return nil
}

// notNull is raw, or nothing where it is JSON's null.
func notNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// Approval is a permission that a decision gives: for one call, once, until it
// expires or the turn that the answer began has ended.
type Approval struct {
	Tool string `json:"tool"`
	// Digest is of the exact call. It is empty if the decider edited the
	// arguments: then Args are those that may run, and the worker, which alone
	// has the key, makes the digest of them.
	Digest    string          `json:"digest,omitempty"`
	Args      json.RawMessage `json:"args,omitempty"`
	ExpiresAt time.Time       `json:"expires_at"`
}

// ApprovalLifetime is how long after an answer went out its approvals hold.
const ApprovalLifetime = 24 * time.Hour

// Event is the data of the ledger's events about a question: what the worker
// folds a person's answer from. Nothing that a model writes can make one.
type Event struct {
	Escalation id.Escalation `json:"escalation_id"`
	Number     int64         `json:"number"`
	Call       int           `json:"call"` // whose result the answer is
	Kind       Kind          `json:"kind"`
	Trigger    Trigger       `json:"trigger,omitempty"`
	Group      string        `json:"group_id,omitempty"`
	Title      string        `json:"title"`
	// Titles are the title in the languages that aren't English, where it is the
	// server's own.
	Titles map[string]string `json:"titles,omitempty"`
	// Decision is set in escalation.answered and escalation.undone, and in
	// escalation.expired if the agent's definition has a default.
	Decision *Decision `json:"decision,omitempty"`
	// Labels are the chosen option's label in the languages that aren't English,
	// where it is the server's own.
	Labels    map[string]string `json:"labels,omitempty"`
	Approvals []Approval        `json:"approvals,omitempty"`
	// HeldUntil is when the answer goes out: before, it can be undone.
	HeldUntil *time.Time `json:"held_until,omitempty"`
	// OnExpiry is set in escalation.expired: what now holds. It is fail if the
	// default that was asked for couldn't be taken.
	OnExpiry string `json:"on_expiry,omitempty"`
	// By is set in escalation.undone.
	By *sessions.Author `json:"by,omitempty"`
}

// Event is the part of an event's data that is the same for all of this
// question's, and the words of what was chosen.
func (e Escalation) Event() Event {
	event := Event{Escalation: e.ID, Number: e.Number, Call: e.Call, Kind: e.Kind, Trigger: e.Trigger, Group: e.Group,
		Title: e.Question.Title, Titles: e.Question.titles()}
	if e.Decision != nil {
		if label, ours := e.Question.Sentences["options."+e.Decision.OptionID+".label"]; ours {
			event.Labels = others(func(_ string, in context.Context) string { return label.In(in) })
		}
	}
	return event
}

// titles are what the server calls the question. What may have been done is a
// part of its sentence.
func (q Question) titles() map[string]string {
	m, ours := q.Sentences["title"]
	a := q.ActionRequest
	switch {
	case a == nil && !ours:
		return nil
	case a == nil:
		return others(func(_ string, in context.Context) string { return m.In(in) })
	case !ours:
		return others(func(lang string, _ context.Context) string { return a.Sentences[lang] })
	}
	return others(func(lang string, in context.Context) string {
		return i18n.Say(m.Key, "what", cmp.Or(a.Sentences[lang], a.title())).In(in)
	})
}

// others are words in the languages that aren't English, where there are any.
func others(words func(lang string, in context.Context) string) (list map[string]string) {
	for _, l := range i18n.Languages() {
		if l == i18n.English {
			continue
		}
		if w := words(string(l), i18n.With(context.Background(), l)); w != "" {
			if list == nil {
				list = map[string]string{}
			}
			list[string(l)] = w
		}
	}
	return list
}
