package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// chat is OpenAI's chat completions.
type chat struct{}

func (chat) name() Dialect { return OpenAIChat }

// oaContent is a message's content: a string or a list of parts, in chat completions and in responses.
type oaContent struct {
	text   string
	images []Image
}

func (c *oaContent) UnmarshalJSON(b []byte) error {
	if string(b) == "null" || json.Unmarshal(b, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Text     string          `json:"text"`
		Refusal  string          `json:"refusal"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("content is neither a string nor a list of parts: %w", err)
	}
	for _, p := range parts {
		c.text += p.Text + p.Refusal
		if len(p.ImageURL) == 0 {
			continue
		}
		var url string
		var obj struct {
			URL string `json:"url"`
		}
		if json.Unmarshal(p.ImageURL, &url) != nil && json.Unmarshal(p.ImageURL, &obj) == nil {
			url = obj.URL
		}
		c.images = append(c.images, dataURL(url))
	}
	return nil
}

// dataURL describes the picture in data:TYPE;base64,DATA, or in a link.
func dataURL(url string) Image {
	head, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !ok {
		return Image{MIMEType: "link"}
	}
	return base64Image(head, data)
}

type oaFunction struct {
	Name       string          `json:"name"`
	Arguments  string          `json:"arguments,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

func (chat) read(_ *http.Request, body []byte) (*Conversation, error) {
	var req struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role       string
			Content    oaContent
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string
				Function oaFunction
			} `json:"tool_calls"`
		}
		Tools          []struct{ Function oaFunction }
		ResponseFormat *struct {
			Type       string
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read chat completion request: %w", err)
	}
	c := &Conversation{Model: req.Model, Stream: req.Stream}
	for _, t := range req.Tools {
		c.Tools = append(c.Tools, ToolSpec{Name: t.Function.Name, Schema: t.Function.Parameters})
	}
	if f := req.ResponseFormat; f != nil && strings.HasPrefix(f.Type, "json") {
		if c.Schema = f.JSONSchema.Schema; c.Schema == nil {
			c.Schema = json.RawMessage("null")
		}
	}
	for _, m := range req.Messages {
		it := Item{Text: m.Content.text, Images: m.Content.images}
		switch m.Role {
		case "system", "developer":
			c.System += m.Content.text
			continue
		case "user":
			it.Role = User
		case "tool":
			it.Role, it.CallID = Tool, m.ToolCallID
		case "assistant":
			it.Role = Assistant
			for _, tc := range m.ToolCalls {
				it.Calls = append(it.Calls, Call{ID: tc.ID, Name: tc.Function.Name, Args: tc.Function.Arguments})
			}
		default:
			return nil, fmt.Errorf("unknown role %q", m.Role)
		}
		c.Items = append(c.Items, it)
	}
	return c, nil
}

func (chat) failure(status int, why string) any {
	msg, kind, code := reason(status, why)
	return map[string]any{"error": map[string]any{"message": msg, "type": kind, "code": code, "param": nil}}
}

// reason is the message, type and code that OpenAI gives with a status.
func reason(status int, why string) (msg, kind, code string) {
	switch {
	case why == "quota":
		return "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota", "insufficient_quota"
	case why == "context":
		return "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.", "invalid_request_error", "context_length_exceeded"
	case why != "":
		return why, "invalid_request_error", "invalid_request"
	case status == http.StatusUnauthorized:
		return "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"
	case status == http.StatusNotFound:
		return "The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"
	case status == http.StatusTooManyRequests:
		return "Rate limit reached.", "requests", "rate_limit_exceeded"
	case status >= 500:
		return "The server had an error while processing your request.", "server_error", "server_error"
	}
	return "The request is not valid.", "invalid_request_error", "invalid_request"
}

func chatFinish(r string) string {
	switch r {
	case "calls":
		return "tool_calls"
	case "length":
		return "length"
	case "refuse":
		return "content_filter"
	}
	return "stop"
}

func chatUsage(u [4]int) map[string]any {
	return map[string]any{"prompt_tokens": u[0], "completion_tokens": u[1], "total_tokens": u[0] + u[1],
		"prompt_tokens_details":     map[string]int{"cached_tokens": u[2]},
		"completion_tokens_details": map[string]int{"reasoning_tokens": u[1] / 4}}
}

func (chat) whole(c *Conversation, pieces []piece, e ending) any {
	msg := map[string]any{"role": "assistant", "content": nil}
	var calls []map[string]any
	for _, p := range pieces {
		switch p.kind {
		case "text":
			msg["content"] = str(msg["content"]) + p.text
		case "thought":
			msg["reasoning_content"] = str(msg["reasoning_content"]) + p.text
		default:
			calls = append(calls, chatCall(p))
		}
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	return map[string]any{"id": "chatcmpl-" + c.answer, "object": "chat.completion", "created": 1700000000, "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": chatFinish(e.reason)}}, "usage": chatUsage(e.usage)}
}

func str(v any) string {
	s, _ := v.(string)
	return s
}

func chatCall(p piece) map[string]any {
	m := map[string]any{"type": "function", "function": map[string]any{"name": p.name, "arguments": p.text}}
	if p.id != "" {
		m["id"] = p.id
	}
	return m
}

type chatStream struct {
	*sse
	c     *Conversation
	calls int
}

func (chat) stream(c *Conversation, out *sse) writer { return &chatStream{sse: out, c: c} }

func (s *chatStream) delta(delta map[string]any, finish any) {
	s.data("", map[string]any{"id": "chatcmpl-" + s.c.answer, "object": "chat.completion.chunk", "created": 1700000000, "model": s.c.Model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (s *chatStream) open()             { s.delta(map[string]any{"role": "assistant", "content": ""}, nil) }
func (s *chatStream) text(t string)     { s.delta(map[string]any{"content": t}, nil) }
func (s *chatStream) thought(t string)  { s.delta(map[string]any{"reasoning_content": t}, nil) }
func (s *chatStream) fail(text string)  { s.data("", chat{}.failure(500, text)) }
func (s *chatStream) part(v any)        { s.delta(map[string]any{"tool_calls": []any{v}}, nil) }
func (s *chatStream) finish(why string) { s.delta(map[string]any{}, chatFinish(why)) }

func (s *chatStream) call(p piece) {
	first := chatCall(piece{id: p.id, name: p.name})
	first["index"] = s.calls
	s.part(first)
	for _, args := range split(p.text, 9) {
		s.part(map[string]any{"index": s.calls, "function": map[string]any{"arguments": args}})
	}
	s.calls++
}

func (s *chatStream) close(e ending) {
	s.finish(e.reason)
	s.data("", map[string]any{"id": "chatcmpl-" + s.c.answer, "object": "chat.completion.chunk", "created": 1700000000, "model": s.c.Model,
		"choices": []any{}, "usage": chatUsage(e.usage)})
	s.raw("", "[DONE]")
}
