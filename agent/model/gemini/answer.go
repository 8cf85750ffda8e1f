package gemini

import (
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
	stop     string
	blocked  bool
	thinking bool // a reasoning block is open
	shown    bool
}

// response takes one piece of the stream; false when the reader of the events left.
func (a *answer) response(r *wireResponse) bool {
	if u := r.Usage; u != nil {
		a.usage = &model.Usage{Input: u.Prompt + u.Tools, Output: u.Candidate + u.Thoughts, Thought: u.Thoughts, CacheRead: u.Cached}
	}
	if r.PromptFeedback.BlockReason != "" {
		a.blocked = true
	}
	if len(r.Candidates) == 0 {
		return true
	}
	c := r.Candidates[0]
	if c.FinishReason != "" {
		a.stop = c.FinishReason
	}
	for _, p := range c.Content.Parts {
		if p != nil && !a.part(p) {
			return false
		}
	}
	return true
}

func (a *answer) part(p *part) bool {
	said := ""
	if p.Text != nil {
		said = *p.Text
	}
	switch {
	case p.Call != nil:
		a.calls.Piece(a.calls.Len(), p.Call.ID, p.Call.Name, string(p.Call.Args), opaqueOf(p.Signature))
		return a.endThought("")
	case p.Thought:
		a.thinking = true
		if said != "" && !a.show(model.ThoughtDelta{Text: said}) {
			return false
		}
		return p.Signature == "" || a.endThought(p.Signature)
	}
	if said != "" && (!a.endThought("") || !a.show(model.TextDelta{Text: said})) {
		return false
	}
	if p.Signature != "" {
		a.thinking = true
		return a.endThought(p.Signature)
	}
	return true
}

func (a *answer) endThought(signature string) bool {
	if !a.thinking {
		return true
	}
	a.thinking = false
	return a.show(model.ThoughtDone{Opaque: opaqueOf(signature)})
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
	if !a.endThought("") {
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
	case "MAX_TOKENS":
		return model.StopMaxTokens
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return model.StopRefusal
	}
	switch {
	case a.blocked:
		return model.StopRefusal
	case a.calls.Len() > 0:
		return model.StopCalls
	}
	return model.StopEnd
}

// fail ends the events with an error. What was used is told first if anything was shown.
func (a *answer) fail(call *endpoint.Call, err error) {
	if a.shown && a.usage != nil && !a.yield(*a.usage, nil) {
		return
	}
	a.yield(nil, call.Error(err, said(err)))
}
