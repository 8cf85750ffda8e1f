package acp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

func TestARequestIsAnsweredOnceAndALateCancelDoesNotReachTheNextOneWithItsID(t *testing.T) {
	started := make(chan struct{})
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		if acp.PlainText(req.Prompt...) == "wait" {
			started <- struct{}{}
			<-ctx.Done()
			return acp.PromptResponse{}, ctx.Err()
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, nil)
	prompt := `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"%s"}]}}`
	cancelRequest, cancelSession := `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`
	for range 3 {
		w.send(fmt.Sprintf(prompt, "quick"))
		w.want(`"id":1,"result":{"stopReason":"end_turn"}`)
		w.send(cancelRequest, cancelSession, cancelRequest, fmt.Sprintf(prompt, "quick")) // all too late, for one that is answered
		w.want(`"id":1,"result":{"stopReason":"end_turn"}`)
		w.send(fmt.Sprintf(prompt, "wait"))
		<-started
		w.send(cancelSession, cancelRequest, cancelSession, cancelRequest)
		w.want(`"id":1,"result":{"stopReason":"cancelled"}`)
	}
	w.send(`{"jsonrpc":"2.0","id":"last","method":"nothing"}`)
	w.want(`"id":"last"`) // and nothing between
}

func TestTheEndOfAnOlderPromptDoesNotTakeTheCancelOfANewerOneAway(t *testing.T) {
	started := make(chan string)
	finish := make(chan struct{})
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		acp.AllowNextPrompt(ctx)
		text := acp.PlainText(req.Prompt...)
		started <- text
		if text == "old" {
			<-finish
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
		}
		<-ctx.Done()
		return acp.PromptResponse{}, context.Cause(ctx)
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"old"}]}}`)
	<-started
	w.send(`{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"new"}]}}`)
	<-started
	close(finish)
	w.want(`"id":1,"result":{"stopReason":"end_turn"}`)
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
	w.want(`"id":2,"result":{"stopReason":"cancelled"}`)
}

// heedful is an agent that is told of cancels.
type heedful struct {
	scripted
	told chan acp.SessionID
}

func (a *heedful) CancelSession(_ context.Context, n acp.CancelNotification) { a.told <- n.SessionID }

func TestACancelOvertakesNotificationsThatAreBeingHandledOrWait(t *testing.T) {
	release, blocked := make(chan struct{}), make(chan struct{})
	agent := &heedful{told: make(chan acp.SessionID, 1)}
	agent.prompt = func(ctx context.Context, _ acp.PromptRequest) (acp.PromptResponse, error) {
		<-ctx.Done()
		return acp.PromptResponse{}, ctx.Err()
	}
	w := greeted(t, agent, &acp.AgentOptions{Extensions: map[string]acp.Extension{"_block": acp.ExtensionNotification(func(context.Context, struct{}) {
		select {
		case blocked <- struct{}{}:
		default:
		}
		<-release
	})}})
	defer close(release)
	block := `{"jsonrpc":"2.0","method":"_block","params":{"sessionId":"s"}}`
	w.send(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`, block)
	<-blocked
	for range 200 {
		w.send(block)
	}
	w.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
	w.want(`"id":1,"result":{"stopReason":"cancelled"}`)
	if id := <-agent.told; id != "s" {
		t.Errorf("told of %q", id)
	}
}

func TestACancelRequestInTheSameWriteAsItsRequestIsNotLost(t *testing.T) {
	for range 50 {
		w := greeted(t, &scripted{newSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			<-ctx.Done() // a look-up that takes its time
			return acp.NewSessionResponse{}, ctx.Err()
		}}, nil)
		w.send(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
		w.want(`"id":1,"error":{"code":-32800`)
	}
}

