package templates

import (
	"context"
	"strings"
	"time"

	"github.com/a-h/templ"

	"baton/internal/i18n"
)

// Kind is what sort of question it is; it decides the picture beside it.
type Kind string

// The kinds of questions.
const (
	KindOptions   Kind = "options"
	KindApproval  Kind = "approval"
	KindInput     Kind = "input"
	KindFailed    Kind = "failed"
	KindCompleted Kind = "completed"
)

// Status is how far a question is, as its reader sees it.
type Status string

// The statuses. Held is answered, but not yet handed to the agent: the answer
// can still be taken back.
const (
	StatusPending    Status = "pending"
	StatusHeld       Status = "held"
	StatusAnswered   Status = "answered"
	StatusApplied    Status = "applied"
	StatusFailed     Status = "apply_failed"
	StatusWithdrawn  Status = "cancelled"
	StatusExpired    Status = "expired"
	StatusSuperseded Status = "superseded"
)

// Question is one escalation. Texts of agents (Title, Problem, Ask, labels and
// what options say) are shown as they are, and marked as the agent's.
type Question struct {
	Stored  string // its status as it is kept, where Status is as it is seen
	ID      string
	Number  int // for people to name it by
	Version int // what an answer is bound to
	Kind    Kind
	Status  Status
	Lang    string // language of the agent's texts, as a lang attribute; may be empty

	Title   string
	Agent   string
	Due     time.Time // zero for none
	Problem string    // the agent's account, in a few sentences
	// ProblemOurs says that the account is the server's, in the reader's language.
	ProblemOurs bool
	Ask         string // the question itself

	// Done, Failed and Tried come from the log, not from the agent.
	Done, Failed, Tried []Step

	Facts   []Fact
	Tables  []Table
	Options []Option
	Other   bool    // the answer may be something else, in words
	Form    []Field // to be filled in, in place of options
	Similar Similar

	MayAnswer bool
	WhoMay    string    // whom to ask where the reader may not answer
	Draft     Draft     // what the reader had filled in before
	Refused   *Refused  // why what they sent was not taken
	Conflict  *Conflict // what happened to an answer that came too late
	Decision  *Answer   // the answer, once there is one
	Ended     *Ended    // how it ended without an answer

	Session *SessionBrief
}

// Step is something that the agent did or tried.
type Step struct {
	Text   string // in the server's words
	Said   string // the agent's word on it
	Detail string // how it failed, or what it was about
	Exact  string // the failure in the words that it came with
	URL    string // of its place in the session; may be empty
}

// Fact is a value that the decision hangs on. It is confirmed if the value
// stands in what the call brought that it comes from; else it is the agent's
// word.
type Fact struct {
	Label, Value, URL string
	Confirmed         bool
}

// Table compares things; cells that differ from their neighbours are marked.
type Table struct {
	Title   string
	Columns []string
	Rows    [][]Cell
}

// Cell is one value of a Table.
type Cell struct {
	Text    string
	Differs bool
}

// Option is a way to go on.
type Option struct {
	ID     string // what is sent and stored
	Letter string // A to F, from the order
	Label  string
	Then   string  // what would follow, in the server's words
	Says   string  // the same in the agent's
	Action *Action // the exact call that choosing it approves
	Chips  []Chip  // facts about it, from the tool's declaration and the record
	Fields []Field // to fill in if it is chosen

	Recommended bool
	Reason      string // why the agent recommends it, in its words

	// Confirm asks a second time, naming what can't be undone; empty where one
	// answer is enough.
	Confirm string
}

// Action is a tool call in the server's own words. Payload are the values in
// its arguments that the sentence doesn't name: nobody should have to open
// anything to see what an answer approves.
type Action struct {
	Sentence  string
	Tool      string
	Payload   []Argument
	Arguments []Argument
}

// Argument is one argument of a call.
type Argument struct {
	Name, Value string
	Hidden      bool // there is a value, which nobody is shown
	// Of a long value, Value is the beginning and Whole all of it. A list has
	// Count items, of which More are not in Value.
	Whole       string
	Count, More int
}

