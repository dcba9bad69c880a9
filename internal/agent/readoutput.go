package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"baton/internal/id"
	"baton/internal/sessions"
	"baton/internal/tools"
)

// readOutput is the tool with which a model reads on in an output that it was
// shown only a part of. Lines are counted in what was stored, which never
// changes, so offsets don't shift.
type readOutput struct{ store *sessions.Store }

type readOutputArgs struct {
	CallID string `json:"call_id"`
	Offset int64  `json:"offset"`
	Limit  int64  `json:"limit"`
}

const (
	readOutputTool  = "read_output"
	readOutputLines = 200
)

const readOutputSchema = `{
  "type": "object",
  "properties": {
    "call_id": {"type": "string", "description": "id of an earlier call of this session, for instance call_3"},
    "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "first line to read, counted from 0"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 200, "description": "how many lines"}
  },
  "required": ["call_id"],
  "additionalProperties": false
}`

// Spec is what the model and people know of read_output.
func (readOutput) Spec() tools.Spec {
	return tools.Spec{
		Name: readOutputTool,
		Words: map[string]tools.Words{
			"en":      {Title: "Read on", Sentence: "Reads more of what {call_id} returned"},
			"zh-Hans": {Title: "继续阅读", Sentence: "继续读取 {call_id} 返回的内容"},
		},
		Description: "Read a part of the stored output of an earlier call, by lines. Use it when a result says that it shows only a part.",
		Schema:      json.RawMessage(readOutputSchema),
		Example:     json.RawMessage(`{"call_id": "call_3", "offset": 200, "limit": 200}`),
		Effect:      tools.EffectRead,
		Format:      tools.Format{Strategy: tools.Head, MaxLines: 2000},
		Always:      true,
		Failures: []tools.DeclaredFailure{
			{Name: "no_such_call", Type: tools.NotFound, When: "the call is not of this session or has no result yet"},
			{Name: "past_the_end", Type: tools.NotFound, When: "the offset lies behind the last line"},
		},
	}
}

// Run reads the lines.
func (t readOutput) Run(ctx context.Context, args json.RawMessage) (tools.Output, error) {
	a := readOutputArgs{Limit: readOutputLines}
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Output{}, fmt.Errorf("read arguments: %w", err)
	}
	session := tools.RunningCall(ctx).ID.Session
	n, ok := (&state{session: session}).parseAlias(a.CallID)
	if !ok {
		return tools.Output{}, noSuchCall(a.CallID)
	}
	text, first, err := t.lines(ctx, id.Call{Session: session, N: n}, a)
	if err != nil {
		return tools.Output{}, err
	}
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	skip := a.Offset - first
	if skip >= int64(len(lines)) {
		return tools.Output{}, tools.Fail(tools.NotFound, fmt.Sprintf("%s has %d lines; line %d is behind the last.", a.CallID, first+int64(len(lines)), a.Offset),
			"Lines are counted from 0; read from a smaller offset.")
	}
	end := min(skip+a.Limit, int64(len(lines)))
	out := tools.Output{Text: strings.Join(lines[skip:end], ""), ContentType: "text/plain"}
	if end < int64(len(lines)) {
		out.Notices = append(out.Notices, "There is more: read on from offset "+strconv.FormatInt(first+end, 10)+".")
	}
	return out, nil
}

// lines is the stored text from the chunk on that holds the offset, and the
// number of its first line.
func (t readOutput) lines(ctx context.Context, call id.Call, a readOutputArgs) (text string, first int64, err error) {
	chunks, err := t.store.Output(ctx, call, a.Offset, 1+int(a.Limit)/100)
	if err != nil {
		return "", 0, fmt.Errorf("read output: %w", err)
	}
	if len(chunks) > 0 {
		var b strings.Builder
		for _, c := range chunks {
			b.WriteString(c.Body)
		}
		return b.String(), chunks[0].FirstLine, nil
	}
	result, err := t.store.Result(ctx, call)
	if err != nil {
		return "", 0, noSuchCall(a.CallID)
	}
	var e ended
	if err := json.Unmarshal(result, &e); err != nil {
		return "", 0, fmt.Errorf("read result of %s: %w", call, err)
	}
	if json.Unmarshal(e.Result.Data(), &text) != nil {
		text = string(e.Result.Data())
	}
	if text == "" {
		text = e.Result.Message()
	}
	return text, 0, nil
}

func noSuchCall(name string) *tools.Failure {
	return tools.Fail(tools.NotFound, fmt.Sprintf("This session has no ended call %q.", name), "Use the id that stands with the result, for instance call_3.")
}
