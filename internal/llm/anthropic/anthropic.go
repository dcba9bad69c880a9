// Package anthropic asks Anthropic's models, by its Messages API through its
// official SDK, of which the retries are off: trying again is the agent loop's.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"baton/internal/llm"
	"baton/internal/llm/provider"
)

// BaseURL is where Anthropic's API is.
const BaseURL = "https://api.anthropic.com"

// maxOutput bounds a reply of which nobody says how long it may be, in tokens:
// the API wants to be told.
const maxOutput = 8192

// Service is Anthropic's API, or one that speaks like it. It is safe for
// concurrent use.
type Service struct {
	conn   *provider.Connection
	client sdk.Client
}

// Open prepares a service; nothing is sent yet. An empty base URL is Anthropic's
// own.
func Open(o provider.Options) (*Service, error) {
	if o.BaseURL == "" {
		o.BaseURL = BaseURL
	}
	conn, err := provider.Connect(o)
	if err != nil {
		return nil, err
	}
	return &Service{conn, sdk.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithoutOpenTelemetry(),
		option.WithBaseURL(o.BaseURL), option.WithAPIKey(o.Key),
		option.WithHTTPClient(conn.HTTP()), option.WithMaxRetries(0), option.WithMiddleware(conn.Try),
	)}, nil
}

// Model is one of its models.
func (s *Service) Model(name string, price llm.Price) llm.Model {
	return model{s, name, price}
}

// Check asks for something small and free of charge. The error is an *llm.Error.
func (s *Service) Check(ctx context.Context) error {
	ctx, cancel := s.conn.Bound(ctx)
	defer cancel()
	if _, err := s.client.Models.List(ctx, sdk.ModelListParams{Limit: sdk.Int(1)}); err != nil {
		return s.conn.Lost(ctx, err)
	}
	return nil
}

type model struct {
	*Service
	name  string
	price llm.Price
}

// Next asks for one reply, as a stream.
func (m model) Next(ctx context.Context, req llm.Request) (llm.Reply, error) {
	bounded, cancel := m.conn.Bound(ctx)
	defer cancel()
	var res *http.Response
	stream := m.client.Messages.NewStreaming(bounded, m.params(req), option.WithResponseInto(&res))
	defer func() { _ = stream.Close() }()
	if stream.Err() == nil && provider.IsWhole(res) { // all of the API's kind stream; this is an error with status 200
		body, _ := io.ReadAll(res.Body)
		return llm.Reply{}, m.conn.Failed(0, nil, body)
	}
	r := reading{Draft: provider.NewDraft(req), places: map[int64]int{}}
	for !r.Done && stream.Next() {
		r.take(stream.Current())
	}
	err := stream.Err()
	if api, ok := errors.AsType[*sdk.Error](err); ok && !r.Done { // an error in the stream
		return llm.Reply{}, m.conn.Failed(0, nil, []byte(api.RawJSON()))
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		return llm.Reply{}, failed
	}
	name := m.name
	if r.Model != "" {
		name = r.Model
	}
	return r.Reply(bounded, m.conn, err, "anthropic/"+name, m.price)
}

// reading makes a reply of the events of a stream.
type reading struct {
	*provider.Draft
	places map[int64]int // of calls, by the index of their block
}

func (r *reading) take(e sdk.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		r.Model = e.Message.Model
		u := e.Message.Usage
		r.Tokens = llm.Tokens{Input: u.InputTokens, CachedInput: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens, Output: u.OutputTokens}
	case "content_block_start":
		switch b := e.ContentBlock; b.Type {
		case "text":
			r.Say(b.Text)
		case "tool_use":
			// A stream of the arguments follows, as a rule; {} stands for it here.
			whole, err := json.Marshal(b.Input)
			if err != nil || string(whole) == "null" || string(whole) == "{}" {
				whole = nil
			}
			r.places[e.Index] = r.Call(b.ID, b.Name, string(whole))
		}
	case "content_block_delta":
		place, isCall := r.places[e.Index]
		switch {
		case e.Delta.Type == "text_delta":
			r.Say(e.Delta.Text)
		case e.Delta.Type == "input_json_delta" && isCall:
			r.Args(place, e.Delta.PartialJSON)
		}
	case "message_delta":
		r.Stop = stopOf(e.Delta.StopReason)
		r.counted(e.Usage)
	case "message_stop":
		r.Done = true
	}
}

// counted takes the totals, as far as they are told again.
func (r *reading) counted(u sdk.MessageDeltaUsage) {
	r.Tokens.Output = u.OutputTokens
	for _, c := range []struct {
		told  bool
		total int64
		to    *int64
	}{
		{u.JSON.InputTokens.Valid(), u.InputTokens, &r.Tokens.Input},
		{u.JSON.CacheReadInputTokens.Valid(), u.CacheReadInputTokens, &r.Tokens.CachedInput},
		{u.JSON.CacheCreationInputTokens.Valid(), u.CacheCreationInputTokens, &r.Tokens.CacheWrite},
	} {
		if c.told {
			*c.to = c.total
		}
	}
}

func stopOf(reason sdk.StopReason) llm.StopReason {
	switch reason {
	case sdk.StopReasonToolUse:
		return llm.StopToolUse
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.StopMaxTokens
	case sdk.StopReasonRefusal:
		return llm.StopContentFilter
	}
	return llm.StopEndTurn
}

// params is a request on the wire. What stays the same from step to step is
// marked to be kept by the provider, which makes reading it again cheaper.
func (m model) params(req llm.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: m.name, MaxTokens: int64(req.MaxOutputTokens)}
	if p.MaxTokens == 0 {
		p.MaxTokens = maxOutput
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, spec := range req.Tools {
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name: spec.Name, Description: sdk.String(spec.Description),
			InputSchema: param.Override[sdk.ToolInputSchemaParam](spec.Schema),
		}})
	}
	for _, turn := range provider.Turns(req.Messages) {
		p.Messages = append(p.Messages, message(turn))
	}
	keep(p.Messages[len(p.Messages)-1]) // ours: turns end with one
	return p
}

// keep marks the end of a message of ours.
func keep(m sdk.MessageParam) {
	last := m.OfUser.Content[len(m.OfUser.Content)-1]
	if last.OfText != nil {
		last.OfText.CacheControl = sdk.NewCacheControlEphemeralParam()
	} else {
		last.OfToolResult.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
}

func message(turn provider.Turn) sdk.MessageParam {
	var blocks []sdk.ContentBlockParamUnion
	if turn.Text != "" {
		blocks = append(blocks, sdk.NewTextBlock(turn.Text))
	}
	for _, c := range turn.Calls {
		blocks = append(blocks, sdk.NewToolUseBlock(c.ID, c.Args, c.Tool))
	}
	for _, r := range turn.Results {
		blocks = append(blocks, sdk.NewToolResultBlock(r.ID, r.Text, r.Failed))
	}
	for _, record := range turn.Records {
		blocks = append(blocks, sdk.NewTextBlock(record))
	}
	if turn.Ours {
		return sdk.NewUserMessage(blocks...)
	}
	return sdk.NewAssistantMessage(blocks...)
}
