package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"baton/internal/definition"
	"baton/internal/escalation"
	"baton/internal/i18n"
	"baton/internal/id"
	keyset "baton/internal/page"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

const (
	eventsShown = 500 // of a session on a page; those before them on the page before
	briefEvents = 60  // looked at for what stands beside a question
	briefShown  = 9
)

// showSession shows a session: how it stands, and what happened in it, in
// sentences.
func (s *site) showSession(c echo.Context) error {
	name, err := sessionAt(c)
	if err != nil {
		return err
	}
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	v, err := s.Sessions.Get(r.ctx, r.actor, name)
	if err != nil {
		return err
	}
	agent, err := s.version(r.ctx, v.Agent)
	if err != nil {
		return err
	}
	before := v.LastSeq + 1
	if text := c.QueryParam("before"); text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return keyset.Invalid()
		}
	}
	open, _ := strconv.Atoi(c.QueryParam(callParameter)) // no number opens nothing
	events, err := s.timeline(r, v, agent, before, eventsShown, open)
	if err != nil {
		return err
	}
	questions, err := s.Escalations.ForSession(r.ctx, r.actor, v.ID)
	if err != nil {
		return err
	}
	f := s.frame(c, templates.SectionSessions, firstLine(v.Task, titleMost))
	f.Back = templates.SessionsURL
	p := templates.Session{
		ID: v.ID.String(), Title: f.Title, Agent: r.agent(v.Agent.Slug), State: r.sessionState(v),
		Scripted: strings.HasPrefix(v.Model, "scripted/"), Meters: r.meters(v, agent.Agent.Budgets, events.turnSteps),
		Events: events.list, Facts: r.sessionFacts(v, events.recovered), Now: r.sessionNow(v, questions), Result: r.result(v),
	}
	if strings.TrimSpace(v.Task) != p.Title {
		p.Task = v.Task
	}
	if first := before - eventsShown; first > 1 {
		p.Earlier = templates.SessionURL(p.ID) + "?" + url.Values{"before": {fmt.Sprint(first)}}.Encode()
	}
	if !v.Status.Ended() && r.mayControl(v.Team) && !v.CancelRequested {
		paused := v.Status == sessions.Paused || v.PauseRequested
		p.Controls = templates.Controls{Pause: !paused, Resume: paused, Cancel: true}
	}
	return page(c, http.StatusOK, templates.SessionDetail(templates.SessionPage{Frame: f, Session: p}))
}

