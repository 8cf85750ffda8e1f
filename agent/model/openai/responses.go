package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/endpoint"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// wantsResponses tells whether to ask by OpenAI's responses instead of chat completions: OpenAI itself answers all models
// there, with summaries of their reasoning, and its newest take tools only there. Servers that are like OpenAI mostly
// know chat completions only.
func (m *Model) wantsResponses() bool {
	return m.own || strings.HasPrefix(m.info.Name, "gpt-6")
}

// reasoning is what goes back to OpenAI of a reasoning item, besides its text.
type reasoning struct {
	ID        string `json:"id"`
	Encrypted string `json:"encrypted_content"`
}

type reasoningItem struct {
	Type    string `json:"type"`
	Summary []any  `json:"summary"`
	reasoning
}

type callItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// responsesRequest maps a request to responses. Nothing is stored at the provider.
func (m *Model) responsesRequest(req model.Request) api.CreateResponseRequest {
	store := false
	out := api.CreateResponseRequest{Model: m.info.Name, Instructions: req.System, MaxOutputTokens: req.MaxOutput, Store: &store, Stream: true}
	if reasoningName(m.info.Name) {
		out.Include = []api.ResponseInclude{api.ResponseIncludeReasoningEncryptedContent}
		reasoning := api.ResponseReasoning{Effort: req.Thought}
		if !m.noSummary.Load() {
			reasoning.Summary = "auto"
		}
		if reasoning != (api.ResponseReasoning{}) {
			out.Reasoning = &reasoning
		}
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, api.ResponseTool{Type: api.ToolTypeFunction, Parameters: map[string]any{
			"name": t.Name, "description": t.Description, "parameters": adapt.Schema(t.Schema), "strict": false}})
	}
	input := []any{}
	for _, msg := range adapt.UniqueCalls(req.Messages, nil) {
		switch msg.Role {
		case model.RoleUser:
			if content := m.inputContent(msg.Parts); len(content) > 0 {
				input = append(input, api.ResponseInputMessage{Type: "message", Role: "user", Content: content})
			}
		case model.RoleAssistant:
			input = append(input, m.assistantItems(msg.Parts)...)
		case model.RoleTool:
			for _, p := range msg.Parts {
				if r, ok := p.(model.ToolResult); ok {
					input = append(input, api.ResponseFunctionCallOutput{Type: "function_call_output", CallID: r.CallID, Output: m.output(r)})
				}
			}
		}
	}
	out.Input = input
	return out
}

func (m *Model) inputContent(parts []model.Part) []any {
	var content []any
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			if p.Text != "" {
				content = append(content, inputText(p.Text))
			}
		case model.Image:
			if m.info.Images {
				content = append(content, api.ResponseInputImage{Type: "input_image", Detail: "auto", ImageURL: dataURL(p)})
				continue
			}
			content = append(content, inputText(adapt.Placeholder(p)))
		case model.Audio:
			content = append(content, inputText(adapt.Placeholder(p)))
		}
	}
	return content
}

func inputText(s string) api.ResponseInputText {
	return api.ResponseInputText{Type: "input_text", Text: s}
}

func (m *Model) assistantItems(parts []model.Part) []any {
	var items []any
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			if p.Text != "" {
				items = append(items, api.ResponseInputMessage{Type: "message", Role: "assistant",
					Content: []api.ResponseOutputContent{{Type: "output_text", Text: p.Text}}})
			}
		case model.Thought:
			var r reasoning
			if p.Provider != m.info.Provider || json.Unmarshal(p.Opaque, &r) != nil || r.Encrypted == "" {
				continue
			}
			item := reasoningItem{Type: "reasoning", reasoning: r, Summary: []any{}}
			if p.Text != "" {
				item.Summary = append(item.Summary, api.ResponseSummaryPart{Type: "summary_text", Text: p.Text})
			}
			items = append(items, item)
		case model.ToolCall:
			items = append(items, callItem{Type: "function_call", CallID: p.ID, Name: p.Name, Arguments: string(adapt.Arguments(p.Args))})
		}
	}
	return items
}

// output is a string, or a list when there are pictures.
func (m *Model) output(r model.ToolResult) any {
	text, pictures := adapt.Result(r, m.info.Images)
	if len(pictures) == 0 {
		return failedText(text, r.Failed)
	}
	list := []any{inputText(failedText(text, r.Failed))}
	for _, p := range pictures {
		list = append(list, api.ResponseInputImage{Type: "input_image", Detail: "auto", ImageURL: dataURL(p)})
	}
	return list
}

// answer gathers what one response streams.
type answer struct {
	m       *Model
	yield   func(model.Event, error) bool
	calls   adapt.Calls
	refused bool
	part    int // of the reasoning summary
}

