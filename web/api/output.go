package api

import (
	"encoding/json"
	"fmt"
	"strings"

	"baton/internal/auth"
	"baton/internal/id"
	"baton/internal/problem"
	"baton/internal/tools"
)

// Bounds of a page of output. A line that is longer than the bytes comes whole:
// what is stored is bounded itself.
const (
	outputLines    = 200
	maxOutputLines = 2000
	maxOutputBytes = 256 << 10
	// allChunks is more than any stored output has.
	allChunks = 64
)

// output is a page of what a call put out.
type output struct {
	Call   id.Call `json:"call_id"`
	Offset int64   `json:"offset"` // the first line here, from 0
	Lines  int     `json:"lines"`  // how many are here
	Text   string  `json:"text"`
	// NextOffset is where to read on, null at the end.
	NextOffset *int64 `json:"next_offset"`
	// Complete says that these are lines of the whole output (redacted), and
	// not of the result, which shows only a part of it.
	Complete bool `json:"complete"`
}

func (a *API) getOutput(q Request) (Reply, error) {
	p := q.query("offset", "limit")
	offset := p.number("offset", 0, 0, 1<<40)
	limit := p.number("limit", outputLines, 1, maxOutputLines)
	if p.err != nil {
		return Reply{}, p.err
	}
	c, err := a.oneCall(q)
	if err != nil {
		return Reply{}, err
	}
	if c.Result == nil {
		return Reply{}, problem.New(problem.NotFound, "output_missing", problem.Params{"status": string(c.Status)})
	}
	o := output{Call: c.ID, Offset: offset}
	if !c.MoreOutput {
		text, err := c.text()
		if err != nil {
			return Reply{}, err
		}
		o.Complete = true
		o.take(text, 0, int(limit))
		return ok(o)
	}
	err = a.mayReadAll(q, c)
	if problem.Is(err, "not_allowed") && offset == 0 {
		// What lies behind the result is not for everybody; the result is.
		text, err := c.text()
		if err != nil {
			return Reply{}, err
		}
		o.take(text, 0, maxOutputLines)
		return ok(o)
	}
	if err != nil {
		return Reply{}, err
	}
	chunks, err := a.Sessions.Output(q.Context(), c.ID, offset, allChunks)
	if err != nil {
		return Reply{}, err
	}
	var text strings.Builder
	for _, chunk := range chunks {
		text.WriteString(chunk.Body)
	}
	o.Complete = true
	if len(chunks) > 0 {
		o.take(text.String(), chunks[0].FirstLine, int(limit))
	}
	return ok(o)
}

// mayReadAll is nil for those who see outputs whole.
func (a *API) mayReadAll(q Request, c call) error {
	session, err := a.Sessions.Get(q.Context(), q.Actor, c.Session)
	if err != nil {
		return err
	}
	return auth.Can(q.Actor, auth.ReadFullOutput, auth.Object{Kind: "call", ID: c.ID.String(), Team: session.Team, Agent: session.Agent.Slug})
}

// text is the output as the result has it: a text as it is, anything else as
// JSON, and of a failure its message.
func (c call) text() (string, error) {
	var result tools.Result
	if err := json.Unmarshal(c.Result, &result); err != nil {
		return "", fmt.Errorf("read result of %s: %w", c.ID, err)
	}
	var text string
	switch {
	case result.Data() == nil:
		return result.Message(), nil
	case json.Unmarshal(result.Data(), &text) == nil:
		return text, nil
	}
	return string(result.Data()), nil
}

// take is the page of text, whose first line has the given number, from
// o.Offset on.
func (o *output) take(text string, first int64, limit int) {
	for range o.Offset - first {
		_, rest, found := strings.Cut(text, "\n")
		if !found {
			return // behind the last line
		}
		text = rest
	}
	end := 0
	for o.Lines < limit && end < len(text) {
		line := strings.IndexByte(text[end:], '\n') + 1
		if line == 0 {
			line = len(text) - end
		}
		if o.Lines > 0 && end+line > maxOutputBytes {
			break
		}
		end += line
		o.Lines++
	}
	o.Text = text[:end]
	if end < len(text) {
		next := o.Offset + int64(o.Lines)
		o.NextOffset = &next
	}
}
