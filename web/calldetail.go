package web

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"baton/internal/i18n"
	"baton/internal/tools"
	"baton/templates"
)

// tableRows is how many rows of a table stand on a page; the rest is in the
// whole output.
const tableRows = 50

// detail fills in what can be opened of a call that has ended.
func (t *timeline) detail(c *templates.CallDetail, p tools.Plan, d callEnded) {
	if c == nil {
		return
	}
	result := d.Result
	for _, a := range d.Attempts {
		c.Attempts = append(c.Attempts, templates.Attempt{
			N: a.N, Took: time.Duration(a.DurationMS) * time.Millisecond, Wait: time.Duration(a.WaitMS) * time.Millisecond, Error: t.r.errorName(a.ErrorType),
		})
	}
	if !result.OK() {
		c.Retry = t.r.retryable(result)
		c.Hints = result.Hint()
	}
	for _, list := range []struct {
		items []tools.Item
		chip  templates.Chip
	}{
		{result.Completed(), templates.Chip{Icon: "circle-check", Tone: "ok", Text: t.r.say("call.items_done", "n", len(result.Completed()))}},
		{result.Failed(), templates.Chip{Icon: "circle-x", Tone: "bad", Text: t.r.say("call.items_failed", "n", len(result.Failed()))}},
		{result.Skipped(), templates.Chip{Icon: "circle-dashed", Tone: "idle", Text: t.r.say("call.items_skipped", "n", len(result.Skipped()))}},
	} {
		if len(list.items) == 0 {
			continue
		}
		l := templates.ItemList{Chip: list.chip}
		for _, item := range list.items {
			l.Items = append(l.Items, templates.Pair{Name: item.Item, Value: item.Reason})
		}
		c.Items = append(c.Items, l)
	}
	c.State = stateOf(result)
	c.Notices = append(result.Notices(), degraded(result)...)
	c.Table, c.Text = t.formatted(result)
	c.Saw = indented(result.ForModel())
	if cut := result.Meta().Truncated; cut != nil && cut.TotalLines > 0 {
		c.Cut = t.r.say("call.cut", "shown", t.r.number(cut.Shown), "total", t.r.number(cut.TotalLines))
	} else if d.Stored {
		c.Cut = t.r.say("call.cut_somewhere")
	}
	if t.exact && (d.Stored || result.OK()) {
		c.FullURL = templates.OutputURL(t.session.ID.String(), p.Call.N, 0)
	}
	c.Facts = t.callFacts(p, d)
}

// callFacts are for those who look after agents.
func (t *timeline) callFacts(p tools.Plan, d callEnded) (facts []templates.Pair) {
	if !t.exact {
		return nil
	}
	add := func(key, value string) {
		if value != "" {
			facts = append(facts, templates.Pair{Name: t.r.say(key), Value: value, Mono: true})
		}
	}
	add("call.fact_error", string(d.Result.ErrorType()))
	add("call.fact_class", string(d.Result.Class()))
	add("call.fact_effect", string(p.Effect))
	add("call.fact_service", p.Service)
	add("call.fact_policy", p.Policy)
	for _, phase := range []struct {
		key string
		ms  int64
	}{
		{"call.fact_queued", d.QueuedMS}, {"call.fact_running", d.RunMS}, {"call.fact_waiting", d.WaitMS},
		{"call.fact_format", d.FormatMS}, {"call.fact_total", d.QueuedMS + d.TotalMS},
	} {
		if phase.ms > 0 {
			add(phase.key, t.r.span(int64(time.Duration(phase.ms)*time.Millisecond)))
		}
	}
	return facts
}

// formatted is the output for people: a table, or a text.
func (t *timeline) formatted(result tools.Result) (*templates.Table, string) {
	raw := result.Data()
	if raw == nil || string(raw) == "null" {
		return nil, ""
	}
	var data struct {
		Columns []json.RawMessage   `json:"columns"`
		Rows    [][]json.RawMessage `json:"rows"`
		Body    string              `json:"body"`
	}
	if raw[0] == '{' && json.Unmarshal(raw, &data) == nil {
		if len(data.Columns) > 0 && len(data.Rows) > 0 {
			return t.table(data.Columns, data.Rows), ""
		}
		if data.Body != "" {
			return nil, indented(data.Body)
		}
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return nil, text
	}
	return nil, indented(string(raw))
}

func (t *timeline) table(columns []json.RawMessage, rows [][]json.RawMessage) *templates.Table {
	out := &templates.Table{}
	for _, c := range columns {
		name := shown(c)
		var named struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(c, &named) == nil && named.Name != "" {
			name = named.Name
		}
		out.Columns = append(out.Columns, name)
	}
	if len(rows) > tableRows {
		out.Title = t.r.say("call.rows_shown", "shown", t.r.number(tableRows), "total", t.r.number(int64(len(rows))))
		rows = rows[:tableRows]
	}
	for _, row := range rows {
		cells := make([]templates.Cell, len(row))
		for i, value := range row {
			cells[i].Text = masked.ReplaceAllString(shown(value), "•••")
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}

// retryable says in words whether repeating a failed call can help.
func (r reader) retryable(result tools.Result) *templates.Chip {
	gaveUp := result.Meta().Attempts > 1
	switch result.Retryable() {
	case tools.RetryYes:
		if gaveUp {
			return &templates.Chip{Icon: "repeat", Tone: "warn", Text: r.say("call.retry_gave_up")}
		}
		return &templates.Chip{Icon: "repeat", Tone: "warn", Text: r.say("call.retry_yes")}
	case tools.RetryMaybe:
		return &templates.Chip{Icon: "repeat", Text: r.say("call.retry_maybe")}
	}
	return &templates.Chip{Icon: "ban", Text: r.say("call.retry_no")}
}

// errorName is an error type in two or three words.
func (r reader) errorName(t tools.ErrorType) string {
	if t == "" {
		return ""
	}
	if !t.Valid() {
		t = tools.ExecutionError
	}
	return i18n.T(r.ctx, "error_type."+string(t)+".name")
}

// stateOf is a batch's own sentence on how things stand, if it has one.
func stateOf(result tools.Result) string {
	var said struct {
		State string `json:"state"`
	}
	if result.Status() != tools.Partial || json.Unmarshal([]byte(result.ForModel()), &said) != nil {
		return ""
	}
	return said.State
}

// degraded says that an answer came from elsewhere, and what it lacks.
func degraded(result tools.Result) []string {
	d := result.Meta().Degraded
	if d == nil {
		return nil
	}
	parts := []string{d.Source, d.Reason}
	if d.AgeS > 0 {
		parts = append(parts, fmt.Sprint(time.Duration(d.AgeS)*time.Second))
	}
	if d.Missing != "" {
		parts = append(parts, d.Missing)
	}
	return []string{strings.Join(parts, " · ")}
}
