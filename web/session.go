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
	eventsShown = 500 // of a session on a page, at least; those before them on the page before
	// eventsBlock is by how many events the first one shown moves on, so that
	// pages opened at different times begin with the same one and show the same
	// rows in the same places.
	eventsBlock = 250
	briefEvents = 60 // looked at for what stands beside a question
	briefShown  = 9
)

// showSession shows a session: how it stands, and what happened in it, in
// sentences or on a chart.
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
	after, upTo := window(v.LastSeq), v.LastSeq
	if text := c.QueryParam("before"); text != "" {
		before, err := strconv.ParseInt(text, 10, 64)
		if err != nil || before < 1 {
			return keyset.Invalid()
		}
		upTo = min(before-1, v.LastSeq)
		after = max(0, upTo-eventsShown)
	}
	t := s.newTimeline(r, v, agent)
	t.open, _ = strconv.Atoi(c.QueryParam(callParameter)) // no number opens nothing
	t.technical = s.technical(c, r, v)
	if err := s.tellFrom(t, after, upTo); err != nil {
		return err
	}
	t.until(r.now)
	questions, err := s.Escalations.ForSession(r.ctx, r.actor, v.ID)
	if err != nil {
		return err
	}
	p := r.sessionPart(v, agent, t, questions)
	p.Events, p.After, p.Show = t.list(), after, c.QueryParam("show")
	p.Live = upTo == v.LastSeq && !v.Status.Ended()
	p.Filters = r.filters(p, t.rows)
	if r.seesExact(v.Team) {
		p.Looks = r.looks(p)
	}
	if after > 0 {
		p.Earlier = sessionLink(p.ID, "before", fmt.Sprint(after+1))
		glance, err := s.Sessions.Glances(r.ctx, r.actor, []id.Session{v.ID})
		if err != nil {
			return err
		}
		p.Summary = r.say("session.not_all", "from", r.number(after+1), "to", r.number(upTo), "all", r.number(v.LastSeq),
			"calls", r.number(int64(v.Calls)), "failed", r.number(int64(glance[v.ID].Failed)))
	}
	f := s.frame(c, templates.SectionSessions, p.Title)
	f.Back = templates.SessionsURL
	return page(c, http.StatusOK, templates.SessionDetail(templates.SessionPage{Frame: f, Session: p}))
}

// window is after which event the rows of a page begin.
func window(last int64) int64 {
	return max(0, (last-eventsShown)/eventsBlock*eventsBlock)
}

// viewParameter chooses between sentences and chart; viewCookie keeps the choice.
const (
	viewParameter = "view"
	viewCookie    = "baton_view"
	viewPlain     = "plain"
	viewTechnical = "technical"
)

// technical says whether the reader looks at the chart. It is for those who look
// after agents, who may prefer sentences.
func (s *site) technical(c echo.Context, r reader, v sessions.Session) bool {
	if !r.seesExact(v.Team) {
		return false
	}
	wish := c.QueryParam(viewParameter)
	if wish == viewPlain || wish == viewTechnical {
		c.SetCookie(s.cookie(viewCookie, wish, preferencesLifetime))
	} else if cookie, err := c.Request().Cookie(viewCookie); err == nil {
		wish = cookie.Value
	}
	return wish != viewPlain
}

// sessionLink is the address of a session's page with a parameter.
func sessionLink(session, name, value string) string {
	at := templates.SessionURL(session)
	if value == "" {
		return at
	}
	return at + "?" + url.Values{name: {value}}.Encode()
}

// looks are the ways to look at a session.
func (r reader) looks(p templates.Session) []templates.View {
	return []templates.View{
		{Label: r.say("session.view_technical"), URL: sessionLink(p.ID, viewParameter, viewTechnical), Current: p.Technical},
		{Label: r.say("session.view_plain"), URL: sessionLink(p.ID, viewParameter, viewPlain), Current: !p.Technical},
	}
}

// filters are the choices of rows to show, each with how many there are.
func (r reader) filters(p templates.Session, rows []*row) []templates.View {
	n := map[string]int{}
	for _, row := range rows {
		if row.Kind == templates.EventGap {
			continue
		}
		n[""]++
		n[string(row.Kind)]++
		if row.Problem {
			n["problem"]++
		}
	}
	var list []templates.View
	for _, f := range []struct{ show, label string }{
		{"", r.say("session.show_all")}, {string(templates.EventTool), r.say("session.show_tools")},
		{string(templates.EventModel), r.say("session.show_model")}, {"problem", r.say("session.show_problems")},
	} {
		list = append(list, templates.View{Label: f.label, Count: n[f.show], URL: sessionLink(p.ID, "show", f.show), Current: p.Show == f.show})
	}
	return list
}

