package acp_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/transport"
)

func TestTenThousandConnectionsLeaveNothingBehind(t *testing.T) {
	const n = 10_000
	agent := &scripted{}
	one := func(turn bool) {
		mine, theirs := transport.Pipe()
		client, err := acp.Accept(context.Background(), theirs, agent, nil)
		if err != nil {
			t.Fatal(err)
		}
		remote, err := acp.Connect(context.Background(), mine, nil)
		if err != nil {
			t.Fatal(err)
		}
		if turn {
			s, err := remote.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/w"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Prompt(context.Background(), acp.Text("x")).Result(); err != nil {
				t.Fatal(err)
			}
		}
		_ = remote.Close()
		if err := errors.Join(remote.Wait(), client.Wait()); err != nil {
			t.Fatal(err)
		}
	}
	run := func(from, to int) {
		work := make(chan int)
		var all sync.WaitGroup
		for range 2 * runtime.GOMAXPROCS(0) {
			all.Go(func() {
				for i := range work {
					one(i%10 == 0)
				}
			})
		}
		for i := from; i < to && !t.Failed(); i++ {
			work <- i
		}
		close(work)
		all.Wait()
	}
	run(0, n/10) // pools and the like have their size now
	goroutines, bytes := runtime.NumGoroutine(), heap()
	run(n/10, n)
	if now := heap(); now > bytes+4<<20 {
		t.Errorf("%d bytes live after %d connections, %d after %d", bytes, n/10, now, n)
	}
	if now := runtime.NumGoroutine(); now > goroutines+50 { // the leak check at the end of all tests is exact
		t.Errorf("%d goroutines after %d connections, %d after %d", goroutines, n/10, now, n)
	}
}

func TestEverythingThatWaitsForAPeerThatIsGoneIsToldSoWithTheCause(t *testing.T) {
	pending, inPrompt := make(chan struct{}), make(chan error, 1)
	p := acptest.NewPipe(acptest.Faults{}, acptest.Faults{})
	agent := &full{}
	agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		close(pending)
		_, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"}})
		inPrompt <- err
		return acp.PromptResponse{}, err
	}
	client, err := acp.Accept(context.Background(), p.B, agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	inHandler := make(chan error, 1)
	a, err := acp.Connect(context.Background(), p.A, &acp.ClientOptions{Permission: acp.PermissionFunc(func(ctx context.Context, _ acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		close(asked)
		<-ctx.Done()
		inHandler <- context.Cause(ctx)
		return acp.RequestPermissionResponse{}, ctx.Err()
	})})
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	<-pending
	<-asked
	select {
	case <-a.Done():
		t.Fatal("done while it is open")
	default:
	}
	if a.Err() != nil || client.Err() != nil {
		t.Errorf("errors while it is open: %v, %v", a.Err(), client.Err())
	}
	begin := time.Now()
	p.Cut()
	_, err = turn.Result()
	if !errors.Is(err, acp.ErrConnectionClosed) || !errors.Is(err, io.EOF) || !errors.Is(err, acp.ErrMaybeSent) {
		t.Errorf("turn: %v", err)
	}
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("it took %v", d)
	}
	if err := <-inPrompt; !errors.Is(err, acp.ErrConnectionClosed) {
		t.Errorf("permission: %v", err)
	}
	if err := <-inHandler; !errors.Is(err, acp.ErrConnectionClosed) {
		t.Errorf("cause of the handler's context: %v", err)
	}
	<-a.Done()
	<-client.Done()
	for name, f := range map[string]func() error{
		"new":    func() error { _, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"}); return err },
		"list":   func() error { _, err := a.ListSessions(t.Context(), acp.ListSessionsRequest{}); return err },
		"prompt": func() error { _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); return err },
		"mode":   func() error { return s.SetMode(t.Context(), "m") },
		"load": func() error {
			_, err := a.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: "l", Cwd: "/"}).Result()
			return err
		},
		"update": func() error { return client.Update(t.Context(), "s", acp.CurrentModeUpdate{}) },
	} {
		if err := f(); !errors.Is(err, acp.ErrConnectionClosed) || !errors.Is(err, acp.ErrNotSent) {
			t.Errorf("%s afterwards: %v", name, err)
		}
	}
	_ = a.Close()
	_ = client.Wait()
}

func TestCloseMayBeCalledByAnyoneAtAnyTimeAsOftenAsOneLikes(t *testing.T) {
	for range 20 {
		mine, theirs := transport.Pipe()
		client, err := acp.Accept(context.Background(), theirs, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			_ = say(ctx, req.SessionID, "x")
			err := acp.ClientFrom(ctx).Close() // from a handler
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, err
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := acp.Connect(context.Background(), mine, &acp.ClientOptions{Updates: func(ctx context.Context, _ acp.SessionNotification) {
			a, _ := acp.AgentFrom(ctx)
			_ = a.Close() // from an update's handler
		}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		turn := s.Prompt(t.Context(), acp.Text("x"))
		var all sync.WaitGroup
		all.Go(func() { _, _ = turn.Result() })
		for range 8 {
			all.Go(func() { _ = a.Close() })
			all.Go(func() { _ = client.Close() })
			all.Go(turn.Cancel)
		}
		all.Wait()
		if err := errors.Join(a.Wait(), client.Wait(), a.Close(), client.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestADrainWaitsForWhatIsInFlightWithinItsContext(t *testing.T) {
	started, finish := make(chan struct{}), make(chan struct{})
	remote, client := both(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		close(started)
		<-finish
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, req.SessionID, "the last")
	}}, nil, nil)
	s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	<-started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := client.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a drain that may not wait: %v", err)
	}
	if _, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"}); !errors.Is(err, &acp.RequestError{Code: acp.CodeInternalError}) {
		t.Errorf("a request while it drains: %v", err)
	}
	close(finish)
	if err := client.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	var got string
	for u := range turn.Updates() {
		got += textOf(u)
	}
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopEndTurn || got != "the last" {
		t.Errorf("%q, %v, %v", got, r.StopReason, err)
	}
}

func TestTheEndOfTheContextOfAConnectionEndsIt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	mine, theirs := transport.Pipe()
	served := make(chan error, 1)
	go func() { served <- acp.Serve(ctx, theirs, &scripted{}, nil) }()
	a, err := acp.Connect(context.Background(), mine, nil)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("the window was closed")
	cancel(why)
	if err := <-served; !errors.Is(err, why) || !errors.Is(err, acp.ErrConnectionClosed) {
		t.Errorf("serve: %v", err)
	}
	<-a.Done()
	if err := a.Wait(); err != nil { // the peer has hung up in order
		t.Error(err)
	}
}
