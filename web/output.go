package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/sessions"
	"baton/internal/tools"
	"baton/templates"
)

// callAt is the call that the address names.
func callAt(c echo.Context) (id.Call, error) {
	missing := problem.New(problem.NotFound, "call_not_found", nil)
	session, err := id.Parse[id.Session](c.Param("id"))
	if err != nil || session.IsZero() {
		return id.Call{}, missing
	}
	n, err := strconv.ParseInt(c.Param("n"), 10, 31)
	if err != nil || n < 1 {
		return id.Call{}, missing
	}
	return id.Call{Session: session, N: int(n)}, nil
}

// showCall shows one call with all that can be opened of it.
func (s *site) showCall(c echo.Context) error {
	call, err := callAt(c)
	if err != nil {
		return err
	}
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	v, t, err := s.oneCall(r, call)
	if err != nil {
		return err
	}
	row := t.at[call.N]
	if row == nil || row.Call == nil {
		return problem.New(problem.NotFound, "call_not_found", nil)
	}
	p := templates.CallPage{Frame: s.frame(c, templates.SectionSessions, row.Text), Event: row.Event, Agent: r.agent(v.Agent.Slug)}
	p.Back = templates.SessionURL(v.ID.String()) + "#" + callAnchor(call.N)
	return page(c, http.StatusOK, templates.CallView(p))
}

// oneCall tells of one call all that its session's record has.
func (s *site) oneCall(r reader, call id.Call) (sessions.Session, *timeline, error) {
	v, err := s.Sessions.Get(r.ctx, r.actor, call.Session)
	if problem.Is(err, "session_not_found") {
		return v, nil, problem.New(problem.NotFound, "call_not_found", nil)
	}
	if err != nil {
		return v, nil, err
	}
	agent, err := s.version(r.ctx, v.Agent)
	if err != nil {
		return v, nil, err
	}
	events, err := s.Sessions.CallEvents(r.ctx, r.actor, v.ID, call.N, call.N)
	if err != nil {
		return v, nil, err
	}
	t := s.newTimeline(r, v, agent)
	t.open = call.N
	return v, t, t.tellAll(events)
}

// outputMost is how much of an output stands on a page: a chunk as it is stored.
const outputMost = 64 << 10

// showOutput shows a part of the whole of what a call put out, redacted as it was
// stored. It is for those who look after agents.
func (s *site) showOutput(c echo.Context) error {
	call, err := callAt(c)
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt("0"+c.QueryParam("offset"), 10, 63)
	if err != nil {
		return problem.New(problem.NotFound, "call_not_found", nil)
	}
	r, err := s.reader(c)
	if err != nil {
		return err
	}
	v, err := s.Sessions.Get(r.ctx, r.actor, call.Session)
	if problem.Is(err, "session_not_found") {
		return problem.New(problem.NotFound, "call_not_found", nil)
	}
	if err != nil {
		return err
	}
	if err := auth.Can(r.actor, auth.ReadFullOutput, auth.Object{Kind: "call", ID: call.String(), Team: v.Team, Agent: v.Agent.Slug}); err != nil {
		return err
	}
	_, data, err := s.Sessions.Call(r.ctx, r.actor, call)
	if err != nil {
		return err
	}
	text, first, more, err := s.output(r, call, data, offset)
	if err != nil {
		return err
	}
	lines := int64(strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1)
	p := templates.OutputPage{
		Frame: s.frame(c, templates.SectionSessions, r.say("call.output_of", "call", fmt.Sprint(call.N))), Text: text,
		Lines: r.say("call.output_lines", "from", r.number(first+1), "to", r.number(first+lines)),
	}
	p.Back = templates.CallURL(v.ID.String(), call.N)
	if more {
		p.Next = templates.OutputURL(v.ID.String(), call.N, first+lines)
	}
	return page(c, http.StatusOK, templates.OutputView(p))
}

// output is the part of a call's output that begins with the given line, or with
// the last before it where that is longer than a part; the number of its first
// line; and whether there is more.
func (s *site) output(r reader, call id.Call, data json.RawMessage, offset int64) (text string, first int64, more bool, err error) {
	var d callEnded
	if err := json.Unmarshal(data, &d); err != nil {
		return "", 0, false, fmt.Errorf("read result of %s: %w", call, err)
	}
	if !d.Stored {
		text = inFull(d.Result)
	} else {
		if text, first, more, err = s.stored(r, call, offset, fewChunks); err == nil && more && !strings.Contains(text, "\n") {
			text, first, more, err = s.stored(r, call, offset, allChunks)
		}
		if err != nil {
			return "", 0, false, err
		}
	}
	for ; first < offset; first++ {
		_, rest, found := strings.Cut(text, "\n")
		if !found {
			break
		}
		text = rest
	}
	if len(text) > outputMost {
		end := strings.LastIndexByte(text[:outputMost], '\n') + 1
		if end == 0 { // a line that is longer comes whole: what is stored is bounded
			if end = strings.IndexByte(text, '\n') + 1; end == 0 {
				end = len(text)
			}
		}
		more = more || end < len(text)
		text = text[:end]
	}
	return text, first, more, nil
}

// Chunks that are read: enough for a part, and all that an output can have,
// where one line is longer than that.
const (
	fewChunks = 3
	allChunks = 64
)

// stored is an output from the chunk on in which a line begins.
func (s *site) stored(r reader, call id.Call, line int64, most int) (text string, first int64, more bool, err error) {
	chunks, err := s.Sessions.Output(r.ctx, call, line, most)
	if err != nil || len(chunks) == 0 {
		return "", 0, false, err
	}
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.Body)
	}
	return b.String(), chunks[0].FirstLine, len(chunks) == most, nil
}

// inFull is the output as the result has it: a text as it is, all else as JSON,
// and of a failure its message.
func inFull(result tools.Result) string {
	if result.Data() == nil {
		return result.Message()
	}
	return shown(result.Data())
}
