package web

import (
	"context"
	"fmt"
	"time"

	"github.com/a-h/templ"

	"baton/internal/i18n"
	t "baton/templates"
)

// sampleTime is the moment at which every sample is looked at.
var sampleTime = time.Now().Truncate(time.Minute)

// sample makes the pages that the gallery shows, in the reader's language: what
// agents wrote is in it too, as it would be.
type sample struct{ zh bool }

func (s sample) say(en, zh string) string {
	if s.zh {
		return zh
	}
	return en
}

func (s sample) lang() string { return s.say("en", "zh-Hans") }

func (s sample) frame(section t.Section, title string) t.Frame {
	return t.Frame{
		Title: title, Section: section, Sections: []t.Section{t.SectionInbox, t.SectionSessions, t.SectionDecisions},
		Me: &t.Me{Name: s.say("Mara Okafor", "陈美琪")}, Waiting: 4, Path: "/inbox", Now: sampleTime,
	}
}

func (s sample) queue(current int) t.Queue {
	item := func(n int, kind t.Kind, en, zh, agentEN, agentZH string, due time.Duration, read bool) t.QueueItem {
		return t.QueueItem{
			URL: "/inbox/esc_1", Kind: kind, Title: s.say(en, zh), Lang: s.lang(), Agent: s.say(agentEN, agentZH),
			Reason: s.say("Your team", "你的团队"), Due: sampleTime.Add(due), Read: read, Current: n == current,
		}
	}
	return t.Queue{
		Views: []t.View{
			{Label: s.say("Mine", "我的"), Count: 4, URL: "/inbox", Current: true},
			{Label: s.say("Going out", "即将发出"), Count: 1, URL: "/inbox?view=going-out"},
			{Label: s.say("Done", "已完成"), URL: "/inbox?view=done"},
		},
		Groups: []t.QueueGroup{
			{Title: s.say("Overdue", "已逾期"), Items: []t.QueueItem{
				item(0, t.KindFailed, "Supplier portal rejected our login three times", "供应商门户连续三次拒绝登录", "Procurement", "采购", -32*time.Minute, false),
			}},
			{Title: s.say("Due today", "今天到期"), Items: []t.QueueItem{
				item(1, t.KindOptions, "Refund for order 48-2217 is above the agent’s limit", "订单 48-2217 的退款超出智能体的额度", "Refunds desk", "退款专员", 108*time.Minute, false),
				item(2, t.KindApproval, "Send the price-change email to 1,840 customers?", "向 1,840 位客户发送调价邮件？", "Outreach", "客户触达", 5*time.Hour, false),
			}},
			{Title: s.say("Later", "稍后"), Items: []t.QueueItem{
				item(3, t.KindOptions, "Carrier offers a partial claim. Accept or dispute?", "承运商只愿部分赔付，接受还是申诉？", "Claims", "理赔", 26*time.Hour, true),
				item(4, t.KindInput, "Which of the two VAT numbers is right?", "两个税号哪个正确？", "Billing clean-up", "账单清理", 49*time.Hour, true),
				item(5, t.KindCompleted, "Month-end reconciliation is done", "月末对账已完成", "Ledger", "账务", 70*time.Hour, true),
			}},
		},
	}
}

