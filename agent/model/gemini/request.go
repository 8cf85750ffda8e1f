package gemini

import (
	"encoding/json"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
	"github.com/wherry-acp/wherry/agent/model/internal/adapt"
)

// opaque is what goes back to Gemini with the part that it came with.
type opaque struct {
	Signature string `json:"thoughtSignature,omitempty"`
}

// unsigned stands for the signature of a call that another model made: the third generation refuses calls without any.
const unsigned = "skip_thought_signature_validator"

func opaqueOf(signature string) json.RawMessage {
	if signature == "" {
		return nil
	}
	raw, err := json.Marshal(opaque{signature})
	if err != nil { // strings always encode
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

// The roles of the format.
const (
	roleUser  = "user"
	roleModel = "model"
)

// request maps a request to generateContent.
func (m *Model) request(req model.Request) *wireRequest {
	out := &wireRequest{Contents: []*content{}}
	if req.System != "" {
		out.System = &content{Parts: []*part{text(req.System)}}
	}
	if req.MaxOutput > 0 || thinks(m.info.Name) {
		out.Config = &generation{MaxOutputTokens: req.MaxOutput}
	}
	if thinks(m.info.Name) {
		out.Config.Thinking = &thinking{Include: true, Level: req.Thought}
	}
	if len(req.Tools) > 0 {
		t := tool{}
		for _, spec := range req.Tools {
			t.Functions = append(t.Functions, function{Name: spec.Name, Description: spec.Description, Schema: adapt.Schema(spec.Schema)})
		}
		out.Tools = []tool{t}
	}
	for _, msg := range adapt.UniqueCalls(req.Messages, nil) {
		role := roleUser
		if msg.Role == model.RoleAssistant {
			role = roleModel
		}
		parts := m.parts(msg.Parts)
		if n := len(out.Contents); n > 0 && out.Contents[n-1].Role == role {
			out.Contents[n-1].Parts = append(out.Contents[n-1].Parts, parts...)
		} else if len(parts) > 0 {
			out.Contents = append(out.Contents, &content{Role: role, Parts: parts})
		}
	}
	return out
}

func text(s string) *part { return &part{Text: &s} }

func inline(mime string, data []byte) *part { return &part{Inline: &blob{MIMEType: mime, Data: data}} }

// Thoughts are the levels of reasoning that the model with this name can be asked for, the least first.
func Thoughts(name string) []string {
	if !thinks(name) || strings.HasPrefix(name, "gemini-2") { // the second generation takes a number of tokens
		return nil
	}
	return []string{"low", "high"}
}

// thinks tells the models that can show their thoughts; others refuse to be asked.
func thinks(name string) bool {
	version, ok := strings.CutPrefix(name, "gemini-")
	return ok && version >= "2.5" && !strings.Contains(name, "image") && !strings.Contains(name, "tts")
}

func (m *Model) parts(parts []model.Part) []*part {
	var out []*part
	calls := 0
	for _, p := range parts {
		switch p := p.(type) {
		case model.Text:
			if p.Text != "" {
				out = append(out, text(p.Text))
			}
		case model.Thought:
			// Thoughts themselves do not go back; a signature does, on a part of its own.
			if o := m.signed(p.Provider, p.Opaque); o.Signature != "" {
				signed := text("")
				signed.Signature = o.Signature
				out = append(out, signed)
			}
		case model.Image:
			if m.info.Images {
				out = append(out, inline(p.MIMEType, p.Data))
				continue
			}
			out = append(out, text(adapt.Placeholder(p)))
		case model.Audio:
			if m.info.Audio {
				out = append(out, inline(p.MIMEType, p.Data))
				continue
			}
			out = append(out, text(adapt.Placeholder(p)))
		case model.ToolCall:
			o := m.signed(p.Provider, p.Opaque)
			if calls++; calls == 1 && o.Signature == "" && m.third() { // of several calls only the first is signed
				o.Signature = unsigned
			}
			out = append(out, &part{Call: &functionCall{ID: p.ID, Name: p.Name, Args: adapt.Arguments(p.Args)}, Signature: o.Signature})
		case model.ToolResult:
			out = append(out, m.result(p)...)
		}
	}
	return out
}

// result maps a tool result. Only the third generation takes pictures in it; for others they follow as parts of the user.
func (m *Model) result(r model.ToolResult) []*part {
	said, pictures := adapt.Result(r, m.info.Images)
	key := "output"
	if r.Failed {
		key = "error"
	}
	res := &functionResult{ID: r.CallID, Name: r.Name, Response: map[string]string{key: said}}
	out := []*part{{Result: res}}
	for _, p := range pictures {
		if m.third() {
			res.Parts = append(res.Parts, inline(p.MIMEType, p.Data))
			continue
		}
		out = append(out, inline(p.MIMEType, p.Data))
	}
	return out
}

// third tells the models of the third generation and later.
func (m *Model) third() bool {
	version, ok := strings.CutPrefix(m.info.Name, "gemini-")
	return ok && version >= "3"
}
