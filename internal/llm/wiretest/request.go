package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Request is what a provider was asked, as far as tests look at it.
type Request struct {
	Model   string
	System  string
	Tools   []string
	Replies int        // of the model's, in the conversation
	Records []string   // what else the server said, oldest first
	Calls   []WireCall // all of the conversation
	Results []WireResult
	Kept    int // places up to which Anthropic is asked to keep what it has read
}

// WireCall is a call of an earlier reply.
type WireCall struct{ ID, Tool, Args string }

// WireResult is the result of a call.
type WireResult struct{ ID, Text string }

var (
	nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	idForm   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
)

// conversation checks what both wires ask for: each call has an id of its own,
// and its one result comes next.
type conversation struct {
	request Request
	seen    map[string]bool
	due     []string
	fault   string
}

func (c *conversation) wrong(format string, args ...any) {
	if c.fault == "" {
		c.fault = fmt.Sprintf(format, args...)
	}
}

func (c *conversation) call(id, tool, args string) {
	var object map[string]json.RawMessage
	switch {
	case !idForm.MatchString(id) || c.seen[id]:
		c.wrong("the id %q of a call is none, or is there twice", id)
	case !nameForm.MatchString(tool):
		c.wrong("%q is no name of a tool", tool)
	case json.Unmarshal([]byte(args), &object) != nil || object == nil:
		c.wrong("the arguments %q are no object", args)
	}
	c.seen[id] = true
	c.due = append(c.due, id)
	c.request.Calls = append(c.request.Calls, WireCall{id, tool, args})
}

func (c *conversation) result(id, text string) {
	if len(c.due) == 0 || c.due[0] != id {
		c.wrong("a result of %q came where those of %v are due", id, c.due)
		return
	}
	c.due = c.due[1:]
	c.request.Results = append(c.request.Results, WireResult{id, text})
}

// record takes what the server says: lines, each a JSON object.
func (c *conversation) record(text string) {
	if len(c.due) > 0 {
		c.wrong("%q came where results of %v are due", text, c.due)
	}
	for line := range strings.Lines(text) {
		c.request.Records = append(c.request.Records, strings.TrimSpace(line))
	}
}

func (c *conversation) tool(name string, schema json.RawMessage) {
	var root struct {
		Type string `json:"type"`
	}
	if !nameForm.MatchString(name) || json.Unmarshal(schema, &root) != nil || root.Type != "object" {
		c.wrong("the tool %q has the schema %s", name, schema)
	}
	c.request.Tools = append(c.request.Tools, name)
}

func readAnthropic(body []byte) (Request, string) {
	var in struct {
		Model     string `json:"model"`
		MaxTokens int    `json:"max_tokens"`
		Stream    bool   `json:"stream"`
		System    []struct {
			Text string `json:"text"`
		} `json:"system"`
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		Messages []struct {
			Role    string `json:"role"`
			Content []struct {
				Type      string          `json:"type"`
				Text      string          `json:"text"`
				ID        string          `json:"id"`
				Name      string          `json:"name"`
				Input     json.RawMessage `json:"input"`
				ToolUseID string          `json:"tool_use_id"`
				Content   []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"content"`
		} `json:"messages"`
	}
	c := conversation{seen: map[string]bool{}}
	if err := json.Unmarshal(body, &in); err != nil {
		return c.request, err.Error()
	}
	if in.Model == "" || in.MaxTokens <= 0 || !in.Stream {
		c.wrong("model, max_tokens and stream are needed")
	}
	c.request.Model, c.request.Kept = in.Model, bytes.Count(body, []byte(`"cache_control":{"type":"ephemeral"}`))
	for _, block := range in.System {
		c.request.System += block.Text
	}
	for _, tool := range in.Tools {
		c.tool(tool.Name, tool.Schema)
	}
	for i, m := range in.Messages {
		if want := [...]string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			c.wrong("message %d is of %s with %d blocks, want %s", i, m.Role, len(m.Content), want)
		}
		if m.Role == "assistant" {
			c.request.Replies++
		}
		for _, block := range m.Content {
			switch block.Type {
			case "text":
				if strings.TrimSpace(block.Text) == "" {
					c.wrong("message %d has a text without letters", i)
				}
				if m.Role == "user" {
					c.record(block.Text)
				}
			case "tool_use":
				c.call(block.ID, block.Name, string(block.Input))
			case "tool_result":
				text := ""
				for _, part := range block.Content {
					text += part.Text
				}
				c.result(block.ToolUseID, text)
			}
		}
		if m.Role == "user" && len(c.due) > 0 {
			c.wrong("calls %v have no result in message %d", c.due, i)
		}
	}
	if len(in.Messages)%2 != 1 || len(c.due) > 0 {
		c.wrong("the conversation does not end with a message of the user")
	}
	return c.request, c.fault
}

func readOpenAI(body []byte) (Request, string) {
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Type     string `json:"type"`
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role       string  `json:"role"`
			Content    *string `json:"content"`
			ToolCallID string  `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Type     string `json:"type"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	c := conversation{seen: map[string]bool{}}
	if err := json.Unmarshal(body, &in); err != nil {
		return c.request, err.Error()
	}
	if in.Model == "" || !in.Stream {
		c.wrong("model and stream are needed")
	}
	c.request.Model = in.Model
	for _, tool := range in.Tools {
		c.tool(tool.Function.Name, tool.Function.Parameters)
	}
	last := ""
	for i, m := range in.Messages {
		content := ""
		if m.Content != nil {
			content = *m.Content
		}
		switch {
		case m.Role == "system" && i == 0:
			c.request.System = content
		case m.Role == "user" && last != "user" && strings.TrimSpace(content) != "":
			c.record(content)
		case m.Role == "assistant" && last != "assistant" && (content != "" || len(m.ToolCalls) > 0):
			if len(c.due) > 0 {
				c.wrong("calls %v have no result", c.due)
			}
			c.request.Replies++
			for _, call := range m.ToolCalls {
				c.call(call.ID, call.Function.Name, call.Function.Arguments)
			}
		case m.Role == "tool":
			c.result(m.ToolCallID, content)
		default:
			c.wrong("message %d of %s, after one of %s, has no place or holds nothing", i, m.Role, last)
		}
		last = m.Role
	}
	if len(c.due) > 0 || last == "assistant" {
		c.wrong("the conversation ends with calls %v, and with a message of %s", c.due, last)
	}
	return c.request, c.fault
}
