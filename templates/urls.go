package templates

import "net/url"

// Addresses of pages and of what their forms post to. The web room routes the
// same ones.
const (
	InboxURL       = "/inbox"
	SessionsURL    = "/sessions"
	DecisionsURL   = "/decisions"
	SignInURL      = "/sign-in"
	SignOutURL     = "/sign-out"
	PreferencesURL = "/preferences"
)

// SignInLinkURL is the address that a one-time link opens.
func SignInLinkURL(token string) string {
	return SignInURL + "?" + url.Values{"token": {token}}.Encode()
}

// EscalationURL is the page of one question.
func EscalationURL(id string) string { return InboxURL + "/" + url.PathEscape(id) }

// AnswerURL takes the answer to a question.
func AnswerURL(id string) string { return EscalationURL(id) + "/answer" }

// UndoURL takes an answer back while it is held.
func UndoURL(id string) string { return EscalationURL(id) + "/undo" }

// SeenURL takes note that a question was seen by somebody who may answer it.
func SeenURL(id string) string { return EscalationURL(id) + "/seen" }

// SessionURL is the page of one session.
func SessionURL(id string) string { return SessionsURL + "/" + url.PathEscape(id) }

// PauseURL, ResumeURL and CancelURL stop a session or let it go on.
func PauseURL(id string) string  { return SessionURL(id) + "/pause" }
func ResumeURL(id string) string { return SessionURL(id) + "/resume" }
func CancelURL(id string) string { return SessionURL(id) + "/cancel" }

// DecisionURL is the page of one decision.
func DecisionURL(id string) string { return DecisionsURL + "/" + url.PathEscape(id) }
