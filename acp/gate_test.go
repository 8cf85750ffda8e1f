package acp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
)

// gatedBy returns the requests that a side handles only if it has said so.
func gatedBy(side acp.Side) []acp.Method {
	var all []acp.Method
	for _, m := range acp.Methods() {
		if m.Side == side && !m.Notification && m.Gate != "" {
			all = append(all, m)
		}
	}
	return all
}

func TestEveryMethodThatIsNotAdvertisedIsAnsweredNotFound(t *testing.T) {
	called := make(chan string, 100)
	agent := &scripted{newSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		called <- "new"
		return acp.NewSessionResponse{SessionID: "s"}, nil
	}}
	for _, unstable := range []bool{false, true} {
		w := greeted(t, agent, &acp.AgentOptions{Options: acp.Options{Unstable: unstable}})
		methods := gatedBy(acp.AgentSide)
		if len(methods) < 10 {
			t.Fatalf("only %d methods", len(methods))
		}
		names := []string{"authenticate", "session/set_mode", "session/set_config_option", "session/select_model", "fs/read_text_file", "terminal/create", "proxy/initialize", "_mine", "$/other", "initialized", ""}
		for _, m := range methods {
			names = append(names, m.Name)
		}
		for i, name := range names {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":%q,"params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}`, i, name))
			code := `"code":-32601`
			if name == "" {
				code = `"code":-32600`
				w.want(code)
				continue
			}
			w.want(fmt.Sprintf(`"id":"r%d","error":{`, i), code)
		}
	}
	if len(called) > 0 {
		t.Errorf("the agent was called: %s", <-called)
	}
}

func TestEveryMethodThatAClientDoesNotOfferIsAnsweredNotFound(t *testing.T) {
	a, w := agentWire(t, nil)
	w.session(a)
	for i, m := range gatedBy(acp.ClientSide) {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":%q,"params":{"sessionId":"s","path":"/etc/passwd","command":"ls","terminalId":"t","mode":"form","message":"m"}}`, i, m.Name))
		w.want(fmt.Sprintf(`"id":"r%d","error":{"code":-32601`, i))
	}
}

// box has every ability of a client.
type box struct{ used chan string }

func (b box) ReadTextFile(context.Context, acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	b.used <- "read"
	return acp.ReadTextFileResponse{}, nil
}

func (b box) WriteTextFile(context.Context, acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	b.used <- "write"
	return acp.WriteTextFileResponse{}, nil
}

func (b box) CreateElicitation(context.Context, acp.CreateElicitationRequest) (acp.CreateElicitationResponse, error) {
	b.used <- "elicit"
	return acp.CreateElicitationResponse{Action: acp.ElicitationDeclineAction{}}, nil
}

// readOnly has only one half.
type readOnly struct{ box box }

func (r readOnly) ReadTextFile(ctx context.Context, req acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	return r.box.ReadTextFile(ctx, req)
}

func TestWhatAClientOffersFollowsFromItsHandlersAndWhatItSwitchesOffIsNotServed(t *testing.T) {
	b := box{make(chan string, 10)}
	for _, tc := range []struct {
		name     string
		opts     acp.ClientOptions
		want, no []string // in initialize
	}{
		{"nothing", acp.ClientOptions{}, nil, []string{"readTextFile", "writeTextFile", "terminal", "elicitation"}},
		{"files", acp.ClientOptions{Files: b}, []string{`"readTextFile":true`, `"writeTextFile":true`}, []string{"terminal"}},
		{"reading", acp.ClientOptions{Files: readOnly{b}}, []string{`"readTextFile":true`}, []string{"writeTextFile"}},
		{"forms", acp.ClientOptions{Elicitation: b}, []string{`"elicitation":{"form":{}}`}, []string{`"url"`}},
		{"switched off", acp.ClientOptions{Files: b, Capabilities: func(c *acp.ClientCapabilities) { c.FS.WriteTextFile = false }}, []string{`"readTextFile":true`}, []string{"writeTextFile"}},
	} {
		var hello string
		opts := tc.opts
		opts.Tap = func(dir acp.Direction, _ time.Time, message []byte) {
			if dir == acp.Outgoing && hello == "" {
				hello = string(message)
			}
		}
		a, w := agentWire(t, &opts)
		for _, part := range tc.want {
			if !strings.Contains(hello, part) {
				t.Errorf("%s: no %s in %s", tc.name, part, hello)
			}
		}
		for _, part := range tc.no {
			if strings.Contains(hello, part) {
				t.Errorf("%s: %s in %s", tc.name, part, hello)
			}
		}
		w.session(a)
		w.send(`{"jsonrpc":"2.0","id":"w","method":"fs/write_text_file","params":{"sessionId":"s","path":"/f","content":""}}`)
		if got := w.want(`"id":"w"`); strings.Contains(got, `-32601`) == (tc.name == "files") {
			t.Errorf("%s: write: %s", tc.name, got)
		}
	}
}

