package suite

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/wherry-acp/wherry/agent/model"
)

// golden is a conversation that has one of everything: what a provider makes of it shows how it maps messages.
// The thought's opaque value is in the provider's own form.
func golden(opaque string) model.Request {
	return model.Request{
		Thought:   "low",
		System:    "You are a coding agent.",
		MaxOutput: 1000,
		Tools: []model.ToolSpec{{Name: "view", Description: "Reads a file.",
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)}},
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []model.Part{
				model.Text{Text: "What is in this picture?"}, model.Image{MIMEType: "image/png", Data: []byte("PNG")}, model.Audio{MIMEType: "audio/wav", Data: []byte("WAV")},
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{
				model.Thought{Text: "of another provider", Provider: "another", Opaque: json.RawMessage(`{"signature":"x"}`)},
				model.Text{Text: "A boat."},
			}},
			{Role: model.RoleUser, Parts: []model.Part{model.Text{Text: "And in a.go and b.png?"}}},
			{Role: model.RoleAssistant, Parts: []model.Part{
				model.Thought{Text: "I read both.", Provider: "double", Opaque: json.RawMessage(opaque)},
				model.Text{Text: "I look."},
				model.ToolCall{ID: "call_0", Name: "view", Args: json.RawMessage(`{"path": "a.go"}`), Provider: "double"},
				model.ToolCall{ID: "call_1", Name: "view", Args: json.RawMessage(`{"path":`), Provider: "double"},
			}},
			{Role: model.RoleTool, Parts: []model.Part{
				model.ToolResult{CallID: "call_0", Name: "view", Parts: []model.Part{model.Text{Text: "package a"}, model.Image{MIMEType: "image/png", Data: []byte("PNG")}}},
				model.ToolResult{CallID: "call_1", Name: "view", Failed: true, Parts: []model.Part{model.Text{Text: "the arguments are not JSON"}}},
			}},
			{Role: model.RoleAssistant, Parts: []model.Part{model.ToolCall{ID: "call_0", Name: "view", Provider: "double"}}},
			{Role: model.RoleTool, Parts: []model.Part{model.ToolResult{CallID: "call_0", Name: "view"}}},
			{Role: model.RoleUser, Parts: []model.Part{model.Text{Text: "Go on."}}},
		},
	}
}

// Golden compares the request that the provider makes of a conversation with one of everything with testdata/name.
// With WHERRY_UPDATE_GOLDEN set it writes the file.
func (p Provider) Golden(t *testing.T, name, opaque string) {
	t.Helper()
	s, m := p.start(t)
	if a := Collect(t.Context(), m, golden(opaque)); a.Err != nil {
		t.Fatal(a.Err)
	}
	var got bytes.Buffer
	var v any
	if err := json.Unmarshal(s.Last().Body, &v); err != nil {
		t.Fatal(err)
	}
	enc := json.NewEncoder(&got)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", name)
	if os.Getenv("WHERRY_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the request differs from %s:\n%s", file, got.Bytes())
	}
}