func (s sample) question() t.Question {
	return t.Question{
		ID: "esc_1", Number: 1042, Version: 3, Kind: t.KindOptions, Status: t.StatusPending, Lang: s.lang(),
		Title:   s.say("Refund for order 48-2217 is above the agent’s limit", "订单 48-2217 的退款超出智能体的额度"),
		Agent:   s.say("Refunds desk", "退款专员"),
		Due:     sampleTime.Add(108 * time.Minute),
		Problem: s.say("Customer Lindqvist AB paid €1,284.00 twice on 28 November. The duplicate is confirmed in the ledger, but I may refund at most €500.00 on my own.", "客户 Lindqvist AB 在 11 月 28 日重复支付了 €1,284.00。账目已确认重复，但我单独退款的上限为 €500.00。"),
		Ask:     s.say("How should the duplicate payment be settled?", "重复的付款应如何处理？"),
		Done: []t.Step{
			{Text: s.say("Found both payments in the ledger", "在账目中找到两笔付款"), URL: "/sessions/ses_1#step-2"},
			{Text: s.say("Matched them to one order", "确认属于同一订单"), URL: "/sessions/ses_1#step-3"},
			{Text: s.say("Checked for an open dispute: none", "检查争议：没有"), URL: "/sessions/ses_1#step-5"},
		},
		Failed: []t.Step{
			{Text: s.say("Refund call was refused: limit is €500.00", "退款被拒：上限 €500.00"), URL: "/sessions/ses_1#step-9"},
			{Text: s.say("Card network lookup timed out", "卡组织查询超时"), URL: "/sessions/ses_1#step-6"},
		},
		Tried: []t.Step{
			{Text: s.say("Refund, twice, then the circuit stopped it", "退款 2 次后被熔断器停止")},
			{Text: s.say("Card lookup, 4 times over 15 s", "卡查询 4 次，共 15 秒")},
		},
		Facts: []t.Fact{
			{Label: s.say("Paid twice", "重复支付"), Value: "€1,284.00", URL: "/sessions/ses_1#step-2"},
			{Label: s.say("Agent’s limit", "智能体上限"), Value: "€500.00"},
			{Label: s.say("Customer since", "客户起始"), Value: s.say("March 2021", "2021 年 3 月")},
			{Label: s.say("Open disputes", "未决争议"), Value: s.say("none", "无")},
		},
		Options: []t.Option{
			{
				ID: "refund_full", Letter: "A", Label: s.say("Refund €1,284.00 to the original card", "将 €1,284.00 退回原卡"),
				Says: s.say("I send the refund and confirm it to the customer.", "我会完成退款并告知客户。"),
				Action: &t.Action{
					Sentence: s.say("Refund €1,284.00 for payment pay_77120 to the card ending 4417", "将付款 pay_77120 的 €1,284.00 退回尾号 4417 的卡"), Tool: "payments.refund",
					Arguments: []t.Argument{{Name: "payment", Value: "pay_77120"}, {Name: "amount", Value: "1284.00"}, {Name: "currency", Value: "EUR"}, {Name: "card", Hidden: true}},
				},
				Recommended: true, Reason: s.say("The ledger proves the duplicate and there is no dispute. Customers who were paid back in full on the same day did not complain.", "账目证明了重复，且没有争议。当天全额退款的客户没有投诉。"),
				Chips: []t.Chip{
					{Icon: "history", Text: s.say("Chosen in 4 of 5 similar cases; went well in 3 of 3", "5 个类似案例中 4 个选了它；已知的 3 个中 3 个顺利"), Tone: "human"},
					{Icon: "triangle-alert", Text: s.say("Can’t be undone", "无法撤销"), Tone: "warn"},
					{Icon: "coins", Text: "€1,284.00"},
				},
				Confirm: s.say("Refund €1,284.00 to the card ending 4417? This can’t be undone.", "将 €1,284.00 退回尾号 4417 的卡？此操作无法撤销。"),
			},
			{
				ID: "refund_part", Letter: "B", Label: s.say("Refund €500.00 now, send the rest to finance", "先退 €500.00，其余交给财务"),
				Says:  s.say("Finance gets a task for €784.00; the customer waits 2 to 3 working days.", "财务会收到 €784.00 的任务，客户需等 2 至 3 个工作日。"),
				Chips: []t.Chip{{Icon: "bot", Text: s.say("The agent goes on from there", "智能体据此继续")}},
			},
			{
				ID: "hand_over", Letter: "C", Label: s.say("Do not refund. Hand the case to a person", "不退款，转给人工"),
				Says:  s.say("I stop here, keep my notes and tell the customer that a person will call.", "我在此停止，保留记录，并告知客户会有人联系。"),
				Chips: []t.Chip{{Icon: "ban", Text: s.say("Ends this session", "结束本会话")}},
			},
		},
		Other: true, MayAnswer: true,
		Similar: t.Similar{
			Summary: s.say("4 of the last 5 were refunded in full; none was reversed later.", "最近 5 个中有 4 个全额退款，之后都没有被撤销。"),
			URL:     "/decisions?like=esc_1",
			Cases: []t.SimilarCase{
				{URL: "/decisions/dec_1", Letter: "A", Label: s.say("Refund in full", "全额退款"), Title: s.say("Duplicate card charge, €860.00", "重复刷卡 €860.00"), Quote: s.say("Ledger is clear, pay it back.", "账目清楚，退吧。"), Who: "Dana", At: sampleTime.Add(-72 * time.Hour)},
				{URL: "/decisions/dec_2", Letter: "B", Label: s.say("Part now, rest to finance", "先退部分，其余交财务"), Title: s.say("Duplicate transfer, €2,410.00", "重复转账 €2,410.00"), Quote: s.say("Over 2,000 goes through finance.", "超过 2,000 要走财务。"), Who: "Mara", At: sampleTime.Add(-18 * 24 * time.Hour)},
			},
		},
		Session: &t.SessionBrief{
			URL: "/sessions/ses_1", Steps: s.say("12 of 40 steps", "第 12 / 40 步"), Moments: s.moments(),
			Facts: []t.Pair{{Name: s.say("Customer", "客户"), Value: "Lindqvist AB"}, {Name: s.say("Orders", "订单"), Value: "214"}, {Name: s.say("Earlier refunds", "此前退款"), Value: "2"}},
		},
	}
}

