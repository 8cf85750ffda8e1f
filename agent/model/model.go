// Package model is what the turn loop knows of language models: one interface, provider-neutral requests and a stream of
// events. Each provider is a package of its own below this one and maps both ways.
package model

import (
	"context"
	"encoding/json"
	"iter"
)

// Model answers requests. Implementations are safe for concurrent use: several sessions stream from one Model at once.
type Model interface {
	// Info describes the model. It does no I/O and never changes during the life of the value.
	Info() Info

	// Stream sends the request and yields what comes back, in order. The sequence ends after a [Stop] event, or with
	// one non-nil error (an [*Error] where the provider was asked at all, the context's error when ctx ended).
	// Leaving the loop early, or ending ctx, closes the provider's connection before the iterator returns.
	Stream(ctx context.Context, req Request) iter.Seq2[Event, error]
}

// Info tells what a model is and what it takes.
type Info struct {
	Provider      string // "openai", "anthropic", "gemini", "ollama", "lmstudio", "offline", …
	Name          string // the provider's own name of the model
	ContextWindow int    // tokens; 0 when unknown
	MaxOutput     int    // tokens; 0 when unknown
	Images        bool   // takes images in prompts and tool results
	Audio         bool   // takes audio in prompts
	Offline       bool   // the embedded model: no network, no key, no understanding beyond its small grammar
	Price         *Price // nil when unknown
	// Thoughts are the levels of reasoning that can be asked for, the least first; empty when there is nothing to choose.
	Thoughts []string
}

// ID is the name a person types: provider/name.
func (i Info) ID() string { return i.Provider + "/" + i.Name }

// Request is one call of a model.
type Request struct {
	System    string
	Messages  []Message // every [ToolCall] is followed by its [ToolResult] in the next message
	Tools     []ToolSpec
	MaxOutput int // tokens; 0 leaves it to the provider
	// Thought is one of [Info.Thoughts]; empty leaves it to the provider.
	Thought string
}

// ToolSpec describes a tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// Role says who a message is from.
type Role string

// The roles. Tool results travel in messages of RoleTool, which follow the assistant message with the calls.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the conversation.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is a piece of a message: [Text], [Thought], [Image], [Audio], [ToolCall] or [ToolResult].
type Part interface{ part() }

// Text is plain text.
type Text struct{ Text string }

// Thought is the model's reasoning. Opaque holds what the provider wants back unchanged (signatures, encrypted
// content); only the provider named in Provider gets it back, others drop the part.
type Thought struct {
	Text     string
	Provider string
	Opaque   json.RawMessage
}

// Image is a picture, decoded (not base64).
type Image struct {
	MIMEType string
	Data     []byte
}

// Audio is a sound, decoded (not base64).
type Audio struct {
	MIMEType string
	Data     []byte
}

// ToolCall is the model's wish to run a tool. ID is unique within one completion only: providers restart their counters.
type ToolCall struct {
	ID       string
	Name     string
	Args     json.RawMessage // as the model wrote it; may be invalid JSON, which the caller answers with a failed result
	Provider string
	Opaque   json.RawMessage // as in [Thought]
}

// ToolResult answers the ToolCall with the same ID. Parts are Text and Image.
type ToolResult struct {
	CallID string
	Name   string
	Parts  []Part
	Failed bool
}

func (Text) part()       {}
func (Thought) part()    {}
func (Image) part()      {}
func (Audio) part()      {}
func (ToolCall) part()   {}
func (ToolResult) part() {}

// Event is something a model streams: [TextDelta], [ThoughtDelta], [ThoughtDone], [CallDone], [Usage], [Waiting] or [Stop].
type Event interface{ event() }

// TextDelta is a piece of the answer. Concatenated, the deltas are the answer.
type TextDelta struct{ Text string }

// ThoughtDelta is a piece of reasoning.
type ThoughtDelta struct{ Text string }

// ThoughtDone ends the current reasoning block. Opaque is as in [Thought]; a block may have it and no text at all.
type ThoughtDone struct{ Opaque json.RawMessage }

// CallDone is a complete tool call.
type CallDone struct{ Call ToolCall }

// Usage counts tokens of this one request. It may come more than once; the last one counts.
type Usage struct {
	Input      int // prompt tokens, cached ones included
	Output     int // answer tokens, thoughts included
	Thought    int
	CacheRead  int
	CacheWrite int
}

// Add gives the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, Thought: u.Thought + v.Thought,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

// Waiting says that the request is delayed (a rate limit, an overloaded provider) and is tried again after Seconds.
// It comes only before anything else of the answer.
type Waiting struct {
	Reason  string // a sentence for the person
	Seconds float64
}

// Stop ends the stream.
type Stop struct{ Reason StopReason }

func (TextDelta) event()    {}
func (ThoughtDelta) event() {}
func (ThoughtDone) event()  {}
func (CallDone) event()     {}
func (Usage) event()        {}
func (Waiting) event()      {}
func (Stop) event()         {}

// StopReason tells why a model stopped.
type StopReason string

// The reasons.
const (
	StopEnd       StopReason = "end"        // said all it had to say
	StopCalls     StopReason = "calls"      // waits for tool results
	StopMaxTokens StopReason = "max_tokens" // ran out of output tokens
	StopRefusal   StopReason = "refusal"    // declined, or the provider's filter did
)
