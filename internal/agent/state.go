package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"baton/internal/escalation"
	"baton/internal/id"
	"baton/internal/llm"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// state is what the loop knows of a session, folded from its events. It has no
// clock and reads nothing: the same events give the same state.
type state struct {
	session id.Session

	turn, steps, calls   int // totals
	turnSteps, turnCalls int // in this turn
	usage                llm.Usage
	circuit              tools.Circuit
	loops                tools.Loops
	once                 *once    // one more try that people allowed; nil as a rule
	asking               *asking  // a question of the harness's own; nil as a rule
	stopped              *failure // a person stopped it there
	allowance            allowance
	row                  row

	messages []llm.Message
	marks    []mark
	leftOut  int // results that people know of to be left out of what the model is sent
	// current are the calls of the last reply until all of them have results;
	// after holds what was said meanwhile, to be told after the results.
	current []*call
	after   []llm.Message

	ended map[int]*call // every call that has its result

	approvals []approval                  // given by people, and not used yet
	answers   map[string]escalation.Event // what was decided, by the question's exact fingerprint

	finishesRefused int // in this turn
	asksRefused     int
	badReplies      int  // empty, cut or text alone, one after the other
	modelTries      int  // at the reply that is due
	over            bool // the session has ended
}

// call is one call as the loop sees it.
type call struct {
	plan    tools.Plan
	written json.RawMessage // its arguments as they are on record; those of plan may be in clear
	step    int
	turn    int
	started bool // on record as started
	fresh   bool // started by this worker, and not run yet: nothing is in doubt
	result  *tools.Result
	tries   int
	stored  bool
	// question is the escalation that the call waits for, answer what people (or
	// the lack of them) said to it.
	question id.Escalation
	answer   *escalation.Event
	draft    *escalation.Draft // ready to be raised, by this worker
	doubt    bool              // the question is what became of the call
	edited   bool              // it was started with a decider's arguments: written are those
	sealed   bool              // the ledger has its arguments only in redacted form
	// plannedAt is when this worker planned it, zero for a former one's.
	plannedAt time.Time
}

func (c *call) open() bool { return c.result == nil }

// start notes that the call is on record as started. One that was in doubt and
// is run again has used up the answer that said so.
func (c *call) start() {
	c.started = true
	if c.answer != nil && c.answer.Decision != nil && c.answer.Decision.EditedArgs != nil {
		c.written, c.edited = c.answer.Decision.EditedArgs, true
	}
	if c.doubt {
		c.doubt, c.answer, c.question = false, nil, id.Escalation{}
	}
}

func (c *call) service() string {
	if c.plan.Service == "" {
		return c.plan.Call.Tool
	}
	return c.plan.Service
}

// alias is the call's name for the model: short, since a model repeats it.
func (c *call) alias() string { return alias(c.plan.Call.N) }

func alias(n int) string { return "call_" + strconv.Itoa(n) }

// parseAlias reads the model's name of a call of this session, or the name that
// people and programs use.
func (s *state) parseAlias(name string) (n int, ok bool) {
	if c, err := id.ParseCall(name); err == nil {
		return c.N, c.Session == s.session
	}
	digits, ok := strings.CutPrefix(name, "call_")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0
}

func fold(session sessions.Session, events []sessions.Event) (*state, error) {
	s := &state{session: session.ID, turn: 1, ended: map[int]*call{}, answers: map[string]escalation.Event{},
		allowance: allowance{raised: map[string]int64{}, told: map[string]int64{}}}
	for _, e := range events {
		if err := s.apply(e); err != nil {
			return nil, fmt.Errorf("fold event %d of %s: %w", e.Seq, session.ID, err)
		}
	}
	return s, nil
}

