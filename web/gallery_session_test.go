package web

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"baton/internal/auth"
	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
	t "baton/templates"
)

// story writes a session's events one after the other, as time passes.
type story struct {
	events []sessions.Event
	now    time.Time
	step   int
	calls  int
}

func newStory(began time.Time) *story {
	w := &story{now: began}
	w.add(sessions.SessionStarted, 0, map[string]any{"by": sessions.Author{Name: "Dana Lee"}})
	return w
}

func (w *story) pass(d time.Duration) *story {
	w.now = w.now.Add(d)
	return w
}

func (w *story) add(kind sessions.EventType, call int, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	w.events = append(w.events, sessions.Event{Seq: int64(len(w.events) + 1), Type: kind, At: w.now, Turn: 1, Step: w.step, Call: call, Data: raw})
}

// asks is a reply of the model, after it has thought, with calls that start.
func (w *story) asks(thought time.Duration, text string, calls ...tools.Call) {
	w.pass(thought)
	w.step++
	data := map[string]any{"text": text, "ms": thought.Milliseconds()}
	var plans []tools.Plan
	var start []int
	for _, c := range calls {
		w.calls++
		c.N = w.calls
		effect := tools.EffectRead
		if c.Tool == "payments.refund" {
			effect = tools.EffectSide
		}
		plans = append(plans, tools.Plan{Call: c, Verdict: tools.Ready, Effect: effect, Service: "shop", Policy: "default"})
		if c.Tool != askTool {
			start = append(start, c.N)
		}
	}
	data["plans"], data["start"] = plans, start
	w.add(sessions.ModelReplied, 0, data)
}

// retries tells that an attempt of a call failed, and that there will be another.
func (w *story) retries(call int, failed tools.Attempt, next int64) {
	w.add(sessions.CallRetried, call, retried{failed, next})
}

// loops tells what was done against a loop that these calls show.
func (w *story) loops(rule tools.Rule, rung tools.Rung, calls ...int) {
	w.add(sessions.NoticeGiven, 0, notice{Code: "loop", Text: "You have repeated a call of payments.refund that fails (call_6, call_7). Repeating it does not help.",
		Loop: &tools.Measure{Rule: rule, Rung: rung, Tool: "payments.refund", Calls: calls, Targets: []tools.Target{{Tool: "payments.refund", Loose: "x"}}, UntilStep: 15}})
}

// ends gives a call its result, some time later.
func (w *story) ends(call int, took time.Duration, result tools.Result, attempts ...tools.Attempt) {
	w.pass(took)
	w.add(sessions.CallEnded, call, map[string]any{"result": result, "attempts": attempts, "total_ms": took.Milliseconds(), "queued_ms": 40})
}

func call(tool, args string) tools.Call { return tools.Call{Tool: tool, Args: json.RawMessage(args)} }

func good(data string) tools.Result {
	r, err := tools.Succeed(tools.Output{Data: json.RawMessage(data)}, tools.Meta{Attempts: 1})
	if err != nil {
		panic(err)
	}
	return r
}

func failed(kind tools.ErrorType, attempts int, message string, hints ...string) tools.Result {
	return tools.Refuse(tools.Fail(kind, message, hints...), tools.Meta{Attempts: attempts})
}

var storyEscalation = id.New[id.Escalation]()

