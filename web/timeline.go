package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

// A session's events as sentences, in their order. A call is one entry, where
// it was asked for, however many events tell of it.
type timeline struct {
	r        reader
	session  sessions.Session
	describe func(tools.Call) (title, sentence string)
	exact    bool   // failures in their exact words, too
	open     int    // the call of which everything is shown
	lang     string // of the agent's texts

	list      []templates.Event
	at        map[int]int        // where in the list a call stands, by its number
	plans     map[int]tools.Plan // all that are known
	turnSteps int                // steps in the session's latest turn
	recovered int
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
	return &timeline{r: r, session: v, describe: describe, exact: r.seesExact(v.Team), at: map[int]int{}, plans: map[int]tools.Plan{}}
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
		Result  tools.Result `json:"result"`
		TotalMS int64        `json:"total_ms"`
	}
	modelFailed struct {
		Message string `json:"message"`
		Attempt int    `json:"attempt"`
		WaitMS  int64  `json:"wait_ms"`
	}
	notice struct {
		Code string `json:"code"`
		Text string `json:"text"`
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

func (t *timeline) add(e sessions.Event, entry templates.Event) {
	entry.At = e.At
	if entry.ID == "" {
		entry.ID = fmt.Sprintf("event-%d", e.Seq)
	}
	t.list = append(t.list, entry)
}

// tell adds an event. One of a kind that is not known says nothing.
func (t *timeline) tell(e sessions.Event) error {
	switch e.Type {
	case sessions.ModelReplied:
		return t.reply(e)
	case sessions.CallStarted:
		if i, ok := t.at[e.Call]; ok {
			t.list[i].Tone, t.list[i].Icon = "agent", "circle-dot"
			t.list[i].Result = t.r.say("call.running")
		}
		return nil
	case sessions.CallEnded:
		return t.end(e)
	case sessions.EscalationRaised, sessions.EscalationAnswered, sessions.EscalationUndone, sessions.EscalationExpired, sessions.EscalationWithdrawn:
		return t.question(e)
	case sessions.ModelFailed:
		var d modelFailed
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		entry := templates.Event{Tone: "bad", Icon: "triangle-alert", Text: t.r.say("event.model_failed", "try", fmt.Sprint(d.Attempt))}
		if d.WaitMS > 0 {
			entry.Detail = t.r.say("event.model_waits", "span", t.r.span(int64(time.Duration(d.WaitMS)*time.Millisecond)))
		}
		if t.exact {
			entry.Exact = d.Message
		}
		t.add(e, entry)
		return nil
	case sessions.NoticeGiven:
		var d notice
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		t.add(e, templates.Event{Tone: "warn", Icon: "rotate-ccw", Text: t.notice(d.Code), Exact: d.Text})
		return nil
	case sessions.SessionEnded:
		var d ended
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		state := t.r.sessionState(sessions.Session{Status: d.Status, Outcome: d.Outcome})
		t.add(e, templates.Event{Tone: state.Tone, Icon: state.Icon, Text: t.r.say("event.ended", "state", state.Text)})
		return nil
	case sessions.SessionPaused:
		t.add(e, templates.Event{Icon: "circle-pause", Text: t.r.say("event.paused")})
		return nil
	case sessions.SessionRecovered:
		t.recovered++
		t.add(e, templates.Event{Tone: "warn", Icon: "history", Text: t.r.say("event.recovered", "step", fmt.Sprint(e.Step))})
		return nil
	}
	return t.person(e)
}

// person tells what somebody did to the session.
func (t *timeline) person(e sessions.Event) error {
	var d byPerson
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	who := d.By.Name
	switch e.Type {
	case sessions.SessionStarted:
		t.add(e, templates.Event{Icon: "play", Text: t.r.say("event.started", "who", who)})
	case sessions.SessionResumed:
		t.add(e, templates.Event{Tone: "human", Icon: "play", Text: t.r.say("event.resumed", "who", who)})
	case sessions.PauseRequested:
		t.add(e, templates.Event{Tone: "human", Icon: "circle-pause", Text: t.r.say("event.pause_requested", "who", who)})
	case sessions.CancelRequested:
		t.add(e, templates.Event{Tone: "human", Icon: "ban", Text: t.r.say("event.cancel_requested", "who", who)})
	case sessions.MessageReceived:
		t.add(e, templates.Event{Tone: "human", Icon: "message-square", Text: t.r.say("event.message", "who", who), Detail: d.Text})
	}
	return nil
}

func (t *timeline) notice(code string) string {
	switch code {
	case "call_due":
		return t.r.say("notice.call_due")
	case "asked_again":
		return t.r.say("notice.asked_again")
	}
	return t.r.say("notice.other")
}

// reply tells what the agent wrote and which calls it asked for.
func (t *timeline) reply(e sessions.Event) error {
	var d replied
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	if e.Turn == t.session.Turn {
		t.turnSteps++
	}
	number := e.Step
	if text := strings.TrimSpace(d.Text); text != "" {
		t.add(e, templates.Event{Number: number, Tone: "agent", Icon: "brain", Text: t.r.say("event.agent_says"), Detail: text, Said: true, Took: time.Duration(d.MS) * time.Millisecond})
		number = 0
	}
	started := map[int]bool{}
	for _, n := range d.Start {
		started[n] = true
	}
	for _, p := range d.Plans {
		t.plans[p.Call.N] = p
		if p.Call.Tool == askTool || p.Call.Tool == finishTool {
			continue // told by the question, and by the end
		}
		t.addCall(e, p, number)
		number = 0
		row := &t.list[t.at[p.Call.N]]
		switch {
		case p.Verdict == tools.Awaiting:
			row.Tone, row.Icon, row.Result = "human", "hand", t.r.say("call.awaiting")
		case started[p.Call.N]:
			row.Tone, row.Icon, row.Result = "agent", "circle-dot", t.r.say("call.running")
		default:
			row.Icon, row.Result = "circle-dashed", t.r.say("call.requested")
		}
	}
	return nil
}

// addCall adds a call that has no result yet.
func (t *timeline) addCall(e sessions.Event, p tools.Plan, number int) {
	title, sentence := t.describe(p.Call)
	entry := templates.Event{ID: callAnchor(p.Call.N), Number: number, Text: title, Tool: p.Call.Tool, Why: p.Call.Reason}
	if sentence != title {
		entry.Detail = sentence
	}
	entry.Call = &templates.CallDetail{Open: t.open == p.Call.N, Arguments: arguments(p.Call.Args)}
	if p.Call.Args == nil && p.Call.Raw != "" {
		entry.Call.Arguments = []templates.Argument{{Name: t.r.say("call.raw"), Value: p.Call.Raw}}
	}
	t.at[p.Call.N] = len(t.list)
	t.add(e, entry)
}

// sawMost is how much of what the model was shown stands on a page that shows
// everything, in characters.
const sawMost = 2000

// end tells the one result of a call.
func (t *timeline) end(e sessions.Event) error {
	var d callEnded
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	p, known := t.plans[e.Call]
	if !known {
		p.Call = tools.Call{N: e.Call, Tool: "?"}
	}
	own := p.Call.Tool == askTool || p.Call.Tool == finishTool
	if own && d.Result.OK() {
		return nil
	}
	if _, there := t.at[e.Call]; !there {
		t.addCall(e, p, e.Step)
	}
	row := &t.list[t.at[e.Call]]
	row.Took, row.Attempts = time.Duration(max(d.TotalMS, 1))*time.Millisecond, d.Result.Meta().Attempts
	row.Tone, row.Icon, row.Result = "ok", "check", t.r.outcomeOf(d.Result)
	switch d.Result.CallStatus() {
	case tools.StatusPartial:
		row.Tone, row.Icon = "warn", "circle-alert"
	case tools.StatusCancelled:
		row.Tone, row.Icon = "", "ban"
	case tools.StatusOutcomeUnknown:
		row.Tone, row.Icon = "warn", "triangle-alert"
	case tools.StatusDenied:
		row.Tone, row.Icon = "bad", "lock"
	case tools.StatusFailed:
		row.Tone, row.Icon = "bad", "x"
	}
	if !d.Result.OK() {
		row.Result, row.Fault = "", &templates.Fault{Problem: errorWords(t.r.ctx, d.Result.ErrorType()), Exact: d.Result.Message()}
		if own {
			row.Detail = ""
		}
	}
	saw := indented(d.Result.ForModel())
	if t.open != e.Call && len(saw) > sawMost {
		row.Call.More = templates.SessionURL(t.session.ID.String()) + "?" + url.Values{callParameter: {fmt.Sprint(e.Call)}}.Encode() + "#" + callAnchor(e.Call)
		saw = cut(saw, sawMost)
	}
	row.Call.Saw = saw
	return nil
}

// indented is a JSON text with lines, for reading.
func indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return unescaped(b.String())
}