func TestNotificationsAreNeverAnsweredWhateverTheyAre(t *testing.T) {
	lines := []string{
		`{"jsonrpc":"2.0","method":"_vendor/thing","params":{"a":1}}`, `{"jsonrpc":"2.0","method":"no/such"}`, `{"jsonrpc":"2.0","method":"$/other","params":[]}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":7}`, `{"jsonrpc":"2.0","method":"session/cancel"}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"nobody's"}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request"}`, `{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`, `{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}`, `{"jsonrpc":"2.0","method":"session/update","params":null}`,
		`{"jsonrpc":"2.0","method":"elicitation/complete","params":{}}`, `{"jsonrpc":"2.0","method":"_auth/status_update","params":{"state":"x"}}`, `{"jsonrpc":"2.0","method":"_panic","params":{}}`,
	}
	panics := map[string]acp.Extension{"_panic": acp.ExtensionNotification(func(context.Context, struct{}) { panic("in a notification") })}
	w := served(t, &scripted{}, &acp.AgentOptions{Extensions: panics})
	w.send(lines...) // before the handshake
	w.send(helloLine)
	w.want(`"id":"hello","result"`)
	w.send(lines...)
	w.send(`{"jsonrpc":"2.0","id":"last","method":"no/such"}`)
	w.want(`"id":"last","error":{"code":-32601`)

	a, w := agentWire(t, &acp.ClientOptions{Extensions: panics})
	w.session(a)
	w.send(lines...)
	w.send(`{"jsonrpc":"2.0","id":"last","method":"craft/drainMidTurnQueue"}`)
	w.want(`"id":"last","error":{"code":-32601`)
}

func TestAnAnswerThatIsWrongFailsItsCallOnly(t *testing.T) {
	a, w := agentWire(t, nil)
	s := w.session(a)
	for i, tc := range []struct{ answer, want string }{
		{`"result":{"stopReason":7}`, "stopReason"},
		{`"result":{}`, "stopReason"},
		{`"result":"text"`, "expected object"},
		{`"result":[]`, "expected object"},
		{`"error":{"code":"x","message":"m"}`, "malformed error"},
		{`"error":{}`, "malformed error"},
		{`"result":{"stopReason":"end_turn"},"error":{"code":1,"message":"m"}`, "both result and error"},
	} {
		turn := s.Prompt(t.Context(), acp.Text("x"))
		w.want(`"session/prompt"`)
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+3, tc.answer))
		_, err := turn.Result()
		if !errors.Is(err, acp.ErrInvalidResponse) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "session/prompt") {
			t.Errorf("%s: %v", tc.answer, err)
		}
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	w.want(`"session/prompt"`)
	w.send(`{"jsonrpc":"2.0","id":10,"result":{"stopReason":"brand_new","later":{"a":1}}}`)
	if r, err := turn.Result(); err != nil || r.StopReason != "brand_new" || r.StopReason.Known() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestEveryStandardErrorHasAConstructorItsCodeAndSurvivesTheWire(t *testing.T) {
	for _, tc := range []struct {
		err  *acp.RequestError
		code acp.ErrorCode
		text string
		data string
	}{
		{acp.ParseError(), -32700, "Parse error", ""},
		{acp.InvalidRequest("no %s", "x"), -32600, "Invalid request: no x", ""},
		{acp.MethodNotFound("m"), -32601, "Method not found: m", `{"method":"m"}`},
		{acp.InvalidParams("p"), -32602, "Invalid params: p", ""},
		{acp.InternalError("i"), -32603, "Internal error: i", ""},
		{acp.RequestCancelled(), -32800, "Request cancelled", ""},
		{acp.AuthRequired(), -32000, "Authentication required", ""},
		{acp.ResourceNotFound("file:///x"), -32002, "Resource not found: file:///x", `{"uri":"file:///x"}`},
		{acp.SessionNotFound("s"), -32002, "Session not found: s", `{"sessionId":"s"}`},
		{&acp.RequestError{Code: 42, Message: "own", Data: []byte(`{"any":[1,"é"]}`)}, 42, "own", `{"any":[1,"é"]}`},
	} {
		remote, _ := both(t, &scripted{newSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			return acp.NewSessionResponse{}, fmt.Errorf("while it was made: %w", tc.err)
		}}, nil, nil)
		_, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
		got, ok := errors.AsType[*acp.RequestError](err)
		if !ok || got.Code != tc.code || got.Message != tc.text || string(got.Data) != tc.data || !errors.Is(err, &acp.RequestError{Code: tc.code}) || errors.Is(err, &acp.RequestError{Code: tc.code + 1}) {
			t.Errorf("%v came as %#v", tc.err, err)
		}
	}
}