func (s sample) moments() []t.Moment {
	at := func(d time.Duration) time.Time { return sampleTime.Add(d - 10*time.Minute) }
	return []t.Moment{
		{Tone: "agent", Icon: "brain", Text: s.say("Read the request", "读取请求"), At: at(0)},
		{Tone: "ok", Icon: "check", Text: s.say("Looked for the payments", "查找付款"), Detail: s.say("2 payments of €1,284.00", "两笔 €1,284.00 付款"), Took: 400 * time.Millisecond},
		{Tone: "ok", Icon: "check", Text: s.say("Looked up the order", "查询订单"), Detail: s.say("One order, already delivered", "一个订单，已送达"), Took: 200 * time.Millisecond},
		{Tone: "bad", Icon: "x", Text: s.say("Asked the card network", "查询卡组织"), Detail: s.say("No answer in time, 4 attempts", "未及时回应，尝试 4 次"), Took: 15200 * time.Millisecond},
		{Tone: "bad", Icon: "x", Text: s.say("Tried to refund", "尝试退款"), Detail: s.say("Refused twice: over the limit of €500.00", "被拒 2 次：超过 €500.00 上限"), Took: 300 * time.Millisecond},
		{Tone: "human", Icon: "hand", Text: s.say("Handed to a person", "转交人工"), Detail: s.say("Waiting for an answer. Nothing runs meanwhile.", "等待回答，期间不会执行任何操作。"), At: at(9 * time.Minute)},
	}
}

func (s sample) answer(mine bool) *t.Answer {
	return &t.Answer{
		Letter: "A", OptionID: "refund_full", Label: s.say("Refund €1,284.00 to the original card", "将 €1,284.00 退回原卡"),
		Message: s.say("Please mention the order number in the mail.", "请在邮件中写明订单号。"), Who: "Dana Lee", Mine: mine,
		At: sampleTime.Add(-20 * time.Second), HeldUntil: sampleTime.Add(time.Hour), URL: "/decisions/dec_9",
	}
}

func (s sample) page(change func(*t.Question)) t.QuestionPage {
	q := s.question()
	if change != nil {
		change(&q)
	}
	return t.QuestionPage{
		Frame: s.questionFrame(q), Queue: s.queue(1), Question: q, Position: 2, Of: 4, Previous: "/inbox/esc_0", Next: "/inbox/esc_2",
	}
}

func (s sample) questionFrame(q t.Question) t.Frame {
	f := s.frame(t.SectionInbox, q.Title)
	f.Back = "/inbox"
	return f
}