// apply takes the next event. An event that says nothing to the loop changes
// nothing, whether it is known or of a newer release.
func (s *state) apply(e sessions.Event) error {
	switch e.Type {
	case sessions.SessionStarted:
		var d struct {
			Task   string          `json:"task"`
			Inputs json.RawMessage `json:"inputs"`
		}
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.say(llm.Message{Role: llm.RoleTask, Text: d.Task, Inputs: d.Inputs})
	case sessions.ModelReplied:
		var d replied
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.replied(d)
	case sessions.ModelFailed:
		var d modelFailed
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.modelFailed(d)
	case sessions.CallStarted:
		if c := s.find(e.Call); c != nil {
			c.start()
		}
	case sessions.CallEnded:
		var d ended
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.callEnded(e.Call, d)
	case sessions.NoticeGiven:
		var d notice
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.notice(d)
	case sessions.EscalationRaised:
		var d escalation.Event
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.raised(d)
	case sessions.SessionEnded:
		s.over = true
	default:
		return s.applyOutside(e)
	}
	return nil
}

// applyOutside takes an event that was written from outside the worker.
func (s *state) applyOutside(e sessions.Event) error {
	switch e.Type {
	case sessions.EscalationAnswered, sessions.EscalationExpired, sessions.EscalationUndone, sessions.EscalationWithdrawn:
		var d escalation.Event
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return err
		}
		s.answered(e.Type, d)
		return nil
	case sessions.MessageReceived:
	default:
		return nil
	}
	var d struct {
		Text string `json:"text"`
		By   struct {
			Name string `json:"name"`
		} `json:"by"`
	}
	if err := json.Unmarshal(e.Data, &d); err != nil {
		return err
	}
	s.personSpoke()
	s.allowance.newTurn(true)
	if s.asking != nil {
		s.asking.spoken = s.asking.settled()
	}
	s.say(llm.Message{Role: llm.RolePerson, Text: d.Text, From: d.By.Name})
	return nil
}

// personSpoke begins a new turn: what was counted against the agent is
// forgotten.
func (s *state) personSpoke() {
	s.turn++
	s.turnSteps, s.turnCalls, s.finishesRefused, s.asksRefused, s.badReplies, s.modelTries = 0, 0, 0, 0, 0, 0
	s.circuit.PersonSpoke()
	s.loops.PersonSpoke()
	s.once = nil
	s.allowance.newTurn(false)
	s.row = row{}
	if s.asking != nil && s.asking.question.IsZero() {
		s.asking = nil // they came before they were asked
	}
}

// say adds to the conversation; while calls are open it waits for their
// results, which must follow the calls.
func (s *state) say(m llm.Message) {
	if len(s.current) > 0 {
		s.after = append(s.after, m)
		return
	}
	s.messages = append(s.messages, m)
}

func (s *state) notice(d notice) {
	switch d.Code {
	case codeLoopAnswered, codeLimitAnswered, codeTroubleAnswered:
		s.answeredNoted(d)
	case codeUseless:
		s.asking = &asking{trouble: d.Trouble, turn: s.turn, step: s.steps}
	}
	if d.Loop != nil {
		s.loopNoted(d)
	}
	if d.Limit != nil {
		s.limitNoted(d)
	}
	s.leftOut = max(s.leftOut, d.Left)
	if d.Text != "" {
		s.say(llm.Message{Role: llm.RoleNotice, Text: d.Text})
	}
}

func (s *state) replied(d replied) {
	s.asking = nil // the session has gone on
	s.steps++
	s.turnSteps++
	s.modelTries, s.allowance.refused = 0, false
	s.allowance.steps++
	s.usage = s.usage.Add(d.Usage.model())
	message := llm.Message{Role: llm.RoleAssistant, Text: d.Text}
	starts := map[int]bool{}
	for _, n := range d.Start {
		starts[n] = true
	}
	for _, p := range d.Plans {
		s.calls++
		s.turnCalls++
		s.current = append(s.current, &call{plan: p, written: p.Call.Args, step: s.steps, turn: s.turn, started: starts[p.Call.N]})
		if s.usesOnce(p) {
			s.once.call = p.Call.N
		}
		if p.Verdict == tools.Ready {
			s.useApproval(p.Approval)
		}
		message.Calls = append(message.Calls, p.Call)
	}
	s.marks = append(s.marks, mark{at: len(s.messages), tokens: d.Usage.Input})
	s.messages = append(s.messages, message)
	if len(d.Plans) > 0 {
		s.badReplies = 0
	} else {
		s.badReplies++
	}
}