// logs is a concurrent buffer of log lines.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestSecretsInMessagesReachNeitherLogsNorErrors(t *testing.T) {
	const secret = "hunter2-c4n4ry"
	log := &logs{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w := served(t, &scripted{newSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		panic("no place")
	}}, &acp.AgentOptions{Options: acp.Options{Logger: logger}})
	env := `"env":[{"name":"KEY","value":"` + secret + `"}]`
	for _, line := range []string{
		helloLine,
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"n","command":"c","args":["` + secret + `"],` + env + `}]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":7,"mcpServers":[{"name":"n","command":"c","args":[],` + env + `}]}}`,
		`{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"n","command":"c","args":"` + secret + `",` + env + `}]}}`,
		`{"jsonrpc":"2.0","id":4,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"type":"http","name":"n","url":"u","headers":{"Authorization":"` + secret + `"}}]}}`,
		`{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":"s","prompt":"` + secret + `"}}`,
		`{"jsonrpc":"2.0","id":6,"method":"no/such","params":{"token":"` + secret + `"}}`,
		`[{"jsonrpc":"2.0","id":7,"method":"x","params":"` + secret + `"}]`,
		secret + ` is no JSON`,
		`{"jsonrpc":"2.0","id":{"x":"` + secret + `"},"method":"m"}`,
		`{"token":"` + secret + `"}`,
	} {
		w.send(line)
		if got := w.recv(); strings.Contains(got, secret) {
			t.Errorf("told the peer: %s", got)
		}
	}
	a, w := agentWire(t, &acp.ClientOptions{Options: acp.Options{Logger: logger}})
	s := w.session(a)
	turn := s.Prompt(t.Context(), acp.Text(secret))
	w.want(`"session/prompt"`)
	w.send(secret, `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","title":{"x":"`+secret+`"}}}}`,
		`{"jsonrpc":"2.0","method":"_x","params":"`+secret+`"}`, `{"jsonrpc":"2.0","id":"`+secret+`","result":{}}`, `{"jsonrpc":"2.0","id":3,"result":{"stopReason":["`+secret+`"]}}`)
	if _, err := turn.Result(); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("error: %v", err)
	}
	if text := log.String(); strings.Contains(text, secret) || len(text) < 200 {
		t.Errorf("the log of %d bytes has the secret:\n%s", len(text), text)
	}
}

func TestPartsThatAreLeftOutAreReportedWithTheirPath(t *testing.T) {
	log := &logs{}
	remote, w := agentWire(t, &acp.ClientOptions{Options: acp.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}})
	turn := w.session(remote).Prompt(t.Context(), acp.Text("x"))
	w.want(`"session/prompt"`)
	w.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"a","priority":"high","status":"pending"},{"content":7}]}}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
	var entries int
	for u := range turn.Updates() {
		entries += len(u.(acp.Plan).Entries)
	}
	if _, err := turn.Result(); err != nil || entries != 1 || !strings.Contains(log.String(), "update.entries[1]") {
		t.Errorf("%d entries, %v, log %s", entries, err, log.String())
	}
}

