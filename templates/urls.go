package templates

import "net/url"

// Addresses of pages and of what their forms post to. The web room routes the
// same ones.
const (
	InboxURL       = "/inbox"
	SessionsURL    = "/sessions"
	DecisionsURL   = "/decisions"
	PaletteURL     = "/palette"
	SignInURL      = "/sign-in"
	SignOutURL     = "/sign-out"
	PreferencesURL = "/preferences"
	leavingURL     = "/leaving"
)

// LeavingURL asks before an address elsewhere is opened; without one it is the
// page's own.
func LeavingURL(to string) string {
	if to == "" {
		return leavingURL
	}
	return leavingURL + "?" + url.Values{"to": {to}}.Encode()
}

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

// PromptURL is the page of what a session's model is told before anything else.
func PromptURL(id string) string { return SessionURL(id) + "/prompt" }

// AllowURL lets a session's agent use again what has a pause.
func AllowURL(id string) string { return SessionURL(id) + "/allow" }

// PauseURL stops a session for a while.
func PauseURL(id string) string { return SessionURL(id) + "/pause" }

// ResumeURL lets a paused session go on.
func ResumeURL(id string) string { return SessionURL(id) + "/resume" }

// CancelURL ends a session.
func CancelURL(id string) string { return SessionURL(id) + "/cancel" }

// CallURL is the page of one call of a session.
func CallURL(session string, n int) string { return SessionURL(session) + "/calls/" + itoa(n) }

// OutputURL is the page of what a call put out, from a line on.
func OutputURL(session string, n int, offset int64) string {
	at := CallURL(session, n) + "/output"
	if offset > 0 {
		at += "?offset=" + seq(offset)
	}
	return at
}

// DecisionURL is the page of one decision.
func DecisionURL(id string) string { return DecisionsURL + "/" + url.PathEscape(id) }