// gallery names every state that is to be looked at.
func (s sample) gallery(ctx context.Context) map[string]templ.Component {
	question := func(change func(*t.Question)) templ.Component { return t.QuestionDetail(s.page(change)) }
	confirm := s.question()
	toast := s.page(nil)
	for n, what := range []string{s.say("B, Part now, rest to finance", "B，先退部分，其余交财务"), s.say("approved", "已批准")} {
		number := fmt.Sprintf("ESC-%d", 1041-n)
		toast.Toasts = append(toast.Toasts, t.Toast{Text: i18n.T(ctx, "toast.held", "what", what, "number", number, "s", t.SecondsLeft()), Number: number, URL: "/inbox/esc_0", UndoURL: "/inbox/esc_0/undo", Until: time.Now().Add(time.Hour), Key: n == 0})
	}
	toast.Toasts = append(toast.Toasts, t.Toast{Text: i18n.T(ctx, "toast.answered", "what", "A", "number", "ESC-1039"), Number: "ESC-1039", URL: "/inbox/esc_0"})
	empty := t.InboxPage{Frame: s.frame(t.SectionInbox, i18n.T(ctx, "inbox.title")), Queue: t.Queue{Views: s.queue(0).Views},
		Day: []string{i18n.T(ctx, "inbox.day_sessions", "done", 41, "n", 46), i18n.T(ctx, "inbox.day_answers", "n", 12)}}
	empty.Waiting = 0
	return map[string]templ.Component{
		"inbox":          t.Inbox(t.InboxPage{Frame: s.frame(t.SectionInbox, i18n.T(ctx, "inbox.title")), Queue: s.queue(-1)}),
		"inbox-nothing":  t.Inbox(empty),
		"question":       question(nil),
		"question-toast": t.QuestionDetail(toast),
		"question-late": question(func(q *t.Question) {
			q.Due = sampleTime.Add(-32 * time.Minute)
			q.Similar = t.Similar{}
			q.Done, q.Other, q.Session = nil, false, nil
			q.Tables = []t.Table{{
				Title: s.say("The two records of Lindqvist", "Lindqvist 的两条记录"), Columns: []string{"", "C-114", "C-209"},
				Rows: [][]t.Cell{
					{{Text: s.say("VAT number", "税号")}, {Text: "SE556677889901", Differs: true}, {Text: "SE556677889909", Differs: true}},
					{{Text: s.say("Address", "地址")}, {Text: "Storgatan 4"}, {Text: "Storgatan 4"}},
				},
			}}
		}),
		"question-held": question(func(q *t.Question) { q.Status, q.Decision = t.StatusHeld, s.answer(true) }),
		"question-applied": question(func(q *t.Question) {
			q.Status, q.Decision = t.StatusApplied, s.answer(false)
		}),
		"question-failed":    question(func(q *t.Question) { q.Status, q.Decision = t.StatusFailed, s.answer(false) }),
		"question-withdrawn": question(func(q *t.Question) { q.Status, q.Ended = t.StatusWithdrawn, s.ended() }),
		"question-expired":   question(func(q *t.Question) { q.Status, q.Ended = t.StatusExpired, s.ended() }),
		"question-read-only": question(func(q *t.Question) {
			q.MayAnswer, q.WhoMay = false, s.say("You are a viewer of this team. Ask Mara Okafor to answer it, or to make you a responder.", "你在该团队中是查看者。请让 Mara Okafor 来回答，或请其将你设为应答者。")
		}),
		"question-conflict": question(func(q *t.Question) {
			q.Status, q.Decision = t.StatusAnswered, s.answer(false)
			q.Conflict = &t.Conflict{Who: "Dana Lee", Letter: "A", Label: q.Options[0].Label, Message: s.say("Please mention the order number.", "请写明订单号。"), At: sampleTime.Add(-20 * time.Second)}
			q.Draft = t.Draft{Option: "refund_part", Message: s.say("Let finance look at the rest.", "其余请财务看一下。")}
		}),
		"question-changed": question(func(q *t.Question) {
			q.Conflict = &t.Conflict{}
			q.Draft = t.Draft{Option: "refund_part", Message: s.say("Let finance look at the rest.", "其余请财务看一下。")}
		}),
		"question-approval": question(s.approval),
		"question-input":    question(s.input),
		"question-notice":   question(s.notice),
		"question-refused": question(func(q *t.Question) {
			s.approval(q)
			q.Draft = t.Draft{Option: "edit", Chosen: true}
			q.Refused = &t.Refused{Problem: i18n.Problem{What: i18n.T(ctx, "problem.edited_args_invalid.what", "tool", "payments.refund"), Why: i18n.T(ctx, "problem.edited_args_invalid.why"), Do: i18n.T(ctx, "problem.edited_args_invalid.do")},
				Fields: []t.Pair{{Name: "amount", Value: i18n.T(ctx, "field.needs_number")}}}
		}),
		"confirm":  t.Confirm(t.ConfirmPage{Frame: s.questionFrame(confirm), Question: confirm, Option: confirm.Options[0], Message: "x"}),
		"sessions": t.Sessions(s.sessions(ctx)),
		"sessions-free": t.Sessions(func() t.SessionsPage {
			p := s.sessions(ctx)
			for i := range p.Rows {
				p.Rows[i].Cost, p.Rows[i].Free = "$0.00", true
			}
			return p
		}()),
		"sessions-nothing": t.Sessions(t.SessionsPage{Frame: s.frame(t.SectionSessions, i18n.T(ctx, "sessions.title"))}),
		"session":          t.SessionDetail(s.session(ctx, false)),
		"session-chart":    t.SessionDetail(s.session(ctx, true)),
		"session-running":  t.SessionDetail(s.runningSession(ctx)),
		"session-ended":    t.SessionDetail(s.endedSession(ctx)),
		"call":             t.CallView(s.callPage(ctx)),
		"output":           t.OutputView(s.output(ctx)),
		"prompt":           t.PromptView(s.prompt(ctx)),
		"error": t.Error(t.ErrorPage{Frame: s.frame("", i18n.T(ctx, "problem.internal.what")), Status: 500, Reference: "K4Q7X2M9PAZB",
			Problem: i18n.Problem{What: i18n.T(ctx, "problem.internal.what"), Why: i18n.T(ctx, "problem.internal.why"), Do: i18n.T(ctx, "problem.internal.do")}}),
		"search":            t.Palette(s.finds(ctx, s.say("order", "订单"))),
		"search-nothing":    t.Palette(t.PalettePage{Frame: s.frame("", i18n.T(ctx, "palette.title")), Query: "xyzzy"}),
		"decisions":         t.Decisions(s.decisions(ctx)),
		"decisions-nothing": t.Decisions(t.DecisionsPage{Frame: s.frame(t.SectionDecisions, i18n.T(ctx, "decisions.title"))}),
		"decision":          t.DecisionDetail(s.decision()),
	}
}

