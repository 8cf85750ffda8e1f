package acp

import (
	"fmt"
	"strings"
	"testing"
)

// The protocol's methods, written down by hand: wire name, who handles it, N for notifications, U for unstable, capability.
const methodGolden = `
$/cancel_request both N
auth/status agent U agentCapabilities.auth.status
auth/status_update client N U agentCapabilities.auth.status
authenticate agent
elicitation/complete client N clientCapabilities.elicitation.url
elicitation/create client clientCapabilities.elicitation
fs/read_text_file client clientCapabilities.fs.readTextFile
fs/write_text_file client clientCapabilities.fs.writeTextFile
initialize agent
logout agent agentCapabilities.auth.logout
mcp/message client U agentCapabilities.mcpCapabilities.acp
mcp/message agent N U agentCapabilities.mcpCapabilities.acp
providers/disable agent U agentCapabilities.providers
providers/list agent U agentCapabilities.providers
providers/set agent U agentCapabilities.providers
proxy/initialize proxy U
proxy/successor proxy U
proxy/successor proxy N U
session/archive agent U agentCapabilities.sessionCapabilities.archive
session/cancel agent N
session/close agent agentCapabilities.sessionCapabilities.close
session/delete agent agentCapabilities.sessionCapabilities.delete
session/fork agent U agentCapabilities.sessionCapabilities.fork
session/list agent agentCapabilities.sessionCapabilities.list
session/load agent agentCapabilities.loadSession
session/new agent
session/prompt agent
session/request_permission client
session/resume agent agentCapabilities.sessionCapabilities.resume
session/set_config_option agent
session/set_mode agent
session/set_title agent U agentCapabilities.sessionCapabilities.title
session/status agent U agentCapabilities.sessionCapabilities.status
session/unarchive agent U agentCapabilities.sessionCapabilities.archive
session/update client N
terminal/create client clientCapabilities.terminal
terminal/kill client clientCapabilities.terminal
terminal/output client clientCapabilities.terminal
terminal/release client clientCapabilities.terminal
terminal/wait_for_exit client clientCapabilities.terminal
`

func TestTheMethodTableIsTheProtocols(t *testing.T) {
	var got strings.Builder
	sides := map[Side]string{AgentSide: "agent", ClientSide: "client", BothSides: "both", ProxySide: "proxy"}
	for _, m := range Methods() {
		fmt.Fprintf(&got, "%s %s", m.Name, sides[m.Side])
		if m.Notification {
			got.WriteString(" N")
		}
		if m.Unstable {
			got.WriteString(" U")
		}
		if m.Gate != "" {
			got.WriteString(" " + m.Gate)
		}
		got.WriteString("\n")
	}
	if want := strings.TrimPrefix(methodGolden, "\n"); got.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", got.String(), want)
	}
}

func TestEveryMethodHasItsParamsAndResult(t *testing.T) {
	for _, m := range Methods() {
		found, ok := LookupMethod(m.Name, m.Notification)
		if !ok || found.ParamsName != m.ParamsName {
			t.Errorf("%s is not found", m.Name)
		}
		if got := strings.TrimPrefix(fmt.Sprintf("%T", m.NewParams()), "*acp."); !strings.HasSuffix(m.ParamsName, got) && m.Name != "proxy/initialize" {
			t.Errorf("%s: params are %s and not %s", m.Name, got, m.ParamsName)
		}
		anyResult := m.Name == "proxy/successor"
		if (m.NewResult() == nil) != (m.Notification || anyResult) {
			t.Errorf("%s: result %T", m.Name, m.NewResult())
		}
	}
	if _, ok := LookupMethod("session/prompt", true); ok {
		t.Error("session/prompt is a notification")
	}
	if _, ok := LookupMethod("_mine", false); ok {
		t.Error("an extension is in the table")
	}
}

