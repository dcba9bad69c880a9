package web

import (
	"encoding/json"
	"fmt"
	"time"

	"baton/internal/escalation"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

// timeline folds a session's events into rows: sentences, or bars on a chart.
// It is told one event after the other, at any time, and knows of each row
// which event last changed it. A call is one row, where it was asked for,
// however many events tell of it. Rows never move; new ones come at the end.
//
// What it makes depends on the events from the first one told on, on the
// reader's language and rights, and on the view: so whoever folds the same events
// has the same rows in the same order. The chart's scale may differ where one had
// to make room for what still runs, and says so.
type timeline struct {
	r         reader
	session   sessions.Session
	describe  func(tools.Call) (title, sentence string)
	exact     bool   // failures in their exact words, too
	technical bool   // bars, and what the model did between the calls
	open      int    // the call of which everything is shown
	lang      string // of the agent's texts

	rows            []*row
	at              map[int]*row       // the rows of calls, by number
	plans           map[int]tools.Plan // all that are known
	seq             int64              // of the latest event
	turn, turnSteps int                // the latest turn, and the steps in it
	lifted          map[string]lifted  // limits that people have raised, by name
	rest            *tools.Measure     // the latest that gave a tool a pause, until something gives it back
	recovered       int

	chart     chart
	running   map[int]time.Time // the calls that run, since when
	asked     int               // questions that are open
	questions map[string]*row   // theirs, by their address
	numbered  int               // the step whose number stands on a row
	held      time.Time         // until when the latest answer is held
	paused    bool
	latest    time.Time // when the latest event was
}

// row is a row as it stands, and what of it is on the chart.
type row struct {
	templates.Event
	seq   int64 // of the event that last changed it
	spans []span
	label string // beside the last of them
}

// callParameter names the call of which a session's page shows everything.
const callParameter = "call"

func callAnchor(n int) string { return fmt.Sprintf("call-%d", n) }

// Tools of the loop's own: what they do shows in events of its own.
const (
	askTool    = "ask_human"
	finishTool = "finish"
)

func newTimeline(r reader, v sessions.Session, describe func(tools.Call) (string, string)) *timeline {
	return &timeline{
		r: r, session: v, describe: describe, exact: r.seesExact(v.Team),
		lifted: map[string]lifted{}, at: map[int]*row{}, plans: map[int]tools.Plan{}, running: map[int]time.Time{}, questions: map[string]*row{},
	}
}

// change is a row that is new or has changed, and the one that it follows.
type change struct {
	Event templates.Event
	After string // the id of the row before it; empty for the first
}

// rowsSince are the rows that events after seq changed or added, in their order.
// For who has rows of a chart that was drawn to another scale, that is all of
// them.
func (t *timeline) rowsSince(seq int64, scale time.Duration) (list []change) {
	all := t.technical && t.chart.scale != scale
	for i, r := range t.rows {
		if r.seq <= seq && !all {
			continue
		}
		c := change{Event: t.drawn(r)}
		if i > 0 {
			c.After = t.rows[i-1].ID
		}
		list = append(list, c)
	}
	return list
}

// until makes room on the chart for what still runs.
func (t *timeline) until(now time.Time) {
	if len(t.running) > 0 && now.After(t.latest) {
		t.chart.reach(now)
	}
}

// list are all rows.
func (t *timeline) list() []templates.Event {
	list := make([]templates.Event, len(t.rows))
	for i, r := range t.rows {
		list[i] = t.drawn(r)
	}
	return list
}

// drawn is a row with its bars, if it has any.
func (t *timeline) drawn(r *row) templates.Event {
	e := r.Event
	if t.technical {
		e.Bars, e.Label = t.chart.draw(r.spans, r.label)
	}
	return e
}

// callsWithoutPlan are the first and the last number of the calls that events
// tell of, but not what they were.
func callsWithoutPlan(events []sessions.Event) (first, last int) {
	known := map[int]bool{}
	for _, e := range events {
		if e.Type == sessions.ModelReplied {
			var d replied
			_ = json.Unmarshal(e.Data, &d) // a fault shows when it is told
			for _, p := range d.Plans {
				known[p.Call.N] = true
			}
		}
		if e.Call > 0 && !known[e.Call] {
			if first == 0 || e.Call < first {
				first = e.Call
			}
			last = max(last, e.Call)
		}
	}
	return first, last
}

// The data of events, as far as they are told.
type (
	replied struct {
		Text  string       `json:"text"`
		Plans []tools.Plan `json:"plans"`
		Start []int        `json:"start"`
		MS    int64        `json:"ms"`
	}
	callEnded struct {
		Result   tools.Result    `json:"result"`
		Attempts []tools.Attempt `json:"attempts"`
		QueuedMS int64           `json:"queued_ms"`
		RunMS    int64           `json:"run_ms"`
		WaitMS   int64           `json:"wait_ms"`
		FormatMS int64           `json:"format_ms"`
		TotalMS  int64           `json:"total_ms"`
		Stored   bool            `json:"stored"`
	}
	retried struct {
		tools.Attempt
		NextMS int64 `json:"next_ms"`
	}
	modelFailed struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Attempt int    `json:"attempt"`
		WaitMS  int64  `json:"wait_ms"`
	}
	notice struct {
		Code string         `json:"code"`
		Text string         `json:"text"`
		Loop *tools.Measure `json:"loop"`
		Said string         `json:"said"`
		Left int            `json:"left"`
		// Limit is the one that it is about, as it stands then.
		Limit *escalation.Limit `json:"limit"`
	}
	byPerson struct {
		By   sessions.Author `json:"by"`
		Text string          `json:"text"`
	}
	ended struct {
		Status  sessions.Status  `json:"status"`
		Outcome sessions.Outcome `json:"outcome"`
		Summary string           `json:"summary"`
	}
)