// timeline reads and tells the events before a sequence number, at most limit
// of them.
func (s *site) timeline(r reader, v sessions.Session, agent definition.Version, before int64, limit, open int) (*timeline, error) {
	after := max(before-int64(limit)-1, 0)
	events, err := s.Sessions.Events(r.ctx, r.actor, v.ID, after, int(min(before-1-after, int64(limit))))
	if err != nil {
		return nil, err
	}
	t := newTimeline(r, v, s.describer(r, agent))
	t.lang = agent.Agent.Language
	t.open = open
	if first, last := callsWithoutPlan(events); first > 0 {
		earlier, err := s.Sessions.CallEvents(r.ctx, r.actor, v.ID, first, last)
		if err != nil {
			return nil, err
		}
		for _, e := range earlier {
			if err := t.remember(e); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range events {
		if err := t.tell(e); err != nil {
			return nil, fmt.Errorf("tell event %d of %s: %w", e.Seq, v.ID, err)
		}
	}
	return t, nil
}

// describer says what a call does, in its tool's words for people.
func (s *site) describer(r reader, agent definition.Version) func(tools.Call) (title, sentence string) {
	var registry *tools.Registry
	if s.Tools != nil {
		var err error
		if registry, err = s.Tools(agent); err != nil {
			s.Log.WarnContext(r.ctx, "tools have no words", "agent", agent.Slug, "version", agent.Number, "error", err)
		}
	}
	return func(c tools.Call) (title, sentence string) {
		if registry != nil {
			if _, spec, known := registry.Lookup(c.Tool); known {
				return spec.Describe(string(i18n.Of(r.ctx)), c.Args)
			}
		}
		return c.Tool, c.Tool
	}
}

// brief is a session beside its question, with its latest events.
func (s *site) brief(r reader, name id.Session) (*templates.SessionBrief, *timeline, error) {
	v, err := s.Sessions.Get(r.ctx, r.actor, name)
	if err != nil {
		return nil, nil, err
	}
	agent, err := s.version(r.ctx, v.Agent)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.timeline(r, v, agent, v.LastSeq+1, briefEvents, 0)
	if err != nil {
		return nil, nil, err
	}
	b := &templates.SessionBrief{URL: templates.SessionURL(v.ID.String()), Steps: r.say("session.steps_done", "n", v.Steps), Facts: r.sessionFacts(v, t.recovered)}
	for _, e := range t.list {
		if e.Said {
			continue // the agent's words stand on the session's page
		}
		m := templates.Moment{Tone: e.Tone, Icon: e.Icon, Text: e.Text, Detail: cut(e.Detail, 160), At: e.At, Took: e.Took}
		switch {
		case e.Fault != nil:
			m.Detail = e.Fault.What
		case e.Why != "":
			m.Detail = cut(e.Why, 160)
		case e.Tool != "":
			m.Detail = cut(e.Detail, 80)
		}
		b.Moments = append(b.Moments, m)
	}
	b.Moments = b.Moments[max(0, len(b.Moments)-briefShown):]
	return b, t, nil
}

func (r reader) meters(v sessions.Session, b definition.Budgets, turnSteps int) []templates.Meter {
	return []templates.Meter{
		r.meter("footprints", r.say("meter.steps"), int64(turnSteps), b.StepsPerTurn, r.number),
		r.meter("wrench", r.say("meter.calls"), int64(v.Calls), b.Calls, r.number),
		r.meter("hash", r.say("meter.tokens"), v.Tokens, b.Tokens, r.compact),
		r.meter("coins", r.say("meter.cost"), v.CostMicros, b.CostMicros, r.money),
		r.meter("timer", r.say("meter.time"), int64(time.Duration(v.WorkingMS)*time.Millisecond), int64(b.WorkingTime.Std()), r.span),
	}
}

func (r reader) sessionFacts(v sessions.Session, recovered int) []templates.Pair {
	facts := []templates.Pair{
		{Name: r.say("fact.agent"), Value: r.say("fact.agent_version", "agent", r.agent(v.Agent.Slug), "version", fmt.Sprint(v.Agent.Version))},
		{Name: r.say("fact.model"), Value: v.Model, Mono: true},
		{Name: r.say("fact.by"), Value: v.RequestedBy},
		{Name: r.say("fact.team"), Value: v.TeamSlug},
	}
	if recovered > 0 {
		facts = append(facts, templates.Pair{Name: r.say("fact.recovered"), Value: r.number(int64(recovered))})
	}
	return facts
}

// sessionNow is what a session does, or waits for.
func (r reader) sessionNow(v sessions.Session, questions []escalation.Escalation) []templates.Now {
	state := r.sessionState(v)
	now := templates.Now{Tone: state.Tone, Icon: state.Icon, Title: state.Text}
	switch {
	case v.Status.Ended():
		return nil
	case v.CancelRequested:
		return []templates.Now{{Icon: "ban", Title: r.say("session.stopping"), Text: r.say("session.stopping_why")}}
	case v.Status == sessions.Waiting:
		var list []templates.Now
		for _, e := range questions {
			n := templates.Now{Tone: "human", Icon: "hand", Title: r.say("status.waiting"), Text: r.title(e.Question), URL: templates.EscalationURL(e.ID.String())}
			switch {
			case e.Status == escalation.Pending:
				n.Link = r.say("session.open_question", "number", e.DisplayNumber())
				if r.mayAnswer(e) {
					n.Link = r.say("session.answer_question", "number", e.DisplayNumber())
				}
			case r.status(e) == templates.StatusHeld:
				n.Tone, n.Icon, n.Title = "warn", "timer", r.say("question.going_out")
				n.Link = r.say("session.open_question", "number", e.DisplayNumber())
			default:
				continue
			}
			list = append(list, n)
		}
		return list
	case v.Status == sessions.Paused:
		now.Text = r.say("session.paused_why")
	case v.PauseRequested:
		now.Text = r.say("session.pausing")
	case v.Status == sessions.Queued:
		now.Text = r.say("session.queued_why")
	default:
		now.Text = r.say("session.running_why")
	}
	return []templates.Now{now}
}

// result is how an ended session reports; nil while it goes on.
func (r reader) result(v sessions.Session) *templates.Result {
	if !v.Status.Ended() {
		return nil
	}
	state := r.sessionState(v)
	out := &templates.Result{Title: state.Text, Tone: state.Tone, Icon: state.Icon, Summary: v.Summary, Unverified: v.Outcome == sessions.Unverified}
	if v.Status == sessions.Failed {
		out.Fault = r.failure(v.Failure, r.seesExact(v.Team))
	}
	out.Unresolved = r.unresolved(v.Unresolved)
	return out
}

// unresolved are what an agent says it left open, and the calls that the
// harness lists as failed.
func (r reader) unresolved(raw json.RawMessage) (list []string) {
	var left []struct {
		Reason string          `json:"reason"`
		Tool   string          `json:"tool"`
		Type   tools.ErrorType `json:"error_type"`
	}
	if json.Unmarshal(raw, &left) != nil {
		return nil
	}
	for _, l := range left {
		if l.Reason != "" {
			list = append(list, l.Reason)
		} else if l.Tool != "" {
			list = append(list, r.say("session.left_failed", "tool", l.Tool, "what", errorWords(r.ctx, l.Type).What))
		}
	}
	return list
}

// failure says why a session failed. Its code and parameters are the agent
// room's; the sentences are the catalogue's.
func (r reader) failure(raw json.RawMessage, exact bool) *templates.Fault {
	var f struct {
		Code   string         `json:"code"`
		Params map[string]any `json:"params"`
	}
	if json.Unmarshal(raw, &f) != nil || f.Code == "" {
		f.Code = "unknown"
	}
	if f.Params == nil {
		f.Params = map[string]any{}
	}
	if limit, ok := strings.CutPrefix(f.Code, "budget_"); ok {
		for _, name := range []string{"used", "max"} {
			f.Params[name] = r.budgetValue(limit, fmt.Sprint(f.Params[name]))
		}
	}
	part := func(name string) string {
		key := "failure." + f.Code + name
		if said := (i18n.Message{Key: key, Params: f.Params}).In(r.ctx); said != key {
			return said
		}
		return i18n.Message{Key: "failure.unknown" + name, Params: f.Params}.In(r.ctx)
	}
	out := &templates.Fault{Problem: i18n.Problem{What: part(".what"), Why: part(".why"), Do: part(".do")}}
	if said, ok := f.Params["said"].(string); ok && exact {
		out.Exact = said
	}
	return out
}

// budgetValue writes a limit's figure in its unit.
func (r reader) budgetValue(limit, figure string) string {
	n, err := strconv.ParseInt(figure, 10, 64)
	switch {
	case err != nil:
		return figure
	case limit == "cost_usd":
		return r.money(n)
	case limit == "working_time":
		return r.span(n)
	}
	return r.number(n)
}

// decimal writes n with so many places after the point.
func decimal(n int64, places int) string {
	digits := fmt.Sprintf("%0*d", places+1, n)
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}
