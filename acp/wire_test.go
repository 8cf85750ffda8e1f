package acp

import (
	"encoding/json"
	"testing"
)

func TestAToolCallSurvivesARoundTrip(t *testing.T) {
	const in = `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Read","kind":"read","status":"pending","content":[{"type":"content","content":{"type":"text","text":"hé\n"}}],"locations":[{"path":"/a","line":3}],"rawInput":{"a":[1, 2]},"future":{"x":1},"_meta":{"k":1}},"extra":true}`
	var v SessionNotification
	if err := (Codec{}).Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	out, err := Codec{}.Append(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"Read","kind":"read","status":"pending","content":[{"type":"content","content":{"type":"text","text":"hé\n"}}],"locations":[{"path":"/a","line":3}],"rawInput":{"a":[1, 2]},"_meta":{"k":1},"future":{"x":1}},"extra":true}`
	if string(out) != want {
		t.Errorf("got  %s\nwant %s", out, want)
	}
	if b, err := json.Marshal(AgentMessageChunk{Content: Text("hi"), MessageID: "m"}); err != nil || string(b) != `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"m"}` {
		t.Errorf("got %s, %v", b, err)
	}
	for in, want := range map[string]string{
		`{"sessionId":"s","prompt":[{"type":"text"}]}`: "prompt[0].text: required, missing",
		`{"sessionId":4,"prompt":[]}`:                  "sessionId: expected string, got number",
		`{"prompt":[{"type":"text","text":null}]}`:     "prompt[0].text: expected string, got null",
		`[]`: "expected object, got array",
	} {
		var p PromptRequest
		if err := (Codec{}).Unmarshal([]byte(in), &p); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}
