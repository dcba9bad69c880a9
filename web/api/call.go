package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// call is a tool call as the API has it: what its session's ledger says about
// it, folded.
type call struct {
	ID      id.Call    `json:"id"`
	Session id.Session `json:"session_id"`
	Turn    int        `json:"turn"`
	Step    int        `json:"step"`
	Tool    string     `json:"tool"`
	// Args are redacted. They are null if what the model wrote was no JSON;
	// then RawArgs has it.
	Args       json.RawMessage `json:"args"`
	RawArgs    *string         `json:"raw_args"`
	Reason     string          `json:"reason"` // the model's, as it stated it
	Status     tools.Status    `json:"status"`
	InDoubt    bool            `json:"in_doubt"`
	Escalation *id.Escalation  `json:"escalation_id"` // the latest question about it
	Effect     tools.Effect    `json:"effect"`
	Service    string          `json:"service"`

	Mode          string       `json:"permission_mode"`
	Policy        string       `json:"policy"` // why it may run, must be asked, or may not
	PolicyVersion string       `json:"policy_version"`
	Digest        string       `json:"digest"`
	Approval      *approval    `json:"approval"` // the answer that let it run, if it took one
	Fingerprints  fingerprints `json:"fingerprints"`
	Preceding     []id.Call    `json:"preceding"` // the calls just before it

	RequestedAt time.Time  `json:"requested_at"`
	StartedAt   *time.Time `json:"started_at"`
	EndedAt     *time.Time `json:"ended_at"`
	QueuedMS    *int64     `json:"queued_ms"`
	DurationMS  *int64     `json:"duration_ms"` // queued, run and waited for, in all
	Retries     int        `json:"retries"`
	// NextAttemptAt is when a call that is open will be tried again.
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	// OutputBytes is how much the tool put out, before any cut. MoreOutput says
	// that more of it is stored than the result shows.
	OutputBytes *int64 `json:"output_bytes"`
	MoreOutput  bool   `json:"more_output"`

	ErrorType tools.ErrorType `json:"error_type"`
	Attempts  []tools.Attempt `json:"attempts"`
	Result    json.RawMessage `json:"result"` // null while it is open

	ranMS int64 // in the tool, as the result says
	asked bool  // a question about it is open
}

// fingerprints are keyed hashes of tool and arguments.
type fingerprints struct {
	Exact string `json:"exact"` // equal for the same call
	Loose string `json:"loose"` // equal also where only case, space or punctuation differ
}

// approval is a person's answer that let a call run.
type approval struct {
	Decision  string              `json:"decision_id"`
	DecidedBy *escalation.Decider `json:"decided_by"`
	DecidedAt *time.Time          `json:"decided_at"`
}

func approvalBy(d *escalation.Decision) *approval {
	return &approval{Decision: d.ID.String(), DecidedBy: &d.By, DecidedAt: &d.DecidedAt}
}

// preceding is how many calls before it a call names.
const preceding = 5

// entry is the data of those events that tell about calls; each has some of it.
type entry struct {
	// model.replied
	Plans []tools.Plan `json:"plans"`
	Start []int        `json:"start"`
	// call.retried: the attempt that failed.
	tools.Attempt
	NextMS int64 `json:"next_ms"`
	// call.ended. Of the result the ledger leaves out what goes without saying.
	Result   json.RawMessage `json:"result"`
	Attempts []tools.Attempt `json:"attempts"`
	QueuedMS int64           `json:"queued_ms"`
	TotalMS  int64           `json:"total_ms"`
	Stored   bool            `json:"stored"`
}

// foldCalls makes the calls with the numbers from first to last of what the
// ledger says about them, in the order of their numbers.
func foldCalls(events []sessions.Event, rows []sessions.CallRow, first, last int) ([]call, error) {
	calls := map[int]*call{}
	answers := map[string]*approval{} // by decision: an answer may let a later call run
	for _, e := range events {
		if strings.HasPrefix(string(e.Type), "escalation.") {
			var d escalation.Event
			if err := json.Unmarshal(e.Data, &d); err != nil {
				return nil, fmt.Errorf("read event %d of %s: %w", e.Seq, e.Session, err)
			}
			if d.Decision != nil {
				answers[d.Decision.ID.String()] = approvalBy(d.Decision)
			}
			if c := calls[e.Call]; c != nil {
				c.ask(e.Type, d)
			}
			continue
		}
		var d entry
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return nil, fmt.Errorf("read event %d of %s: %w", e.Seq, e.Session, err)
		}
		if e.Type == sessions.ModelReplied {
			for _, plan := range d.Plans {
				if n := plan.Call.N; n >= first && n <= last {
					calls[n] = planned(e, plan, slices.Contains(d.Start, n))
				}
			}
		} else if c := calls[e.Call]; c != nil {
			if err := c.take(e, d); err != nil {
				return nil, err
			}
		}
	}
	for _, row := range rows {
		if c := calls[row.ID.N]; c != nil {
			c.fromRow(row)
		}
	}
	list := make([]call, 0, len(calls))
	for _, c := range calls {
		if c.Approval != nil && answers[c.Approval.Decision] != nil {
			c.Approval = answers[c.Approval.Decision]
		}
		// Only of what nothing takes back are people asked whether it happened.
		c.InDoubt = c.Status == tools.StatusStarted && c.Effect == tools.EffectIrreversible && c.asked
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b call) int { return a.ID.N - b.ID.N })
	return list, nil
}

