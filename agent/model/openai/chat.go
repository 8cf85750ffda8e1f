package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	api "github.com/sashabaranov/go-openai"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// chunk is what the library's own type leaves out of a streamed chunk.
type chunk struct {
	Done    bool            `json:"done"` // see doneMark
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta struct {
			Reasoning string `json:"reasoning"` // Ollama, OpenRouter, vLLM
		} `json:"delta"`
	} `json:"choices"`
}

// completion gathers one answer while it streams.
type completion struct {
	m        *Model
	yield    func(model.Event, error) bool
	calls    adapt.Calls
	usage    *model.Usage
	finish   api.FinishReason
	refused  bool
	done     bool // the end mark came
	thinking bool // a reasoning block is open
	field    bool // it came in reasoning_content
	shown    bool // something of the answer went out
}

// complete asks by chat completions.
func (m *Model) complete(ctx context.Context, call *endpoint.Call, req model.Request, yield func(model.Event, error) bool) {
	stream, err := m.client.CreateChatCompletionStream(ctx, m.chatRequest(req))
	if err != nil {
		yield(nil, call.Error(err, said(err)))
		return
	}
	defer func() { _ = stream.Close() }()
	c := &completion{m: m, yield: yield}
	for {
		line, err := stream.RecvRaw()
		if err == nil {
			var on bool
			if on, err = c.line(line); on {
				continue
			}
			if err == nil {
				return // the reader of the events left
			}
		}
		if errors.Is(err, io.EOF) && c.whole() {
			c.stop()
			return
		}
		c.fail(call, err)
		return
	}
}

// line takes one chunk; false with a nil error when the reader of the events left.
func (c *completion) line(line []byte) (bool, error) {
	if line == nil {
		return false, fmt.Errorf("error event: %w", endpoint.ErrFormat)
	}
	var extra chunk
	if err := json.Unmarshal(line, &extra); err != nil {
		return false, err
	}
	if len(extra.Error) > 0 && string(extra.Error) != "null" {
		return false, streamError(extra.Error)
	}
	if extra.Done {
		c.done = true
		return true, nil
	}
	var resp api.ChatCompletionStreamResponse
	if err := json.Unmarshal(line, &resp); err != nil {
		return false, err
	}
	if u := resp.Usage; u != nil {
		c.usage = usageOf(u)
	}
	for i, choice := range resp.Choices {
		if choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" && choice.FinishReason != api.FinishReasonNull {
			c.finish = choice.FinishReason
		}
		if !c.delta(choice.Delta, extra.Choices[i].Delta.Reasoning) {
			return false, nil
		}
	}
	return true, nil
}

// streamError reads an error that came as a chunk.
func streamError(raw json.RawMessage) error {
	a := new(api.APIError)
	if json.Unmarshal(raw, a) == nil {
		return a
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return fmt.Errorf("error event: %w", endpoint.ErrFormat)
	}
	return &api.APIError{Message: text}
}

func (c *completion) delta(d api.ChatCompletionStreamChoiceDelta, reasoning string) bool {
	if d.ReasoningContent != "" {
		reasoning, c.field = d.ReasoningContent, true
	}
	if reasoning != "" {
		c.thinking = true
		if !c.show(model.ThoughtDelta{Text: reasoning}) {
			return false
		}
	}
	if text := d.Content + d.Refusal; text != "" {
		c.refused = c.refused || d.Refusal != ""
		if !c.endThought() || !c.show(model.TextDelta{Text: text}) {
			return false
		}
	}
	for _, tc := range d.ToolCalls {
		index := -1
		if tc.Index != nil {
			index = *tc.Index
		}
		c.calls.Piece(index, tc.ID, tc.Function.Name, tc.Function.Arguments, nil)
	}
	return len(d.ToolCalls) == 0 || c.endThought()
}

func (c *completion) show(e model.Event) bool {
	c.shown = true
	return c.yield(e, nil)
}

func (c *completion) endThought() bool {
	if !c.thinking {
		return true
	}
	done := model.ThoughtDone{}
	if c.field {
		done.Opaque = json.RawMessage(reasoned)
	}
	c.thinking, c.field = false, false
	return c.show(done)
}

// whole tells at the end of the stream whether the answer is: the model said why it stopped, or the end mark came after
// something.
func (c *completion) whole() bool {
	return c.finish != "" || c.done && (c.shown || c.calls.Len() > 0)
}

// stop gives what comes at the end of an answer.
func (c *completion) stop() {
	if !c.endThought() {
		return
	}
	for _, tc := range c.calls.Done(c.m.info.Provider, c.finish == api.FinishReasonLength) {
		if !c.show(model.CallDone{Call: tc}) {
			return
		}
	}
	if c.usage != nil && !c.show(*c.usage) {
		return
	}
	reason := model.StopEnd
	switch {
	case c.finish == api.FinishReasonLength:
		reason = model.StopMaxTokens
	case c.finish == api.FinishReasonContentFilter, c.refused:
		reason = model.StopRefusal
	case c.calls.Len() > 0:
		reason = model.StopCalls
	}
	c.show(model.Stop{Reason: reason})
}

// fail ends the events with an error. What was used is told first if anything was shown.
func (c *completion) fail(call *endpoint.Call, err error) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if c.shown && c.usage != nil && !c.yield(*c.usage, nil) {
		return
	}
	c.yield(nil, call.Error(err, said(err)))
}

func usageOf(u *api.Usage) *model.Usage {
	out := &model.Usage{Input: u.PromptTokens, Output: u.CompletionTokens}
	if d := u.PromptTokensDetails; d != nil {
		out.CacheRead = d.CachedTokens
	}
	if d := u.CompletionTokensDetails; d != nil {
		out.Thought = d.ReasoningTokens
	}
	return out
}
