package web

import (
	"cmp"
	"encoding/json"
	"fmt"

	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/redact"
	"baton/internal/sessions"
	"baton/templates"
)

// person tells what somebody did to the session.
func (t *timeline) person(e sessions.Event) error {
	var d byPerson
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	who := d.By.Name
	entry := templates.Event{Kind: templates.EventPerson, Tone: "human"}
	switch e.Type {
	case sessions.SessionStarted:
		entry.Tone, entry.Icon, entry.Text = "", "play", t.r.say("event.started", "who", who)
	case sessions.SessionResumed:
		t.paused = false
		entry.Icon, entry.Text = "play", t.r.say("event.resumed", "who", who)
	case sessions.PauseRequested:
		entry.Icon, entry.Text = "circle-pause", t.r.say("event.pause_requested", "who", who)
	case sessions.CancelRequested:
		entry.Icon, entry.Text = "ban", t.r.say("event.cancel_requested", "who", who)
	case sessions.MessageReceived:
		t.rest = nil
		entry.Icon, entry.Text, entry.Detail = "message-square", t.r.say("event.message", "who", who), d.Text
	default:
		return nil
	}
	t.add(e, entry)
	return nil
}

// question tells what became of a question to people. Its bar ends with what
// ended it.
func (t *timeline) question(e sessions.Event) error {
	var d escalation.Event
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	entry := templates.Event{
		Kind: templates.EventPerson, Tone: "human", Icon: "hand",
		URL: templates.EscalationURL(d.Escalation.String()), Link: fmt.Sprintf("ESC-%d", d.Number),
	}
	switch e.Type {
	case sessions.EscalationRaised:
		t.raised(e, d, entry)
		return nil
	case sessions.EscalationUndone:
		who := ""
		if d.By != nil {
			who = d.By.Name
		}
		entry.Icon, entry.Text = "undo-2", t.r.say("event.undone", "who", who)
		t.asked++
		entry.Since = e.At
		t.questions[entry.URL] = t.add(e, entry, span{look: templates.LookHuman, from: e.At})
		return nil
	case sessions.EscalationAnswered:
		t.rest = nil
		entry.Icon, entry.Text, entry.Detail = "check", t.decided(d), message(d.Decision)
		if d.Decision != nil && d.Decision.HeldUntil != nil {
			t.held = *d.Decision.HeldUntil
		}
	case sessions.EscalationExpired:
		entry.Tone, entry.Icon, entry.Text = "warn", "clock", t.r.say("event.expired")
		if d.Decision != nil {
			entry.Detail = t.decided(d)
		}
	case sessions.EscalationWithdrawn:
		entry.Tone, entry.Icon, entry.Text, entry.Detail = "", "ban", t.r.say("event.withdrawn"), t.titleOf(d)
	}
	t.asked = max(0, t.asked-1)
	t.endQuestion(e, entry.URL)
	t.add(e, entry)
	return nil
}

// raised tells that a question was asked.
func (t *timeline) raised(e sessions.Event, d escalation.Event, entry templates.Event) {
	t.asked++
	entry.Number, entry.Text, entry.Detail = t.number(e.Step), t.r.say("event.asked"), t.titleOf(d)
	if r := t.at[d.Call]; r != nil && d.Call > 0 {
		delete(t.running, d.Call) // in doubt, it waits as well
		if d.Kind == escalation.KindApproval {
			entry.Number, entry.Text = 0, t.r.say("event.asked_approval")
			r.seq, r.Result, r.Since = e.Seq, t.r.say("call.awaiting"), noTime
		}
	} else if d.Kind == escalation.KindApproval {
		entry.Text = t.r.say("event.asked_approval")
	}
	r := t.add(e, entry, span{look: templates.LookHuman, from: e.At})
	r.label, r.Since = entry.Link, e.At
	t.questions[entry.URL] = r
}

// titleOf is a question's title, in the reader's language where the server
// wrote it.
func (t *timeline) titleOf(d escalation.Event) string {
	return redact.Brief(cmp.Or(d.Titles[string(i18n.Of(t.r.ctx))], d.Title))
}

// endQuestion ends the bar of the latest row about a question.
func (t *timeline) endQuestion(e sessions.Event, url string) {
	r := t.questions[url]
	if r == nil {
		return // asked before the first event told
	}
	delete(t.questions, url)
	r.spans[0].to, r.seq, r.Took, r.Since = e.At, e.Seq, e.At.Sub(r.At), noTime
}

func message(d *escalation.Decision) string {
	if d == nil {
		return ""
	}
	return d.Message
}

// decided says who decided what.
func (t *timeline) decided(e escalation.Event) string {
	if e.Decision == nil {
		return ""
	}
	d := *e.Decision
	d.Label = cmp.Or(e.Labels[string(i18n.Of(t.r.ctx))], d.Label)
	switch {
	case d.By.Kind == escalation.ByExpiry:
		return t.r.say("answer.by_default", "label", t.r.decided(d, escalation.Question{}))
	case d.Option != "":
		return t.r.say("answer.who", "who", d.By.Name, "letter", d.Option, "label", d.Label)
	}
	return t.r.say("answer.who_did", "who", d.By.Name, "label", t.r.decided(d, escalation.Question{}))
}