// planned is a call as the harness took it from the model's reply.
func planned(e sessions.Event, p tools.Plan, started bool) *call {
	c := &call{
		ID: p.Call.ID(e.Session), Session: e.Session, Turn: e.Turn, Step: e.Step,
		Tool: p.Call.Tool, Args: p.Call.Args, Reason: p.Call.Reason,
		Status: p.Status(), Effect: p.Effect, Service: p.Service,
		Mode: p.Mode, Policy: p.Policy, PolicyVersion: p.PolicyVersion, Digest: p.Digest,
		Fingerprints: fingerprints{p.Exact, p.Loose}, Preceding: []id.Call{},
		RequestedAt: e.At, Attempts: []tools.Attempt{},
	}
	if c.Args == nil {
		c.RawArgs = &p.Call.Raw
	}
	if p.Approval != "" {
		c.Approval = &approval{Decision: p.Approval}
	}
	if started {
		c.start(e.At)
	}
	for n := max(1, p.Call.N-preceding); n < p.Call.N; n++ {
		c.Preceding = append(c.Preceding, id.Call{Session: e.Session, N: n})
	}
	return c
}

func (c *call) start(at time.Time) {
	if c.StartedAt == nil {
		c.StartedAt = &at
	}
	c.Status, c.NextAttemptAt = tools.StatusStarted, nil
}

// ask adds what a question about the call says.
func (c *call) ask(event sessions.EventType, d escalation.Event) {
	c.Escalation = &d.Escalation
	c.asked = event == sessions.EscalationRaised || event == sessions.EscalationUndone
	if d.Kind != escalation.KindApproval || d.Decision == nil {
		return
	}
	switch approves := d.Decision.Type == escalation.Approve || d.Decision.Type == escalation.Edit; {
	case event == sessions.EscalationUndone:
		c.Approval = nil
	case event == sessions.EscalationAnswered && approves:
		c.Approval = approvalBy(d.Decision)
	}
}

// take adds what an event says about the call.
func (c *call) take(e sessions.Event, d entry) error {
	switch e.Type {
	case sessions.CallStarted:
		c.start(e.At)
	case sessions.CallRetried:
		if n := len(c.Attempts); n > 0 && c.Attempts[n-1].N >= d.N {
			c.Attempts = []tools.Attempt{} // a worker was lost, and another begins anew
		}
		next := e.At.Add(time.Duration(d.NextMS) * time.Millisecond)
		c.Attempts, c.Retries, c.NextAttemptAt = append(c.Attempts, d.Attempt), d.N, &next
	case sessions.CallEnded:
		var result tools.Result
		if err := json.Unmarshal(d.Result, &result); err != nil {
			return fmt.Errorf("read result of %s: %w", c.ID, err)
		}
		whole, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("write result of %s: %w", c.ID, err)
		}
		c.Status, c.ErrorType, c.Result = result.CallStatus(), result.ErrorType(), whole
		c.EndedAt, c.QueuedMS, c.DurationMS = &e.At, &d.QueuedMS, &d.TotalMS
		c.MoreOutput, c.ranMS = d.Stored, result.Meta().DurationMS
		c.Attempts, c.Retries, c.NextAttemptAt = []tools.Attempt{}, 0, nil
		if len(d.Attempts) > 0 {
			c.Attempts, c.Retries = d.Attempts, len(d.Attempts)-1
			c.StartedAt = &d.Attempts[0].StartedAt
		}
	}
	return nil
}

// fromRow adds what the ledger leaves to the call's row. Of a plain success that
// is its one attempt, too.
func (c *call) fromRow(row sessions.CallRow) {
	c.OutputBytes = &row.Bytes
	if len(c.Attempts) == 0 && row.Attempts == 1 && row.StartedAt != nil {
		c.StartedAt = row.StartedAt
		c.Attempts = []tools.Attempt{{N: 1, StartedAt: *row.StartedAt, DurationMS: c.ranMS, ErrorType: c.ErrorType}}
	}
}

// dropData takes the output out of the result: lists would grow large with it.
func (c *call) dropData() error {
	if c.Result == nil {
		return nil
	}
	var result map[string]json.RawMessage
	if err := json.Unmarshal(c.Result, &result); err != nil {
		return fmt.Errorf("read result of %s: %w", c.ID, err)
	}
	delete(result, "data")
	var err error
	c.Result, err = json.Marshal(result)
	return err
}