// plainly are the characters that JSON writers escape for the sake of HTML
// alone. People should see them as the tool wrote them.
var plainly = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"}

func unescaped(text string) string {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		text = text[at:]
		escape := text[:2] // a backslash that is escaped itself, too
		if len(text) >= 6 && plainly[text[:6]] != "" {
			escape = text[:6]
			b.WriteString(plainly[escape])
		} else {
			b.WriteString(escape)
		}
		text = text[len(escape):]
	}
}

// outcomeOf says in a few words what a call brought.
func (r reader) outcomeOf(result tools.Result) string {
	if result.Status() == tools.Partial {
		return r.say("call.partial", "done", len(result.Completed()), "failed", len(result.Failed()), "skipped", len(result.Skipped()))
	}
	var data struct {
		Rows   []json.RawMessage `json:"rows"`
		Status int               `json:"status"`
	}
	raw := result.Data()
	if len(raw) > 0 && raw[0] == '{' && json.Unmarshal(raw, &data) == nil {
		switch {
		case data.Rows != nil:
			return r.say("call.rows", "n", len(data.Rows))
		case data.Status > 0:
			return r.say("call.answered", "status", fmt.Sprint(data.Status))
		}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return r.say("call.lines", "n", strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1)
	}
	return r.say("call.done")
}