func TestOpenPermissionsAreAnsweredWhenTheirSessionIsClosedAndWhenTheirTurnsContextEnds(t *testing.T) {
	asked := make(chan struct{}, 1)
	outcomes := make(chan acp.RequestPermissionOutcome, 1)
	agent := &full{}
	agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		r, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"}})
		if err == nil {
			outcomes <- r.Outcome
		} else {
			outcomes <- nil // the session was cancelled first
		}
		<-ctx.Done()
		return acp.PromptResponse{}, ctx.Err()
	}
	var ended sync.WaitGroup
	remote, _ := both(t, agent, nil, &acp.ClientOptions{Permission: acp.PermissionFunc(func(ctx context.Context, _ acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		ended.Add(1)
		defer ended.Done()
		asked <- struct{}{}
		<-ctx.Done()
		return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: "yes"}}, nil // too late to allow
	})})
	for _, end := range []func(s *acp.Session, cancel func()){
		func(s *acp.Session, _ func()) {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		},
		func(_ *acp.Session, cancel func()) { cancel() },
		func(s *acp.Session, _ func()) { _ = s.Cancel() },
	} {
		s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		turn := s.Prompt(ctx, acp.Text("x"))
		<-asked
		end(s, cancel)
		if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
			t.Errorf("result %v, %v", r.StopReason, err)
		}
		if o := <-outcomes; o != nil {
			if _, ok := o.(acp.CancelledPermissionOutcome); !ok {
				t.Errorf("outcome %#v", o)
			}
		}
		ended.Wait() // its handler's context has ended too
		cancel()
	}
}

func TestCallersReturnAtTheirDeadlinesThoughThePeerReadsNothing(t *testing.T) {
	p := acptest.NewPipe(acptest.Faults{Stall: 2000}, acptest.Faults{})
	agent := &scripted{prompt: func(ctx context.Context, _ acp.PromptRequest) (acp.PromptResponse, error) {
		<-ctx.Done()
		return acp.PromptResponse{}, ctx.Err()
	}}
	client, err := acp.Accept(context.Background(), p.B, agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	a, err := acp.Connect(context.Background(), p.A, &acp.ClientOptions{CancelGrace: 50 * time.Millisecond, Options: acp.Options{
		OutboundBytes: 1 << 10,
		Tap: func(dir acp.Direction, _ time.Time, message []byte) {
			if dir == acp.Outgoing && len(message) > 1<<20 {
				close(written)
			}
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text(strings.Repeat("x", 1<<20))) // never gets through
	<-written
	begin := time.Now()
	turn.Cancel()
	_ = s.Cancel()
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("the cancel took %v", d)
	}
	if _, err := turn.Result(); !errors.Is(err, acp.ErrCancelTimeout) || !errors.Is(err, acp.ErrMaybeSent) {
		t.Errorf("turn: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := a.NewSession(ctx, acp.NewSessionRequest{Cwd: "/w"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("new session: %v", err)
	}
	p.Resume()
	_ = a.Close()
	_ = client.Wait()
}

func TestAnAgentsOpenQuestionsAreTakenBackOnTheWireWhenTheirRequestIsCancelled(t *testing.T) {
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		_, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"}})
		return acp.PromptResponse{}, err
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`"id":1,"method":"session/request_permission"`)
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`)
	w.want(`"method":"$/cancel_request","params":{"requestId":1}`)
	w.want(`"id":7,"error":{"code":-32800`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}}`) // the late answer is nobody's
	w.send(`{"jsonrpc":"2.0","id":8,"method":"nothing"}`)
	w.want(`"id":8`)
}

func TestAPermissionThatIsAnsweredWithTheErrorOfACancelCountsAsCancelled(t *testing.T) {
	got := make(chan acp.RequestPermissionOutcome, 1)
	w := greeted(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		r, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"}})
		got <- r.Outcome
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, err
	}}, nil)
	w.send(`{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`)
	w.want(`session/request_permission`)
	w.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"Request cancelled"}}`)
	w.want(`"id":7,"result"`)
	if _, ok := (<-got).(acp.CancelledPermissionOutcome); !ok {
		t.Error("it counts as something else")
	}
}
