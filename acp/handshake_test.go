package acp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// answered connects to an agent that answers initialize with result, and returns what
// the client sent afterwards and what became of the connection.
func answered(t *testing.T, result string) (sent string, connect error) {
	t.Helper()
	mine, theirs := transport.Pipe()
	w := &wire{t, theirs}
	got := make(chan error, 1)
	go func() {
		a, err := acp.Connect(context.Background(), mine, nil)
		if err == nil {
			_ = a.Close()
		}
		got <- err
	}()
	w.want(`"initialize"`, `"protocolVersion":1`)
	w.send(`{"jsonrpc":"2.0","id":1,` + result + `}`)
	connect = <-got
	line, end := theirs.Read(t.Context())
	if end != nil && !errors.Is(end, io.EOF) {
		t.Errorf("the connection is still open: %v", end)
	}
	return string(line), connect
}

func TestAnAgentThatAnswersAVersionThatIsNotSpokenIsLeftAtOnceAndBothNumbersAreTold(t *testing.T) {
	for version, want := range map[string]string{
		"2": "version 2", "0": "version 0", "999": "version 999", "65535": "version 65535", "65536": "protocolVersion", "-1": "protocolVersion", "1.5": "protocolVersion",
		`"2025-01-01"`: "protocolVersion", `"1"`: "protocolVersion", "null": "protocolVersion", "[1]": "protocolVersion",
	} {
		more, err := answered(t, `"result":{"protocolVersion":`+version+`}`)
		if !errors.Is(err, acp.ErrProtocolVersion) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "speaks version 1") || more != "" {
			t.Errorf("version %s: %v; then sent %q", version, err, more)
		}
	}
	if more, err := answered(t, `"result":{}`); !errors.Is(err, acp.ErrProtocolVersion) || more != "" {
		t.Errorf("no version: %v; then sent %q", err, more)
	}
	if _, err := answered(t, `"error":{"code":-32603,"message":"no licence"}`); err == nil || !strings.Contains(err.Error(), "no licence") || errors.Is(err, acp.ErrProtocolVersion) {
		t.Errorf("an error: %v", err)
	}
	for _, result := range []string{
		`"result":{"protocolVersion":1}`,
		`"result":{"protocolVersion":1.0e0}`,
		`"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":null,"agentInfo":null,"later":{"x":1}}`,
		`"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":"yes","promptCapabilities":7,"unheard":{"of":[]}},"authMethods":"none","agentInfo":{"name":7}}`,
	} {
		if _, err := answered(t, result); err != nil && !strings.Contains(result, "e0") {
			t.Errorf("%s: %v", result, err)
		}
	}
}

func TestWhatAnAgentSaysOfItselfIsThereToBeRead(t *testing.T) {
	mine, theirs := transport.Pipe()
	w := &wire{t, theirs}
	got := make(chan *acp.RemoteAgent, 1)
	go func() {
		a, err := acp.Connect(context.Background(), mine, &acp.ClientOptions{Info: &acp.Implementation{Name: "ed", Version: "1.2"}})
		if err != nil {
			t.Error(err)
		}
		got <- a
	}()
	w.want(`"clientInfo":{"name":"ed","version":"1.2"}`)
	const line = `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{}},"later":1},"agentInfo":{"name":"a","version":"3"},"authMethods":[{"id":"k","name":"Key"}],"_meta":{"x":1}}`
	w.send(`{"jsonrpc":"2.0","id":1,"result":` + line + `}`)
	a := <-got
	defer a.Close()
	if !a.Can("agentCapabilities.loadSession") || a.Can("agentCapabilities.sessionCapabilities.close") || !a.Capabilities().LoadSession || a.Info().Name != "a" || a.ProtocolVersion() != 1 || len(a.AuthMethods()) != 1 {
		t.Errorf("%+v", a.Handshake())
	}
	hello := a.Handshake()
	if b, err := hello.MarshalJSON(); err != nil || !strings.Contains(string(b), `"later":1`) || !strings.Contains(string(b), `"_meta":{"x":1}`) {
		t.Errorf("what is not known was dropped: %s, %v", b, err)
	}
}

func TestAnAgentAnswersEveryVersionWithOneItSpeaksAndRefusesWhatIsNone(t *testing.T) {
	for version, ok := range map[string]bool{
		"1": true, "2": true, "99": true, "65535": true, "0": true,
		"65536": false, "-1": false, "1.5": false, `"1"`: false, `"2025-06-18"`: false, "null": false, "{}": false, "true": false,
	} {
		w := served(t, &scripted{}, nil)
		w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + version + `}}`)
		if ok {
			w.want(`"id":1,"result":{"protocolVersion":1`)
			continue
		}
		w.want(`"id":1,"error":{"code":-32602`, "protocolVersion")
		w.send(helloLine) // the connection is usable
		w.want(`"id":"hello","result"`)
	}
	w := served(t, &scripted{}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	w.want(`"id":1,"error":{"code":-32602`, "protocolVersion")
}

func TestBeforeTheHandshakeEveryRequestIsRefusedAsInvalidAndNeverAsALogin(t *testing.T) {
	w := served(t, &full{}, nil)
	for i, method := range []string{"session/new", "session/load", "session/list", "session/prompt", "authenticate", "session/close", "_mine", "no/such"} {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"sessionId":"s","cwd":"/w","mcpServers":[],"prompt":[],"methodId":"m"}}`, i, method))
		w.want(fmt.Sprintf(`"id":%d,"error":{"code":-32600`, i), "initialize")
	}
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`) // ignored
	w.send(helloLine)
	w.want(`"id":"hello","result"`)
}

func TestTerminalLoginsAreOfferedOnlyToClientsWithATerminalAndNeverCalled(t *testing.T) {
	methods := []acp.AuthMethod{acp.AuthMethodTerminal{ID: "tty", Name: "Terminal", Args: []string{"login"}}, acp.AuthMethodAgent{ID: "web", Name: "Browser"}}
	for caps, want := range map[string]bool{`{}`: false, `{"auth":{"terminal":false}}`: false, `{"auth":{"terminal":true}}`: true} {
		w := served(t, &authed{}, &acp.AgentOptions{AuthMethods: methods})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + caps + `}}`)
		if got := w.want(`"id":1,"result"`, `"web"`); strings.Contains(got, `"tty"`) != want {
			t.Errorf("%s: %s", caps, got)
		}
	}
	remote, _ := both(t, &authed{}, &acp.AgentOptions{AuthMethods: methods}, &acp.ClientOptions{Capabilities: func(c *acp.ClientCapabilities) { c.Auth.Terminal = true }})
	if err := remote.Authenticate(t.Context(), "tty"); err == nil || !strings.Contains(err.Error(), "terminal") {
		t.Errorf("terminal: %v", err)
	}
	if err := remote.Authenticate(t.Context(), "web"); err != nil {
		t.Error(err)
	}
	if _, ok := errors.AsType[*acp.CapabilityError](remote.Authenticate(t.Context(), "other")); !ok {
		t.Error("a login that was not offered was tried")
	}
	if err := remote.Logout(t.Context()); err != nil {
		t.Error(err)
	}
}

// authed can be logged in to.
type authed struct{ scripted }

func (*authed) Authenticate(_ context.Context, req acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	if req.MethodID != "web" {
		return acp.AuthenticateResponse{}, acp.InvalidParams("methodId")
	}
	return acp.AuthenticateResponse{}, nil
}

func (*authed) Logout(context.Context, acp.LogoutRequest) (acp.LogoutResponse, error) {
	return acp.LogoutResponse{}, nil
}
