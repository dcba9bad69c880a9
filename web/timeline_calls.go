package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"baton/internal/redact"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

var noTime time.Time

// reply tells what the agent wrote and which calls it asked for. Sentences leave
// out a reply that is nothing but calls.
func (t *timeline) reply(e sessions.Event, d replied) {
	if e.Turn != t.turn {
		t.turn, t.turnSteps = e.Turn, 0
	}
	t.turnSteps++
	took := time.Duration(d.MS) * time.Millisecond
	text := strings.TrimSpace(d.Text)
	entry := templates.Event{Kind: templates.EventModel, Tone: "agent", Icon: "brain", Text: t.r.say("event.agent_says"), Detail: text, Said: true, Took: took}
	if t.technical {
		entry.Text = t.r.say("event.thinks")
	}
	if text != "" || t.technical {
		entry.Number = t.number(e.Step)
		t.add(e, entry, span{templates.LookAgent, e.At.Add(-took), e.At})
	}
	started := map[int]bool{}
	for _, n := range d.Start {
		started[n] = true
	}
	var lane []*row
	for _, p := range d.Plans {
		t.plans[p.Call.N] = p
		if p.Call.Tool == askTool || p.Call.Tool == finishTool {
			continue // told by the question, and by the end
		}
		r := t.addCall(e, p)
		switch {
		case p.Verdict == tools.Awaiting:
			r.Tone, r.Icon, r.State, r.Result = "human", "hand", t.r.say("call.awaiting"), t.r.say("call.awaiting")
		case started[p.Call.N]:
			t.start(p.Call.N, e)
			lane = append(lane, r)
		default:
			r.Icon, r.State, r.Result = "circle-dashed", t.r.say("call.requested"), t.r.say("call.requested")
		}
	}
	if len(lane) > 1 {
		for _, r := range lane {
			r.Lane = templates.LaneMid
		}
		lane[0].Lane, lane[len(lane)-1].Lane = templates.LaneFirst, templates.LaneLast
	}
}

// number is a step's number for the first of its rows, 0 for the others.
func (t *timeline) number(step int) int {
	if step == t.numbered {
		return 0
	}
	t.numbered = step
	return step
}

// addCall adds a call that has no result yet.
func (t *timeline) addCall(e sessions.Event, p tools.Plan) *row {
	title, sentence := t.describe(p.Call)
	entry := templates.Event{
		ID: callAnchor(p.Call.N), Kind: templates.EventTool, Number: t.number(e.Step), Text: title, Tool: p.Call.Tool, Why: p.Call.Reason,
		CallURL: templates.CallURL(t.session.ID.String(), p.Call.N),
	}
	if sentence != title {
		entry.Detail = redact.Brief(sentence)
	}
	if t.technical {
		entry.Brief = redact.Brief(values(p.Call.Args))
	}
	if t.open == p.Call.N {
		entry.Call = &templates.CallDetail{Arguments: arguments(p.Call.Args), Copy: copied(p.Call.Args)}
		if p.Call.Args == nil && p.Call.Raw != "" {
			entry.Call.Arguments = []templates.Argument{{Name: t.r.say("call.raw"), Value: p.Call.Raw}}
		}
	}
	r := t.add(e, entry)
	t.at[p.Call.N] = r
	return r
}

// values are the values of a call's arguments in a line.
func values(args json.RawMessage) string {
	var list []string
	for _, a := range arguments(args) {
		if a.Hidden || a.Value == "" {
			continue
		}
		value := a.Value
		if json.Valid([]byte(value)) && strings.ContainsAny(value[:1], "{[") {
			value = tools.ValueText(json.RawMessage(value)) // which may have several lines
		}
		list = append(list, firstLine(value, 60))
	}
	return cut(strings.Join(list, ", "), briefMost)
}

// copied are arguments for the clipboard, to the digit, without what is hidden.
func copied(args json.RawMessage) string {
	return masked.ReplaceAllString(indented(string(args)), "…")
}

// start tells that a call has started.
func (t *timeline) start(n int, e sessions.Event) {
	t.running[n] = e.At
	r := t.at[n]
	if r == nil {
		return
	}
	r.seq, r.Tone, r.Icon, r.Since = e.Seq, "agent", "circle-dot", e.At
	r.State, r.Result, r.Next, r.label = t.r.say("call.running"), t.r.say("call.running"), noTime, ""
	r.spans = []span{{look: templates.LookRunning, from: e.At}}
}

// retry tells that an attempt of a call failed and when the next one is due.
// That it has begun, nobody writes down: it shows by itself.
func (t *timeline) retry(e sessions.Event) error {
	var d retried
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	r := t.at[e.Call]
	if r == nil {
		return nil
	}
	if _, running := t.running[e.Call]; !running {
		t.start(e.Call, e) // begun before the first event told
	}
	next := e.At.Add(time.Duration(d.NextMS) * time.Millisecond)
	r.seq, r.Tone, r.Icon, r.Attempts, r.Next = e.Seq, "warn", "repeat", d.N+1, next
	r.State, r.Result, r.label = t.r.say("call.retrying"), t.r.say("call.retrying"), t.r.say("call.retrying")
	last := &r.spans[len(r.spans)-1]
	last.look, last.to = templates.LookBad, e.At
	r.spans = append(r.spans, span{templates.LookWait, e.At, next}, span{look: templates.LookRunning, from: next})
	t.chart.reach(next)
	return nil
}

