package templates

import (
	"time"

	"baton/internal/i18n"
)

// EventKind is what an event is about; a page can show those of one kind.
type EventKind string

// The kinds of events.
const (
	EventTool   EventKind = "tool"
	EventModel  EventKind = "model"
	EventPerson EventKind = "person" // a question, an answer, what somebody did
	EventState  EventKind = "state"  // of the session, and what the harness did
	EventGap    EventKind = "gap"    // time in which nothing ran
)

// Event is one row of a session's timeline.
type Event struct {
	ID         string // its element's, and its anchor
	Kind       EventKind
	Problem    bool // something failed, as a whole or in part
	Number     int  // of the step; 0 for what belongs to none
	Tone, Icon string
	Text       string // what happened, in a sentence
	Tool       string // the tool's name, for a call
	State      string // how it stands, in a word
	Brief      string // Detail in a line
	Detail     string // in the agent's or the tool's words
	Said       bool   // Detail is what the agent wrote
	Why        string // the agent's word on a call, where the call stands alone
	Result     string // of a call, in a few words
	Exact      string // what a program was told, as it was
	At         time.Time
	Since      time.Time // when what runs now began; zero for what doesn't
	Took       time.Duration
	Next       time.Time // when what failed is tried again; zero for what isn't
	Attempts   int
	Lane       Lane   // its place among calls that run beside each other
	Fault      *Fault // of what failed
	Loop       *Loop  // of what went round in circles
	Call       *CallDetail
	CallURL    string // address of what can be opened of a call
	URL, Link  string // where it leads, and what that is called
	Bars       []Bar
	Label      Label
}

// Loop is what was found to lead nowhere, and how far Baton has gone against it.
type Loop struct {
	Calls []Pair // what is shown of each call that belongs to it, and its address
	Rungs []Rung
}

// Rung is a measure against a loop.
type Rung struct {
	Text string
	Done bool // it was taken; the others come if the loop goes on
}

// Lane is the place of a call among those that were started together.
type Lane string

// The places in a lane.
const (
	LaneNone  Lane = ""
	LaneFirst Lane = "first"
	LaneMid   Lane = "mid"
	LaneLast  Lane = "last"
)

// Look is how a bar is drawn. Each differs from the others by more than its
// colour.
type Look string

// The looks of bars.
const (
	LookAgent   Look = "agent"   // the model works, or a tool
	LookRunning Look = "running" // still does: its end grows
	LookOK      Look = "ok"
	LookBad     Look = "bad"     // hatched
	LookHuman   Look = "human"   // a person is asked
	LookOutline Look = "outline" // stopped, refused: nothing ran
	LookStruck  Look = "struck"  // cancelled
	LookQueue   Look = "queue"   // a thin lead-in: asked for, not started
	LookWait    Look = "wait"    // a dotted line between attempts
)

// Bar is a length of time on the chart. Places are in hundredths of a percent
// of its width.
type Bar struct {
	Look    Look
	X, W    int
	Since   time.Time     // of one that grows
	PerPart time.Duration // and how long one percent of the width is
}

// Label is a word beside a bar.
type Label struct {
	Text string
	X    int  // as of Bar
	End  bool // the text ends there
}

// Axis are the marks on top of the chart, from its left to its right end.
type Axis []string

// Fault is a failure in words for people, and in the exact words that it came
// with, for those who want them.
type Fault struct {
	i18n.Problem
	Exact string
}

// CallDetail is what can be opened of a call.
type CallDetail struct {
	Arguments []Argument
	Copy      string // the arguments as JSON, for the clipboard
	Attempts  []Attempt
	Retry     *Chip // whether repeating it can help
	Facts     []Pair
	Items     []ItemList // of a batch
	State     string     // of a batch, in the tool's sentence
	Notices   []string   // what the harness did about it
	Hints     []string   // what the model was advised
	Table     *Table     // the output, if it is one
	Text      string     // the output, if it is no table
	Saw       string     // what the model was shown
	Cut       string     // how much of the output that is
	FullURL   string     // address of the whole output; empty if the reader doesn't see it
}

// Attempt is one run of a tool in a call.
type Attempt struct {
	N     int
	Took  time.Duration
	Wait  time.Duration // before it
	Error string        // empty: it succeeded
}

// ItemList are the items of a batch with one outcome.
type ItemList struct {
	Chip  Chip
	Items []Pair // what, and why
}

// percent is a place on the chart as SVG writes it.
func percent(hundredths int) string {
	whole, rest := hundredths/100, hundredths%100
	switch {
	case rest == 0:
		return itoa(whole) + "%"
	case rest < 10:
		return itoa(whole) + ".0" + itoa(rest) + "%"
	}
	return itoa(whole) + "." + itoa(rest) + "%"
}

// quarter is the place of the i-th mark of an axis, and how its text stands to
// it.
func quarter(i int) (x, anchor string) {
	switch i {
	case 0:
		return "0%", "start"
	case 4:
		return "100%", "end"
	}
	return itoa(i*25) + "%", "middle"
}

// opens says whether there is more to see of a row.
func (e Event) opens() bool {
	return e.Call != nil || e.Loop != nil || e.CallURL != "" || e.URL != "" || e.Exact != "" || e.Detail != e.Brief
}

func (e Event) tone() string {
	if e.Tone == "" {
		return "idle"
	}
	return e.Tone
}

func hiddenOf(all []Argument) (n int) {
	for _, a := range all {
		if a.Hidden {
			n++
		}
	}
	return n
}