// story is a session with a bit of everything.
func (s sample) story() *story {
	w := newStory(sampleTime.Add(-20 * time.Minute))
	w.asks(2100*time.Millisecond, s.say("Four steps: confirm the duplicate, rule out a dispute, pay the money back, tell the customer.", "分四步：确认重复、排除争议、退款、告知客户。"),
		call("ledger.find_payments", `{"order": "48-2217", "key": "[redacted:key:3f9a1c]", "limit": 9007199254740993}`), call("orders.get", `{"order": "48-2217"}`))
	w.ends(2, 200*time.Millisecond, good(`{"status": 200, "body": "{\"order\": \"48-2217\"}"}`))
	w.ends(1, 200*time.Millisecond, good(`{"columns": ["payment", "amount", "day"], "rows": [["pay_77119", "1284.00", "2026-11-28"], ["pay_77120", "1284.00", "2026-11-28"]]}`))
	w.asks(2700*time.Millisecond, s.say("Both payments are for one order.", "两笔付款属于同一订单。"), call("disputes.search", `{"customer": "Lindqvist AB"}`))
	w.ends(3, 900*time.Millisecond, good(`{"columns": ["dispute"], "rows": []}`))
	w.asks(300*time.Millisecond, "", call("cards.network_lookup", `{"card": "[redacted:card:3f9a1c]", "amount": "1284.00", "currency": "EUR"}`))
	began := w.now
	attempt := func(n int, after, wait time.Duration) tools.Attempt {
		return tools.Attempt{N: n, StartedAt: began.Add(after), DurationMS: 3000, WaitMS: wait.Milliseconds(), ErrorType: tools.Timeout}
	}
	attempts := []tools.Attempt{attempt(1, 0, 0), attempt(2, 3600*time.Millisecond, 600*time.Millisecond), attempt(3, 7500*time.Millisecond, 900*time.Millisecond), attempt(4, 12200*time.Millisecond, 1700*time.Millisecond)}
	for i, a := range attempts[:3] {
		w.now = a.StartedAt.Add(3 * time.Second)
		w.retries(4, a, attempts[i+1].WaitMS)
	}
	w.now = began
	w.ends(4, 15200*time.Millisecond, failed(tools.Timeout, 4, "The card network did not answer within 3 s.", "Go on with the ledger's result.", "Do not call it again now."), attempts...)
	w.asks(1900*time.Millisecond, s.say("I ask a colleague whether the customer agreed.", "我询问同事客户是否已同意。"), call(askTool, `{}`))
	ask := escalation.Event{Escalation: storyEscalation, Number: 1041, Call: 5, Kind: escalation.KindOptions, Title: s.say("Does the customer take store credit instead?", "客户是否接受以代金券代替？")}
	w.add(sessions.EscalationRaised, 5, ask)
	w.pass(6*time.Minute + 2*time.Second)
	ask.Decision = &escalation.Decision{Option: "B", Label: s.say("No, pay it back", "否，退款"), By: escalation.Decider{Kind: escalation.ByPerson, Name: "Mara Okafor"}}
	w.add(sessions.EscalationAnswered, 5, ask)
	w.asks(800*time.Millisecond, "", call("payments.refund", `{"payment": "pay_77120", "amount": "1284.00"}`))
	w.ends(6, 300*time.Millisecond, failed(tools.PermissionDenied, 1, "The limit of this agent is 500.00 EUR.", "Ask a person."))
	w.asks(600*time.Millisecond, "", call("payments.refund", `{"payment": "pay_77120", "amount": "1284.00"}`))
	w.ends(7, 300*time.Millisecond, failed(tools.CircuitOpen, 0, "The same call failed the same way before.", "Ask a person."))
	w.loops(tools.RuleFailing, tools.RungRest, 6, 7)
	w.asks(500*time.Millisecond, "", call("mail.notify", `{"to": ["finance", "desk", "legal"]}`))
	batch, err := tools.Succeed(tools.Output{
		Completed: []tools.Item{{Item: "finance"}, {Item: "desk"}}, Failed: []tools.Item{{Item: "legal", Reason: "The mailbox is full.", Type: tools.Unavailable}},
		Skipped: []tools.Item{{Item: "audit", Reason: "Not needed once legal is missing."}}, State: "Two of four have the message.", Notices: []string{"The mail service was slow."},
	}, tools.Meta{Attempts: 1, Truncated: &tools.Truncated{TotalLines: 960, Shown: 200}})
	if err != nil {
		panic(err)
	}
	w.ends(8, 1200*time.Millisecond, batch)
	return w
}