// remember takes what an event tells of calls, without telling it.
func (t *timeline) remember(e sessions.Event) error {
	if e.Type != sessions.ModelReplied {
		return nil
	}
	var d replied
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	for _, p := range d.Plans {
		t.plans[p.Call.N] = p
	}
	return nil
}

// add puts a row at the end.
func (t *timeline) add(e sessions.Event, entry templates.Event, spans ...span) *row {
	entry.At = e.At
	if entry.ID == "" {
		entry.ID = fmt.Sprintf("event-%d", e.Seq)
	}
	if entry.Brief == "" {
		entry.Brief = firstLine(entry.Detail, briefMost)
	}
	r := &row{Event: entry, seq: e.Seq, spans: spans}
	t.rows = append(t.rows, r)
	return r
}

// briefMost is how much of a text stands in a row of the chart.
const briefMost = 120

// tell adds an event. One of a kind that is not known says nothing.
func (t *timeline) tell(e sessions.Event) error {
	t.seq = e.Seq
	began, d := e.At, replied{}
	if e.Type == sessions.ModelReplied {
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		began = e.At.Add(-time.Duration(d.MS) * time.Millisecond)
	}
	t.gap(e, began)
	err := t.tellOne(e, d)
	t.latest = e.At
	t.chart.reach(e.At)
	return err
}