// modelFailed takes that no usable reply came.
func (s *state) modelFailed(d modelFailed) {
	s.modelTries++
	s.usage = s.usage.Add(d.Usage.model())
	if d.Kind == llm.ContextTooLong {
		s.marks = append(s.marks, mark{at: len(s.messages), tooLong: true})
	}
	if d.Ask != nil {
		s.asking = &asking{trouble: d.Ask, turn: s.turn, step: s.steps}
	}
}

// find is the call of the last reply with this number.
func (s *state) find(n int) *call {
	for _, c := range s.current {
		if c.plan.Call.N == n {
			return c
		}
	}
	return nil
}

// callEnded takes a call's result. A second one for the same call changes
// nothing: there is exactly one.
func (s *state) callEnded(n int, d ended) {
	c := s.find(n)
	if c == nil || !c.open() {
		return
	}
	result := d.Result.Result
	c.result, c.tries, c.stored = &result, result.Meta().Attempts, d.Stored
	s.ended[n] = c
	seen := tools.Observed{N: n, Step: c.step, Tool: c.plan.Call.Tool, Exact: c.plan.Exact, Loose: c.plan.Loose, Effect: c.plan.Effect, Polling: c.plan.Polling, Result: result}
	s.circuit.Observe(seen)
	if counted(seen.Tool) {
		s.loops.Observe(seen)
		s.onceEnded(c)
	}
	if s.row.observe(seen); s.row.stale == 0 {
		delete(s.allowance.told, limitRow)
	}
	s.allowance.refused = s.allowance.refused || result.ErrorType() == tools.BudgetExceeded
	switch {
	case result.OK():
	case c.plan.Call.Tool == finishTool:
		s.finishesRefused++
	case c.plan.Call.Tool == askTool:
		s.asksRefused++
	}
	if c.answer != nil && c.answer.Decision != nil {
		s.after = append(s.after, llm.Message{Role: llm.RoleDecision, Decision: decisionRecord(*c.answer)})
	}
	s.settle()
}

// settle tells the results, in the order of their calls, once all are there.
func (s *state) settle() {
	for _, c := range s.current {
		if c.open() {
			return
		}
	}
	for _, c := range s.current {
		s.messages = append(s.messages, llm.Message{Role: llm.RoleResult, Result: &llm.Result{
			CallID: c.alias(), ProviderID: providerID(c.plan.Call), Tool: c.plan.Call.Tool, Args: c.written, Result: *c.result,
		}})
	}
	s.messages = append(s.messages, s.after...)
	s.current, s.after = nil, nil
}

// providerID pairs call and result on the wire. It is ours, so that it is
// unique whatever the provider sent.
func providerID(c tools.Call) string { return alias(c.N) }

// openCalls are those of the last reply that have no result yet.
func (s *state) openCalls() []*call {
	var open []*call
	for _, c := range s.current {
		if c.open() {
			open = append(open, c)
		}
	}
	return open
}

// unresolved lists the calls that failed and that no later call of the same
// tool to the same end made good: what the harness itself reports of a session.
func (s *state) unresolved() []failedCall {
	var failed []failedCall
	for n := 1; n <= s.calls; n++ {
		c := s.ended[n]
		if c == nil || c.result.OK() || c.plan.Call.Tool == finishTool || s.madeGood(c) {
			continue
		}
		failed = append(failed, failedCall{Call: c.alias(), Tool: c.plan.Call.Tool, Type: c.result.ErrorType(), Message: c.result.Message()})
	}
	return failed
}

// madeGood says whether a later call of the same tool succeeded on the same
// service: a wrong column, then the right one.
func (s *state) madeGood(failed *call) bool {
	for n := failed.plan.Call.N + 1; n <= s.calls; n++ {
		c := s.ended[n]
		if c != nil && c.result.OK() && c.plan.Call.Tool == failed.plan.Call.Tool &&
			c.service() == failed.service() {
			return true
		}
	}
	return false
}
