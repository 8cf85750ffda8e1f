package acp

import (
	"reflect"
	"strings"
	"testing"
)

func TestUnknownTagsKeepTheirBytes(t *testing.T) {
	for _, text := range []string{
		`{"sessionUpdate":"_mine","content":{"type":"text","text":"a"},"b":1.0}`,
		`{"content":{"type":"text","text":"\u0061"}, "sessionUpdate" : "agent_message_chunk_v9" }`,
		`{"sessionUpdate":"","toolCallId":"x","title":"t"}`,
		`{"sessionUpdate":"Tool_Call","toolCallId":"x","title":"t"}`,
	} {
		u, err := UnmarshalSessionUpdate([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if x, ok := u.(UnknownSessionUpdate); !ok || x.Err != nil {
			t.Errorf("%s became %#v", text, u)
		}
		if b, err := MarshalSessionUpdate(u); err != nil || string(b) != text {
			t.Errorf("%s is written back as %s, %v", text, b, err)
		}
	}
}

func TestATagMayBeWrittenWithEscapes(t *testing.T) {
	u, err := UnmarshalSessionUpdate([]byte(`{"session\u0055pdate":"pl\u0061n","\u0065ntries":[]}`))
	if _, ok := u.(Plan); !ok || err != nil {
		t.Errorf("got %#v, %v", u, err)
	}
}

func TestAPayloadUnderSeveralTagsHasATypeForEach(t *testing.T) {
	for _, u := range []SessionUpdate{UserMessageChunk{Content: Text("x")}, AgentMessageChunk{Content: Text("x")}, AgentThoughtChunk{Content: Text("x")}} {
		b, err := MarshalSessionUpdate(u)
		if err != nil {
			t.Fatal(err)
		}
		back, err := UnmarshalSessionUpdate(b)
		if err != nil || !reflect.DeepEqual(back, u) {
			t.Errorf("%#v became %#v, %v", u, back, err)
		}
	}
}

func TestMCPServersAreToldApartByTheirTypeFirst(t *testing.T) {
	for text, want := range map[string]MCPServer{
		`{"name":"n","command":"c","args":[],"env":[]}`:                         MCPServerStdio{},
		`{"name":"n","command":"c","args":[],"env":[],"type":"stdio"}`:          MCPServerStdio{},
		`{"name":"n","command":"c","args":[],"env":[],"type":null}`:             MCPServerStdio{},
		`{"type":"http","name":"n","url":"u","headers":[]}`:                     MCPServerHTTP{},
		`{"type":"sse","name":"n","url":"u","headers":[]}`:                      MCPServerSSE{},
		`{"type":"acp","name":"n","serverId":"s"}`:                              UnstableMCPServerACP{},
		`{"type":"carrier-pigeon","name":"n","command":"c","args":[],"env":[]}`: UnknownMCPServer{},
	} {
		s, err := UnmarshalMCPServer([]byte(text))
		if err != nil || reflect.TypeOf(s) != reflect.TypeOf(want) {
			t.Errorf("%s is %T, %v; want %T", text, s, err, want)
			continue
		}
		if b, err := MarshalMCPServer(s); err != nil || string(b) != text {
			t.Errorf("%s is written back as %s, %v", text, b, err)
		}
	}
	if s, err := UnmarshalMCPServer([]byte(`{"type":"http","name":"n","command":"c","args":[],"env":[]}`)); err == nil {
		t.Errorf("a broken http server became %T", s)
	}
}

func TestAuthenticationWithoutAKnownTypeIsTheAgents(t *testing.T) {
	for text, want := range map[string]AuthMethod{
		`{"id":"i","name":"n"}`:                   AuthMethodAgent{},
		`{"id":"i","name":"n","type":"agent"}`:    AuthMethodAgent{},
		`{"id":"i","name":"n","type":"env_var"}`:  AuthMethodAgent{},
		`{"type":"terminal","id":"i","name":"n"}`: AuthMethodTerminal{},
	} {
		m, err := UnmarshalAuthMethod([]byte(text))
		if err != nil || reflect.TypeOf(m) != reflect.TypeOf(want) {
			t.Errorf("%s is %T, %v; want %T", text, m, err, want)
			continue
		}
		if b, err := MarshalAuthMethod(m); err != nil || string(b) != text {
			t.Errorf("%s is written back as %s, %v", text, b, err)
		}
	}
	if m, err := UnmarshalAuthMethod([]byte(`{"type":"terminal","id":"i","name":"n","args":[1]}`)); err == nil {
		t.Errorf("a broken terminal method became %T", m)
	}
}

func TestConfigurationOptionsOfEveryKindSurvive(t *testing.T) {
	for text, want := range map[string]SessionConfigKind{
		`{"id":"m","name":"Model","category":"model","type":"select","currentValue":"a","options":[{"value":"a","name":"A"}]}`: SessionConfigSelect{
			CurrentValue: "a", Options: SessionConfigSelectFlat{{Value: "a", Name: "A"}},
		},
		`{"id":"m","name":"M","type":"select","currentValue":"a","options":[{"group":"g","name":"G","options":[{"value":"a","name":"A"}]}]}`: SessionConfigSelect{
			CurrentValue: "a", Options: SessionConfigSelectGroups{{Group: "g", Name: "G", Options: []SessionConfigSelectOption{{Value: "a", Name: "A"}}}},
		},
		`{"id":"m","name":"M","type":"select","currentValue":"a","options":[]}`: SessionConfigSelect{CurrentValue: "a", Options: SessionConfigSelectFlat{}},
		`{"id":"b","name":"B","type":"boolean","currentValue":true}`:            SessionConfigBoolean{CurrentValue: true},
		`{"id":"c","name":"C","type":"slider","min":0,"max":1.50}`:              UnknownSessionConfigKind{Tag: "slider", Raw: []byte(`{"type":"slider","min":0,"max":1.50}`)},
	} {
		v, skipped, err := decodeAs[SessionConfigOption](text)
		if err != nil || len(skipped) > 0 || !reflect.DeepEqual(v.Kind, want) {
			t.Errorf("%s: got %#v, %v %v", text, v.Kind, skipped, err)
			continue
		}
		if got := encoded(t, &v); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
	if _, _, err := decodeAs[SessionConfigOption](`{"id":"b","name":"B","type":"boolean","currentValue":"true"}`); err == nil {
		t.Error("a boolean option with a string was accepted")
	}
}

func TestSettingAnOptionTakesAnUnknownTypeAsAValueID(t *testing.T) {
	for text, want := range map[string]SessionConfigOptionValue{
		`{"sessionId":"s","configId":"c","value":"v"}`:                   SessionConfigValueID("v"),
		`{"sessionId":"s","configId":"c","type":"boolean","value":true}`: SessionConfigValueBool(true),
		`{"sessionId":"s","configId":"c","value":"v","type":"id"}`:       SessionConfigValueID("v"),
	} {
		v, _, err := decodeAs[SetSessionConfigOptionRequest](text)
		if err != nil || v.Value != want || encoded(t, &v) != text {
			t.Errorf("%s: got %#v, %v, written back as %s", text, v.Value, err, encoded(t, &v))
		}
	}
}

func TestElicitationsKeepTheirScopeAndTheOrderOfTheirFields(t *testing.T) {
	const text = `{"message":"m","mode":"form","requestedSchema":{"type":"object","properties":{"z":{"type":"string","enum":["a"],"oneOf":[{"const":"c","title":"t"}]},"a":{"type":"array","items":{"anyOf":[{"const":"c","title":"t"}]}},"m":{"type":"colour","x":1}},"required":["z"]},"sessionId":"s","toolCallId":"t"}`
	v, _, err := decodeAs[CreateElicitationRequest](text)
	if err != nil {
		t.Fatal(err)
	}
	form, ok := v.Mode.(ElicitationFormMode)
	if !ok || form.Scope.(ElicitationSessionScope).ToolCallID != "t" || len(form.RequestedSchema.Properties) != 3 {
		t.Errorf("got %#v", v.Mode)
	}
	if _, ok := form.RequestedSchema.Properties.Get("m"); !ok {
		t.Error("the field m is not found by its name")
	}
	if got := encoded(t, &v); got != text {
		t.Errorf("got  %s\nwant %s", got, text)
	}

	both, _, err := decodeAs[CreateElicitationRequest](`{"message":"m","mode":"url","elicitationId":"e","url":"u","requestId":1,"sessionId":"s"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encoded(t, &both), `{"message":"m","mode":"url","elicitationId":"e","url":"u","sessionId":"s","requestId":1}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	other, _, err := decodeAs[CreateElicitationRequest](`{"mode":"voice","message":"m","sessionId":"s","_meta":{"a":1},"pitch":2}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := encoded(t, &other), `{"message":"m","mode":"voice","sessionId":"s","pitch":2,"_meta":{"a":1}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAnswersOfAFormKeepTheirTypes(t *testing.T) {
	const text = `{"action":"accept","content":{"a":"s","b":3,"c":2.5,"d":true,"e":["x"],"f":{"k":1.0},"g":[1],"h":1e3,"i":99999999999999999999}}`
	v, _, err := decodeAs[CreateElicitationResponse](text)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]ElicitationContentValue{
		"a": ElicitationString("s"), "b": ElicitationInteger(3), "c": ElicitationNumber(2.5), "d": ElicitationBoolean(true),
		"e": ElicitationStrings{"x"}, "f": UnknownElicitationContentValue{[]byte(`{"k":1.0}`)}, "g": UnknownElicitationContentValue{[]byte(`[1]`)},
		"h": ElicitationNumber(1000), "i": ElicitationNumber(1e20),
	}
	if got := v.Action.(ElicitationAcceptAction).Content; !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
}

func TestMCPMessagesHaveAResultOrAnError(t *testing.T) {
	for text, want := range map[string]string{
		`{"result":null}`: `{"result":null}`,
		`{"error":{"code":-1,"message":"m","data":null,"extra":1}}`: `{"error":{"code":-1,"message":"m","data":null,"extra":1}}`,
		`{"error":{"code":-1,"message":"m"},"result":{"a":1}}`:      `{"result":{"a":1}}`,
	} {
		v, _, err := decodeAs[UnstableMessageMCPResponse](text)
		if err != nil || encoded(t, &v) != want {
			t.Errorf("%s: written back as %s, %v", text, encoded(t, &v), err)
		}
	}
	if _, _, err := decodeAs[UnstableMessageMCPResponse](`{}`); err == nil || err.Error() != "result: required, missing" {
		t.Errorf("got %v", err)
	}
	if got := encoded(t, &UnstableMessageMCPResponse{}); got != `{"result":null}` {
		t.Errorf("got %s", got)
	}
}

func TestUnstableMembersAreOffUntilOptedIn(t *testing.T) {
	stable, unstable := Codec{}, Codec{Unstable: true}
	const text = `{"stopReason":"end_turn","usage":{"totalTokens":3,"inputTokens":1,"outputTokens":2}}`
	var v PromptResponse
	if err := stable.Unmarshal([]byte(text), &v); err != nil || v.UnstableUsage != nil {
		t.Errorf("got %+v, %v", v.UnstableUsage, err)
	}
	if b, err := stable.Append(nil, &v); err != nil || string(b) != text {
		t.Errorf("what came is written back as %s, %v", b, err)
	}
	v = PromptResponse{}
	if err := unstable.Unmarshal([]byte(text), &v); err != nil || v.UnstableUsage == nil || v.UnstableUsage.TotalTokens != 3 {
		t.Errorf("got %+v, %v", v.UnstableUsage, err)
	}
	for _, v := range []Message{
		&v,
		&SessionNotification{Update: UnstablePlanRemoved{PlanID: "p"}},
		&NewSessionRequest{MCPServers: []MCPServer{UnstableMCPServerACP{}}},
		&InitializeResponse{AgentCapabilities: AgentCapabilities{MCPCapabilities: MCPCapabilities{UnstableACP: true}}},
		&ListSessionsRequest{UnstableArchived: UnstableSessionArchiveFilterOnly},
	} {
		if b, err := stable.Append(nil, v); err == nil || !strings.Contains(err.Error(), "unstable") {
			t.Errorf("%T is written as %s, %v", v, b, err)
		}
		if _, err := unstable.Append(nil, v); err != nil {
			t.Error(err)
		}
	}
	var n SessionNotification
	if err := stable.Unmarshal([]byte(`{"sessionId":"s","update":{"sessionUpdate":"plan_removed","planId":"p"}}`), &n); err != nil {
		t.Fatal(err)
	}
	if u, ok := n.Update.(UnknownSessionUpdate); !ok || u.Tag != "plan_removed" {
		t.Errorf("got %#v", n.Update)
	}
}

func TestIdleTellsWhyOrNothing(t *testing.T) {
	for text, want := range map[string]UnstableStateUpdate{
		`{"state":"idle","stopReason":"error","error":{"code":-32603,"message":"m"}}`: UnstableIdleStateUpdate{StopReason: UnstableIdleStopError, Error: &Error{Code: CodeInternalError, Message: "m"}},
		`{"state":"idle"}`:                       UnstableIdleStateUpdate{},
		`{"state":"idle","stopReason":null}`:     UnstableIdleStateUpdate{},
		`{"state":"idle","stopReason":7}`:        UnstableIdleStateUpdate{},
		`{"state":"idle","stopReason":"_tired"}`: UnstableIdleStateUpdate{StopReason: "_tired"},
		`{"state":"unknown"}`:                    UnstableUnknownStateUpdate{},
		`{"state":"dreaming"}`:                   UnstableOtherStateUpdate{Tag: "dreaming", Raw: []byte(`{"state":"dreaming"}`)},
	} {
		if got, err := UnmarshalUnstableStateUpdate([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v", text, got, err)
		}
	}
}

func TestATagThatCameAlongIsNotWrittenTwice(t *testing.T) {
	const text = `{"sessionId":"s","toolCall":{"toolCallId":"c","later":1,"sessionUpdate":"tool_call_update","more":2},"options":[]}`
	v, _, err := decodeAs[RequestPermissionRequest](text)
	if err != nil || encoded(t, &v) != text {
		t.Errorf("got %s, %v", encoded(t, &v), err)
	}
	b, err := MarshalSessionUpdate(v.ToolCall)
	if want := `{"sessionUpdate":"tool_call_update","toolCallId":"c","later":1,"more":2}`; err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
}
