package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"baton/internal/definition"
	"baton/internal/id"
	"baton/internal/llm"
	"baton/internal/mail"
	"baton/internal/permission"
	"baton/internal/redact"
	"baton/internal/safehttp"
	"baton/internal/tools"
	"baton/internal/tools/builtin"
	"baton/internal/tools/httpcall"
)

// floor is where an agent works: the real tools, through the harness's own
// Prepare and Execute, with a person who answers at once. What the loop does
// itself (ask, finish, read on) is done here.
type floor struct {
	t      *testing.T
	agent  string
	facts  tools.Facts
	run    tools.Runner
	choose string // option id of the answer
	words  string
	expire bool                                    // nobody answers
	reject bool                                    // what waits for approval is refused
	before func(tool string, n int) *tools.Failure // instead of the n-th call of a tool, from 1

	asked    []map[string]any
	calls    []string
	approved []string // tool calls that a person agreed to
	measures []string // against loops
	loops    tools.Loops
	results  []llm.Message
	kept     map[string]string
	counts   map[string]int
}

// as opens a pool of a role, as the agents' tools have it.
func as(t *testing.T, url, role string) *pgxpool.Pool {
	t.Helper()
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	c.MaxConns = 4
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "set role "+role)
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func newFloor(t *testing.T, db *pgxpool.Pool, url, agent string) *floor {
	t.Helper()
	portal, err := NewPortal(db).Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	carrier, err := NewCarrier(db).Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mailAddr, _, err := new(MailCatcher).Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sender, err := mail.New(mailAddr, MailFrom)
	if err != nil {
		t.Fatal(err)
	}
	query, err := builtin.QueryDB(DataSource, as(t, url, ReaderRole))
	if err != nil {
		t.Fatal(err)
	}
	prices, err := UpdatePrices(as(t, url, PricerRole))
	if err != nil {
		t.Fatal(err)
	}
	send, err := builtin.SendEmail(sender)
	if err != nil {
		t.Fatal(err)
	}
	client, err := httpcall.New([]httpcall.Host{
		{Host: safehttp.Host{Name: PortalHost, Address: portal, AllowPrivate: true}},
		{Host: safehttp.Host{Name: CarrierHost, Address: carrier, AllowPrivate: true}},
	}, httpcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	request, err := builtin.HTTPRequest(client)
	if err != nil {
		t.Fatal(err)
	}
	read := readOn{}
	registry, err := tools.NewRegistry(query, prices, send, request, read)
	if err != nil {
		t.Fatal(err)
	}
	red, err := redact.New(redact.Options{Key: []byte("k")})
	if err != nil {
		t.Fatal(err)
	}
	f := &floor{t: t, agent: agent, kept: map[string]string{}, counts: map[string]int{}}
	f.facts = tools.Facts{Tools: registry, Policy: policyOf(t, agent), Circuit: &tools.Circuit{}, Now: time.Now()}
	f.run = tools.Runner{Session: id.New[id.Session](), Tools: registry, Redactor: red, Retries: &tools.RetryBudgets{}, Stuck: &atomic.Int64{}, Log: slog.New(slog.DiscardHandler)}
	return f
}

// readOn stands for the loop's own read_output.
type readOn struct{}

func (readOn) Spec() tools.Spec {
	return tools.Spec{Name: "read_output", Schema: json.RawMessage(`{"type":"object"}`), Effect: tools.EffectRead, Always: true}
}
func (readOn) Run(context.Context, json.RawMessage) (tools.Output, error) { return tools.Output{}, nil }

func policyOf(t *testing.T, agent string) permission.Policy {
	t.Helper()
	return definitionOf(t, agent).Permission
}

func definitionOf(t *testing.T, agent string) definition.Agent {
	t.Helper()
	files, err := Agents()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name == agent+".yaml" {
			a, faults := definition.Parse(f, sampleKnown)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			return a
		}
	}
	t.Fatalf("no agent %s", agent)
	return definition.Agent{}
}