func (a Argument) short(ctx context.Context) string {
	switch {
	case a.More > 0:
		return i18n.T(ctx, "argument.and_more", "text", a.Value, "n", a.More)
	default:
		return a.Value
	}
}

func (a Argument) open(ctx context.Context) string {
	if a.Count > 0 {
		return i18n.T(ctx, "argument.all", "n", a.Count)
	}
	return i18n.T(ctx, "argument.whole")
}

// Chip is a short fact with its picture. Its tone is that of ui.Tag.
type Chip struct{ Icon, Text, Tone string }

// Similar is how cases like this one were decided.
type Similar struct {
	Summary string // over all of them, for instance how many chose what
	Cases   []SimilarCase
	URL     string // of all of them
}

// SimilarCase is one decision of a case like this one.
type SimilarCase struct {
	URL, Letter, Label, Title, Quote, Who string
	At                                    time.Time
}

// Field is one thing to fill in.
type Field struct {
	Name     string // of the input
	Label    string
	Help     string
	Kind     FieldKind
	Value    string
	Choices  []Choice
	Required bool
}

// FieldKind is what a field takes.
type FieldKind string

// The kinds of fields.
const (
	FieldText   FieldKind = "text"
	FieldLong   FieldKind = "long"  // of several lines, or JSON
	FieldFixed  FieldKind = "fixed" // shown, and not to be changed
	FieldNumber FieldKind = "number"
	FieldDate   FieldKind = "date"
	FieldChoice FieldKind = "choice"
)

// Choice is one of a field's values.
type Choice struct{ Value, Label string }

// Draft is an answer that was begun. What was chosen is chosen again only where
// the question is still the one that was read (Chosen).
type Draft struct {
	Option, Message, Other string
	Fields                 []Pair // what was filled in or changed
	Chosen                 bool
}

// Refused is why an answer was not taken: in words, and field by field.
type Refused struct {
	i18n.Problem
	Fields []Pair
}

// Answer is what was decided.
type Answer struct {
	// Did says it in a sentence, where no option with a letter was chosen.
	Did                     string
	Letter, OptionID, Label string
	Message                 string // to the agent
	Values                  []Pair // what was filled in
	Who                     string
	Mine, MayUndo           bool
	At                      time.Time
	HeldUntil               time.Time // while the status is StatusHeld
	Renew                   time.Time // when the page should look again what came of it
	Undone                  time.Time // taken back then; zero if it wasn't
	Rule                    string    // the standing rule that answered; empty for people
	URL                     string    // of the decision's page
}

// Conflict says why an answer wasn't taken. Who is empty where the question
// itself has changed.
type Conflict struct {
	Mine                        bool // the reader's own
	Who, Letter, Label, Message string
	Did                         string // in place of letter and label
	At                          time.Time
}

// Ended is how a question ended without anybody's answer.
type Ended struct {
	At  time.Time
	Why string // a sentence of the server's
}

// SessionBrief is the session that asks, beside its question.
type SessionBrief struct {
	URL     string
	Paused  bool   // or will be, at its next step
	Steps   string // for instance "12 of 40 steps"
	Moments []Moment
	Facts   []Pair
}

// Moment is one thing that happened, in a sentence.
type Moment struct {
	Tone, Icon   string
	Text, Detail string
	Said         bool // Detail is the agent's word
	At           time.Time
	Took         time.Duration // zero to show At instead
}

// Pair is a name and a value.
type Pair struct {
	Name, Value string
	Mono        bool
	At          time.Time // in place of Value
}

func (k Kind) mark() (icon, tone string) {
	switch k {
	case KindApproval:
		return "shield-check", "is-human"
	case KindFailed:
		return "octagon-alert", "is-bad"
	case KindInput:
		return "message-square", "is-human"
	case KindCompleted:
		return "circle-check", "is-ok"
	default:
		return "hand", "is-human"
	}
}

// open says whether an answer can be given now, by this reader.
func (q Question) open() bool { return q.Status == StatusPending && q.MayAnswer }

// paused says that an answer, once it is out, has to wait for somebody who lets
// the session go on.
func (q Question) paused() bool { return q.Session != nil && q.Session.Paused }