// approval makes the question one about a call that is held back.
func (s sample) approval(q *t.Question) {
	call := q.Options[0]
	q.Kind, q.Similar, q.Other, q.Facts = t.KindApproval, t.Similar{}, false, nil
	q.Ask = s.say("May this be done?", "是否允许这样做？")
	q.Options = []t.Option{
		{ID: t.ApproveAnswer, Letter: "A", Label: s.say("Approve it: do exactly this", "批准：完全照此执行"), Action: call.Action, Chips: call.Chips[1:2], Confirm: call.Confirm},
		{ID: t.EditAnswer, Letter: "B", Label: s.say("Approve it with changes", "修改后批准"), Then: s.say("It is run with the values that you put in here, once.", "将按你在此填写的值执行一次。"), Fields: []t.Field{
			{Name: "arg.payment", Label: "payment", Kind: t.FieldText, Value: "pay_77120", Required: true},
			{Name: "arg.amount", Label: "amount", Kind: t.FieldNumber, Value: "1284.00", Required: true},
			{Name: "arg.notify", Label: "notify", Kind: t.FieldChoice, Value: "true", Choices: []t.Choice{{Value: "true", Label: s.say("Yes", "是")}, {Value: "false", Label: s.say("No", "否")}}},
			{Name: "arg.lines", Label: "lines", Kind: t.FieldLong, Value: "[\n  1\n]"},
		}},
		{ID: t.RejectAnswer, Letter: "C", Label: s.say("Refuse it", "拒绝"), Then: s.say("Nothing is run. The agent is told, together with your note.", "不会执行任何操作。智能体会得知此事和你的留言。")},
	}
}

