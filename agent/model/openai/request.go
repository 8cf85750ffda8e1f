package openai

import (
	"encoding/base64"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// reasoned marks a thought that came in the field reasoning_content and goes back in it.
const reasoned = `{"field":"reasoning_content"}`

// chatRequest maps a request to chat completions.
func (m *Model) chatRequest(req model.Request) api.ChatCompletionRequest {
	out := api.ChatCompletionRequest{
		Model:         m.info.Name,
		Stream:        true,
		StreamOptions: &api.StreamOptions{IncludeUsage: true},
	}
	if m.own || reasoningName(m.info.Name) {
		out.MaxCompletionTokens = req.MaxOutput
	} else {
		//lint:ignore SA1019 it is the one that servers like OpenAI know
		out.MaxTokens = req.MaxOutput
	}
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, api.Tool{Type: api.ToolTypeFunction,
			Function: &api.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: adapt.Schema(t.Schema)}})
	}
	if req.System != "" {
		out.Messages = append(out.Messages, api.ChatCompletionMessage{Role: api.ChatMessageRoleSystem, Content: req.System})
	}
	messages := adapt.UniqueCalls(req.Messages, nil)
	latestUser := 0
	for i, msg := range messages {
		if msg.Role == model.RoleUser {
			latestUser = i
		}
	}
	for i, msg := range messages {
		switch msg.Role {
		case model.RoleUser:
			if u, ok := m.user(msg.Parts); ok {
				out.Messages = append(out.Messages, u)
			}
		case model.RoleAssistant:
			if a, ok := m.assistant(msg.Parts, i > latestUser); ok {
				out.Messages = append(out.Messages, a)
			}
		case model.RoleTool:
			out.Messages = append(out.Messages, m.results(msg.Parts)...)
		}
	}
	return out
}

// Thoughts are the levels of reasoning that OpenAI's own model with this name can be asked for, the least first. What other
// servers take under the same names is not known.
func Thoughts(name string) []string {
	if !reasoningName(name) {
		return nil
	}
	return []string{"low", "medium", "high"}
}

// reasoningName tells OpenAI's models that know max_completion_tokens only.
func reasoningName(name string) bool {
	for _, p := range [...]string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func (m *Model) user(parts []model.Part) (api.ChatCompletionMessage, bool) {
	msg := api.ChatCompletionMessage{Role: api.ChatMessageRoleUser}
	pictures := false
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			if p.Text != "" {
				msg.MultiContent = append(msg.MultiContent, textPart(p.Text))
			}
		case model.Image:
			if !m.info.Images {
				msg.MultiContent = append(msg.MultiContent, textPart(adapt.Placeholder(p)))
				continue
			}
			pictures = true
			msg.MultiContent = append(msg.MultiContent, picturePart(p))
		case model.Audio:
			msg.MultiContent = append(msg.MultiContent, textPart(adapt.Placeholder(p)))
		}
	}
	if !pictures { // plain text is what every server takes
		msg.Content, msg.MultiContent = joined(msg.MultiContent), nil
	}
	return msg, msg.Content != "" || msg.MultiContent != nil
}

func textPart(s string) api.ChatMessagePart {
	return api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: s}
}

func picturePart(p model.Image) api.ChatMessagePart {
	return api.ChatMessagePart{Type: api.ChatMessagePartTypeImageURL, ImageURL: &api.ChatMessageImageURL{URL: dataURL(p)}}
}

func dataURL(p model.Image) string {
	return "data:" + p.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

func joined(parts []api.ChatMessagePart) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

// assistant maps what the model said. Reasoning goes back to the server that gave it, within the current turn only.
func (m *Model) assistant(parts []model.Part, current bool) (api.ChatCompletionMessage, bool) {
	msg := api.ChatCompletionMessage{Role: api.ChatMessageRoleAssistant}
	var thoughts string
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			msg.Content += p.Text
		case model.Thought:
			if p.Provider == m.info.Provider && string(p.Opaque) == reasoned {
				thoughts += p.Text
			}
		case model.ToolCall:
			msg.ToolCalls = append(msg.ToolCalls, api.ToolCall{ID: p.ID, Type: api.ToolTypeFunction,
				Function: api.FunctionCall{Name: p.Name, Arguments: string(adapt.Arguments(p.Args))}})
		}
	}
	if current && len(msg.ToolCalls) > 0 {
		msg.ReasoningContent = thoughts
	}
	return msg, msg.Content != "" || len(msg.ToolCalls) > 0
}

// results maps tool results. The format takes no pictures there, so they follow in a message of the user.
func (m *Model) results(parts []model.Part) []api.ChatCompletionMessage {
	var out []api.ChatCompletionMessage
	var follow []api.ChatMessagePart
	for _, p := range parts {
		r, ok := p.(model.ToolResult)
		if !ok {
			continue
		}
		text, pictures := adapt.Result(r, m.info.Images)
		if len(pictures) > 0 {
			follow = append(follow, textPart("The pictures that "+r.Name+" gave:"))
			for _, pic := range pictures {
				follow = append(follow, picturePart(pic))
			}
			text = strings.TrimPrefix(text+"\n[the pictures follow in the next message]", "\n")
		}
		out = append(out, api.ChatCompletionMessage{Role: api.ChatMessageRoleTool, ToolCallID: r.CallID, Content: failedText(text, r.Failed)})
	}
	if follow != nil {
		out = append(out, api.ChatCompletionMessage{Role: api.ChatMessageRoleUser, MultiContent: follow})
	}
	return out
}

// failedText marks the result of a call that failed; the format has no field for that. It is never empty, which some
// servers refuse.
func failedText(text string, failed bool) string {
	switch {
	case failed && !strings.HasPrefix(strings.ToLower(text), "error"):
		return "Error: " + text
	case text == "":
		return "(no output)"
	}
	return text
}