// waits lets the story end in a question.
func (s sample) waits(w *story) {
	w.asks(900*time.Millisecond, "", call(askTool, `{}`))
	w.add(sessions.EscalationRaised, 9, escalation.Event{Escalation: id.New[id.Escalation](), Number: 1042, Call: 9, Kind: escalation.KindOptions, Title: s.say("Refund for order 48-2217 is above the agent’s limit", "订单 48-2217 的退款超出智能体的额度")})
}

func (s sample) sessionRow(status sessions.Status) sessions.Session {
	return sessions.Session{
		ID: sampleSession, Status: status, Task: s.say("Duplicate payment, order 48-2217\nCustomer Lindqvist AB says they were charged twice for order 48-2217. Settle it.", "重复付款，订单 48-2217\n客户 Lindqvist AB 称订单 48-2217 被重复扣款，请处理。"),
		Agent: sessions.AgentRef{Slug: "refunds", Version: 14}, TeamSlug: "support", Model: "scripted/duplicate-charge", Turn: 1, Steps: 10, Calls: 8, Tokens: 61_000,
		CostMicros: 840_000, WorkingMS: 25_000, OpenQuestions: 1, RequestedBy: "Dana Lee",
	}
}

var sampleSession = id.New[id.Session]()

// fold is the story as it is told.
func (s sample) fold(ctx context.Context, w *story, v sessions.Session, technical bool, open int) *timeline {
	r := reader{ctx: ctx, actor: auth.System(), now: time.Now(), agents: map[string]string{"refunds": s.say("Refunds desk", "退款专员")}}
	tl := newTimeline(r, v, func(c tools.Call) (string, string) {
		title := map[string]string{
			"ledger.find_payments": s.say("Look for payments", "查找付款"), "orders.get": s.say("Look up the order", "查询订单"), "disputes.search": s.say("Look for disputes", "查找争议"),
			"cards.network_lookup": s.say("Ask the card network", "查询卡组织"), "payments.refund": s.say("Refund", "退款"), "mail.notify": s.say("Send messages", "发送消息"),
		}[c.Tool]
		return title, title
	})
	tl.technical, tl.open = technical, open
	if err := tl.tellAll(w.events); err != nil {
		panic(err)
	}
	return tl
}

// told is the story as a page shows it.
func (s sample) told(ctx context.Context, w *story, v sessions.Session, technical bool, open int) (*timeline, t.Session) {
	tl := s.fold(ctx, w, v, technical, open)
	tl.until(tl.r.now)
	agent := definition.Version{Agent: definition.Agent{Budgets: definition.Budgets{StepsPerTurn: 40, Calls: 50, Tokens: 120_000, CostMicros: 1_000_000}}}
	p := tl.r.sessionPart(v, agent, tl, nil)
	p.Events = tl.list()
	p.Filters, p.Looks = tl.r.filters(p, tl.rows), tl.r.looks(p)
	return tl, p
}

func (s sample) sessionPage(p t.Session) t.SessionPage {
	f := s.frame(t.SectionSessions, p.Title)
	f.Back = "/sessions"
	return t.SessionPage{Frame: f, Session: p}
}

func (s sample) session(ctx context.Context, technical bool) t.SessionPage {
	w := s.story()
	s.waits(w)
	open := 0
	if technical {
		open = 4
	}
	_, p := s.told(ctx, w, s.sessionRow(sessions.Waiting), technical, open)
	p.Now = []t.Now{{Tone: "human", Icon: "hand", Title: s.say("Waiting for a person", "等待人工处理"), Text: s.say("Refund of €1,284.00 is above the agent’s limit of €500.00.", "€1,284.00 的退款超过智能体 €500.00 的上限。"), URL: "/inbox/esc_1", Link: s.say("Answer ESC-1042", "回答 ESC-1042")}}
	return s.sessionPage(p)
}

