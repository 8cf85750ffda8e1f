package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// opaque is what goes back to Anthropic of a reasoning block besides its text: its signature, or all of a redacted one.
type opaque struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// request maps a request to messages. The end of the system prompt and the end of the conversation are marked for caching,
// so that the next request of the same turn finds everything before them in the cache.
func (m *Model) request(req model.Request) api.MessageNewParams {
	out := api.MessageNewParams{Model: m.info.Name, MaxTokens: int64(m.maxOutput(req))}
	if req.System != "" {
		out.System = []api.TextBlockParam{{Text: req.System, CacheControl: api.NewCacheControlEphemeralParam()}}
	}
	if thinks(m.info.Name) {
		out.Thinking.OfAdaptive = &api.ThinkingConfigAdaptiveParam{Display: api.ThinkingConfigAdaptiveDisplaySummarized}
		out.OutputConfig.Effort = api.OutputConfigEffort(req.Thought)
	}
	for _, t := range req.Tools {
		tool := api.ToolParam{Name: t.Name, InputSchema: schema(t.Schema)}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		out.Tools = append(out.Tools, api.ToolUnionParam{OfTool: &tool})
	}
	for _, msg := range adapt.UniqueCalls(req.Messages, cleanID) {
		if blocks := m.blocks(msg); len(blocks) > 0 {
			out.Messages = add(out.Messages, msg.Role, blocks)
		}
	}
	if n := len(out.Messages); n > 0 {
		markCache(blocksOf(out.Messages[n-1]))
	}
	return out
}

func (m *Model) maxOutput(req model.Request) int {
	limit := m.info.MaxOutput
	if limit == 0 {
		limit = defaultMaxOutput
	}
	if req.MaxOutput > 0 && (m.info.MaxOutput == 0 || req.MaxOutput < limit) {
		return req.MaxOutput
	}
	return min(limit, 64000)
}

// Thoughts are the levels of reasoning that the model with this name can be asked for, the least first.
func Thoughts(name string) []string {
	if !thinks(name) {
		return nil
	}
	return []string{string(api.OutputConfigEffortLow), string(api.OutputConfigEffortMedium), string(api.OutputConfigEffortHigh)}
}

// thinks tells the models that decide for themselves how long to think. Older ones need a budget, which costs what nobody
// asked for.
func thinks(name string) bool {
	parts := strings.Split(name, "-")
	if len(parts) < 3 || parts[0] != "claude" {
		return false
	}
	major, err := strconv.Atoi(parts[2])
	if err != nil {
		return false
	}
	minor := 0
	if len(parts) > 3 && len(parts[3]) < 3 { // longer ones are dates
		minor, _ = strconv.Atoi(parts[3])
	}
	return major > 4 || major == 4 && minor >= 6
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// cleanID gives an id of the letters that Anthropic takes.
func cleanID(id string) string { return notInID.ReplaceAllString(id, "_") }

// schema passes a JSON Schema on whole, in the fields that the library has for it.
func schema(raw json.RawMessage) api.ToolInputSchemaParam {
	var fields map[string]json.RawMessage
	if json.Unmarshal(adapt.Schema(raw), &fields) != nil {
		return api.ToolInputSchemaParam{Properties: map[string]any{}}
	}
	var out api.ToolInputSchemaParam
	for k, v := range fields {
		switch k {
		case "type":
		case "properties":
			out.Properties = v
		case "required":
			if json.Unmarshal(v, &out.Required) == nil {
				continue
			}
			fallthrough
		default:
			if out.ExtraFields == nil {
				out.ExtraFields = map[string]any{}
			}
			out.ExtraFields[k] = v
		}
	}
	return out
}

// blocks maps one message. Empty texts are left out: the provider refuses them.
func (m *Model) blocks(msg model.Message) []api.ContentBlockParamUnion {
	var blocks []api.ContentBlockParamUnion
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case model.Text:
			if strings.TrimSpace(p.Text) != "" {
				blocks = append(blocks, api.NewTextBlock(p.Text))
			}
		case model.Thought:
			var o opaque
			if p.Provider != m.info.Provider || json.Unmarshal(p.Opaque, &o) != nil {
				continue
			}
			switch {
			case o.Redacted != "":
				blocks = append(blocks, api.NewRedactedThinkingBlock(o.Redacted))
			case o.Signature != "":
				blocks = append(blocks, api.NewThinkingBlock(o.Signature, p.Text))
			}
		case model.Image:
			if m.info.Images {
				blocks = append(blocks, api.NewImageBlockBase64(p.MIMEType, base64.StdEncoding.EncodeToString(p.Data)))
				continue
			}
			blocks = append(blocks, api.NewTextBlock(adapt.Placeholder(p)))
		case model.Audio:
			blocks = append(blocks, api.NewTextBlock(adapt.Placeholder(p)))
		case model.ToolCall:
			blocks = append(blocks, api.NewToolUseBlock(p.ID, adapt.Arguments(p.Args), p.Name))
		case model.ToolResult:
			blocks = append(blocks, m.result(p))
		}
	}
	return blocks
}

func (m *Model) result(r model.ToolResult) api.ContentBlockParamUnion {
	block := api.ToolResultBlockParam{ToolUseID: r.CallID}
	if r.Failed {
		block.IsError = param.NewOpt(true)
	}
	text, pictures := adapt.Result(r, m.info.Images)
	if text == "" && len(pictures) == 0 {
		text = "(no output)"
	}
	if text != "" {
		block.Content = append(block.Content, api.ToolResultBlockParamContentUnion{OfText: &api.TextBlockParam{Text: text}})
	}
	for _, p := range pictures {
		image := api.NewImageBlockBase64(p.MIMEType, base64.StdEncoding.EncodeToString(p.Data)).OfImage
		block.Content = append(block.Content, api.ToolResultBlockParamContentUnion{OfImage: image})
	}
	return api.ContentBlockParamUnion{OfToolResult: &block}
}

// add appends a message, or its blocks to the one before when both are of the same side.
func add(messages []api.MessageParam, role model.Role, blocks []api.ContentBlockParamUnion) []api.MessageParam {
	var last api.MessageParam
	if n := len(messages); n > 0 {
		last = messages[n-1]
	}
	switch {
	case role == model.RoleAssistant && last.OfAssistant != nil:
		last.OfAssistant.Content = append(last.OfAssistant.Content, blocks...)
	case role == model.RoleAssistant:
		messages = append(messages, api.NewAssistantMessage(blocks...))
	case last.OfUser != nil:
		last.OfUser.Content = append(last.OfUser.Content, blocks...)
	default:
		messages = append(messages, api.NewUserMessage(blocks...))
	}
	return messages
}

func blocksOf(m api.MessageParam) []api.ContentBlockParamUnion {
	if m.OfAssistant != nil {
		return m.OfAssistant.Content
	}
	return m.OfUser.Content
}

// markCache marks the last block that can be.
func markCache(blocks []api.ContentBlockParamUnion) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if c := blocks[i].GetCacheControl(); c != nil {
			*c = api.NewCacheControlEphemeralParam()
			return
		}
	}
}
