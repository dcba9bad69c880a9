package escalation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"baton/internal/clean"
	"baton/internal/definition"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/redact"
	"baton/internal/tools"
)

// Known is what the harness knows when a question is made. The agent's room
// folds it from the session's events.
type Known struct {
	Session id.Session
	Task    string
	Calls   []KnownCall // ended ones, oldest first; without ask_human and finish
	// ReasonCodes are those that the agent and its tools have registered. If
	// there are any, others are refused.
	ReasonCodes []string
	// Priority is the agent's, for a question that names none.
	Priority definition.Priority
	// Redact masks what is shown of the arguments of calls; nil masks nothing.
	Redact *redact.Redactor
	// Prepare says what a call would be. It is pure.
	Prepare func(call tools.Call) (tools.Plan, tools.Spec)
}

// KnownCall is an ended call as the log has it.
type KnownCall struct {
	N        int
	Tool     string
	ToolHash string
	Words    map[string]tools.Words // of the tool, by language
	Args     json.RawMessage        // redacted
	Effect   tools.Effect
	Status   tools.Status
	Attempts int
	// Of one that failed.
	ErrorType tools.ErrorType
	Error     string
	// Of a batch that was done in part: how many items were, and were not.
	Done, Undone int
	// Shown is what the model was shown of the result: facts are looked up in it.
	Shown string
}

// Draft is a question that is ready to be raised.
type Draft struct {
	Kind     Kind
	Trigger  Trigger
	Priority definition.Priority
	Question Question
	Case     Case
}

// Bounds of what is taken from the log.
const (
	maxLines = 8
	maxError = 300
)

// Compose makes a question of what a model asked and what the harness knows.
// What is missing it fills in from the log. The faults are of what a model can
// mend: a bound action that could not run, a fact that cites no call. It is
// pure. What comes from the log is redacted already.
func Compose(a Ask, k Known) (Draft, []Fault) {
	c := checker{ask: &a}
	q := Question{
		Title: a.Title, Question: a.Question,
		Context:    Context{Task: clip(strings.TrimSpace(clean.Text(k.Task)), maxProblem), Problem: a.Problem, Done: done(k), Tried: tried(k)},
		ReasonCode: a.ReasonCode, Parameters: a.Parameters, AllowOther: a.AllowOther, ResponseSchema: notNull(a.ResponseSchema),
		Sentences: a.Sentences,
	}
	if len(k.ReasonCodes) > 0 && a.ReasonCode != "" && !slices.Contains(k.ReasonCodes, a.ReasonCode) {
		c.wrong("/reason_code", "one of "+strings.Join(k.ReasonCodes, ", "), a.ReasonCode)
	}
	cs := Case{ReasonCode: a.ReasonCode, Parameters: a.Parameters}
	q.Options = c.bind(k, &cs)
	q.Facts = c.confirm(k)
	if a.Recommended != "" {
		q.Recommended = &Recommended{OptionID: a.Recommended, Reason: a.Reason}
	}
	q.Allowed = allowed(a.Kind, a.AllowOther)
	if a.Kind != KindInput && len(q.Options) < 2 {
		// It was asked vaguely, and still is: a person can answer in words.
		q.AllowOther = true
		q.Allowed = allowed(a.Kind, true)
	}
	complete(&q, &cs, k)
	cs.OptionSet = optionSet(a.Kind, q)
	cs.Problem = mask(q.Context.Problem)
	return Draft{Kind: a.Kind, Trigger: a.Trigger, Priority: orDefault(a.Priority, orDefault(k.Priority, definition.PriorityNormal)),
		Question: q.filled(), Case: cs}, c.faults
}

// allowed are the types of answer that a kind takes.
func allowed(kind Kind, other bool) []DecisionType {
	switch kind {
	case KindApproval:
		return []DecisionType{Approve, Edit, Reject}
	case KindInput:
		return []DecisionType{Respond, Reject}
	case KindCompleted:
		return []DecisionType{Acknowledge}
	}
	if other {
		return []DecisionType{Choose, Respond}
	}
	return []DecisionType{Choose}
}

// bind makes the options, and of each action what it would be if it ran now:
// nobody approves a call that is wrong or that would be refused.
func (c *checker) bind(k Known, cs *Case) []Option {
	var options []Option
	for i, given := range c.ask.Options {
		o := Option{ID: given.ID, Key: Key(i), Label: given.Label, Consequence: given.Consequence, Recommended: given.ID == c.ask.Recommended}
		if given.Action != nil {
			plan, spec := k.Prepare(tools.Call{Tool: given.Action.Tool, Args: given.Action.Args})
			at := fmt.Sprintf("/options/%d/action", i)
			if plan.Digest == "" || plan.Verdict == tools.Ended {
				c.unusable(at, plan)
			}
			o.Action, o.Reversible = action(plan, spec, k.Redact), reversible(plan, spec)
			if cs.Tool == "" {
				cs.Tool, cs.ToolHash = plan.Call.Tool, plan.ToolHash
			}
		}
		options = append(options, o)
	}
	return options
}

// unusable says why an action could not run.
func (c *checker) unusable(at string, plan tools.Plan) {
	if plan.Result == nil {
		c.wrong(at, "a call that may run", "one that may not")
		return
	}
	if errs := plan.Result.Errors(); len(errs) > 0 {
		for _, e := range errs {
			c.wrong(at+"/args"+e.Path, e.Expected, e.Got)
		}
		return
	}
	c.wrong(at, "a call that may run", plan.Result.Message())
}

