package anthropic

import (
	"encoding/json"

	api "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// answer gathers one message while it streams.
type answer struct {
	m     *Model
	yield func(model.Event, error) bool

	calls adapt.Calls
	block string // type of the open block
	sign  opaque // of the open reasoning block
	usage model.Usage
	stop  api.StopReason
	shown bool
}

// event takes one event; false after the last one, or when the reader of the events left.
func (a *answer) event(ev api.MessageStreamEventUnion) bool {
	switch ev.Type {
	case "message_start":
		u := ev.Message.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
	case "content_block_start":
		return a.begin(ev.Index, ev.ContentBlock)
	case "content_block_delta":
		return a.delta(ev.Index, ev.Delta)
	case "content_block_stop":
		return a.end()
	case "message_delta":
		a.stop = ev.Delta.StopReason
		u := ev.Usage
		a.count(u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
		a.usage.Thought = int(u.OutputTokensDetails.ThinkingTokens)
	case "message_stop":
		a.finish()
		return false
	}
	return true
}

// count keeps the latest numbers. Input is given without the cached tokens, and some servers leave it out at the end.
func (a *answer) count(in, out, read, write int64) {
	if in+read+write > 0 {
		a.usage.Input, a.usage.CacheRead, a.usage.CacheWrite = int(in+read+write), int(read), int(write)
	}
	a.usage.Output = max(a.usage.Output, int(out))
}

func (a *answer) begin(index int64, b api.ContentBlockStartEventContentBlockUnion) bool {
	a.block, a.sign = b.Type, opaque{Signature: b.Signature, Redacted: b.Data}
	switch b.Type {
	case "text":
		return b.Text == "" || a.show(model.TextDelta{Text: b.Text})
	case "thinking":
		return b.Thinking == "" || a.show(model.ThoughtDelta{Text: b.Thinking})
	case "tool_use":
		args := ""
		if m, ok := b.Input.(map[string]any); ok && len(m) > 0 { // servers that do not stream arguments
			if raw, err := json.Marshal(m); err == nil {
				args = string(raw)
			}
		}
		a.calls.Piece(int(index), b.ID, b.Name, args, nil)
	}
	return true
}

func (a *answer) delta(index int64, d api.MessageStreamEventUnionDelta) bool {
	switch d.Type {
	case "text_delta":
		return a.show(model.TextDelta{Text: d.Text})
	case "thinking_delta":
		return a.show(model.ThoughtDelta{Text: d.Thinking})
	case "signature_delta":
		a.sign.Signature += d.Signature
	case "input_json_delta":
		if a.block == "tool_use" {
			a.calls.Piece(int(index), "", "", d.PartialJSON, nil)
		}
	}
	return true
}

func (a *answer) end() bool {
	block := a.block
	a.block = ""
	if block != "thinking" && block != "redacted_thinking" {
		return true
	}
	raw, err := json.Marshal(a.sign)
	if err != nil || a.sign == (opaque{}) {
		raw = nil
	}
	return a.show(model.ThoughtDone{Opaque: raw})
}

func (a *answer) show(e model.Event) bool {
	a.shown = true
	return a.yield(e, nil)
}

func (a *answer) finish() {
	for _, c := range a.calls.Done(a.m.info.Provider, a.stop == api.StopReasonMaxTokens) {
		if !a.show(model.CallDone{Call: c}) {
			return
		}
	}
	if !a.show(a.usage) {
		return
	}
	reason := model.StopEnd
	switch a.stop {
	case api.StopReasonMaxTokens, api.StopReasonModelContextWindowExceeded:
		reason = model.StopMaxTokens
	case api.StopReasonRefusal:
		reason = model.StopRefusal
	case api.StopReasonToolUse:
		reason = model.StopCalls
	default:
		if a.calls.Len() > 0 {
			reason = model.StopCalls
		}
	}
	a.show(model.Stop{Reason: reason})
}