// answered marks that the reader's answer is in: what they had written for it
// needs to be kept no longer. Beside a colleague's answer it is.
func (q Question) answered() templ.Attributes {
	if !q.Decision.Mine {
		return nil
	}
	return templ.Attributes{"data-answered": q.ID}
}

func (q Question) state(ctx context.Context) Chip {
	switch q.Status {
	case StatusHeld:
		return Chip{"timer", i18n.T(ctx, "question.going_out"), "warn"}
	case StatusAnswered:
		return Chip{"circle-check", i18n.T(ctx, "question.answered"), "ok"}
	case StatusApplied:
		return Chip{"circle-check", i18n.T(ctx, "question.applied"), "ok"}
	case StatusFailed:
		return Chip{"circle-x", i18n.T(ctx, "question.apply_failed"), "bad"}
	case StatusWithdrawn:
		return Chip{"ban", i18n.T(ctx, "question.withdrawn"), ""}
	case StatusExpired:
		return Chip{"clock", i18n.T(ctx, "question.expired"), ""}
	case StatusSuperseded:
		return Chip{"repeat", i18n.T(ctx, "question.superseded"), ""}
	}
	if q.MayAnswer {
		return Chip{"hand", i18n.T(ctx, "question.waits_for_you"), "human"}
	}
	return Chip{"hand", i18n.T(ctx, "question.waits"), "human"}
}

// news is what there is to say about a question before its reader gets to the
// options.
type news uint8

const (
	newsNone news = iota
	newsHeld
	newsDecided
	newsEnded
	newsNotYours
)

func (q Question) news() news {
	switch {
	case q.Conflict != nil && q.Conflict.Who != "", q.Refused != nil && q.open():
		return newsNone // said already, beside the draft
	case q.Decision != nil && q.Status == StatusHeld:
		return newsHeld
	case q.Decision != nil:
		return newsDecided
	case q.Ended != nil:
		return newsEnded
	case !q.MayAnswer:
		return newsNotYours
	}
	return newsNone
}

// chosen says whether o is the option that was decided for.
func (q Question) chosen(o Option) bool {
	return q.Decision != nil && q.Decision.Undone.IsZero() && q.Decision.OptionID == o.ID
}

// picked says whether the reader had chosen this before, and still has.
func (q Question) picked(value string) bool { return q.Draft.Chosen && q.Draft.Option == value }

func (o Option) inputID() string { return "option-" + strings.ToLower(o.Letter) }

// describedBy are the ids of what a screen reader says about an option.
func (o Option) describedBy() string {
	id := o.inputID()
	ids := []string{}
	if o.Recommended {
		ids = append(ids, id+"-recommended")
	}
	if o.Action != nil {
		ids = append(ids, id+"-action")
	}
	if o.Then != "" {
		ids = append(ids, id+"-then")
	}
	if o.Says != "" {
		ids = append(ids, id+"-says")
	}
	if len(o.Chips) > 0 {
		ids = append(ids, id+"-chips")
	}
	return strings.Join(ids, " ")
}

// letters are the keys that choose, for the hint above the options.
func (q Question) letters() []string {
	var all []string
	for _, o := range q.Options {
		all = append(all, o.Letter)
	}
	if q.Other {
		all = append(all, "O")
	}
	return all
}

// otherValue is what is sent for an answer in other words. No option has an id
// with a point in front.
func (q Question) otherValue() string {
	for _, o := range q.Options {
		if o.ID == OtherAnswer {
			return "." + OtherAnswer
		}
	}
	return OtherAnswer
}

// OtherAnswer is sent in place of an option's id where the answer is in other
// words. If an option has this very id it is sent with a point in front.
const OtherAnswer = "other"

// What is sent in place of an option's id where there are no options.
const (
	ApproveAnswer     = "approve"
	EditAnswer        = "edit"
	RejectAnswer      = "reject"
	RespondAnswer     = "respond"
	AcknowledgeAnswer = "acknowledge"
)

func number(n int) string { return "ESC-" + itoa(n) }

// langAttr is a lang attribute, or none.
func langAttr(lang string) templ.Attributes {
	if lang == "" {
		return nil
	}
	return templ.Attributes{"lang": lang}
}
