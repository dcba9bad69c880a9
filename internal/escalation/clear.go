package escalation

import (
	"context"
	"encoding/json"
	"fmt"

	"baton/internal/auth"
	"baton/internal/postgres"
	"baton/internal/redact"
	"baton/internal/secrets"
	"baton/internal/sessions"
)

// OpenWith gives the store the installation's key, so that those who decide see
// what placeholders of data stand for in the action that is being decided.
func (s *Store) OpenWith(ring *secrets.Keyring) *Store {
	s.ring = ring
	return s
}

// inClear is a question as the actor may see it: whoever may decide it, while it
// can be decided, sees the fields of its actions in clear. Nothing is read where
// there is no placeholder.
func (s *Store) inClear(ctx context.Context, actor auth.Actor, e Escalation) (Escalation, error) {
	if s.ring == nil || e.Session.IsZero() || e.Status.Final() || !e.Question.masked() || !mayDecide(actor, e) {
		return e, nil
	}
	tokens, err := sessions.OpenTokens(ctx, s.db, s.ring, e.Session)
	if err != nil {
		return e, postgres.Problem(err, "")
	}
	e.Question, err = e.Question.reveal(tokens)
	if err != nil {
		return e, postgres.Problem(fmt.Errorf("show %s in clear: %w", e.ID, err), "")
	}
	return e, nil
}

// mayDecide says whether the actor is somebody who may answer the question.
func mayDecide(actor auth.Actor, e Escalation) bool {
	return Decides(actor) && auth.Can(actor, auth.AnswerEscalation, e.Object()) == nil
}

// actions are the calls that an answer may approve.
func (q *Question) actions() (list []*Action) {
	if q.ActionRequest != nil {
		list = append(list, q.ActionRequest)
	}
	for i := range q.Options {
		if a := q.Options[i].Action; a != nil {
			list = append(list, a)
		}
	}
	return list
}

// masked says whether an action holds a placeholder of data.
func (q *Question) masked() bool {
	for _, a := range q.actions() {
		if redact.HoldsToken(string(a.Args)) {
			return true
		}
	}
	return false
}

// reveal is q with the values of its actions in clear, wherever the question
// tells of them. The arguments themselves stay as they are, and have their clear
// form beside them.
func (q Question) reveal(tokens *redact.Tokens) (shown Question, err error) {
	var args []json.RawMessage
	for _, a := range q.actions() {
		args = append(args, a.Args)
	}
	doc, err := json.Marshal(q)
	if err != nil {
		return q, err
	}
	if err := json.Unmarshal(tokens.Reveal(doc, args...), &shown); err != nil {
		return q, err
	}
	for i, a := range shown.actions() {
		a.Args = args[i]
		a.Clear, _, _ = tokens.PutBack(args[i])
	}
	return shown, nil
}

// Shown are the arguments as whoever looks at them may see them.
func (a Action) Shown() json.RawMessage {
	if a.Clear != nil {
		return a.Clear
	}
	return a.Args
}