func TestSpecialMembersHaveTheirExactNames(t *testing.T) {
	for text, v := range map[string]Message{
		`{"sessionId":"s","_meta":{"k":1}}`:                           &CancelNotification{SessionID: "s", Meta: Meta(`{"k":1}`)},
		`{"toolCallId":"c","rawInput":1,"rawOutput":null}`:            &ToolCallUpdate{ToolCallID: "c", RawInput: []byte("1"), RawOutput: []byte("null")},
		`{"sessionId":"s","modeId":"m"}`:                              &SetSessionModeRequest{SessionID: "s", ModeID: "m"},
		`{"sessionUpdate":"current_mode_update","currentModeId":"m"}`: &CurrentModeUpdate{CurrentModeID: "m"},
		`{"type":"image","data":"","mimeType":"image/png"}`:           &ImageContent{MIMEType: "image/png"},
		`{"const":"c","title":"t"}`:                                   &EnumOption{Const: "c", Title: "t"},
	} {
		if got := encoded(t, v); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

func TestCapabilitiesAreFoundByTheirPath(t *testing.T) {
	client := &ClientCapabilities{Terminal: true, FS: FileSystemCapabilities{ReadTextFile: true}, Elicitation: &ElicitationCapabilities{URL: &ElicitationURLCapabilities{}}}
	agent := &AgentCapabilities{LoadSession: true, SessionCapabilities: SessionCapabilities{Close: &SessionCloseCapabilities{}}}
	for path, want := range map[string]bool{
		"clientCapabilities.terminal": true, "clientCapabilities.fs.readTextFile": true, "clientCapabilities.fs.writeTextFile": false,
		"clientCapabilities.elicitation": true, "clientCapabilities.elicitation.url": true, "clientCapabilities.elicitation.form": false,
		"clientCapabilities.session.configOptions.boolean": false,
		"agentCapabilities.loadSession":                    true, "agentCapabilities.sessionCapabilities.close": true, "agentCapabilities.sessionCapabilities.list": false,
		"agentCapabilities.mcpCapabilities.http": false, "agentCapabilities.teleport": false, "": false,
	} {
		if got := HasCapability(path, client, agent); got != want {
			t.Errorf("%q: %v", path, got)
		}
		if HasCapability(path, nil, nil) {
			t.Errorf("%q is offered by nobody", path)
		}
	}
	for _, m := range Methods() {
		if m.Gate != "" && HasCapability(m.Gate, &ClientCapabilities{}, &AgentCapabilities{}) {
			t.Errorf("%s is open by default", m.Name)
		}
	}
}

func TestGatesOfUpdatesBlocksAndServers(t *testing.T) {
	for want, u := range map[string]SessionUpdate{
		"": AgentMessageChunk{}, "clientCapabilities.session.notices": Notice{}, "clientCapabilities.session.compaction": &CompactionUpdate{},
		"clientCapabilities.plan": UnstablePlanUpdate{}, "clientCapabilities.subagents": UnstableSubagentUpdate{},
	} {
		if got := updateGate(u); got != want {
			t.Errorf("%T: %q, want %q", u, got, want)
		}
	}
	all := &AgentCapabilities{
		PromptCapabilities: PromptCapabilities{Image: true, Audio: true, EmbeddedContext: true}, MCPCapabilities: MCPCapabilities{HTTP: true, SSE: true, UnstableACP: true},
	}
	for _, b := range []ContentBlock{ImageContent{}, AudioContent{}, &EmbeddedResource{}} {
		if g := promptGate(b); !HasCapability(g, nil, all) || HasCapability(g, nil, &AgentCapabilities{}) {
			t.Errorf("%T: gate %q", b, g)
		}
	}
	for _, s := range []MCPServer{MCPServerHTTP{}, MCPServerSSE{}, &UnstableMCPServerACP{}} {
		if g := mcpServerGate(s); !HasCapability(g, nil, all) || HasCapability(g, nil, &AgentCapabilities{}) {
			t.Errorf("%T: gate %q", s, g)
		}
	}
	if promptGate(TextContent{}) != "" || promptGate(ResourceLink{}) != "" || mcpServerGate(MCPServerStdio{}) != "" {
		t.Error("what every agent takes has a gate")
	}
}