// confirm looks each fact up in what its call brought. A fact that cites a call
// which is not there, or which failed, is a fault; one whose value isn't found
// is shown as the agent's word.
func (c *checker) confirm(k Known) []Fact {
	var facts []Fact
	for i, given := range c.ask.Facts {
		f := Fact{Label: given.Label, Value: given.text()}
		if given.Call != "" {
			call, ok := k.find(given.Call)
			if !ok {
				c.wrong(fmt.Sprintf("/facts/%d/call_id", i), "the id of a call of this session that succeeded", fmt.Sprintf("%q", clean.Line(given.Call)))
				continue
			}
			f.Call = &id.Call{Session: k.Session, N: call.N}
			f.Confirmed = stands(f.Value, call.Shown)
		}
		facts = append(facts, f)
	}
	return facts
}

// stands says whether a value stands in a text as a whole: 24 does not stand
// in 240.
func stands(value, text string) bool {
	for from := 0; value != ""; {
		i := strings.Index(text[from:], value)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(value):])
		first, _ := utf8.DecodeRuneInString(value)
		last, _ := utf8.DecodeLastRuneInString(value)
		if !continues(before, first) && !continues(last, after) {
			return true
		}
		from = i + len(value)
	}
	return false
}

// continues says whether b goes on with the word or number that a belongs to.
func continues(a, b rune) bool {
	word := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
	}
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	return word(a) && word(b) || digit(a) && (b == '.' || b == ',') || (a == '.' || a == ',' || a == '-') && digit(b)
}

func (k Known) find(call string) (KnownCall, bool) {
	ref, err := id.ParseCall(call)
	if err != nil || ref.Session != k.Session {
		return KnownCall{}, false
	}
	i := slices.IndexFunc(k.Calls, func(c KnownCall) bool { return c.N == ref.N })
	if i < 0 || k.Calls[i].Status != tools.StatusSucceeded && k.Calls[i].Status != tools.StatusPartial {
		return KnownCall{}, false
	}
	return k.Calls[i], true
}

// complete fills in from the log what a question must have and a model left
// out.
func complete(q *Question, cs *Case, k Known) {
	failed, any := k.lastFailed()
	if any {
		cs.ErrorType, cs.ErrorClass = string(failed.ErrorType), string(failed.ErrorType.Class())
		if cs.Tool == "" {
			cs.Tool, cs.ToolHash = failed.Tool, failed.ToolHash
		}
	}
	if q.Context.Problem == "" && any {
		q.Context.Problem = clip(clean.Line(failed.Error), maxError)
	}
	if q.Question == "" {
		q.say("question", &q.Question, i18n.Say("escalation.how_to_go_on"))
	}
	if q.Title == "" {
		q.Title = clip(clean.Line(q.Question), maxTitle)
		if s, ok := q.Sentences["question"]; ok {
			q.Sentences["title"] = s
		}
	}
}

// say puts a sentence of the server's into a field.
func (q *Question) say(path string, field *string, m i18n.Message) {
	if q.Sentences == nil {
		q.Sentences = map[string]i18n.Message{}
	}
	q.Sentences[path], *field = m, english(m)
}

// english is the sentence as programs get it.
func english(m i18n.Message) string { return m.In(context.Background()) }

// lastFailed is the latest failure, unless the same call has succeeded since.
func (k Known) lastFailed() (KnownCall, bool) {
	for _, c := range slices.Backward(k.Calls) {
		if failed(c) {
			return c, true
		}
		if c.Effect.Writes() {
			break // it got something done: what failed before is over
		}
	}
	return KnownCall{}, false
}

func failed(c KnownCall) bool { return c.ErrorType != "" }

// ApprovalDraft makes the question whether a call that is held back may run.
// All of its words are the server's. The plan's arguments are the exact ones,
// and its reason is redacted.
func ApprovalDraft(plan tools.Plan, spec tools.Spec, k Known) Draft {
	q := Question{
		Context: Context{Task: clip(strings.TrimSpace(clean.Text(k.Task)), maxProblem), Done: done(k), Tried: tried(k),
			Problem: clip(strings.TrimSpace(clean.Text(plan.Call.Reason)), maxProblem)},
		Allowed: allowed(KindApproval, false),
	}
	a := action(plan, spec, k.Redact)
	a.Schema = spec.Schema
	q.ActionRequest = a
	q.say("question", &q.Question, i18n.Say("escalation.may_it_run"))
	q.Title = a.title()
	cs := Case{Tool: plan.Call.Tool, ToolHash: plan.ToolHash, Parameters: json.RawMessage("{}"), Problem: mask(q.Context.Problem)}
	if len(spec.ReasonCodes) == 1 {
		q.ReasonCode = spec.ReasonCodes[0]
	}
	cs.ReasonCode = q.ReasonCode
	cs.OptionSet = optionSet(KindApproval, q)
	return Draft{Kind: KindApproval, Trigger: SensitiveAction, Priority: orDefault(k.Priority, definition.PriorityNormal), Question: q.filled(), Case: cs}
}

// title is the action in one English line.
func (a Action) title() string {
	if s := a.Sentences["en"]; s != "" {
		return s
	}
	return a.Tool
}
