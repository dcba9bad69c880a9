package templates

import (
	"context"
	"time"

	"github.com/a-h/templ"

	"baton/internal/i18n"
	"baton/templates/ui"
)

// Theme is how the page is lit; the zero value follows the device.
type Theme string

// The themes a person can choose.
const (
	ThemeSystem Theme = ""
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// Section is one of the pages that the rail leads to.
type Section string

// The sections there are.
const (
	SectionInbox     Section = "inbox"
	SectionSessions  Section = "sessions"
	SectionDecisions Section = "decisions"
)

// Sections lists those that everybody has.
func Sections() []Section { return []Section{SectionInbox, SectionSessions, SectionDecisions} }

// Me is the signed-in person.
type Me struct {
	ID   string
	Name string
}

// Frame is what stands around a page's own content.
type Frame struct {
	Title    string    // of the page, in the reader's language
	Section  Section   // where the page belongs
	Sections []Section // what the rail leads to: Sections, but for tests
	Me       *Me       // nil where nobody is signed in
	Waiting  int       // questions that wait for this person
	Theme    Theme
	KeysOff  bool      // pages don't act on single keys
	Path     string    // this page's own address, to come back to
	Now      time.Time // what spans of time are counted from
	Back     string    // on phones: where the arrow leads; empty for none
	Toasts   []Toast   // newest first, at most ToastsMost
}

// Toast is what the person has just done, with the way back.
type Toast struct {
	Text    string    // with SecondsLeft in it, if there is a way back
	URL     string    // of what it was done to
	Key     bool      // Z takes it back
	Number  string    // of the question that was answered, as people call it
	Answers string    // its id
	UndoURL string    // empty where there is no way back
	Until   time.Time // when the way back closes; zero: it stays
}

// ToastsMost is how many toasts are shown at once.
const ToastsMost = 3

// SecondsLeft stands in a toast's text for the seconds until there is no way
// back, which are counted down.
func SecondsLeft() string { return ui.Slot("s") }

type link struct{ url, icon, label string }

func (s Section) link(ctx context.Context) link {
	switch s {
	case SectionSessions:
		return link{SessionsURL, "radio", i18n.T(ctx, "nav.sessions")}
	case SectionDecisions:
		return link{DecisionsURL, "history", i18n.T(ctx, "nav.decisions")}
	default:
		return link{InboxURL, "inbox", i18n.T(ctx, "nav.inbox")}
	}
}

// key leads to the section from everywhere: G, then its letter.
func (s Section) key() string { return "g " + string(s[:1]) }

// documentTitle has the number that waits in front, where a tab still shows it.
func (f Frame) documentTitle(ctx context.Context) string {
	title := f.Title + " · Baton"
	if f.Waiting > 0 {
		title = "(" + i18n.Number(ctx, int64(f.Waiting)) + ") " + title
	}
	return title
}

// pressed is the value of an aria-pressed attribute.
func pressed(on bool) string {
	if on {
		return "true"
	}
	return "false"
}

// keysOff says that pages don't act on single keys.
func keysOff(f Frame) templ.Attributes {
	if !f.KeysOff {
		return nil
	}
	return templ.Attributes{"data-keys": "off"}
}

func undoKey(t Toast) templ.Attributes {
	if !t.Key {
		return nil
	}
	return templ.Attributes{"data-key": "z"}
}
