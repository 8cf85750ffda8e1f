package acp

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/methods.md anew")

// goName is a method of a type, or a field of an options struct, that a reader of the documents can look up.
type goName struct {
	typ  reflect.Type
	name string
}

func of[T any](name string) goName { return goName{reflect.TypeFor[T](), name} }

// String gives the name, and whether there is such a name.
func (n goName) String() string {
	if n.typ == nil {
		return "the connection itself"
	}
	t := n.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return "`" + t.Name() + "." + n.name + "`"
}

func (n goName) exists() bool {
	if n.typ == nil {
		return true
	}
	if _, ok := n.typ.MethodByName(n.name); ok {
		return true
	}
	if n.typ.Kind() == reflect.Struct {
		_, ok := n.typ.FieldByName(n.name)
		return ok
	}
	return false
}

// names says for each method what handles it and what calls it.
var names = map[string]struct{ handles, calls goName }{
	MethodCancelRequest:                   {},
	MethodInitialize:                      {of[Initializer]("Initialize"), of[*RemoteAgent]("Handshake")},
	MethodAuthenticate:                    {of[Authenticator]("Authenticate"), of[*RemoteAgent]("Authenticate")},
	MethodLogout:                          {of[LogoutHandler]("Logout"), of[*RemoteAgent]("Logout")},
	MethodSessionNew:                      {of[Agent]("NewSession"), of[*RemoteAgent]("NewSession")},
	MethodSessionLoad:                     {of[SessionLoader]("LoadSession"), of[*RemoteAgent]("LoadSession")},
	MethodSessionResume:                   {of[SessionResumer]("ResumeSession"), of[*RemoteAgent]("ResumeSession")},
	MethodSessionList:                     {of[SessionLister]("ListSessions"), of[*RemoteAgent]("ListSessions")},
	MethodSessionClose:                    {of[SessionCloser]("CloseSession"), of[*Session]("Close")},
	MethodSessionDelete:                   {of[SessionDeleter]("DeleteSession"), of[*RemoteAgent]("DeleteSession")},
	MethodSessionSetMode:                  {of[ModeSetter]("SetSessionMode"), of[*Session]("SetMode")},
	MethodSessionSetConfigOption:          {of[ConfigOptionSetter]("SetSessionConfigOption"), of[*Session]("SetConfigOption")},
	MethodSessionPrompt:                   {of[Agent]("Prompt"), of[*Session]("Prompt")},
	MethodSessionCancel:                   {of[SessionCanceller]("CancelSession"), of[*Session]("Cancel")},
	MethodSessionUpdate:                   {of[ClientOptions]("Updates"), of[*Client]("Update")},
	MethodSessionRequestPermission:        {of[ClientOptions]("Permission"), of[*Client]("RequestPermission")},
	MethodFSReadTextFile:                  {of[FileReader]("ReadTextFile"), of[*Client]("ReadTextFile")},
	MethodFSWriteTextFile:                 {of[FileWriter]("WriteTextFile"), of[*Client]("WriteTextFile")},
	MethodTerminalCreate:                  {of[TerminalHandler]("CreateTerminal"), of[*Client]("NewTerminal")},
	MethodTerminalOutput:                  {of[TerminalHandler]("TerminalOutput"), of[*Terminal]("Output")},
	MethodTerminalWaitForExit:             {of[TerminalHandler]("WaitForTerminalExit"), of[*Terminal]("Wait")},
	MethodTerminalKill:                    {of[TerminalHandler]("KillTerminal"), of[*Terminal]("Kill")},
	MethodTerminalRelease:                 {of[TerminalHandler]("ReleaseTerminal"), of[*Terminal]("Release")},
	MethodElicitationCreate:               {of[ElicitationHandler]("CreateElicitation"), of[*Client]("Elicit")},
	MethodElicitationComplete:             {of[ElicitationCompleter]("CompleteElicitation"), of[*Client]("CompleteElicitation")},
	MethodUnstableAuthStatus:              {of[UnstableAuthStatusReporter]("UnstableAuthStatus"), of[*RemoteAgent]("UnstableAuthStatus")},
	MethodUnstableAuthStatusUpdate:        {of[ClientOptions]("UnstableAuthStatus"), of[*Client]("UnstableAuthStatusUpdate")},
	MethodUnstableMCPMessage:              {of[ClientOptions]("UnstableMCP"), of[*Client]("UnstableMCPMessage")},
	MethodUnstableMCPMessage + " (notif)": {of[UnstableMCPReceiver]("UnstableMCPNotification"), of[*RemoteAgent]("UnstableMCPNotify")},
	MethodUnstableProvidersList:           {of[UnstableProviderManager]("UnstableListProviders"), of[*RemoteAgent]("UnstableListProviders")},
	MethodUnstableProvidersSet:            {of[UnstableProviderManager]("UnstableSetProvider"), of[*RemoteAgent]("UnstableSetProvider")},
	MethodUnstableProvidersDisable:        {of[UnstableProviderManager]("UnstableDisableProvider"), of[*RemoteAgent]("UnstableDisableProvider")},
	MethodUnstableSessionArchive:          {of[UnstableSessionArchiver]("UnstableArchiveSession"), of[*RemoteAgent]("UnstableArchiveSession")},
	MethodUnstableSessionUnarchive:        {of[UnstableSessionArchiver]("UnstableUnarchiveSession"), of[*RemoteAgent]("UnstableUnarchiveSession")},
	MethodUnstableSessionFork:             {of[UnstableSessionForker]("UnstableForkSession"), of[*RemoteAgent]("UnstableForkSession")},
	MethodUnstableSessionSetTitle:         {of[UnstableSessionTitleSetter]("UnstableSetSessionTitle"), of[*RemoteAgent]("UnstableSetSessionTitle")},
	MethodUnstableSessionStatus:           {of[UnstableSessionStatusReporter]("UnstableSessionStatus"), of[*RemoteAgent]("UnstableSessionStatus")},
}

