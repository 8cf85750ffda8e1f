package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

func TestWhatAnAgentImplementsIsWhatIsAdvertised(t *testing.T) {
	w := served(t, &scripted{}, nil)
	w.send(helloLine)
	got := w.want(`"protocolVersion":1`)
	for _, no := range []string{"loadSession\":true", "sessionCapabilities\":{\"list"} {
		if strings.Contains(got, no) {
			t.Errorf("a plain agent advertises %s: %s", no, got)
		}
	}
	w = served(t, &full{}, nil)
	w.send(helloLine)
	w.want(`"loadSession":true`, `"list":{}`, `"resume":{}`, `"close":{}`)
}

func TestAdvertisingWhatIsNotImplementedFailsAtTheStart(t *testing.T) {
	_, tr := transport.Pipe()
	err := acp.Serve(t.Context(), tr, &scripted{}, &acp.AgentOptions{Capabilities: func(c *acp.AgentCapabilities) { c.LoadSession = true }})
	if err == nil || !strings.Contains(err.Error(), "agentCapabilities.loadSession") {
		t.Errorf("serve: %v", err)
	}
	err = acp.Serve(t.Context(), tr, &scripted{}, &acp.AgentOptions{AuthMethods: []acp.AuthMethod{acp.AuthMethodAgent{ID: "a", Name: "A"}}})
	if err == nil || !strings.Contains(err.Error(), "authenticate") {
		t.Errorf("serve: %v", err)
	}
	err = acp.Serve(t.Context(), tr, &scripted{}, &acp.AgentOptions{Extensions: map[string]acp.Extension{"plain": {}}})
	if err == nil || !strings.Contains(err.Error(), `"plain"`) {
		t.Errorf("serve: %v", err)
	}
}

func TestACapabilityThatIsNarrowedAwayIsNotServed(t *testing.T) {
	w := greeted(t, &full{}, &acp.AgentOptions{Capabilities: func(c *acp.AgentCapabilities) { c.SessionCapabilities.List = nil }})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}`)
	w.want(`"id":1,"error":{"code":-32601`)
}

func TestRequestsBeforeTheHandshakeAreRefused(t *testing.T) {
	w := served(t, &scripted{}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	w.want(`"id":1,"error":{"code":-32600`, "initialize")
	w.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"1"}}`)
	w.want(`"id":2,"error":{"code":-32602`, `protocolVersion: expected `, `got string`)
	w.send(helloLine)
	w.want(`"id":"hello","result"`)
}

