// Package openai asks OpenAI's models, and those of any server that speaks its
// Chat Completions API, through the official SDK, of which the retries are off:
// trying again is the agent loop's.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/shared"

	"baton/internal/llm"
	"baton/internal/llm/provider"
)

// BaseURL is where OpenAI's API is.
const BaseURL = "https://api.openai.com/v1"

// noKey is sent to a server of one's own that wants no key: the SDK wants one.
const noKey = "none"

// Service is OpenAI's API, or one that speaks like it. It is safe for
// concurrent use.
type Service struct {
	conn   *provider.Connection
	chat   sdk.ChatService
	models sdk.ModelService
}

// Open prepares a service; nothing is sent yet. An empty base URL is OpenAI's
// own.
func Open(o provider.Options) (*Service, error) {
	if o.BaseURL == "" {
		o.BaseURL = BaseURL
	}
	conn, err := provider.Connect(o)
	if err != nil {
		return nil, err
	}
	key := o.Key
	if key == "" {
		key = noKey
	}
	// The services are made one by one: the SDK's client would read the
	// environment, and settings are Baton's.
	options := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithAPIKey(key),
		option.WithHTTPClient(conn.HTTP()), option.WithMaxRetries(0), option.WithMiddleware(conn.Try),
	}
	return &Service{conn, sdk.NewChatService(options...), sdk.NewModelService(options...)}, nil
}

// Model is one of its models.
func (s *Service) Model(name string, price llm.Price) llm.Model {
	return model{s, name, price}
}

// Check asks for something small and free of charge. The error is an *llm.Error.
func (s *Service) Check(ctx context.Context) error {
	ctx, cancel := s.conn.Bound(ctx)
	defer cancel()
	if _, err := s.models.List(ctx); err != nil {
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
	stream := m.chat.Completions.NewStreaming(bounded, m.params(req), option.WithResponseInto(&res))
	defer func() { _ = stream.Close() }()
	r := reading{Draft: provider.NewDraft(req), places: map[int64]int{}}
	err := stream.Err()
	if err == nil && provider.IsWhole(res) {
		err = r.whole(m.conn, res.Body)
	}
	for err == nil && !r.Done && stream.Next() {
		r.take(stream.Current())
	}
	if err == nil {
		err = stream.Err()
	}
	if broken, ok := errors.AsType[*ssestream.StreamError](err); ok { // an error in the stream
		return llm.Reply{}, m.conn.Failed(0, nil, broken.Event.Data)
	}
	if failed, ok := errors.AsType[*llm.Error](err); ok {
		return llm.Reply{}, failed
	}
	r.Done = r.Done || r.Stop != "" // what may follow are figures
	name := m.name
	if r.Model != "" {
		name = r.Model
	}
	return r.Reply(bounded, m.conn, err, "openai/"+name, m.price)
}

// whole takes a reply of a server that doesn't stream. An error may come with
// status 200.
func (r *reading) whole(conn *provider.Connection, body io.Reader) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var said sdk.ChatCompletion
	if json.Unmarshal(text, &said) != nil || len(said.Choices) == 0 {
		return conn.Failed(0, nil, text)
	}
	r.Model, r.Done = said.Model, true
	r.counted(said.Usage)
	choice := said.Choices[0]
	r.Say(choice.Message.Content)
	for _, call := range choice.Message.ToolCalls {
		r.Args(r.Call(call.ID, call.Function.Name, ""), call.Function.Arguments)
	}
	r.Stop = stopOf(choice.FinishReason)
	if choice.Message.Refusal != "" {
		r.Stop = llm.StopContentFilter
	}
	return nil
}

// reading makes a reply of the chunks of a stream.
type reading struct {
	*provider.Draft
	places map[int64]int // of calls, by their index
	ids    []string      // of calls, by their place
}

func (r *reading) take(chunk sdk.ChatCompletionChunk) {
	if chunk.Model != "" {
		r.Model = chunk.Model
	}
	r.counted(chunk.Usage)
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		r.Say(choice.Delta.Content)
		for _, call := range choice.Delta.ToolCalls {
			r.call(call)
		}
		if choice.Delta.Refusal != "" {
			r.Stop = llm.StopContentFilter
		}
		if choice.FinishReason != "" && r.Stop != llm.StopContentFilter {
			r.Stop = stopOf(choice.FinishReason)
		}
	}
}

// counted takes the figures, which come once.
func (r *reading) counted(u sdk.CompletionUsage) {
	if u.PromptTokens == 0 && u.CompletionTokens == 0 {
		return
	}
	cached, write := u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens
	r.Tokens = llm.Tokens{Input: max(0, u.PromptTokens-cached-write), CachedInput: cached, CacheWrite: write, Output: u.CompletionTokens}
}

// call takes a piece of a call. One with another id begins another call, also
// where a server gives all of them one index.
func (r *reading) call(c sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	place, begun := r.places[c.Index]
	if !begun || c.ID != "" && c.ID != r.ids[place] {
		place = r.Call(c.ID, c.Function.Name, "")
		r.places[c.Index], r.ids = place, append(r.ids, c.ID)
	}
	r.Args(place, c.Function.Arguments)
}

func stopOf(reason string) llm.StopReason {
	switch reason {
	case "tool_calls", "function_call":
		return llm.StopToolUse
	case "length":
		return llm.StopMaxTokens
	case "content_filter":
		return llm.StopContentFilter
	}
	return llm.StopEndTurn
}

// params is a request on the wire.
func (m model) params(req llm.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{Model: m.name, StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)}}
	if req.MaxOutputTokens > 0 {
		p.MaxCompletionTokens = sdk.Int(int64(req.MaxOutputTokens))
	}
	if req.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(req.System))
	}
	for _, spec := range req.Tools {
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: spec.Name, Description: sdk.String(spec.Description), Parameters: parameters(spec.Schema)}))
	}
	for _, turn := range provider.Turns(req.Messages) {
		p.Messages = append(p.Messages, messages(turn)...)
	}
	return p
}

// parameters is a schema as the SDK takes it, with its parts as they are written.
func parameters(schema json.RawMessage) shared.FunctionParameters {
	var parts map[string]json.RawMessage
	if json.Unmarshal(schema, &parts) != nil {
		return nil // no tool has such a schema: they are checked
	}
	p := shared.FunctionParameters{}
	for key, value := range parts {
		p[key] = value
	}
	return p
}

func messages(turn provider.Turn) (list []sdk.ChatCompletionMessageParamUnion) {
	if !turn.Ours {
		var said sdk.ChatCompletionAssistantMessageParam
		if turn.Text != "" {
			said.Content.OfString = sdk.String(turn.Text)
		}
		for _, c := range turn.Calls {
			said.ToolCalls = append(said.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID, Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Tool, Arguments: string(c.Args)}}})
		}
		return append(list, sdk.ChatCompletionMessageParamUnion{OfAssistant: &said})
	}
	for _, r := range turn.Results {
		list = append(list, sdk.ToolMessage(r.Text, r.ID))
	}
	if len(turn.Records) > 0 { // a line each; in one message, since some servers take no two of one role in a row
		list = append(list, sdk.UserMessage(strings.Join(turn.Records, "\n")))
	}
	return list
}
