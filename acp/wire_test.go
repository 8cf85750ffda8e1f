package acp

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeAs reads text into a new T with every feature on, and collects what leniency was needed.
func decodeAs[T any, P structPtr[T]](text string) (T, []string, error) {
	var skipped []string
	c := Codec{Unstable: true, OnLenient: func(path, reason string) { skipped = append(skipped, path+" | "+reason) }}
	var v T
	err := c.Unmarshal([]byte(text), P(&v))
	return v, skipped, err
}

func encoded(t *testing.T, v Message) string {
	t.Helper()
	b, err := everything.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnErrorNamesThePathAndWhatWasExpected(t *testing.T) {
	errorOf := func(v Message, text string) error { return Codec{}.Unmarshal([]byte(text), v) }
	for _, c := range []struct {
		into       Message
		text, want string
	}{
		{new(PromptRequest), `{"sessionId":"s","prompt":[{"type":"text"}]}`, "prompt[0].text: required, missing"},
		{new(PromptRequest), `{"sessionId":4,"prompt":[]}`, "sessionId: expected string, got number"},
		{new(PromptRequest), `{ "prompt" : [ {"type":"text","text":"a"} , {"type":"text","text":null}]}`, "prompt[1].text: expected string, got null"},
		{new(PromptRequest), `{"sessionId":"s","prompt":null}`, "prompt: expected array, got null"},
		{new(PromptRequest), `{"sessionId":"s","prompt":[{"text":"a"}]}`, "prompt[0].type: required, missing"},
		{new(PromptRequest), `{"sessionId":"s","prompt":[{"type":7}]}`, "prompt[0].type: expected string, got number"},
		{new(PromptRequest), `{"sessionId":"s","prompt":["text"]}`, "prompt[0]: expected object, got string"},
		{new(PromptRequest), `[]`, "expected object, got array"},
		{new(PromptRequest), `{}`, "sessionId: required, missing"},
		{new(InitializeRequest), `{"protocolVersion":"1"}`, "protocolVersion: expected uint16, got string"},
		{new(InitializeRequest), `{"protocolVersion":65536}`, "protocolVersion: expected uint16, got 65536"},
		{new(InitializeRequest), `{"protocolVersion":-1}`, "protocolVersion: expected uint16, got -1"},
		{new(InitializeRequest), `{"protocolVersion":1.5}`, "protocolVersion: expected uint16, got 1.5"},
		{new(NewSessionRequest), `{"cwd":"/","mcpServers":[{"name":"n","command":"c","args":[1],"env":[]}]}`, "mcpServers[0].args[0]: expected string, got number"},
		{new(NewSessionRequest), `{"cwd":"/","mcpServers":[{"type":"http","name":"n","command":"c","args":[],"env":[],"headers":[]}]}`, "mcpServers[0].url: required, missing"},
		{new(NewSessionRequest), `{"cwd":"/","mcpServers":[{"name":"n","command":"c","args":[],"env":{"a b":1}}]}`, `mcpServers[0].env["a b"]: expected string, got number`},
		{new(CreateTerminalRequest), `{"sessionId":"s","command":"c","cwd":false}`, "cwd: expected string, got boolean"},
		{new(CreateTerminalRequest), `{"sessionId":"s","command":"c","outputByteLimit":18446744073709551616}`, "outputByteLimit: expected uint64, got 18446744073709551616"},
		{new(SetSessionConfigOptionRequest), `{"sessionId":"s","configId":"c","type":"boolean","value":"on"}`, "value: expected boolean, got string"},
		{new(SetSessionConfigOptionRequest), `{"sessionId":"s","configId":"c"}`, "value: required, missing"},
		{new(CreateElicitationRequest), `{"message":"m","mode":"form","requestedSchema":{}}`, "sessionId: required, missing"},
		{new(CreateElicitationRequest), `{"message":"m"}`, "mode: required, missing"},
		{new(CreateElicitationRequest), `{"message":"m","mode":"form","sessionId":"s","requestedSchema":{"properties":{"a":{"type":"string","maxLength":-1}}}}`, "requestedSchema.properties.a.maxLength: expected uint32, got -1"},
		{new(SessionNotification), `{"sessionId":"s","update":{"sessionUpdate":"plan"}}`, "update.entries: required, missing"},
		{new(CancelRequestNotification), `{"requestId":1.5}`, "requestId: expected int64, string or null, got number"},
	} {
		err := errorOf(c.into, c.text)
		var e *DecodeError
		if !errors.As(err, &e) || err.Error() != c.want {
			t.Errorf("%T %s:\ngot  %v\nwant %s", c.into, c.text, err, c.want)
		}
	}
}

func TestAnErrorCanBePutWithinAnOuterValue(t *testing.T) {
	for in, want := range map[string]string{"": "params: required, missing", "a": "params.a: required, missing", "[0]": "params[0]: required, missing"} {
		if got := (&DecodeError{Path: in}).Within("params").Error(); got != want {
			t.Errorf("path %q within params: %s, want %s", in, got, want)
		}
	}
}

func TestSyntaxErrorsAndDuplicateNamesAreErrors(t *testing.T) {
	for _, text := range []string{
		``, `{`, `{"sessionId":"s"`, `{"sessionId":"s"} x`, `{"sessionId":"s","sessionId":"t"}`, `{"sessionId":"s","session\u0049d":"t"}`,
		"{\"sessionId\":\"\xff\"}", `{"sessionId":"s","later":{"a":1,"a":2}}`, `{"sessionId":"s","_meta":{"a":01}}`,
	} {
		var v CancelNotification
		if err := (Codec{}).Unmarshal([]byte(text), &v); err == nil {
			t.Errorf("%q was accepted", text)
		}
		if err := json.Unmarshal([]byte(text), &v); err == nil {
			t.Errorf("encoding/json accepted %q", text)
		}
	}
}

func TestMemberNamesAreCaseSensitive(t *testing.T) {
	_, _, err := decodeAs[CancelNotification](`{"SessionID":"s","sessionid":"s"}`)
	if err == nil || err.Error() != "sessionId: required, missing" {
		t.Errorf("got %v", err)
	}
}

func TestRequiredMeansPresentAndZeroValuesAreSent(t *testing.T) {
	v, skipped, err := decodeAs[WriteTextFileRequest](`{"sessionId":"","path":"","content":""}`)
	if err != nil || len(skipped) > 0 {
		t.Errorf("empty strings are not accepted: %v %v", err, skipped)
	}
	if got, want := encoded(t, &v), `{"sessionId":"","path":"","content":""}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := encoded(t, &UsageUpdate{}), `{"sessionUpdate":"usage_update","used":0,"size":0}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := encoded(t, &TerminalOutputResponse{}), `{"output":"","truncated":false}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRequiredArraysAreNeverNull(t *testing.T) {
	for _, c := range []struct {
		v    Message
		want string
	}{
		{&NewSessionRequest{}, `{"cwd":"","mcpServers":[]}`},
		{&LoadSessionRequest{}, `{"mcpServers":[],"cwd":"","sessionId":""}`},
		{&ResumeSessionRequest{}, `{"sessionId":"","cwd":""}`},
		{&MCPServerStdio{}, `{"name":"","command":"","args":[],"env":[]}`},
		{&MCPServerHTTP{}, `{"type":"http","name":"","url":"","headers":[]}`},
		{&PromptRequest{}, `{"sessionId":"","prompt":[]}`},
		{&ListSessionsResponse{}, `{"sessions":[]}`},
		{&Plan{}, `{"sessionUpdate":"plan","entries":[]}`},
		{&AvailableCommandsUpdate{}, `{"sessionUpdate":"available_commands_update","availableCommands":[]}`},
		{&SetSessionConfigOptionResponse{}, `{"configOptions":[]}`},
		{&SessionModeState{}, `{"currentModeId":"","availableModes":[]}`},
		{&RequestPermissionRequest{}, `{"sessionId":"","toolCall":{"toolCallId":""},"options":[]}`},
	} {
		if got := encoded(t, c.v); got != c.want {
			t.Errorf("%T:\ngot  %s\nwant %s", c.v, got, c.want)
		}
	}
}

func TestDefaultsAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		v    Message
		want string
	}{
		{&InitializeRequest{ProtocolVersion: 1}, `{"protocolVersion":1}`},
		{&InitializeResponse{ProtocolVersion: 1, AgentCapabilities: AgentCapabilities{LoadSession: true}}, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`},
		{&InitializeResponse{ProtocolVersion: 1, AgentCapabilities: AgentCapabilities{PromptCapabilities: PromptCapabilities{Image: true}}}, `{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true}}}`},
		{&InitializeResponse{ProtocolVersion: 1, AgentCapabilities: AgentCapabilities{SessionCapabilities: SessionCapabilities{List: &SessionListCapabilities{}}}}, `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"list":{}}}}`},
		{&ElicitationSchema{}, `{"type":"object","properties":{}}`},
	} {
		if got := encoded(t, c.v); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	v, _, err := decodeAs[InitializeResponse](`{"protocolVersion":1}`)
	if err != nil || !reflect.DeepEqual(v, InitializeResponse{ProtocolVersion: 1}) {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestNullParamsAndResultsAreEmptyObjects(t *testing.T) {
	if _, _, err := decodeAs[LoadSessionResponse](`null`); err != nil {
		t.Error(err)
	}
	if _, _, err := decodeAs[CancelNotification](` null `); err == nil || err.Error() != "sessionId: required, missing" {
		t.Errorf("got %v", err)
	}
	if err := (Codec{}).unmarshalValid(nil, new(ListSessionsRequest)); err != nil {
		t.Error(err)
	}
}

func TestIntegersKeepAllTheirDigits(t *testing.T) {
	const text = `{"toolCallId":"c","rawInput":9007199254740993123456789,"rawOutput":1.000e2}`
	v, _, err := decodeAs[ToolCallUpdate](text)
	if err != nil || encoded(t, &v) != text {
		t.Errorf("got %s, %v", encoded(t, &v), err)
	}
	u, _, err := decodeAs[UsageUpdate](`{"used":18446744073709551615,"size":9007199254740993}`)
	if err != nil || u.Used != math.MaxUint64 || u.Size != 9007199254740993 {
		t.Errorf("got %+v, %v", u, err)
	}
}

func TestEncodingRefusesWhatJSONOrTheProtocolCannotHold(t *testing.T) {
	for _, c := range []struct {
		v    Message
		want string
	}{
		{&SessionNotification{}, "SessionUpdate: required, nil"},
		{&EmbeddedResource{}, "ResourceContents: required, nil"},
		{&CreateElicitationRequest{}, "CreateElicitationRequest.Mode: required, nil"},
		{&SetSessionConfigOptionRequest{}, "SetSessionConfigOptionRequest.Value: required, nil"},
		{&PromptRequest{Prompt: []ContentBlock{nil}}, "ContentBlock: required, nil"},
		{&ToolCallUpdate{RawInput: jsontext.Value(`{"a":`)}, "not valid JSON"},
		{&ToolCallUpdate{Meta: Meta(`[]`)}, "_meta"},
		{&UsageUpdate{Cost: &Cost{Amount: math.NaN()}}, "NaN"},
		{&SessionNotification{Update: UnknownSessionUpdate{Tag: "x"}}, "UnknownSessionUpdate"},
		{&SessionNotification{Update: UnknownSessionUpdate{Tag: "x", Raw: jsontext.Value(`[1]`)}}, "not a JSON object"},
	} {
		prefix := []byte("kept")
		b, err := everything.Append(prefix, c.v)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %s, %v; want an error about %s", c.v, b, err, c.want)
		}
		if string(b) != "kept" {
			t.Errorf("the buffer became %q", b)
		}
	}
}

func TestOutputIsAlwaysOneLine(t *testing.T) {
	text := "{\n \"toolCallId\": \"c\",\r\n \"rawInput\": {\n  \"a\": \"x\\ny\"\n },\n \"later\": [\n1,\n2]\n, \"_meta\": {\n\"m\":1}}"
	v, _, err := decodeAs[ToolCallUpdate](text)
	if err != nil {
		t.Fatal(err)
	}
	v.RawOutput = jsontext.Value("[\n1 ]")
	if got, want := encoded(t, &v), `{"toolCallId":"c","rawInput":{"a":"x\ny"},"rawOutput":[1],"_meta":{"m":1},"later":[1,2]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	u, err := UnmarshalSessionUpdate([]byte("{\n\"sessionUpdate\":\"_x\",\n\"a\":1}"))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := MarshalSessionUpdate(u); err != nil || string(b) != `{"sessionUpdate":"_x","a":1}` {
		t.Errorf("got %s, %v", b, err)
	}
}

func TestInvalidUTF8IsReplacedOnSend(t *testing.T) {
	b, err := json.Marshal(Text("a\xffb\u2028"))
	if err != nil {
		t.Fatal(err)
	}
	var back TextContent
	if err := json.Unmarshal(b, &back); err != nil || back.Text != "a\ufffdb\u2028" {
		t.Errorf("got %q, %v", back.Text, err)
	}
}

func TestPointersToVariantsAreAsGoodAsValues(t *testing.T) {
	byValue := encoded(t, &SessionNotification{Update: AgentMessageChunk{Content: Text("x")}})
	text := Text("x")
	byPointer := encoded(t, &SessionNotification{Update: &AgentMessageChunk{Content: &text}})
	if byValue != byPointer {
		t.Errorf("%s and %s", byValue, byPointer)
	}
}

func TestDecodedValuesDoNotShareMemoryWithTheInput(t *testing.T) {
	text := []byte(benchToolCall)
	var v SessionNotification
	if err := (Codec{}).Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	before := encoded(t, &v)
	for i := range text {
		text[i] = 'x'
	}
	if after := encoded(t, &v); after != before {
		t.Errorf("it became %s", after)
	}
}

func TestTypesNestInOtherJSONTypes(t *testing.T) {
	type outer struct {
		Calls []ToolCall `json:"calls"`
	}
	const text = `{"calls":[{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}]}`
	for name, f := range map[string]struct {
		read  func([]byte, any) error
		write func(any) ([]byte, error)
	}{
		"v1": {json.Unmarshal, json.Marshal},
		"v2": {func(b []byte, v any) error { return jsonv2.Unmarshal(b, v) }, func(v any) ([]byte, error) { return jsonv2.Marshal(v) }},
	} {
		var v outer
		if err := f.read([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, err := f.write(v); err != nil || string(b) != text {
			t.Errorf("%s: got %s, %v", name, b, err)
		}
		if err := f.read([]byte(`{"calls":[{"toolCallId":"c"}]}`), &v); err == nil || !strings.Contains(err.Error(), "title: required, missing") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
