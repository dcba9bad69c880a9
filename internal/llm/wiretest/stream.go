package wiretest

import (
	"fmt"
	"io"

	"baton/internal/llm"
	"baton/internal/tools"
)

// stream writes an answer as the events of a dialect.
type stream struct {
	w      io.Writer
	model  string
	answer Answer
}

// half says whether the stream ends before its proper end.
func (s stream) half() bool {
	return s.answer.Within || s.answer.Reply.Stop == llm.StopCut
}

func (s stream) event(name, data string) {
	if name != "" {
		_, _ = fmt.Fprintf(s.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", data)
}

func (s stream) anthropic() {
	r := s.answer.Reply
	s.event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":%s,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}`, text(s.model), r.Usage.InputTokens))
	s.event("ping", `{"type":"ping"}`)
	index := 0
	if r.Text != "" {
		s.event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		for _, piece := range pieces(r.Text) {
			s.event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, text(piece)))
		}
		if len(r.Calls) > 0 || !s.half() {
			s.event("content_block_stop", `{"type":"content_block_stop","index":0}`)
		}
		index++
	}
	for i, c := range r.Calls {
		s.event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}}`, index, text(c.ProviderID), text(c.Tool)))
		s.event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":""}}`, index))
		for _, piece := range pieces(arguments(c)) {
			s.event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, index, text(piece)))
		}
		if i < len(r.Calls)-1 || !s.half() {
			s.event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
		}
		index++
	}
	if s.answer.Within && s.answer.Err != nil {
		s.event("error", Anthropic.errorBody(s.answer.Err))
	}
	if s.half() {
		return
	}
	stop := map[llm.StopReason]string{llm.StopMaxTokens: "max_tokens", llm.StopContentFilter: "refusal", llm.StopToolUse: "tool_use"}[r.Stop]
	s.event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`, text(first(stop, "end_turn")), r.Usage.OutputTokens))
	s.event("message_stop", `{"type":"message_stop"}`)
}

func (s stream) chunk(delta, finish string) {
	s.event("", fmt.Sprintf(`{"id":"chatcmpl-123","object":"chat.completion.chunk","created":1767225600,"model":%s,"system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`, text(s.model), delta, finish))
}

func (s stream) openai() {
	r := s.answer.Reply
	s.chunk(`{"role":"assistant","content":"","refusal":null}`, "null")
	for _, piece := range pieces(r.Text) {
		s.chunk(`{"content":`+text(piece)+`}`, "null")
	}
	for i, c := range r.Calls {
		s.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, text(c.ProviderID), text(c.Tool)), "null")
		for _, piece := range pieces(arguments(c)) {
			s.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, text(piece)), "null")
		}
	}
	if s.answer.Within && s.answer.Err != nil {
		s.event("", OpenAI.errorBody(s.answer.Err))
	}
	if s.half() {
		return
	}
	stop := map[llm.StopReason]string{llm.StopMaxTokens: "length", llm.StopContentFilter: "content_filter", llm.StopToolUse: "tool_calls"}[r.Stop]
	s.chunk(`{}`, text(first(stop, "stop")))
	s.event("", fmt.Sprintf(`{"id":"chatcmpl-123","object":"chat.completion.chunk","created":1767225600,"model":%s,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":0}}}`,
		text(s.model), r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.InputTokens+r.Usage.OutputTokens))
	s.event("", "[DONE]")
}

// arguments are a call's as it wrote them.
func arguments(c tools.Call) string {
	if c.Args != nil {
		return string(c.Args)
	}
	return c.Raw
}

// pieces cuts a text as a stream does, on borders of characters.
func pieces(s string) (list []string) {
	runes := []rune(s)
	for len(runes) > 0 {
		n := min(9, len(runes))
		list, runes = append(list, string(runes[:n])), runes[n:]
	}
	return list
}