// respond asks by responses.
func (m *Model) respond(ctx context.Context, call *endpoint.Call, req model.Request, yield func(model.Event, error) bool) {
	stream, err := m.client.CreateResponseStream(ctx, m.responsesRequest(req))
	var a *api.APIError
	if errors.As(err, &a) && a.Param != nil && *a.Param == "reasoning.summary" {
		// Only verified organisations get summaries. The answer is worth more than they are.
		m.noSummary.Store(true)
		stream, err = m.client.CreateResponseStream(ctx, m.responsesRequest(req))
	}
	if err != nil {
		yield(nil, call.Error(err, said(err)))
		return
	}
	defer func() { _ = stream.Close() }()
	ans := &answer{m: m, yield: yield}
	for {
		ev, item, err := receive(stream)
		if err == nil {
			var last bool
			if last, err = ans.event(ev, item); err == nil && !last {
				continue
			}
			if err == nil {
				return
			}
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		yield(nil, call.Error(err, said(err)))
		return
	}
}

// receive reads one event and, of an item in it, what the library leaves out.
func receive(stream *api.ResponseStream) (ev api.ResponseStreamEvent, item reasoning, err error) {
	line, err := stream.RecvRaw()
	if err != nil {
		return ev, item, err
	}
	if line == nil {
		return ev, item, endpoint.ErrFormat
	}
	if err := json.Unmarshal(line, &ev); err != nil {
		return ev, item, err
	}
	if ev.Type == api.ResponseStreamEventOutputItemDone {
		var outer struct {
			Item reasoning `json:"item"`
		}
		if err := json.Unmarshal(line, &outer); err != nil {
			return ev, item, err
		}
		item = outer.Item
	}
	return ev, item, nil
}

// event takes one event; true after the last one, or when the reader of the events left.
func (a *answer) event(ev api.ResponseStreamEvent, r reasoning) (last bool, err error) {
	switch ev.Type {
	case api.ResponseStreamEventOutputTextDelta:
		return !a.show(model.TextDelta{Text: ev.Delta}), nil
	case api.ResponseStreamEventRefusalDelta:
		a.refused = true
		return !a.show(model.TextDelta{Text: ev.Delta}), nil
	case api.ResponseStreamEventReasoningSummaryTextDelta, api.ResponseStreamEventReasoningTextDelta:
		text := ev.Delta
		if ev.SummaryIndex != a.part {
			a.part, text = ev.SummaryIndex, "\n\n"+text
		}
		return !a.show(model.ThoughtDelta{Text: text}), nil
	case api.ResponseStreamEventOutputItemDone:
		if ev.Item == nil {
			return false, endpoint.ErrFormat
		}
		return !a.item(*ev.Item, r), nil
	case api.ResponseStreamEventError:
		return false, &api.APIError{Code: ev.Code, Message: ev.Message}
	case api.ResponseStreamEventFailed:
		e := &api.APIError{Message: "the response failed"}
		if ev.Response != nil && ev.Response.Error != nil {
			e.Code, e.Message = ev.Response.Error.Code, ev.Response.Error.Message
		}
		return false, e
	case api.ResponseStreamEventCompleted, api.ResponseStreamEventIncomplete:
		if ev.Response == nil {
			return false, endpoint.ErrFormat
		}
		a.stop(*ev.Response)
		return true, nil
	}
	return false, nil
}

func (a *answer) show(e model.Event) bool {
	return a.yield(e, nil)
}

// item takes a complete part of the output.
func (a *answer) item(it api.ResponseOutputItem, r reasoning) bool {
	switch it.Type {
	case "reasoning":
		a.part = 0
		done := model.ThoughtDone{}
		if r.Encrypted != "" {
			opaque, err := json.Marshal(r)
			if err != nil { // strings always encode
				return true
			}
			done.Opaque = opaque
		}
		return a.show(done)
	case "function_call":
		a.calls.Piece(a.calls.Len(), it.CallID, it.Name, it.Arguments, nil)
	}
	return true
}

func (a *answer) stop(resp api.CreateResponseResponse) {
	incomplete := ""
	if d := resp.IncompleteDetails; d != nil {
		incomplete = d.Reason
	}
	for _, tc := range a.calls.Done(a.m.info.Provider, incomplete != "") {
		if !a.show(model.CallDone{Call: tc}) {
			return
		}
	}
	if u := resp.Usage; u != nil {
		usage := model.Usage{Input: u.InputTokens, Output: u.OutputTokens}
		if d := u.InputTokensDetails; d != nil {
			usage.CacheRead, usage.CacheWrite = d.CachedTokens, d.CacheWriteTokens
		}
		if d := u.OutputTokensDetails; d != nil {
			usage.Thought = d.ReasoningTokens
		}
		if !a.show(usage) {
			return
		}
	}
	reason := model.StopEnd
	switch {
	case incomplete == "content_filter", a.refused:
		reason = model.StopRefusal
	case incomplete != "":
		reason = model.StopMaxTokens
	case a.calls.Len() > 0:
		reason = model.StopCalls
	}
	a.show(model.Stop{Reason: reason})
}