// play plays a session to its end. Each step is asked for twice: the playbook
// keeps nothing, so both replies are the same.
func (f *floor) play(s Session) (finish map[string]any) {
	f.t.Helper()
	book := playbook(f.t, f.agent)
	req := llm.Request{Messages: []llm.Message{{Role: llm.RoleTask, Text: s.Task, Inputs: s.Inputs}}}
	for n := 0; len(f.calls) < 60; {
		f.facts.Step++
		reply, err := book.Next(f.t.Context(), req)
		if err != nil {
			f.t.Fatalf("after %q: %v", f.calls, err)
		}
		if again, err := book.Next(f.t.Context(), req); err != nil || fmt.Sprint(again) != fmt.Sprint(reply) {
			f.t.Fatalf("asked again it says %v, not %v (%v)", again, reply, err)
		}
		req.Messages = append(req.Messages, llm.Message{Role: llm.RoleAssistant, Text: reply.Text, Calls: reply.Calls})
		for _, call := range reply.Calls {
			n++
			f.calls = append(f.calls, call.Tool+" "+string(call.Args))
			var args map[string]any
			if err := json.Unmarshal(call.Args, &args); err != nil {
				f.t.Fatal(err)
			}
			if call.Tool == "finish" {
				if len(f.measures) > 0 && f.agent != "supplier-deliveries" {
					f.t.Errorf("the agent went round in circles: %v\n%s", f.measures, strings.Join(f.calls, "\n"))
				}
				f.checkFinish(args)
				return args
			}
			call.N = n
			result, decision := f.call(call, args)
			m := llm.Message{Role: llm.RoleResult, Result: &llm.Result{CallID: fmt.Sprintf("call_%d", n), Tool: call.Tool, Args: call.Args, Result: result}}
			f.results, req.Messages = append(f.results, m), append(req.Messages, m)
			if decision != nil {
				req.Messages = append(req.Messages, llm.Message{Role: llm.RoleDecision, Decision: decision})
			}
		}
		for _, m := range f.loops.Due(f.facts.Step) {
			f.loops.Take(m)
			f.measures = append(f.measures, string(m.Rule)+"/"+string(m.Rung))
			req.Messages = append(req.Messages, llm.Message{Role: llm.RoleNotice, Text: "You repeat yourself."})
		}
		f.facts.Rested = f.loops.Rested()
	}
	f.t.Fatalf("no end: %q", f.calls)
	return nil
}

func (f *floor) call(call tools.Call, args map[string]any) (tools.Result, *llm.Decision) {
	f.counts[call.Tool]++
	if f.before != nil {
		if failure := f.before(call.Tool, f.counts[call.Tool]); failure != nil {
			r := tools.Refuse(failure, tools.Meta{})
			f.facts.Circuit.Observe(tools.Observed{N: call.N, Step: f.facts.Step, Result: r})
			return r, nil
		}
	}
	switch call.Tool {
	case "ask_human":
		return f.ask(args)
	case "read_output":
		return f.readOn(args), nil
	}
	plan := tools.Prepare(call, f.facts)
	if plan.Verdict == tools.Awaiting {
		if f.reject {
			return tools.Refuse(tools.Fail(tools.PermissionDenied, "A person refused this call; it was not run.").With("message", f.words), tools.Meta{}), nil
		}
		f.approved = append(f.approved, call.Tool+" "+string(call.Args))
		f.facts.Approvals = append(f.facts.Approvals, tools.Approval{ID: "a", Digest: plan.Digest})
		plan = tools.Prepare(call, f.facts)
	}
	o := tools.Outcome{}
	if plan.Verdict == tools.Ended {
		o.Result = *plan.Result
	} else {
		o = f.run.Execute(f.t.Context(), plan)
	}
	f.kept[fmt.Sprintf("call_%d", call.N)] = o.Kept
	seen := tools.Observed{N: call.N, Step: f.facts.Step, Tool: call.Tool, Exact: plan.Exact, Loose: plan.Loose, Effect: plan.Effect, Result: o.Result}
	f.facts.Circuit.Observe(seen)
	f.loops.Observe(seen)
	return o.Result, nil
}