func TestARequestSentWithTheHandshakeInOneWriteWaitsForIt(t *testing.T) {
	for range 50 {
		w := served(t, &scripted{}, nil)
		w.send(helloLine, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		first, second := w.recv(), w.recv()
		if strings.Contains(first, "error") || strings.Contains(second, "error") {
			t.Fatalf("%s\n%s", first, second)
		}
	}
}

func TestBadParamsNameThePathAndWhatWasExpected(t *testing.T) {
	w := greeted(t, &scripted{}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":7,"mcpServers":[]}}`)
	w.want(`"code":-32602,"message":"Invalid params: cwd: expected string, got number","data":{"path":"cwd","expected":"string"}`)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text"}]}}`)
	w.want(`"code":-32602,"message":"Invalid params: prompt[0].text: required, missing"`)
	w.send(`{"jsonrpc":"2.0","id":3,"method":"session/new"}`)
	w.want(`"id":3,"error":{"code":-32602`)
	w.send(`{"jsonrpc":"2.0","id":4,"method":"session/new","params":[]}`)
	w.want(`"id":4,"error":{"code":-32602`)
}

func TestANewerClientIsAnsweredWithVersionOneAndUnderstood(t *testing.T) {
	caps := make(chan acp.ClientCapabilities, 1)
	info := make(chan *acp.Implementation, 1)
	w := served(t, &scripted{newSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		caps <- acp.ClientFrom(ctx).Capabilities()
		info <- acp.ClientFrom(ctx).Info()
		return acp.NewSessionResponse{SessionID: "s"}, nil
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"ed","version":"9"},"capabilities":{"auth":{"terminal":{}},"elicitation":{"form":{}}}}}`)
	w.want(`"protocolVersion":1`)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	w.want(`"id":2,"result"`)
	c := <-caps
	if i := <-info; i == nil || i.Name != "ed" {
		t.Errorf("info %+v", i)
	}
	if !c.Auth.Terminal || c.Elicitation == nil || c.Elicitation.Form == nil || c.Session == nil || c.Session.ConfigOptions.Boolean == nil {
		t.Errorf("capabilities %+v", c)
	}
}

func TestUnstableMethodsAreOffUntilOptedIn(t *testing.T) {
	line := `{"jsonrpc":"2.0","id":1,"method":"session/fork","params":{"sessionId":"s","cwd":"/w"}}`
	w := greeted(t, &forker{}, nil)
	w.send(line)
	w.want(`"code":-32601`)
	w = greeted(t, &forker{}, &acp.AgentOptions{Options: acp.Options{Unstable: true}})
	w.send(line)
	w.want(`"id":1,"result":{"sessionId":"f"}`)
}

type forker struct{ scripted }

func (*forker) UnstableForkSession(context.Context, acp.UnstableForkSessionRequest) (acp.UnstableForkSessionResponse, error) {
	return acp.UnstableForkSessionResponse{SessionID: "f"}, nil
}

func TestUpdatesOfANewSessionFollowTheAnswerThatNamesIt(t *testing.T) {
	w := greeted(t, &scripted{newSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		acp.AfterResponse(ctx, func(ctx context.Context) { _ = say(ctx, "s", "after") })
		_ = say(ctx, "s", "during")
		return acp.NewSessionResponse{SessionID: "s"}, nil
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	w.want(`"id":1,"result":{"sessionId":"s"`)
	w.want(`"during"`)
	w.want(`"after"`)
}

func TestAReplayPrecedesTheAnswerOfLoad(t *testing.T) {
	w := greeted(t, &full{load: func(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
		return acp.LoadSessionResponse{}, say(ctx, req.SessionID, "old")
	}}, nil)
	// A session/new in flight must not hold the replay back.
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}`)
	w.want(`"old"`)
	w.want(`"id":1,"result"`)
}

func TestACancelledPromptIsAnsweredCancelledWhateverItsHandlerReturns(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  func(ctx context.Context) error
	}{
		{"context error", func(ctx context.Context) error { return ctx.Err() }},
		{"cause", context.Cause},
		{"another error", func(context.Context) error { return errors.New("stream broke") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), acp.ErrSessionCancelled) {
					t.Errorf("cause %v", context.Cause(ctx))
				}
				return acp.PromptResponse{}, tc.err(ctx)
			}}, nil)
			// One write: the cancel must find the prompt that has hardly been read.
			w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`,
				`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
			w.want(`"id":1,"result":{"stopReason":"cancelled"}`)
		})
	}
}

func TestACancelOfAnotherOrIdleSessionIsIgnored(t *testing.T) {
	w := greeted(t, &scripted{}, nil)
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`"id":1,"result":{"stopReason":"end_turn"}`)
}