func (t *timeline) tellOne(e sessions.Event, d replied) error {
	switch e.Type {
	case sessions.ModelReplied:
		t.reply(e, d)
	case sessions.CallStarted:
		t.start(e.Call, e)
	case sessions.CallRetried:
		return t.retry(e)
	case sessions.CallEnded:
		return t.end(e)
	case sessions.LateResult:
		t.add(e, templates.Event{Kind: templates.EventState, Tone: "warn", Icon: "history", Text: t.r.say("event.late_result")})
	case sessions.EscalationRaised, sessions.EscalationAnswered, sessions.EscalationUndone, sessions.EscalationExpired, sessions.EscalationWithdrawn:
		return t.question(e)
	case sessions.ModelFailed:
		return t.modelFailed(e)
	case sessions.NoticeGiven:
		var d notice
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		if d.Loop != nil && d.Said == "" {
			t.loop(e, d)
			return nil
		}
		if d.Code == "limit_answered" && d.Limit != nil {
			t.lifted[d.Limit.Name] = lifted{d.Limit.Max, e.Turn}
		}
		if d.Code == "left_out" {
			t.add(e, templates.Event{Kind: templates.EventState, Icon: "scroll-text", Text: t.r.say("notice.left_out", "n", d.Left)})
			return nil
		}
		t.add(e, templates.Event{Kind: templates.EventState, Tone: "warn", Icon: "rotate-ccw", Text: t.notice(d), Exact: d.Text})
	case sessions.SessionEnded:
		var d ended
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		state := t.r.sessionState(sessions.Session{Status: d.Status, Outcome: d.Outcome})
		t.add(e, templates.Event{Kind: templates.EventState, Problem: state.Tone == "bad", Tone: state.Tone, Icon: state.Icon, Text: t.r.say("event.ended", "state", state.Text)})
	case sessions.SessionPaused:
		t.paused = true
		t.add(e, templates.Event{Kind: templates.EventState, Icon: "circle-pause", Text: t.r.say("event.paused")})
	case sessions.SessionRecovered:
		t.recovered++
		t.add(e, templates.Event{Kind: templates.EventState, Tone: "warn", Icon: "history", Text: t.r.say("event.recovered", "step", fmt.Sprint(e.Step))})
	default:
		return t.person(e)
	}
	return nil
}

// quietMost is how long nothing may run without a row that says so. What is
// longer is not drawn to scale.
const quietMost = 30 * time.Second

// gap adds a row for the time before the event in which nothing ran.
func (t *timeline) gap(e sessions.Event, began time.Time) {
	if t.latest.IsZero() {
		t.chart.first = began
		return
	}
	quiet := began.Sub(t.latest)
	if quiet <= quietMost || len(t.running) > 0 {
		return
	}
	text := t.r.say("gap.idle")
	switch {
	case t.asked > 0:
		text = t.r.say("gap.person")
	case t.held.After(t.latest):
		text = t.r.say("gap.held")
	case t.paused:
		text = t.r.say("gap.paused")
	}
	t.chart.cut(t.latest, began)
	t.add(e, templates.Event{ID: fmt.Sprintf("gap-%d", e.Seq), Kind: templates.EventGap, Text: text, Took: quiet})
}

// modelFailed tells that the model gave no usable reply.
func (t *timeline) modelFailed(e sessions.Event) error {
	var d modelFailed
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	entry := templates.Event{
		Kind: templates.EventModel, Problem: true, Tone: "bad", Icon: "triangle-alert",
		Text: t.r.say("event.model_failed", "try", fmt.Sprint(d.Attempt)),
	}
	if d.Kind == "script" {
		entry.Text = t.r.say("event.script_failed")
	}
	if d.WaitMS > 0 {
		entry.Detail = t.r.say("event.model_waits", "span", t.r.span(int64(time.Duration(d.WaitMS)*time.Millisecond)))
	}
	if t.exact {
		entry.Exact = d.Message
	}
	t.add(e, entry, span{templates.LookBad, t.latest, e.At})
	return nil
}

func (t *timeline) notice(n notice) string {
	switch n.Code {
	case "call_due":
		return t.r.say("notice.call_due")
	case "asked_again":
		return t.r.say("notice.asked_again")
	case "loop_answered":
		return t.afterLoop(n.Said)
	case "limit_near":
		return t.r.say("notice.limit_near")
	case "limit":
		return t.r.say("notice.limit")
	case "model_useless":
		return t.r.say("notice.model_useless")
	case "limit_answered", "model_answered":
		return t.afterAsking(n.Said)
	}
	return t.r.say("notice.other")
}