// input makes the question a form.
func (s sample) input(q *t.Question) {
	q.Kind, q.Similar, q.Other, q.Options, q.Facts = t.KindInput, t.Similar{}, false, nil, nil
	q.Ask = s.say("Which VAT number is right?", "哪个税号正确？")
	q.Form = []t.Field{
		{Name: "value.vat", Label: s.say("VAT number", "税号"), Help: s.say("As on the last invoice", "以最近的发票为准"), Kind: t.FieldText, Required: true},
		{Name: "value.since", Label: s.say("Valid since", "生效日期"), Kind: t.FieldDate},
		{Name: "value.rate", Label: s.say("Rate in percent", "税率（%）"), Kind: t.FieldNumber},
		{Name: "value.country", Label: s.say("Country", "国家"), Kind: t.FieldChoice, Choices: []t.Choice{{Label: s.say("Choose", "请选择")}, {Value: "\"SE\"", Label: "SE"}}},
	}
}

// notice makes the question one that is only to be noted.
func (s sample) notice(q *t.Question) {
	q.Kind, q.Similar, q.Other, q.Options, q.Facts, q.Failed, q.Tried = t.KindCompleted, t.Similar{}, false, nil, nil, nil, nil
	q.Title, q.Ask = s.say("Month-end reconciliation is done", "月末对账已完成"), ""
}

func (s sample) ended() *t.Ended {
	return &t.Ended{At: sampleTime.Add(-time.Hour), Why: s.say("The session that asked has ended.", "提问的会话已经结束。")}
}

func (s sample) state(name string) t.Chip {
	switch name {
	case "waiting":
		return t.Chip{Icon: "hand", Text: s.say("Waiting for a person", "等待人工处理"), Tone: "human"}
	case "running":
		return t.Chip{Icon: "circle-dot", Text: s.say("Running", "运行中"), Tone: "agent"}
	case "failed":
		return t.Chip{Icon: "circle-x", Text: s.say("Failed", "失败"), Tone: "bad"}
	default:
		return t.Chip{Icon: "circle-check", Text: s.say("Completed", "已完成"), Tone: "ok"}
	}
}

func (s sample) sessions(ctx context.Context) t.SessionsPage {
	steps := func(used, limit string, share float64) t.Meter {
		return t.Meter{Used: used, Limit: limit, Share: share}
	}
	return t.SessionsPage{
		Frame: s.frame(t.SectionSessions, i18n.T(ctx, "sessions.title")),
		Views: []t.View{{Label: s.say("All", "全部"), URL: "/sessions", Current: true}, {Label: s.say("Running", "运行中"), Count: 1, URL: "/sessions?status=running"}, {Label: s.say("Waiting for a person", "等待人工处理"), Count: 1, URL: "/sessions?status=waiting"}},
		Rows: []t.SessionRow{
			{ID: "ses_1", State: s.state("waiting"), Title: s.say("Duplicate payment, order 48-2217", "重复付款，订单 48-2217"), Agent: s.say("Refunds desk", "退款专员"), Doing: s.say("Refund is above the limit", "退款超出额度"), Calls: steps("12", "40", .3), Cost: "$0.84", Started: sampleTime.Add(-10 * time.Minute), Took: 10 * time.Minute},
			{ID: "ses_2", State: s.state("running"), Title: s.say("Chase invoice 90017", "催收发票 90017"), Agent: s.say("Accounts payable", "应付账款"), Running: true, Doing: s.say("Looking up the purchase order", "查询采购单"), Problems: []t.Chip{{Icon: "repeat", Tone: "warn", Text: s.say("2 repeats", "重试 2 次")}}, Calls: steps("35", "40", .875), Cost: "$0.12", Started: sampleTime.Add(-time.Minute), Took: time.Minute},
			{ID: "ses_3", State: s.state("failed"), Title: s.say("Sync the parts catalogue", "同步零件目录"), Agent: s.say("Catalogue sync", "目录同步"), Problems: []t.Chip{{Icon: "circle-x", Tone: "bad", Text: s.say("3 failed", "3 次失败")}, {Icon: "octagon-alert", Tone: "warn", Text: s.say("1 held back", "拦下 1 次")}}, Calls: steps("40", "40", 1), Cost: "$1.00", Started: sampleTime.Add(-26 * time.Hour), Took: 9 * time.Minute},
			{ID: "ses_4", State: s.state("completed"), Title: s.say("Address change for customer 114", "客户 114 更改地址"), Agent: s.say("Account care", "账户维护"), Calls: steps("6", "40", .15), Cost: "$0.02", Started: sampleTime.Add(-30 * time.Hour), Took: 42 * time.Second},
		},
		More: "/sessions?cursor=x",
	}
}

