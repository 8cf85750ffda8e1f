package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// responses is OpenAI's responses.
type responses struct{}

func (responses) name() Dialect { return OpenAIResponses }

func (responses) read(_ *http.Request, body []byte) (*Conversation, error) {
	var req struct {
		Model        string
		Stream       bool
		Instructions string
		Input        json.RawMessage
		Tools        []struct {
			Type       string
			Name       string
			Parameters json.RawMessage
		}
		Text struct {
			Format struct {
				Type   string
				Schema json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, fmt.Errorf("read responses request: %w", err)
	}
	c := &Conversation{Model: req.Model, Stream: req.Stream, System: req.Instructions}
	for _, t := range req.Tools {
		if t.Type == "function" {
			c.Tools = append(c.Tools, ToolSpec{Name: t.Name, Schema: t.Parameters})
		}
	}
	switch req.Text.Format.Type {
	case "json_schema":
		c.Schema = req.Text.Format.Schema
	case "json_object":
		c.Schema = json.RawMessage("null")
	}
	var text string
	if json.Unmarshal(req.Input, &text) == nil {
		c.Items = []Item{{Role: User, Text: text}}
		return c, nil
	}
	var items []responsesItem
	if err := json.Unmarshal(req.Input, &items); err != nil {
		return nil, fmt.Errorf("read responses input: %w", err)
	}
	for _, it := range items {
		c.add(it)
	}
	return c, nil
}

type responsesItem struct {
	Type      string
	Role      string
	Content   oaContent
	Name      string
	Arguments string
	CallID    string `json:"call_id"`
	Output    oaContent
}

// add turns an input item into conversation items. Thoughts, messages and calls in a row are one assistant item.
func (c *Conversation) add(in responsesItem) {
	assistant := func() *Item {
		if n := len(c.Items); n > 0 && c.Items[n-1].Role == Assistant {
			return &c.Items[n-1]
		}
		c.Items = append(c.Items, Item{Role: Assistant})
		return &c.Items[len(c.Items)-1]
	}
	switch in.Type {
	case "function_call", "custom_tool_call", "local_shell_call":
		a := assistant()
		a.Calls = append(a.Calls, Call{ID: in.CallID, Name: in.Name, Args: in.Arguments})
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		c.Items = append(c.Items, Item{Role: Tool, Text: in.Output.text, Images: in.Output.images, CallID: in.CallID})
	case "reasoning":
		assistant()
	case "", "message":
		switch in.Role {
		case "assistant":
			assistant().Text += in.Content.text
		case "system", "developer":
			c.System += in.Content.text
		default:
			c.Items = append(c.Items, Item{Role: User, Text: in.Content.text, Images: in.Content.images})
		}
	}
}

func (responses) failure(status int, why string) any { return chat{}.failure(status, why) }

func (responses) whole(c *Conversation, pieces []piece, e ending) any {
	output := []any{}
	for i, p := range pieces {
		output = append(output, responsesOutput(i, p))
	}
	return responsesObject(c, e, output, "completed")
}

func responsesObject(c *Conversation, e ending, output []any, status string) map[string]any {
	r := map[string]any{"id": "resp_" + c.answer, "object": "response", "created_at": 1700000000, "model": c.Model, "status": status,
		"output": output, "error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "tools": []any{}}
	if status == "in_progress" {
		return r
	}
	u := e.usage
	r["usage"] = map[string]any{"input_tokens": u[0], "output_tokens": u[1], "total_tokens": u[0] + u[1],
		"input_tokens_details": map[string]int{"cached_tokens": u[2]}, "output_tokens_details": map[string]int{"reasoning_tokens": u[1] / 4}}
	switch e.reason {
	case "length":
		r["status"], r["incomplete_details"] = "incomplete", map[string]string{"reason": "max_output_tokens"}
	case "refuse":
		r["status"], r["incomplete_details"] = "incomplete", map[string]string{"reason": "content_filter"}
	}
	return r
}

func responsesOutput(i int, p piece) map[string]any {
	switch p.kind {
	case "text":
		return map[string]any{"id": fmt.Sprintf("msg_%d", i), "type": "message", "role": "assistant", "status": "completed",
			"content": []any{responsesText(p.text)}}
	case "thought":
		return map[string]any{"id": fmt.Sprintf("rs_%d", i), "type": "reasoning", "encrypted_content": Signature,
			"summary": []any{map[string]any{"type": "summary_text", "text": p.text}}}
	}
	return map[string]any{"id": fmt.Sprintf("fc_%d", i), "type": "function_call", "status": "completed", "call_id": p.id,
		"name": p.name, "arguments": p.text}
}

func responsesText(t string) map[string]any {
	return map[string]any{"type": "output_text", "text": t, "annotations": []any{}}
}

type responsesStream struct {
	*sse
	c      *Conversation
	seq    int
	output []any
	cur    piece // the item that is being written; kind "" if none. Its text is in said until it ends
	said   strings.Builder
}

func (responses) stream(c *Conversation, out *sse) writer { return &responsesStream{sse: out, c: c} }

func (s *responsesStream) event(kind string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = kind, s.seq
	s.seq++
	s.data(kind, fields)
}

// at adds where in the output an event belongs.
func (s *responsesStream) at(fields map[string]any) map[string]any {
	fields["output_index"] = len(s.output)
	fields["item_id"] = responsesOutput(len(s.output), s.cur)["id"]
	return fields
}

func (s *responsesStream) open() {
	r := responsesObject(s.c, ending{}, []any{}, "in_progress")
	s.event("response.created", map[string]any{"response": r})
	s.event("response.in_progress", map[string]any{"response": r})
}

// begin opens an item unless one of that kind is open.
func (s *responsesStream) begin(p piece) {
	if s.cur.kind == p.kind && p.kind != "call" {
		return
	}
	s.end()
	s.cur = p
	item := responsesOutput(len(s.output), piece{kind: p.kind, id: p.id, name: p.name})
	switch p.kind {
	case "text":
		item["content"], item["status"] = []any{}, "in_progress"
	case "thought":
		item["summary"] = []any{}
	default:
		item["status"] = "in_progress"
	}
	s.event("response.output_item.added", map[string]any{"output_index": len(s.output), "item": item})
	switch p.kind {
	case "text":
		s.event("response.content_part.added", s.at(map[string]any{"content_index": 0, "part": responsesText("")}))
	case "thought":
		s.event("response.reasoning_summary_part.added",
			s.at(map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": ""}}))
	}
}

// end closes the open item, if any.
func (s *responsesStream) end() {
	p := s.cur
	if p.kind == "text" || p.kind == "thought" {
		p.text = s.said.String()
		s.said.Reset()
	}
	switch p.kind {
	case "":
		return
	case "text":
		s.event("response.output_text.done", s.at(map[string]any{"content_index": 0, "text": p.text}))
		s.event("response.content_part.done", s.at(map[string]any{"content_index": 0, "part": responsesText(p.text)}))
	case "thought":
		s.event("response.reasoning_summary_text.done", s.at(map[string]any{"summary_index": 0, "text": p.text}))
		s.event("response.reasoning_summary_part.done",
			s.at(map[string]any{"summary_index": 0, "part": map[string]any{"type": "summary_text", "text": p.text}}))
	default:
		s.event("response.function_call_arguments.done", s.at(map[string]any{"name": p.name, "arguments": p.text}))
	}
	item := responsesOutput(len(s.output), p)
	s.event("response.output_item.done", map[string]any{"output_index": len(s.output), "item": item})
	s.output = append(s.output, item)
	s.cur = piece{}
}

func (s *responsesStream) text(t string) {
	s.begin(piece{kind: "text"})
	s.said.WriteString(t)
	s.event("response.output_text.delta", s.at(map[string]any{"content_index": 0, "delta": t}))
}

func (s *responsesStream) thought(t string) {
	s.begin(piece{kind: "thought"})
	s.said.WriteString(t)
	s.event("response.reasoning_summary_text.delta", s.at(map[string]any{"summary_index": 0, "delta": t}))
}

func (s *responsesStream) call(p piece) {
	s.begin(p)
	for _, args := range split(p.text, 9) {
		s.event("response.function_call_arguments.delta", s.at(map[string]any{"delta": args}))
	}
	s.end()
}

func (s *responsesStream) fail(text string) {
	msg, _, code := reason(500, text)
	s.event("error", map[string]any{"code": code, "message": msg, "param": nil})
}

func (s *responsesStream) close(e ending) {
	s.end()
	r := responsesObject(s.c, e, s.output, "completed")
	kind := "response.completed"
	if r["status"] == "incomplete" {
		kind = "response.incomplete"
	}
	s.event(kind, map[string]any{"response": r})
}
