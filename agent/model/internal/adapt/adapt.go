// Package adapt holds what every provider needs to turn a neutral request into its own: call ids that are unique in the
// whole conversation, arguments that are an object, and words in place of what a model does not take.
package adapt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/wherry-acp/wherry/agent/model"
)

// UniqueCalls gives the messages with call ids that occur once in the conversation: ids are unique within a completion
// only, and a conversation may have been begun with another provider. clean makes an id fit for the provider; nil keeps it.
// The messages given are not changed.
func UniqueCalls(messages []model.Message, clean func(string) string) []model.Message {
	used := map[string]bool{}
	renamed := map[string][]string{} // of the latest assistant message: new ids by old id, in order
	out := make([]model.Message, len(messages))
	for i, m := range messages {
		out[i] = model.Message{Role: m.Role, Parts: make([]model.Part, len(m.Parts))}
		if m.Role == model.RoleAssistant {
			clear(renamed)
		}
		for j, p := range m.Parts {
			switch p := p.(type) {
			case model.ToolCall:
				id := p.ID
				if clean != nil {
					id = clean(id)
				}
				id = Unused(id, used)
				renamed[p.ID] = append(renamed[p.ID], id)
				p.ID = id
				out[i].Parts[j] = p
			case model.ToolResult:
				if ids := renamed[p.CallID]; len(ids) > 0 {
					renamed[p.CallID] = ids[1:]
					p.CallID = ids[0]
				}
				out[i].Parts[j] = p
			default:
				out[i].Parts[j] = p
			}
		}
	}
	return out
}

// Unused gives id, or a variation of it that is not in used, and adds it there. An empty id becomes "call".
func Unused(id string, used map[string]bool) string {
	if id == "" {
		id = "call"
	}
	unique := id
	for n := 2; used[unique]; n++ {
		unique = id + "_" + strconv.Itoa(n)
	}
	used[unique] = true
	return unique
}

// Arguments gives a call's arguments as a JSON object, which all providers want back: nothing becomes {}, and what is not
// an object is wrapped in one.
func Arguments(args json.RawMessage) json.RawMessage {
	trimmed := bytes.TrimSpace(args)
	if len(trimmed) == 0 {
		return json.RawMessage("{}")
	}
	var out bytes.Buffer
	if trimmed[0] == '{' && json.Compact(&out, trimmed) == nil {
		return out.Bytes()
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": string(trimmed)})
	if err != nil { // a string always encodes
		return json.RawMessage("{}")
	}
	return wrapped
}

// Schema gives a tool's argument schema, or that of an object without properties when it has none.
func Schema(s json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(s)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return s
}

// Result gives a tool result's text and pictures. Without images, each picture becomes a line of the text.
func Result(r model.ToolResult, images bool) (text string, pictures []model.Image) {
	var lines []string
	for _, p := range r.Parts {
		switch p := p.(type) {
		case model.Text:
			lines = append(lines, p.Text)
		case model.Image:
			if images {
				pictures = append(pictures, p)
				continue
			}
			lines = append(lines, Placeholder(p))
		case model.Audio:
			lines = append(lines, Placeholder(p))
		}
	}
	return strings.Join(lines, "\n"), pictures
}

// Placeholder stands for a part that the model does not take.
func Placeholder(p model.Part) string {
	switch p := p.(type) {
	case model.Image:
		return fmt.Sprintf("[picture left out: this model does not take %s]", p.MIMEType)
	case model.Audio:
		return fmt.Sprintf("[sound left out: this model does not take %s]", p.MIMEType)
	}
	return "[left out]"
}
