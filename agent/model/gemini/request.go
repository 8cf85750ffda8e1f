package gemini

import (
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// opaque is what goes back to Gemini with the part that it came with.
type opaque struct {
	Signature []byte `json:"thoughtSignature,omitempty"`
	ID        string `json:"id,omitempty"` // of a call, where the provider gave one
}

func opaqueOf(signature []byte, id string) json.RawMessage {
	if len(signature) == 0 && id == "" {
		return nil
	}
	raw, err := json.Marshal(opaque{signature, id})
	if err != nil { // bytes and strings always encode
		return nil
	}
	return raw
}

// signed reads what was kept of a part of this provider's, nothing for those of others.
func (m *Model) signed(provider string, raw json.RawMessage) (o opaque) {
	if provider != m.info.Provider || json.Unmarshal(raw, &o) != nil {
		return opaque{}
	}
	return o
}

// request maps a request to generateContent.
func (m *Model) request(req model.Request) ([]*genai.Content, *genai.GenerateContentConfig) {
	off := false
	config := &genai.GenerateContentConfig{MaxOutputTokens: int32(min(req.MaxOutput, 1<<30)), AutomaticContinuation: &off}
	if req.System != "" {
		config.SystemInstruction = &genai.Content{Parts: []*genai.Part{{Text: req.System}}}
	}
	if thinks(m.info.Name) {
		config.ThinkingConfig = &genai.ThinkingConfig{IncludeThoughts: true}
	}
	if len(req.Tools) > 0 {
		tool := &genai.Tool{}
		for _, t := range req.Tools {
			tool.FunctionDeclarations = append(tool.FunctionDeclarations,
				&genai.FunctionDeclaration{Name: t.Name, Description: t.Description, ParametersJsonSchema: adapt.Schema(t.Schema)})
		}
		config.Tools = []*genai.Tool{tool}
	}
	var contents []*genai.Content
	for _, msg := range adapt.UniqueCalls(req.Messages, nil) {
		role := genai.RoleUser
		if msg.Role == model.RoleAssistant {
			role = genai.RoleModel
		}
		parts := m.parts(msg.Parts)
		if n := len(contents); n > 0 && contents[n-1].Role == role {
			contents[n-1].Parts = append(contents[n-1].Parts, parts...)
		} else if len(parts) > 0 {
			contents = append(contents, &genai.Content{Role: role, Parts: parts})
		}
	}
	return contents, config
}

// thinks tells the models that can show their thoughts; others refuse to be asked.
func thinks(name string) bool {
	version, ok := strings.CutPrefix(name, "gemini-")
	return ok && version >= "2.5" && !strings.Contains(name, "image") && !strings.Contains(name, "tts")
}

func (m *Model) parts(parts []model.Part) []*genai.Part {
	var out []*genai.Part
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			if p.Text != "" {
				out = append(out, &genai.Part{Text: p.Text})
			}
		case model.Thought:
			// Thoughts themselves do not go back; a signature does, on a part of its own.
			if o := m.signed(p.Provider, p.Opaque); len(o.Signature) > 0 {
				out = append(out, &genai.Part{Text: "", ThoughtSignature: o.Signature})
			}
		case model.Image:
			if m.info.Images {
				out = append(out, &genai.Part{InlineData: &genai.Blob{MIMEType: p.MIMEType, Data: p.Data}})
				continue
			}
			out = append(out, &genai.Part{Text: adapt.Placeholder(p)})
		case model.Audio:
			if m.info.Audio {
				out = append(out, &genai.Part{InlineData: &genai.Blob{MIMEType: p.MIMEType, Data: p.Data}})
				continue
			}
			out = append(out, &genai.Part{Text: adapt.Placeholder(p)})
		case model.ToolCall:
			o := m.signed(p.Provider, p.Opaque)
			var args map[string]any
			_ = json.Unmarshal(adapt.Arguments(p.Args), &args) // an object by construction
			out = append(out, &genai.Part{FunctionCall: &genai.FunctionCall{ID: p.ID, Name: p.Name, Args: args}, ThoughtSignature: o.Signature})
		case model.ToolResult:
			out = append(out, m.result(p)...)
		}
	}
	return out
}

// result maps a tool result. Only the third generation takes pictures in it; for others they follow as parts of the user.
func (m *Model) result(r model.ToolResult) []*genai.Part {
	text, pictures := adapt.Result(r, m.info.Images)
	key := "output"
	if r.Failed {
		key = "error"
	}
	response := &genai.FunctionResponse{ID: r.CallID, Name: r.Name, Response: map[string]any{key: text}}
	out := []*genai.Part{{FunctionResponse: response}}
	for _, p := range pictures {
		if m.picturesInResults() {
			response.Parts = append(response.Parts, genai.NewFunctionResponsePartFromBytes(p.Data, p.MIMEType))
			continue
		}
		out = append(out, &genai.Part{InlineData: &genai.Blob{MIMEType: p.MIMEType, Data: p.Data}})
	}
	return out
}

func (m *Model) picturesInResults() bool {
	version, ok := strings.CutPrefix(m.info.Name, "gemini-")
	return ok && version >= "3"
}