func TestAClientsErrorsAreRedactedToo(t *testing.T) {
	a, w := agentWire(t, &acp.ClientOptions{Permission: acp.PermissionFunc(func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		if req.ToolCall.ToolCallID == "panic" {
			panic("secret")
		}
		return acp.RequestPermissionResponse{}, errors.New("secret")
	})})
	w.session(a)
	for _, call := range []string{"panic", "error"} {
		w.send(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"` + call + `"},"options":[]}}`)
		w.want(`"id":"p","error":{"code":-32603,"message":"Internal error"}`)
	}
}

func TestAQuestionMayBlockWhileTheRestGoesOn(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{})
	a, w := agentWire(t, &acp.ClientOptions{Permission: acp.PermissionFunc(func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		close(asked)
		<-release
		return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: "o"}}, nil
	})})
	turn := w.session(a).Prompt(t.Context(), acp.Text("x"))
	w.want(`"session/prompt"`)
	w.send(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}`)
	<-asked
	w.send(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"meanwhile"}}}}`)
	for u := range turn.Updates() {
		if textOf(u) == "meanwhile" {
			close(release)
			w.want(`"id":"p","result":{"outcome":{"outcome":"selected","optionId":"o"}}`)
			w.send(`{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
		}
	}
	if _, err := turn.Result(); err != nil {
		t.Error(err)
	}
}

func TestRequiredListsAreWrittenThoughTheyAreNil(t *testing.T) {
	a, w := agentWire(t, nil)
	go func() {
		_, _ = a.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/w"})
		_, _ = a.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/w", MCPServers: []acp.MCPServer{acp.MCPServerStdio{Name: "n", Command: "c"}}})
	}()
	w.want(`"cwd":"/w","mcpServers":[]}`)
	w.send(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`)
	w.want(`"command":"c","args":[],"env":[]}]`)
	w.send(`{"jsonrpc":"2.0","id":3,"result":{"sessionId":"t"}}`)
}

func TestUnstableThingsAreNotWrittenByAConnectionThatHasNotOptedIn(t *testing.T) {
	errs := make(chan error, 4)
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		c := acp.ClientFrom(ctx)
		errs <- c.Update(ctx, req.SessionID, acp.UnstablePlanUpdate{})
		errs <- c.UnstableAuthStatusUpdate(ctx, acp.UnstableAuthStatusUpdateNotification{})
		_, err := c.UnstableMCPMessage(ctx, acp.UnstableMessageMCPRequest{})
		errs <- err
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`"id":1,"result":{"stopReason":"end_turn"}`)
	for range 3 {
		if err := <-errs; err == nil {
			t.Error("it was sent")
		}
	}
	a, w2 := agentWire(t, nil)
	s := w2.session(a)
	for name, f := range map[string]func() error{
		"status":    func() error { _, err := a.UnstableSessionStatus(t.Context(), s.ID()); return err },
		"title":     func() error { _, err := a.UnstableSetSessionTitle(t.Context(), s.ID(), "t"); return err },
		"archive":   func() error { return a.UnstableArchiveSession(t.Context(), s.ID()) },
		"unarchive": func() error { return a.UnstableUnarchiveSession(t.Context(), s.ID()) },
		"auth":      func() error { _, err := a.UnstableAuthStatus(t.Context()); return err },
		"providers": func() error { _, err := a.UnstableListProviders(t.Context()); return err },
		"set":       func() error { return a.UnstableSetProvider(t.Context(), acp.UnstableSetProviderRequest{}) },
		"disable":   func() error { return a.UnstableDisableProvider(t.Context(), acp.UnstableDisableProviderRequest{}) },
		"mcp":       func() error { return a.UnstableMCPNotify(t.Context(), acp.UnstableMessageMCPNotification{}) },
	} {
		if _, ok := errors.AsType[*acp.CapabilityError](f()); !ok {
			t.Errorf("%s: %v", name, f())
		}
	}
}
