package gemini

import (
	"encoding/json"

	"google.golang.org/genai"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// answer gathers one answer while it streams.
type answer struct {
	m     *Model
	yield func(model.Event, error) bool

	calls    adapt.Calls
	usage    *model.Usage
	stop     genai.FinishReason
	blocked  bool
	thinking bool // a reasoning block is open
	shown    bool
}

// response takes one piece of the stream; false when the reader of the events left.
func (a *answer) response(r *genai.GenerateContentResponse) bool {
	if u := r.UsageMetadata; u != nil {
		a.usage = &model.Usage{Input: int(u.PromptTokenCount + u.ToolUsePromptTokenCount), Output: int(u.CandidatesTokenCount + u.ThoughtsTokenCount),
			Thought: int(u.ThoughtsTokenCount), CacheRead: int(u.CachedContentTokenCount)}
	}
	if f := r.PromptFeedback; f != nil && f.BlockReason != "" {
		a.blocked = true
	}
	if len(r.Candidates) == 0 || r.Candidates[0] == nil {
		return true
	}
	c := r.Candidates[0]
	if c.FinishReason != "" {
		a.stop = c.FinishReason
	}
	if c.Content == nil {
		return true
	}
	for _, p := range c.Content.Parts {
		if p != nil && !a.part(p) {
			return false
		}
	}
	return true
}

func (a *answer) part(p *genai.Part) bool {
	switch {
	case p.FunctionCall != nil:
		args, err := json.Marshal(p.FunctionCall.Args)
		if err != nil || p.FunctionCall.Args == nil {
			args = []byte("{}")
		}
		a.calls.Piece(a.calls.Len(), p.FunctionCall.ID, p.FunctionCall.Name, string(args), opaqueOf(p.ThoughtSignature, p.FunctionCall.ID))
		return a.endThought(nil)
	case p.Thought:
		a.thinking = true
		if p.Text != "" && !a.show(model.ThoughtDelta{Text: p.Text}) {
			return false
		}
		return len(p.ThoughtSignature) == 0 || a.endThought(p.ThoughtSignature)
	}
	if p.Text != "" && (!a.endThought(nil) || !a.show(model.TextDelta{Text: p.Text})) {
		return false
	}
	if len(p.ThoughtSignature) > 0 {
		a.thinking = true
		return a.endThought(p.ThoughtSignature)
	}
	return true
}

func (a *answer) endThought(signature []byte) bool {
	if !a.thinking {
		return true
	}
	a.thinking = false
	return a.show(model.ThoughtDone{Opaque: opaqueOf(signature, "")})
}

func (a *answer) show(e model.Event) bool {
	a.shown = true
	return a.yield(e, nil)
}

// finish gives what comes at the end of an answer; false if the answer is not whole.
func (a *answer) finish() bool {
	if a.stop == "" && !a.blocked {
		return false
	}
	if !a.endThought(nil) {
		return true
	}
	for _, c := range a.calls.Done(a.m.info.Provider, false) {
		if !a.show(model.CallDone{Call: c}) {
			return true
		}
	}
	if a.usage != nil && !a.show(*a.usage) {
		return true
	}
	a.show(model.Stop{Reason: a.reason()})
	return true
}

func (a *answer) reason() model.StopReason {
	switch a.stop {
	case genai.FinishReasonMaxTokens:
		return model.StopMaxTokens
	case genai.FinishReasonStop, genai.FinishReasonUnspecified, "", genai.FinishReasonMalformedFunctionCall, genai.FinishReasonUnexpectedToolCall,
		genai.FinishReasonTooManyToolCalls, genai.FinishReasonOther:
		switch {
		case a.blocked:
			return model.StopRefusal
		case a.calls.Len() > 0:
			return model.StopCalls
		}
		return model.StopEnd
	}
	return model.StopRefusal // one of the provider's filters
}

// fail ends the events with an error. What was used is told first if anything was shown.
func (a *answer) fail(call *endpoint.Call, err error) {
	if cutInTwo(err, call) {
		err = nil
	}
	if a.shown && a.usage != nil && !a.yield(*a.usage, nil) {
		return
	}
	a.yield(nil, call.Error(err, said(err)))
}