// end tells the one result of a call.
func (t *timeline) end(e sessions.Event) error {
	var d callEnded
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	delete(t.running, e.Call)
	p, known := t.plans[e.Call]
	if !known {
		p.Call = tools.Call{N: e.Call, Tool: "?"}
	}
	own := p.Call.Tool == askTool || p.Call.Tool == finishTool
	if own && d.Result.OK() {
		return nil
	}
	r := t.at[e.Call]
	if r == nil {
		r = t.addCall(e, p)
	}
	r.seq, r.Since, r.Next = e.Seq, noTime, noTime
	r.Took, r.Attempts = time.Duration(max(d.TotalMS, 1))*time.Millisecond, d.Result.Meta().Attempts
	r.Result = t.r.outcomeOf(d.Result)
	look := t.howEnded(&r.Event, d.Result)
	if d.Result.OK() && p.Effect.Writes() {
		t.rest = nil // an effect gives everything back
	}
	if !d.Result.OK() {
		r.Fault = &templates.Fault{Problem: errorWords(t.r.ctx, d.Result.ErrorType()), Exact: d.Result.Message()}
		r.Result = ""
		if own {
			r.Detail = ""
		}
	}
	r.spans = callSpans(e, d, look, r.At)
	r.label = r.Result
	switch {
	case d.Result.Status() == tools.Success && r.Attempts <= 1 && r.Result == t.r.say("call.done"):
		r.label = "" // the bar says it
	case r.Attempts > 1:
		r.label = t.r.say("session.attempts", "n", r.Attempts)
	case !d.Result.OK():
		r.label = t.r.errorName(d.Result.ErrorType())
	}
	if t.open == e.Call {
		t.detail(r.Call, p, d)
	}
	return nil
}

// howEnded sets the looks of a call that has its result.
func (t *timeline) howEnded(e *templates.Event, result tools.Result) templates.Look {
	set := func(tone, icon, state string) { e.Tone, e.Icon, e.State, e.Problem = tone, icon, state, true }
	switch result.CallStatus() {
	case tools.StatusPartial:
		set("warn", "contrast", t.r.outcomeOf(result))
		return templates.LookBad
	case tools.StatusCancelled:
		e.Tone, e.Icon, e.State = "", "ban", t.r.say("call.cancelled")
		return templates.LookStruck
	case tools.StatusOutcomeUnknown:
		set("warn", "triangle-alert", t.r.say("call.unknown"))
		return templates.LookBad
	case tools.StatusDenied:
		set("bad", "lock", t.r.say("call.denied"))
		return templates.LookOutline
	case tools.StatusFailed:
		if result.Class() == tools.ClassRefused {
			set("warn", "octagon-alert", t.r.say("call.stopped"))
			return templates.LookOutline
		}
		set("bad", "circle-x", t.r.say("call.failed"))
		return templates.LookBad
	}
	e.Tone, e.Icon, e.State = "ok", "circle-check", t.r.say("call.done")
	return templates.LookOK
}

// callSpans are the bars of a call: a lead-in while it was queued, one for each
// attempt and a line for the wait between two. Times of the worker are taken
// against the end, which the database says, so that two clocks don't show.
func callSpans(e sessions.Event, d callEnded, look templates.Look, asked time.Time) (spans []span) {
	attempts := d.Attempts
	if len(attempts) == 0 {
		spans = []span{{look, e.At.Add(-time.Duration(d.TotalMS) * time.Millisecond), e.At}}
	} else {
		end := func(a tools.Attempt) time.Time {
			return a.StartedAt.Add(time.Duration(a.DurationMS) * time.Millisecond)
		}
		last := attempts[len(attempts)-1]
		off := e.At.Sub(end(last))
		if last.StartedAt.IsZero() {
			return []span{{look, e.At.Add(-time.Duration(d.TotalMS) * time.Millisecond), e.At}}
		}
		for i, a := range attempts {
			s := span{templates.LookBad, a.StartedAt.Add(off), end(a).Add(off)}
			if i > 0 {
				spans = append(spans, span{templates.LookWait, spans[len(spans)-1].to, s.from})
			}
			if i == len(attempts)-1 {
				s.look = look
			}
			spans = append(spans, s)
		}
	}
	begun := spans[0].from
	queued := begun.Add(-time.Duration(d.QueuedMS) * time.Millisecond)
	if queued.Before(asked) {
		queued = asked
	}
	if d.QueuedMS > 0 && queued.Before(begun) {
		spans = append([]span{{templates.LookQueue, queued, begun}}, spans...)
	}
	if d.Result.Status() == tools.Partial {
		spans = twoTone(spans, d.Result)
	}
	return spans
}

// twoTone parts the last bar by how much of a batch was completed.
func twoTone(spans []span, result tools.Result) []span {
	done, all := len(result.Completed()), len(result.Completed())+len(result.Failed())+len(result.Skipped())
	last := &spans[len(spans)-1]
	middle := last.from.Add(last.to.Sub(last.from) * time.Duration(done) / time.Duration(max(1, all)))
	bad := span{templates.LookBad, middle, last.to}
	last.look, last.to = templates.LookOK, middle
	return append(spans, bad)
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
