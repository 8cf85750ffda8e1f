package acp

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadersAreLenientWhereTheProtocolAsksForIt(t *testing.T) {
	lenient := func(v Message, text string) ([]string, error) {
		var skipped []string
		c := Codec{OnLenient: func(path, reason string) { skipped = append(skipped, path+" | "+reason) }}
		return skipped, c.Unmarshal([]byte(text), v)
	}
	for _, c := range []struct {
		name       string
		into       Message
		text, want string // what it encodes to
		reports    []string
	}{
		{
			"an invalid optional value is left out",
			new(ToolCallUpdate), `{"toolCallId":"c","title":7,"kind":[],"status":null,"locations":{}}`, `{"toolCallId":"c"}`,
			[]string{"title | title: expected string, got number", "kind | kind: expected string, got array", "locations | locations: expected array, got object"},
		},
		{
			"invalid items are left out, the others stay",
			new(ToolCallUpdate), `{"toolCallId":"c","content":[1,{"type":"content","content":{"type":"text"}},{"type":"terminal","terminalId":"t"},{"type":"diff","path":"/p"}]}`,
			`{"toolCallId":"c","content":[{"type":"terminal","terminalId":"t"}]}`,
			[]string{
				"content[0] | content[0]: expected object, got number", "content[1] | content[1].content.text: required, missing",
				"content[3] | content[3].newText: required, missing",
			},
		},
		{
			"an invalid array that is not nullable becomes empty",
			new(ToolCall), `{"toolCallId":"c","title":"t","content":"x"}`, `{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","content":[]}`,
			[]string{"content | content: expected array, got string"},
		},
		{
			"a required array that is null becomes empty when the protocol says so",
			new(Plan), `{"entries":null}`, `{"sessionUpdate":"plan","entries":[]}`, []string{"entries | entries: expected array, got null"},
		},
		{
			"one bad plan entry costs that entry",
			new(Plan), `{"entries":[{"content":"a","priority":"high"},{"content":"b","priority":"low","status":"pending"}]}`,
			`{"sessionUpdate":"plan","entries":[{"content":"b","priority":"low","status":"pending"}]}`,
			[]string{"entries[0] | entries[0].status: required, missing"},
		},
		{
			"_meta that is no object is left out",
			new(CancelNotification), `{"sessionId":"s","_meta":"x"}`, `{"sessionId":"s"}`, []string{"_meta | _meta: expected object, got string"},
		},
		{
			"invalid capabilities are those that are not offered",
			new(InitializeResponse), `{"protocolVersion":1,"agentCapabilities":{"loadSession":"yes","promptCapabilities":{"image":true,"audio":1},"sessionCapabilities":{"list":true,"close":{}}}}`,
			`{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true},"sessionCapabilities":{"close":{}}}}`,
			[]string{
				"agentCapabilities.loadSession | agentCapabilities.loadSession: expected boolean, got string",
				"agentCapabilities.promptCapabilities.audio | agentCapabilities.promptCapabilities.audio: expected boolean, got number",
				"agentCapabilities.sessionCapabilities.list | agentCapabilities.sessionCapabilities.list: expected object, got boolean",
			},
		},
		{
			"null is an empty list where the protocol says so, and no cause for a report",
			new(NewSessionRequest), `{"cwd":"/","mcpServers":null,"additionalDirectories":null}`, `{"cwd":"/","additionalDirectories":[],"mcpServers":[]}`, nil,
		},
		{
			"lists of servers, arguments, variables and headers may be left out when empty",
			new(LoadSessionRequest), `{"sessionId":"s","cwd":"/"}`, `{"mcpServers":[],"cwd":"/","sessionId":"s"}`,
			[]string{"mcpServers | required, missing; taken as empty"},
		},
		{
			"so may those of a server",
			new(NewSessionRequest), `{"cwd":"/","mcpServers":[{"name":"n","command":"c"},{"type":"http","name":"h","url":"u","headers":null}]}`,
			`{"cwd":"/","mcpServers":[{"name":"n","command":"c","args":[],"env":[]},{"type":"http","name":"h","url":"u","headers":[]}]}`,
			[]string{"mcpServers[0].args | required, missing; taken as empty", "mcpServers[0].env | required, missing; taken as empty"},
		},
		{
			"variables and headers may be an object",
			new(NewSessionRequest), `{"cwd":"/","mcpServers":[{"name":"n","command":"c","args":[],"env":{"B":"2","A":"1"}},{"type":"sse","name":"h","url":"u","headers":{}}]}`,
			`{"cwd":"/","mcpServers":[{"name":"n","command":"c","args":[],"env":[{"name":"B","value":"2"},{"name":"A","value":"1"}]},{"type":"sse","name":"h","url":"u","headers":[]}]}`,
			[]string{
				"mcpServers[0].env | an object was taken for an array of name and value pairs",
				"mcpServers[1].headers | an object was taken for an array of name and value pairs",
			},
		},
		{
			"the environment of a terminal too",
			new(CreateTerminalRequest), `{"sessionId":"s","command":"c","args":null,"env":{"A":"1"}}`,
			`{"sessionId":"s","command":"c","args":[],"env":[{"name":"A","value":"1"}]}`,
			[]string{"env | an object was taken for an array of name and value pairs"},
		},
		{
			"the type of a form's schema is always object",
			new(ElicitationSchema), `{"type":"array"}`, `{"type":"object","properties":{}}`, []string{`type | type: expected "object", got string`},
		},
		{
			"a patch that cannot be read keeps what is there",
			new(SessionInfoUpdate), `{"title":7,"updatedAt":null}`, `{"sessionUpdate":"session_info_update","updatedAt":null}`,
			[]string{"title | title: expected string, got number"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			reports, err := lenient(c.into, c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := encoded(t, c.into); got != c.want {
				t.Errorf("it is %s\nwant  %s", got, c.want)
			}
			if !reflect.DeepEqual(reports, c.reports) {
				t.Errorf("reported %q\nwant     %q", reports, c.reports)
			}
			if err := (Codec{}).Unmarshal([]byte(c.text), c.into); err != nil {
				t.Errorf("without a callback: %v", err)
			}
		})
	}
}

func TestWhatDecidesWhatRunsIsReadStrictly(t *testing.T) {
	for _, c := range []struct {
		into Message
		text string
	}{
		{new(PromptRequest), `{"sessionId":"s","prompt":[{"type":"text"},{"type":"text","text":"a"}]}`},
		{new(PromptRequest), `{"sessionId":"s"}`},
		{new(NewSessionRequest), `{"cwd":"/","mcpServers":[7]}`},
		{new(NewSessionRequest), `{"cwd":"/","mcpServers":"x"}`},
		{new(NewSessionRequest), `{"cwd":"/","mcpServers":[],"additionalDirectories":"x"}`},
		{new(NewSessionRequest), `{"mcpServers":[]}`},
		{new(CreateTerminalRequest), `{"sessionId":"s","command":"c","args":["a",1]}`},
		{new(ReadTextFileRequest), `{"sessionId":"s","path":"/","line":"1"}`},
		{new(ListSessionsRequest), `{"cursor":1}`},
		{new(RequestPermissionRequest), `{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"o"}]}`},
		{new(RequestPermissionResponse), `{"outcome":{"outcome":"selected"}}`},
		{new(PromptResponse), `{"stopReason":null}`},
		{new(ElicitationSchema), `{"properties":{"a":{"type":"string","maxLength":"9"}}}`},
	} {
		if err := (Codec{}).Unmarshal([]byte(c.text), c.into); err == nil {
			t.Errorf("%T accepts %s", c.into, c.text)
		}
	}
}

func TestABadUpdateIsDeliveredAsUnknownWithItsError(t *testing.T) {
	const text = `{"sessionId":"s","update":{"content":{"type":"text","text":7},"sessionUpdate":"agent_message_chunk"}}`
	var v SessionNotification
	if err := (Codec{}).Unmarshal([]byte(text), &v); err == nil {
		t.Error("a codec that does not tolerate it accepts a bad update")
	}
	v = SessionNotification{}
	if err := (Codec{TolerateUpdates: true}).Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	u, ok := v.Update.(UnknownSessionUpdate)
	if !ok || u.Tag != "agent_message_chunk" || u.Err == nil || u.Err.Error() != "update.content.text: expected string, got number" {
		t.Fatalf("got %#v", v.Update)
	}
	if got := encoded(t, &v); got != text {
		t.Errorf("it is written back as %s", got)
	}
	for _, hopeless := range []string{`{"sessionId":"s","update":[]}`, `{"sessionId":"s","update":{}}`, `{"sessionId":"s","update":{"sessionUpdate":1}}`, `{"sessionId":"s"}`} {
		if err := (Codec{TolerateUpdates: true}).Unmarshal([]byte(hopeless), &v); err == nil {
			t.Errorf("accepted %s", hopeless)
		}
	}
}

func TestABadOptionalMemberDoesNotHideAnUpdatesText(t *testing.T) {
	v, skipped, err := decodeAs[SessionNotification](`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi","annotations":5},"messageId":{}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if chunk, ok := v.Update.(AgentMessageChunk); !ok || PlainText(chunk.Content) != "hi" {
		t.Errorf("got %#v", v.Update)
	}
	if len(skipped) != 2 || !strings.HasPrefix(skipped[0], "update.content.annotations |") || !strings.HasPrefix(skipped[1], "update.messageId |") {
		t.Errorf("reported %q", skipped)
	}
}

func TestReportsOfOneMessageAreBounded(t *testing.T) {
	text := `{"toolCallId":"c","content":[` + strings.Repeat("1,", 200_000) + `{"type":"terminal","terminalId":"t"}]}`
	v, skipped, err := decodeAs[ToolCallUpdate](text)
	if err != nil || len(v.Content) != 1 {
		t.Errorf("got %d items, %v", len(v.Content), err)
	}
	if len(skipped) != 17 || skipped[15] != "content[15] | content[15]: expected object, got number" || !strings.HasPrefix(skipped[16], " | more values") {
		t.Errorf("%d reports: %q", len(skipped), skipped)
	}
}