// ask is a person who chooses at once; the action of the option is approved.
func (f *floor) ask(args map[string]any) (tools.Result, *llm.Decision) {
	f.asked = append(f.asked, args)
	if f.expire {
		return f.ok(map[string]any{"status": "expired"}), nil
	}
	d := &llm.Decision{Type: "choose", OptionID: f.choose, Message: f.words, Question: args["question"].(string)}
	if f.choose == "" {
		d.Type = "respond"
	}
	for _, o := range args["options"].([]any) {
		o := o.(map[string]any)
		action, has := o["action"].(map[string]any)
		if o["id"] != f.choose || !has {
			continue
		}
		raw, err := json.Marshal(action["args"])
		if err != nil {
			f.t.Fatal(err)
		}
		plan := tools.Prepare(tools.Call{N: 999, Tool: action["tool"].(string), Args: raw}, f.facts)
		if plan.Digest == "" || plan.Verdict == tools.Ended {
			f.t.Errorf("the action of %s could not run: %s", f.choose, plan.Result.ForModel())
		}
		f.facts.Approvals = append(f.facts.Approvals, tools.Approval{ID: "b", Digest: plan.Digest})
	}
	f.facts.Circuit.PersonSpoke()
	f.loops.PersonSpoke()
	return f.ok(map[string]any{"option_id": f.choose}), d
}

func (f *floor) readOn(args map[string]any) tools.Result {
	lines := strings.Split(f.kept[args["call_id"].(string)], "\n")
	from := int(args["offset"].(float64))
	to := from + int(args["limit"].(float64))
	if from >= len(lines) {
		return tools.Refuse(tools.Fail(tools.NotFound, "That line is behind the last."), tools.Meta{})
	}
	return f.ok(strings.Join(lines[from:min(to, len(lines))], "\n"))
}

func (f *floor) ok(data any) tools.Result {
	raw, err := json.Marshal(data)
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := tools.Succeed(tools.Output{Data: raw}, tools.Meta{})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// checkFinish is what the loop checks: evidence exists, succeeded, and says what
// is quoted.
func (f *floor) checkFinish(args map[string]any) {
	f.t.Helper()
	list, _ := args["evidence"].([]any)
	if len(list) == 0 && args["status"] != "unable" {
		f.t.Errorf("no evidence: %v", args)
	}
	for _, e := range list {
		name, quote := "", ""
		switch e := e.(type) {
		case string:
			name = e
		case map[string]any:
			name, _ = e["call"].(string)
			quote, _ = e["quote"].(string)
		}
		found := false
		for _, m := range f.results {
			if m.Result.CallID == name {
				found = m.Result.Result.OK() && strings.Contains(m.Result.Result.ForModel(), quote)
			}
		}
		if !found {
			f.t.Errorf("evidence %v does not stand in the record", e)
		}
	}
	if args["status"] != "done" && args["unresolved"] == nil {
		f.t.Errorf("%s, but nothing is unresolved: %v", args["status"], args)
	}
}

// checkQuestion holds a question to what people can read in half a minute.
func (f *floor) checkQuestion() {
	f.t.Helper()
	if len(f.asked) != 1 {
		f.t.Fatalf("asked %d times\n%s", len(f.asked), strings.Join(f.calls, "\n"))
	}
	q := f.asked[0]
	for field, most := range map[string]int{"title": 90, "question": 160, "problem": 420, "reason": 160} {
		if text, _ := q[field].(string); text == "" || len(text) > most {
			f.t.Errorf("%s: %q", field, text)
		}
	}
	for _, o := range q["options"].([]any) {
		o := o.(map[string]any)
		if label := o["label"].(string); len(label) > 48 || o["consequence"] == "" || o["id"] == "" {
			f.t.Errorf("option %v", o)
		}
	}
	if q["recommended"] == "" || q["reason_code"] == "" || len(q["facts"].([]any)) == 0 {
		f.t.Errorf("question %v", q)
	}
}