// sessionPart is what a page shows of a session but for its rows, from the
// session as it stands and from what its events tell.
func (r reader) sessionPart(v sessions.Session, agent definition.Version, t *timeline, questions []escalation.Escalation) templates.Session {
	p := templates.Session{
		ID: v.ID.String(), Title: firstLine(v.Task, titleMost), Agent: r.agent(v.Agent.Slug), State: r.sessionState(v),
		Scripted: strings.HasPrefix(v.Model, "scripted/"), Meters: r.meters(v, t.budgets(agent.Agent.Budgets), t.turnSteps),
		Technical: t.technical, LastSeq: t.seq, Facts: r.sessionFacts(v, t.recovered), Now: r.sessionNow(v, questions, t), Result: r.result(v),
	}
	if strings.TrimSpace(v.Task) != p.Title {
		p.Task = v.Task
	}
	if t.technical {
		p.Axis, p.Scale = t.chart.axis(r.ctx), t.chart.scale
	}
	if !v.Status.Ended() && r.mayControl(v.Team) && !v.CancelRequested {
		p.Controls = templates.Controls{Pause: !paused(v), Resume: paused(v), Cancel: true}
	}
	return p
}

// paused says that the session stands still, or will at its next step, until
// somebody lets it go on.
func paused(v sessions.Session) bool {
	return !v.Status.Ended() && (v.Status == sessions.Paused || v.PauseRequested)
}

// newTimeline is a timeline that has been told nothing yet.
func (s *site) newTimeline(r reader, v sessions.Session, agent definition.Version) *timeline {
	t := newTimeline(r, v, s.describer(r, agent))
	t.lang = agent.Agent.Language
	return t
}

// tellFrom reads the events after one up to another, and tells them.
func (s *site) tellFrom(t *timeline, after, upTo int64) error {
	events, err := s.Sessions.Events(t.r.ctx, t.r.actor, t.session.ID, after, int(max(0, upTo-after)))
	if err != nil {
		return err
	}
	if first, last := callsWithoutPlan(events); first > 0 {
		earlier, err := s.Sessions.CallEvents(t.r.ctx, t.r.actor, t.session.ID, first, last)
		if err != nil {
			return err
		}
		for _, e := range earlier {
			if err := t.remember(e); err != nil {
				return err
			}
		}
	}
	return t.tellAll(events)
}

func (t *timeline) tellAll(events []sessions.Event) error {
	for _, e := range events {
		if err := t.tell(e); err != nil {
			return fmt.Errorf("tell event %d of %s: %w", e.Seq, t.session.ID, err)
		}
	}
	return nil
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
	t := s.newTimeline(r, v, agent)
	if err := s.tellFrom(t, max(0, v.LastSeq-briefEvents), v.LastSeq); err != nil {
		return nil, nil, err
	}
	b := &templates.SessionBrief{URL: templates.SessionURL(v.ID.String()), Paused: paused(v), Steps: r.say("session.steps_done", "n", v.Steps), Facts: r.sessionFacts(v, t.recovered)}
	for _, e := range t.list() {
		if e.Said || e.Kind == templates.EventGap {
			continue // the agent's words stand on the session's page
		}
		m := templates.Moment{Tone: e.Tone, Icon: e.Icon, Text: e.Text, Detail: cut(e.Detail, 160), At: e.At, Took: e.Took}
		switch {
		case e.Fault != nil:
			m.Detail = e.Fault.What
		case e.Why != "":
			m.Detail, m.Said = cut(e.Why, 160), true
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
func (r reader) sessionNow(v sessions.Session, questions []escalation.Escalation, t *timeline) []templates.Now {
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
		if paused(v) {
			list = append(list, templates.Now{Icon: "circle-pause", Title: r.say("status.paused"), Text: r.say("session.paused_why")})
		}
		return list
	case v.Status == sessions.Paused:
		now.Text = r.say("session.paused_why")
	case v.PauseRequested:
		now.Text = r.say("session.pausing")
	case v.Status == sessions.Queued:
		now.Text = r.say("session.queued_why")
	default:
		list := []templates.Now{t.now(now)}
		if m := t.rest; m != nil && v.Steps < m.UntilStep && r.mayControl(v.Team) {
			list = append(list, templates.Now{Tone: "warn", Icon: "repeat", Title: r.say("rest.title"),
				Text: r.say("rest.why", "tool", t.nameOf(m.Tool), "step", fmt.Sprint(m.UntilStep)), Allow: r.say("rest.allow")})
		}
		return list
	}
	return []templates.Now{now}
}

// now is what a running session does: the call that runs longest, else the model
// thinks.
func (t *timeline) now(n templates.Now) templates.Now {
	n.Text = t.r.say("session.running_why")
	oldest := 0
	for call, since := range t.running {
		if began := t.running[oldest]; oldest == 0 || since.Before(began) || since.Equal(began) && call < oldest {
			oldest = call
		}
	}
	if r := t.at[oldest]; r != nil {
		n.Title, n.Text, n.Since = r.Text, r.Brief, t.running[oldest]
		if len(t.running) > 1 {
			n.Text = t.r.say("session.and_more", "n", len(t.running)-1)
		}
	} else if !t.latest.IsZero() {
		n.Icon, n.Title, n.Text, n.Since = "brain", t.r.say("event.thinks"), "", t.latest
	}
	return n
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
	words, said := sessions.ExplainFailure(r.ctx, raw)
	out := &templates.Fault{Problem: words}
	if exact {
		out.Exact = said
	}
	return out
}

// decimal writes n with so many places after the point.
func decimal(n int64, places int) string {
	digits := fmt.Sprintf("%0*d", places+1, n)
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}
