package acp_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

func TestCloseCancelsTheSessionsTurnAndIsAnsweredAfterIt(t *testing.T) {
	started := make(chan struct{})
	agent := &full{}
	agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		close(started)
		<-ctx.Done()
		_ = say(ctx, req.SessionID, "not sent: the context has ended")
		_ = say(context.WithoutCancel(ctx), req.SessionID, "last words")
		return acp.PromptResponse{}, ctx.Err()
	}
	w := greeted(t, agent, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	<-started
	w.send(`{"jsonrpc":"2.0","id":2,"method":"session/close","params":{"sessionId":"s"}}`)
	w.want(`last words`)
	w.want(`"id":1,"result":{"stopReason":"cancelled"}`)
	w.want(`"id":2,"result"`)
}

func TestPromptsOfASessionAreHandledInTheOrderReceivedAndCancelAnswersAll(t *testing.T) {
	var mu sync.Mutex
	var order []string
	hold := make(chan struct{})
	agent := &full{}
	agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		mu.Lock()
		order = append(order, acp.PlainText(req.Prompt...))
		n := len(order)
		mu.Unlock()
		if n == 21 {
			close(hold)
			<-ctx.Done()
			return acp.PromptResponse{}, ctx.Err()
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}
	w := greeted(t, agent, nil)
	var lines, want []string
	for i := range 24 {
		text := strconv.Itoa(i)
		lines = append(lines, `{"jsonrpc":"2.0","id":`+text+`,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"`+text+`"}]}}`)
		if i < 21 {
			want = append(want, text)
		}
	}
	w.send(lines...)
	for range 20 {
		w.want(`"result":{"stopReason":"end_turn"}`)
	}
	<-hold
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
	for range 4 {
		w.want(`"result":{"stopReason":"cancelled"}`)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(order, want) {
		t.Errorf("handled %q", order)
	}
}

func TestParamsThatAreLeftOutAreReadAsAnEmptyObject(t *testing.T) {
	w := greeted(t, &full{}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/list"}`)
	w.want(`"id":1,"result"`)
	w.send(`{"jsonrpc":"2.0","id":2,"method":"session/new"}`)
	w.want(`"id":2,"error":{"code":-32602,"message":"Invalid params: cwd: required, missing"`)
}

func TestAPromptOnASessionOfAnotherConnectionIsNotHeldBackByANewSession(t *testing.T) {
	release := make(chan struct{})
	w := greeted(t, &scripted{
		newSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			<-release
			return acp.NewSessionResponse{SessionID: "new"}, nil
		},
		prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, req.SessionID, "hello")
		},
	}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"old","prompt":[]}}`)
	w.want(`hello`)
	w.want(`"id":2,"result"`)
	close(release)
	w.want(`"id":1,"result"`)
}

func TestBooleanOptionsReachOnlyClientsThatUnderstandThem(t *testing.T) {
	options := []acp.SessionConfigOption{
		{ID: "fast", Name: "Fast", Kind: acp.SessionConfigBoolean{CurrentValue: true}},
		{ID: "model", Name: "Model", Kind: acp.SessionConfigSelect{CurrentValue: "a", Options: acp.SessionConfigSelectFlat{}}},
	}
	agent := &scripted{newSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		acp.AfterResponse(ctx, func(ctx context.Context) {
			_ = acp.ClientFrom(ctx).Update(ctx, "s", acp.ConfigOptionUpdate{ConfigOptions: options})
		})
		return acp.NewSessionResponse{SessionID: "s", ConfigOptions: options}, nil
	}}
	for caps, want := range map[string]bool{`{}`: false, `{"session":{"configOptions":{"boolean":{}}}}`: true} {
		w := served(t, agent, nil)
		w.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + caps + `}}`)
		w.want(`"hello"`)
		w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		for _, got := range []string{w.want(`"id":1,"result"`, `"model"`), w.want(`config_option_update`, `"model"`)} {
			if strings.Contains(got, `"fast"`) != want {
				t.Errorf("capabilities %s: %s", caps, got)
			}
		}
	}
	if len(options) != 2 || options[0].ID != "fast" {
		t.Error("the agent's own options were changed")
	}
}

func TestAHandlerKnowsTheIdOfItsRequest(t *testing.T) {
	got := make(chan acp.RequestID, 1)
	w := greeted(t, &scripted{newSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		got <- acp.RequestIDFrom(ctx)
		return acp.NewSessionResponse{SessionID: "s"}, nil
	}}, nil)
	for wire, want := range map[string]acp.RequestID{`7`: acp.NumberID(7), `"x"`: acp.StringID("x"), `null`: {}} {
		w.send(`{"jsonrpc":"2.0","id":` + wire + `,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		w.want(`"result"`)
		if id := <-got; id != want {
			t.Errorf("id %v, want %v", id, want)
		}
	}
}

func TestATerminalThatIsCancelledWhileItIsMadeIsReleased(t *testing.T) {
	w := served(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		_, err := acp.ClientFrom(ctx).NewTerminal(ctx, acp.CreateTerminalRequest{SessionID: req.SessionID, Command: "sleep"})
		return acp.PromptResponse{}, err
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"terminal":true}}}`)
	w.want(`"hello"`)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`"id":1,"method":"terminal/create"`)
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
	w.want(`"id":1,"result":{"stopReason":"cancelled"}`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":{"terminalId":"t1"}}`)
	w.want(`"method":"terminal/release"`, `"terminalId":"t1"`)
	w.send(`{"jsonrpc":"2.0","id":2,"result":{}}`)
}