// question tells what became of a question to people.
func (t *timeline) question(e sessions.Event) error {
	var d escalation.Event
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	entry := templates.Event{Tone: "human", Icon: "hand", URL: templates.EscalationURL(d.Escalation.String()), Link: fmt.Sprintf("ESC-%d", d.Number)}
	switch e.Type {
	case sessions.EscalationRaised:
		entry.Number, entry.Text, entry.Detail = e.Step, t.r.say("event.asked"), d.Title
		if d.Kind == escalation.KindApproval {
			entry.Text = t.r.say("event.asked_approval")
			if i, ok := t.at[d.Call]; ok {
				entry.Number = 0
				t.list[i].Result = t.r.say("call.awaiting")
			}
		}
	case sessions.EscalationAnswered:
		entry.Icon, entry.Text, entry.Detail = "check", t.decided(d.Decision), message(d.Decision)
	case sessions.EscalationUndone:
		who := ""
		if d.By != nil {
			who = d.By.Name
		}
		entry.Icon, entry.Text = "undo-2", t.r.say("event.undone", "who", who)
	case sessions.EscalationExpired:
		entry.Tone, entry.Icon, entry.Text = "warn", "clock", t.r.say("event.expired")
		if d.Decision != nil {
			entry.Detail = t.decided(d.Decision)
		}
	case sessions.EscalationWithdrawn:
		entry.Tone, entry.Icon, entry.Text, entry.Detail = "", "ban", t.r.say("event.withdrawn"), d.Title
	}
	t.add(e, entry)
	return nil
}

func message(d *escalation.Decision) string {
	if d == nil {
		return ""
	}
	return d.Message
}

// decided says who decided what.
func (t *timeline) decided(d *escalation.Decision) string {
	switch {
	case d == nil:
		return ""
	case d.By.Kind == escalation.ByExpiry:
		return t.r.say("answer.by_default", "label", t.r.decided(*d, escalation.Question{}))
	case d.Option != "":
		return i18n.T(t.r.ctx, "answer.who", "who", d.By.Name, "letter", d.Option, "label", d.Label)
	}
	return t.r.say("answer.who_did", "who", d.By.Name, "label", t.r.decided(*d, escalation.Question{}))
}