func TestCancelRequestAloneIsAnsweredWithItsOwnError(t *testing.T) {
	started := make(chan struct{})
	w := greeted(t, &scripted{prompt: func(ctx context.Context, _ acp.PromptRequest) (acp.PromptResponse, error) {
		close(started)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), acp.ErrRequestCancelled) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		return acp.PromptResponse{}, ctx.Err()
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	<-started
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
	w.want(`"id":1,"error":{"code":-32800`)
}

func TestCancelUnblocksCallsThatDoNotUseThePromptsContext(t *testing.T) {
	got := make(chan error, 1)
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		_, err := acp.ClientFrom(ctx).RequestPermission(context.WithoutCancel(ctx), acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"}})
		got <- err
		return acp.PromptResponse{}, err
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`session/request_permission`)
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
	w.want(`$/cancel_request`)
	w.want(`"stopReason":"cancelled"`)
	if err := <-got; !errors.Is(err, acp.ErrSessionCancelled) || !errors.Is(err, acp.ErrMaybeSent) {
		t.Errorf("permission: %v", err)
	}
}

func TestErrorsThatAreNotMeantForThePeerAreRedacted(t *testing.T) {
	agent := &scripted{newSession: func(_ context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		switch req.Cwd {
		case "/panic":
			panic("secret")
		case "/typed":
			return acp.NewSessionResponse{}, acp.AuthRequired()
		case "/shown":
			return acp.NewSessionResponse{}, errShown
		}
		return acp.NewSessionResponse{}, errors.New("secret")
	}}
	w := greeted(t, agent, &acp.AgentOptions{Options: acp.Options{ExposeError: func(err error) *acp.RequestError {
		if errors.Is(err, errShown) {
			return acp.InternalError("%v", err)
		}
		return nil
	}}})
	for cwd, want := range map[string]string{
		"/panic": `{"code":-32603,"message":"Internal error"}`,
		"/other": `{"code":-32603,"message":"Internal error"}`,
		"/typed": `{"code":-32000,"message":"Authentication required"}`,
		"/shown": `{"code":-32603,"message":"Internal error: shown"}`,
	} {
		w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"` + cwd + `","mcpServers":[]}}`)
		w.want(want)
	}
}

var errShown = errors.New("shown")

func TestCallsThatTheClientDidNotOfferFailWithNothingOnTheWire(t *testing.T) {
	errs := make(chan error, 8)
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		c := acp.ClientFrom(ctx)
		_, err := c.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionID: req.SessionID, Path: "/f"})
		errs <- err
		_, err = c.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionID: req.SessionID, Path: "/f"})
		errs <- err
		_, err = c.NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: req.SessionID, Command: "ls"})
		errs <- err
		_, err = c.Elicit(ctx, acp.CreateElicitationRequest{Mode: acp.ElicitationFormMode{}})
		errs <- err
		errs <- c.Update(ctx, req.SessionID, acp.Notice{Title: "x"})
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`"id":1,"result"`)
	for range 5 {
		err := <-errs
		if c, ok := errors.AsType[*acp.CapabilityError](err); !ok || !strings.HasPrefix(c.Capability, "clientCapabilities.") {
			t.Errorf("error %v", err)
		}
	}
}

func TestAToolCallThatIsForgottenIsReportedAsFailed(t *testing.T) {
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		good, err := acp.SessionFrom(ctx).StartToolCall(ctx, acp.ToolCall{ToolCallID: "good", Title: "t"})
		if err != nil {
			return acp.PromptResponse{}, err
		}
		if _, err = acp.SessionFrom(ctx).StartToolCall(ctx, acp.ToolCall{ToolCallID: "forgotten", Title: "t"}); err != nil {
			return acp.PromptResponse{}, err
		}
		_ = good.Progress(ctx)
		_ = good.Complete(ctx, acp.ToolText("done"))
		_ = good.Fail(ctx) // too late
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`"tool_call"`, `"good"`)
	w.want(`"tool_call"`, `"forgotten"`)
	w.want(`"good"`, `"in_progress"`)
	w.want(`"good"`, `"completed"`, `done`)
	w.want(`"forgotten"`, `"failed"`)
	w.want(`"id":1,"result"`)
}

func TestExtensionsWorkBothWaysAndUnknownOnesAreRefused(t *testing.T) {
	type pair struct{ A, B int }
	noted := make(chan pair, 1)
	remote, _ := both(t, &scripted{}, &acp.AgentOptions{Extensions: map[string]acp.Extension{
		"_sum":  acp.ExtensionRequest(func(_ context.Context, p pair) (int, error) { return p.A + p.B, nil }),
		"_note": acp.ExtensionNotification(func(_ context.Context, p pair) { noted <- p }),
	}}, nil)
	var sum int
	if err := remote.CallExtension(t.Context(), "_sum", pair{2, 3}, &sum); err != nil || sum != 5 {
		t.Errorf("sum %d, %v", sum, err)
	}
	if err := remote.NotifyExtension(t.Context(), "_note", pair{1, 2}); err != nil {
		t.Error(err)
	}
	if p := <-noted; p != (pair{1, 2}) {
		t.Errorf("noted %v", p)
	}
	if err := remote.CallExtension(t.Context(), "_other", nil, nil); !errors.Is(err, &acp.RequestError{Code: acp.CodeMethodNotFound}) {
		t.Errorf("other: %v", err)
	}
	if err := remote.CallExtension(t.Context(), "_sum", "text", nil); !errors.Is(err, &acp.RequestError{Code: acp.CodeInvalidParams}) {
		t.Errorf("bad params: %v", err)
	}
	if err := remote.CallExtension(t.Context(), "plain", nil, nil); err == nil {
		t.Error("a name without _ was sent")
	}
}

func TestServeReturnsNilWhenTheClientHangsUpAndCancelsItsHandlers(t *testing.T) {
	mine, theirs := transport.Pipe()
	cause := make(chan error, 1)
	done := make(chan error, 1)
	go func() {
		done <- acp.Serve(context.Background(), theirs, &scripted{prompt: func(ctx context.Context, _ acp.PromptRequest) (acp.PromptResponse, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return acp.PromptResponse{}, ctx.Err()
		}}, nil)
	}()
	w := &wire{t, mine}
	w.send(helloLine, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`"hello"`)
	_ = mine.Close()
	if err := <-done; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := <-cause; !errors.Is(err, acp.ErrConnectionClosed) {
		t.Errorf("cause %v", err)
	}
}
