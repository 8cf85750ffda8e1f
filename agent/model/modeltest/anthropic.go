package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
)

// messages is Anthropic's messages.
type messages struct{}

func (messages) name() Dialect { return Anthropic }

// anContent is a content field: a string or a list of blocks.
type anContent []anBlock

type anBlock struct {
	Type      string
	Text      string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	Content   anContent
	Source    struct {
		MediaType string `json:"media_type"`
		Data      string
	}
}

func (c *anContent) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) == nil {
		*c = anContent{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(b, (*[]anBlock)(c))
}

func (messages) read(_ *http.Request, body []byte) (*Conversation, error) {
	var req struct {
		Model     string
		Stream    bool
		MaxTokens int `json:"max_tokens"`
		System    anContent
		Messages  []struct {
			Role    string
			Content anContent
		}
		Tools []struct {
			Name        string
			InputSchema json.RawMessage `json:"input_schema"`
		}
		OutputConfig struct {
			Format struct{ Schema json.RawMessage }
		} `json:"output_config"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read messages request: %w", err)
	}
	if req.MaxTokens < 1 {
		return nil, fmt.Errorf("max_tokens: field required")
	}
	c := &Conversation{Model: req.Model, Stream: req.Stream, Schema: req.OutputConfig.Format.Schema}
	for _, b := range req.System {
		c.System += b.Text
	}
	for _, t := range req.Tools {
		c.Tools = append(c.Tools, ToolSpec{Name: t.Name, Schema: t.InputSchema})
	}
	for _, m := range req.Messages {
		c.Items = append(c.Items, anItems(m.Role, m.Content)...)
	}
	return c, nil
}

// anItems splits a message into items: tool results are items of their own.
func anItems(role string, blocks anContent) []Item {
	var items []Item
	own := Item{Role: Role(role)}
	used := false
	for _, b := range blocks {
		switch b.Type {
		case "tool_result":
			res := Item{Role: Tool, CallID: b.ToolUseID}
			for _, in := range b.Content {
				res.Text += in.Text
				if in.Type == "image" {
					res.Images = append(res.Images, base64Image(in.Source.MediaType, in.Source.Data))
				}
			}
			items = append(items, res)
			continue
		case "text":
			if own.Text != "" {
				own.Text += "\n"
			}
			own.Text += b.Text
		case "image":
			own.Images = append(own.Images, base64Image(b.Source.MediaType, b.Source.Data))
		case "tool_use":
			own.Calls = append(own.Calls, Call{ID: b.ID, Name: b.Name, Args: string(b.Input)})
		}
		used = true
	}
	if used {
		items = append(items, own)
	}
	return items
}

func base64Image(mime, data string) Image {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return Image{MIMEType: mime, Bytes: -1}
	}
	return Image{MIMEType: mime, Bytes: len(raw)}
}

func (messages) failure(status int, why string) any {
	kind, msg := "invalid_request_error", "The request is not valid."
	switch {
	case why == "quota":
		kind, msg = "billing_error", "Your credit balance is too low to access the Anthropic API."
	case why == "context":
		msg = "prompt is too long: 210000 tokens > 200000 maximum"
	case why != "":
		msg = why
	case status == http.StatusUnauthorized:
		kind, msg = "authentication_error", "invalid x-api-key"
	case status == http.StatusForbidden:
		kind, msg = "permission_error", "Your API key does not have permission to use the specified resource."
	case status == http.StatusNotFound:
		kind, msg = "not_found_error", "model: not found"
	case status == http.StatusTooManyRequests:
		kind, msg = "rate_limit_error", "This request would exceed your organization's rate limit."
	case status == 529:
		kind, msg = "overloaded_error", "Overloaded"
	case status >= 500:
		kind, msg = "api_error", "Internal server error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": msg}, "request_id": "req_double"}
}

func anStop(reason string) string {
	switch reason {
	case "calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "refuse":
		return "refusal"
	}
	return "end_turn"
}

func anUsage(u [4]int) map[string]any {
	return map[string]any{"input_tokens": u[0] - u[2] - u[3], "output_tokens": u[1], "cache_read_input_tokens": u[2], "cache_creation_input_tokens": u[3]}
}

func anMessage(c *Conversation, content []any, stop any, usage map[string]any) map[string]any {
	return map[string]any{"id": "msg_" + c.answer, "type": "message", "role": "assistant", "model": c.Model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": usage}
}

func (messages) whole(c *Conversation, pieces []piece, e ending) any {
	content := []any{}
	for _, p := range pieces {
		switch p.kind {
		case "text":
			content = append(content, map[string]any{"type": "text", "text": p.text})
		case "thought":
			content = append(content, map[string]any{"type": "thinking", "thinking": p.text, "signature": Signature})
		default:
			content = append(content, map[string]any{"type": "tool_use", "id": p.id, "name": p.name, "input": json.RawMessage(p.text)})
		}
	}
	return anMessage(c, content, anStop(e.reason), anUsage(e.usage))
}

type messagesStream struct {
	*sse
	c     *Conversation
	index int
	kind  string // of the open block, "" if none
}

func (messages) stream(c *Conversation, out *sse) writer { return &messagesStream{sse: out, c: c} }

func (s *messagesStream) event(kind string, fields map[string]any) {
	fields["type"] = kind
	s.data(kind, fields)
}

func (s *messagesStream) open() {
	s.event("message_start", map[string]any{"message": anMessage(s.c, []any{}, nil, anUsage([4]int{100, 1, 0, 0}))})
	s.event("ping", map[string]any{})
}

func (s *messagesStream) begin(kind string, block map[string]any) {
	s.end()
	s.kind = kind
	s.event("content_block_start", map[string]any{"index": s.index, "content_block": block})
}

func (s *messagesStream) delta(fields map[string]any) {
	s.event("content_block_delta", map[string]any{"index": s.index, "delta": fields})
}

func (s *messagesStream) end() {
	if s.kind == "" {
		return
	}
	if s.kind == "thought" {
		s.delta(map[string]any{"type": "signature_delta", "signature": Signature})
	}
	s.event("content_block_stop", map[string]any{"index": s.index})
	s.index++
	s.kind = ""
}

func (s *messagesStream) text(t string) {
	if s.kind != "text" {
		s.begin("text", map[string]any{"type": "text", "text": ""})
	}
	s.delta(map[string]any{"type": "text_delta", "text": t})
}

func (s *messagesStream) thought(t string) {
	if s.kind != "thought" {
		s.begin("thought", map[string]any{"type": "thinking", "thinking": "", "signature": ""})
	}
	s.delta(map[string]any{"type": "thinking_delta", "thinking": t})
}

func (s *messagesStream) call(p piece) {
	s.begin("call", map[string]any{"type": "tool_use", "id": p.id, "name": p.name, "input": map[string]any{}})
	for _, args := range split(p.text, 9) {
		s.delta(map[string]any{"type": "input_json_delta", "partial_json": args})
	}
	s.end()
}

func (s *messagesStream) fail(text string) {
	kind := "api_error"
	if text == "overloaded" {
		kind, text = "overloaded_error", "Overloaded"
	}
	s.event("error", map[string]any{"error": map[string]any{"type": kind, "message": text}})
}

func (s *messagesStream) close(e ending) {
	s.end()
	s.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": anStop(e.reason), "stop_sequence": nil}, "usage": anUsage(e.usage)})
	s.event("message_stop", map[string]any{})
}
