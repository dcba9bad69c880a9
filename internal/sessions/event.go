package sessions

import (
	"encoding/json"
	"fmt"
	"time"

	"baton/internal/id"
)

// EventType names what happened: noun.verbed.
type EventType string

// The events of the ledger, with what their data holds. The shapes are those
// of the rooms that write them.
const (
	SessionStarted   EventType = "session.started"   // Start: task, inputs, agent, model, by
	SessionRecovered EventType = "session.recovered" // the sweep: a worker was lost
	SessionWaiting   EventType = "session.waiting"   // parked until people have answered
	SessionPaused    EventType = "session.paused"
	SessionResumed   EventType = "session.resumed"  // by a person
	SessionEnded     EventType = "session.ended"    // status, outcome, summary, evidence, failure
	ModelReplied     EventType = "model.replied"    // text, plans of the calls, usage
	ModelFailed      EventType = "model.failed"     // no reply: kind, attempt, wait
	CallStarted      EventType = "call.started"     // an effect is about to happen
	CallRetried      EventType = "call.retried"     // an attempt failed, and the next one is waited for
	CallEnded        EventType = "call.ended"       // the call's one result
	LateResult       EventType = "call.late_result" // of a worker that had lost the session
	NoticeGiven      EventType = "notice.given"     // the harness tells the model something
	MessageReceived  EventType = "message.received" // a person writes to the agent
	CancelRequested  EventType = "cancel.requested"
	PauseRequested   EventType = "pause.requested"

	EscalationRaised    EventType = "escalation.raised"
	EscalationAnswered  EventType = "escalation.answered" // the decision, as a record of the server's
	EscalationUndone    EventType = "escalation.undone"
	EscalationExpired   EventType = "escalation.expired"
	EscalationWithdrawn EventType = "escalation.withdrawn"
	ApprovalUsed        EventType = "approval.used"
	ApprovalLapsed      EventType = "approval.lapsed"
)

// Event is one entry of a session's ledger.
type Event struct {
	Session id.Session
	Seq     int64
	Type    EventType
	At      time.Time
	Turn    int
	Step    int
	Call    int // 0: not about a call
	Data    json.RawMessage
}

// MarshalJSON writes the event as the API has it.
func (e Event) MarshalJSON() ([]byte, error) {
	var call *string
	if e.Call > 0 {
		s := id.Call{Session: e.Session, N: e.Call}.String()
		call = &s
	}
	return json.Marshal(struct {
		Session id.Session      `json:"session_id"`
		Seq     int64           `json:"seq"`
		Type    EventType       `json:"type"`
		At      time.Time       `json:"at"`
		Turn    int             `json:"turn"`
		Step    int             `json:"step"`
		Call    *string         `json:"call_id"`
		Data    json.RawMessage `json:"data"`
	}{e.Session, e.Seq, e.Type, e.At, e.Turn, e.Step, call, e.Data})
}

// NewEvent is an event to be written; the store gives it its number and time.
type NewEvent struct {
	Type EventType
	Turn int
	Step int
	Call int
	Data any // marshalled to JSON; texts in it are sanitised already
}

// columns turns events into the arrays that one statement unnests.
func columns(events []NewEvent) (c eventColumns, err error) {
	for _, e := range events {
		data := []byte("{}")
		if e.Data != nil {
			if data, err = json.Marshal(e.Data); err != nil {
				return c, fmt.Errorf("marshal event %s: %w", e.Type, err)
			}
		}
		c.turns = append(c.turns, int32(e.Turn))
		c.steps = append(c.steps, int32(e.Step))
		c.calls = append(c.calls, int32(e.Call))
		c.types = append(c.types, string(e.Type))
		c.data = append(c.data, string(data))
		c.bytes += len(data)
	}
	return c, nil
}

// first is the first of the events, not in arrays.
func (c eventColumns) first() []any {
	return []any{c.turns[0], c.steps[0], c.calls[0], c.types[0], c.data[0]}
}

type eventColumns struct {
	turns, steps, calls []int32
	types, data         []string
	bytes               int
}