// finds are what a search for a word finds.
func (s sample) finds(ctx context.Context, query string) t.PalettePage {
	return t.PalettePage{Frame: s.frame("", i18n.T(ctx, "palette.title")), Query: query, Groups: []t.PaletteGroup{
		{Title: i18n.T(ctx, "inbox.queue"), Finds: []t.Find{
			{URL: "/inbox/esc_1", Icon: "hand", Tone: "is-human", Title: s.say("Refund for order 48-2217 is above the agent’s limit", "订单 48-2217 的退款超出智能体的额度"), Lang: s.lang(), Detail: "ESC-1042 · " + s.say("Refunds desk", "退款专员")},
		}},
		{Title: i18n.T(ctx, "nav.sessions"), Finds: []t.Find{
			{URL: "/sessions/ses_1", Icon: "hand", Tone: "is-human", Title: s.say("Duplicate payment, order 48-2217", "重复付款，订单 48-2217"), Detail: s.say("Refunds desk · Waiting for a person", "退款专员 · 等待人工处理")},
		}},
		{Title: i18n.T(ctx, "nav.decisions"), Finds: []t.Find{
			{URL: "/decisions/dec_1", Icon: "history", Title: s.say("Order 48-1120 was charged twice", "订单 48-1120 被重复扣款"), Detail: s.say("A · Refund in full · Dana Lee", "A · 全额退款 · Dana Lee")},
		}},
	}}
}

func (s sample) decisions(ctx context.Context) t.DecisionsPage {
	return t.DecisionsPage{
		Frame: s.frame(t.SectionDecisions, i18n.T(ctx, "decisions.title")),
		Rows: []t.DecisionRow{
			{URL: "/decisions/dec_1", Title: s.say("Duplicate card charge, €860.00", "重复刷卡 €860.00"), Agent: s.say("Refunds desk", "退款专员"), Letter: "A", Label: s.say("Refund in full", "全额退款"), Who: "Dana Lee", Message: s.say("Ledger is clear, pay it back.", "账目清楚，退吧。"), Outcome: t.Chip{Icon: "circle-check", Text: s.say("Went well", "顺利"), Tone: "ok"}, At: sampleTime.Add(-3 * time.Hour), Took: 14 * time.Second},
			{URL: "/decisions/dec_2", Title: s.say("Duplicate transfer, €2,410.00", "重复转账 €2,410.00"), Agent: s.say("Refunds desk", "退款专员"), Letter: "B", Label: s.say("Part now, rest to finance", "先退部分，其余交财务"), Who: "Mara Okafor", At: sampleTime.Add(-50 * time.Hour), Took: 6 * time.Minute},
			{URL: "/decisions/dec_3", Title: s.say("Duplicate card charge, €41.00", "重复刷卡 €41.00"), Agent: s.say("Refunds desk", "退款专员"), Letter: "A", Label: s.say("Refund in full", "全额退款"), Who: s.say("Small duplicates", "小额重复扣款"), Icon: "repeat", Outcome: t.Chip{Icon: "undo-2", Text: s.say("Reversed", "已撤销"), Tone: "bad"}, At: sampleTime.Add(-90 * time.Hour), Took: time.Second},
		},
		More: "/decisions?cursor=x",
	}
}

func (s sample) decision() t.DecisionPage {
	q := s.question()
	q.Status, q.Decision = t.StatusApplied, s.answer(false)
	q.Decision.URL, q.Similar = "", t.Similar{}
	f := s.frame(t.SectionDecisions, q.Title)
	f.Back = "/decisions"
	return t.DecisionPage{
		Frame: f, Question: q,
		Facts:   []t.Pair{{Name: s.say("By", "决定者"), Value: "Dana Lee"}, {Name: s.say("Role", "角色"), Value: s.say("Responder", "应答者")}, {Name: s.say("Through", "途径"), Value: s.say("Browser", "浏览器")}, {Name: s.say("Time to answer", "回答用时"), Value: "14 s"}, {Name: s.say("Recommended", "推荐"), Value: s.say("A, followed", "A，已采纳")}},
		Outcome: t.Chip{Icon: "circle-check", Text: s.say("Went well", "顺利"), Tone: "ok"},
	}
}