// methodsDocument is docs/methods.md.
func methodsDocument(t *testing.T) string {
	var b strings.Builder
	b.WriteString(`# Methods, updates and their gates

What package ` + "`acp`" + ` calls the methods of ACP version 1. The table is made from the code and the protocol's schema:
` + "`go test ./acp -run TestTheMethodsDocument -update-docs`" + `.

A method with a gate may only be called if the other side offered that capability in the handshake: calls that it did not offer fail with a
` + "`*CapabilityError`" + ` before anything is sent, and requests for what this side did not offer are answered -32601. On the agent's side a
capability is offered because the agent implements the interface, on the client's because the field is set.

Names that begin with ` + "`Unstable`" + ` are off until ` + "`Options.Unstable`" + ` is set.

## The agent handles

| method | kind | needs | implement | call, as a client |
|---|---|---|---|---|
`)
	rows := func(side Side) {
		for _, m := range Methods() {
			if m.Side != side {
				continue
			}
			key, kind := m.Name, "request"
			if m.Notification {
				kind = "notification"
				if m.Name == MethodUnstableMCPMessage {
					key += " (notif)"
				}
			}
			n, ok := names[key]
			if !ok && m.Side != ProxySide {
				t.Errorf("%s has no names in Go", key)
			}
			for _, name := range []goName{n.handles, n.calls} {
				if !name.exists() {
					t.Errorf("%s: there is no %v", key, name)
				}
			}
			gate := "-"
			if m.Gate != "" {
				gate = "`" + m.Gate + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %v | %v |\n", m.Name, kind, gate, n.handles, n.calls)
		}
	}
	rows(AgentSide)
	b.WriteString("\n## The client handles\n\n| method | kind | needs | implement or set | call, as an agent |\n|---|---|---|---|---|\n")
	rows(ClientSide)
	b.WriteString("\n## Both handle\n\n| method | kind | needs | handled by | sent by |\n|---|---|---|---|---|\n")
	rows(BothSides)
	b.WriteString(`
A method whose name begins with ` + "`_`" + ` is an extension: ` + "`Extensions`" + ` of either side's options handles it, ` + "`CallExtension` and `NotifyExtension`" + ` call it.
For ` + "`proxy/initialize` and `proxy/successor`" + ` there are types only.

## Session updates

` + "`session/update`" + ` carries one of these. What a client does not understand reaches it as ` + "`UnknownSessionUpdate`" + `, byte for byte.

| sessionUpdate | type | needs |
|---|---|---|
`)
	seen := map[string]bool{}
	for _, s := range samples() {
		variant, _, all := strings.Cut(s.what, ", ")
		if s.typeName != "SessionUpdate" || !all || seen[variant] {
			continue
		}
		seen[variant] = true
		u, err := UnmarshalSessionUpdate([]byte(s.text))
		if err != nil {
			t.Fatal(err)
		}
		tag, _, _ := strings.Cut(strings.TrimPrefix(s.text, `{"sessionUpdate":"`), `"`)
		gate := "-"
		if g := updateGate(u); g != "" {
			gate = "`" + g + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", tag, variant, gate)
	}
	b.WriteString(`
## What else has a gate

| what | needs |
|---|---|
`)
	for _, block := range []ContentBlock{ImageContent{}, AudioContent{}, EmbeddedResource{}} {
		fmt.Fprintf(&b, "| `%T` in a prompt | `%s` |\n", block, promptGate(block))
	}
	for _, server := range []MCPServer{MCPServerHTTP{}, MCPServerSSE{}, UnstableMCPServerACP{}} {
		fmt.Fprintf(&b, "| `%T` in a session's MCP servers | `%s` |\n", server, mcpServerGate(server))
	}
	b.WriteString("| additional directories of a session | `agentCapabilities.sessionCapabilities.additionalDirectories` |\n" +
		"| `SessionConfigBoolean` among the options of a session; left out for a client without it | `clientCapabilities.session.configOptions.boolean` |\n" +
		"| `AuthMethodTerminal`; left out for a client without it | `clientCapabilities.auth.terminal` |\n")
	return strings.ReplaceAll(b.String(), "`acp.", "`")
}

func TestTheMethodsDocumentSaysWhatTheCodeHas(t *testing.T) {
	path := filepath.Join("..", "docs", "methods.md")
	want := methodsDocument(t)
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(got), "\r\n", "\n") != want {
		t.Error("docs/methods.md is out of date: go test ./acp -run TestTheMethodsDocument -update-docs")
	}
}