func (s sample) runningSession(ctx context.Context) t.SessionPage {
	w := newStory(sampleTime.Add(-12 * time.Second))
	w.asks(900*time.Millisecond, s.say("I look for both.", "同时查找两者。"), call("ledger.find_payments", `{"order": "48-2217"}`), call("orders.get", `{"order": "48-2217"}`), call("disputes.search", `{"customer": "Lindqvist AB"}`))
	w.ends(2, 300*time.Millisecond, good(`{"status": 200}`))
	w.pass(2700 * time.Millisecond)
	w.retries(3, tools.Attempt{N: 1, DurationMS: 3000, ErrorType: tools.Timeout}, 30_000)
	w.loops(tools.RuleRepeating, tools.RungRest, 1, 2)
	v := s.sessionRow(sessions.Running)
	v.OpenQuestions, v.Calls, v.Tokens = 0, 48, 117_000
	_, p := s.told(ctx, w, v, true, 0)
	return s.sessionPage(p)
}

func (s sample) endedSession(ctx context.Context) t.SessionPage {
	w := s.story()
	w.add(sessions.SessionEnded, 0, map[string]any{"status": sessions.Completed, "outcome": sessions.Unverified})
	_, p := s.told(ctx, w, s.sessionRow(sessions.Waiting), true, 8)
	p.State, p.Now, p.Controls = s.state("completed"), nil, t.Controls{}
	p.Earlier = "/sessions/ses_1?before=40"
	p.Summary = i18n.T(ctx, "session.not_all", "from", "9,501", "to", "10,003", "all", "10,003", "calls", "4,213", "failed", "12")
	p.Result = &t.Result{
		Tone: "warn", Icon: "triangle-alert", Title: s.say("Completed, not verified", "已完成，未经核实"), Unverified: true,
		Summary:    s.say("The duplicate payment of €1,284.00 was paid back to the card ending 4417.", "重复支付的 €1,284.00 已退回尾号 4417 的卡。"),
		Unresolved: []string{s.say("The customer has not confirmed yet.", "客户尚未确认。")},
	}
	return s.sessionPage(p)
}

func (s sample) callPage(ctx context.Context) t.CallPage {
	tl, p := s.told(ctx, s.story(), s.sessionRow(sessions.Waiting), false, 1)
	f := s.frame(t.SectionSessions, p.Title)
	f.Back = "/sessions/ses_1#call-1"
	return t.CallPage{Frame: f, Event: tl.at[1].Event}
}

func (s sample) output(ctx context.Context) t.OutputPage {
	f := s.frame(t.SectionSessions, i18n.T(ctx, "call.output_of", "call", "1"))
	f.Back = "/sessions/ses_1/calls/1"
	text := ""
	for i := range 200 {
		text += fmt.Sprintf("2026-11-28 12:%02d:%02d payment pay_%d settled, %d.00 EUR <b>not markup</b>\n", i/60, i%60, 77000+i, i)
	}
	return t.OutputPage{Frame: f, Lines: i18n.T(ctx, "call.output_lines", "from", "1", "to", "200"), Text: text, Next: "/sessions/ses_1/calls/1/output?offset=200"}
}

func (s sample) prompt(ctx context.Context) t.PromptPage {
	f := s.frame(t.SectionSessions, i18n.T(ctx, "prompt.title"))
	f.Back = "/sessions/ses_1"
	text := "You work inside a harness.\n\n# Results\n\n" + strings.Repeat("- `error`: nothing was returned. `error_type` and `message` say what happened, `causes` why.\n", 12) + "\n# Your work\n\nYou settle refunds <b>not markup</b>.\n"
	return t.PromptPage{Frame: f, Text: text, Of: i18n.T(ctx, "prompt.of", "contract", "2", "agent", "refunds-desk", "version", "3")}
}
