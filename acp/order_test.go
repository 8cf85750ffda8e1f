package acp_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// heap returns the bytes of live objects.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestAHundredThousandUpdatesToAHandlerThatStallsAreAllThereInOrderAndInBoundedMemory(t *testing.T) {
	const (
		n      = 100_000
		budget = 4 << 20
	)
	go1 := make(chan struct{}) // lets the stalled handler go on
	stalled := make(chan struct{})
	all := make(chan struct{})
	other := make(chan string, 1)
	var next atomic.Int64
	handler := func(_ context.Context, u acp.SessionNotification) {
		mode := string(u.Update.(acp.CurrentModeUpdate).CurrentModeID)
		if u.SessionID != "slow" {
			other <- mode
			return
		}
		got, _, _ := strings.Cut(mode, " ")
		if want := next.Add(1) - 1; got != strconv.FormatInt(want, 10) {
			t.Errorf("update %d is %s", want, got)
		}
		if next.Load() == n {
			close(all)
		}
		if i := next.Load(); i%25_000 == 1 {
			stalled <- struct{}{}
			<-go1
		}
	}
	ids := make(chan acp.SessionID, 2)
	ids <- "slow"
	ids <- "quick"
	wire := acp.Options{InboundBytes: budget, OutboundBytes: budget}
	var sent atomic.Int64
	remote, client := both(t, &scripted{newSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		return acp.NewSessionResponse{SessionID: <-ids}, nil
	}}, &acp.AgentOptions{Options: wire}, &acp.ClientOptions{Options: wire, Updates: handler})
	for range 2 {
		if _, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"}); err != nil {
			t.Fatal(err)
		}
	}
	pad := strings.Repeat("x", 300)
	before := heap()
	done := make(chan error, 1)
	go func() {
		for i := range n {
			if err := client.Update(context.Background(), "slow", acp.CurrentModeUpdate{CurrentModeID: acp.SessionModeID(strconv.Itoa(i) + " " + pad)}); err != nil {
				done <- err
				return
			}
			sent.Add(1)
		}
		done <- nil
	}()
	most := uint64(0)
	for range n / 25_000 {
		<-stalled
		// The sender runs into the back-pressure, or out of updates, while nobody takes any.
		if now := heap(); now > before {
			most = max(most, now-before)
		}
		go1 <- struct{}{}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// One more, whose turn comes after all the others.
	if err := client.Update(t.Context(), "quick", acp.CurrentModeUpdate{CurrentModeID: "last"}); err != nil {
		t.Fatal(err)
	}
	if got := <-other; got != "last" {
		t.Errorf("got %q", got)
	}
	select {
	case <-all:
	case <-time.After(2 * time.Minute):
	}
	if got := next.Load(); got != n {
		t.Errorf("%d of %d updates were handled", got, n)
	}
	// Everything together is over 40 MB; two queues, the pipe and their storage are not.
	if most > 24<<20 {
		t.Errorf("%d bytes were held", most)
	}
}

func TestASessionWhoseUpdatesNobodyTakesDoesNotHoldUpAnother(t *testing.T) {
	release := make(chan struct{})
	blocked := make(chan struct{})
	var once sync.Once
	ids := make(chan acp.SessionID, 2)
	ids <- "slow"
	ids <- "quick"
	remote, client := both(t, &scripted{
		newSession: func(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			return acp.NewSessionResponse{SessionID: <-ids}, nil
		},
		prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			for i := range 1000 {
				if err := say(ctx, req.SessionID, fmt.Sprint(i)); err != nil {
					return acp.PromptResponse{}, err
				}
			}
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
		},
	}, nil, &acp.ClientOptions{Updates: func(_ context.Context, n acp.SessionNotification) {
		if n.SessionID == "slow" {
			once.Do(func() { close(blocked) })
			<-release
		}
	}})
	defer close(release)
	var quick *acp.Session
	for range 2 {
		s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		if s.ID() == "quick" {
			quick = s
		}
	}
	for i := range 2000 {
		if err := client.Update(t.Context(), "slow", acp.AgentMessageChunk{Content: acp.Text(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	<-blocked
	for range 3 {
		turn := quick.Prompt(t.Context(), acp.Text("x"))
		n := 0
		for range turn.Updates() {
			n++
		}
		if r, err := turn.Result(); err != nil || r.StopReason != acp.StopEndTurn || n != 1000 {
			t.Errorf("%d updates, %v, %v", n, r.StopReason, err)
		}
	}
}

func TestAPromptReturnsAfterTheHandlersOfAllItsUpdatesHaveReturned(t *testing.T) {
	const n = 500
	var handled atomic.Int64
	s := opened(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		for i := range n {
			_ = say(ctx, req.SessionID, fmt.Sprint(i))
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, &acp.ClientOptions{Updates: func(context.Context, acp.SessionNotification) {
		runtime.Gosched()
		handled.Add(1)
	}})
	for turn := range 5 {
		if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil {
			t.Fatal(err)
		}
		if got := handled.Load(); got != int64(n*(turn+1)) {
			t.Fatalf("turn %d returned after %d handlers", turn, got)
		}
	}
}

func TestAnUpdateRightBehindTheAnswerThatMakesItsSessionBelongsToThatSession(t *testing.T) {
	got := make(chan bool, 1)
	var agent atomic.Pointer[acp.RemoteAgent]
	a, w := agentWire(t, &acp.ClientOptions{Updates: func(ctx context.Context, n acp.SessionNotification) {
		a, _ := acp.AgentFrom(ctx)
		agent.Store(a)
		got <- a.Session(n.SessionID) != nil
	}})
	made := make(chan *acp.Session, 1)
	go func() {
		s, err := a.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Error(err)
		}
		made <- s
	}()
	w.want(`"session/new"`)
	// One write, as a pipe delivers it.
	w.send(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"current_mode_update","currentModeId":"m"}}}`)
	if !<-got {
		t.Error("the session was not known yet")
	}
	if s := <-made; s == nil || agent.Load() != a {
		t.Errorf("session %v, agent %p of %p", s, agent.Load(), a)
	}
}

func TestAnAnswerIsServedBeforeANotificationThatFollowsItInOneWrite(t *testing.T) {
	a, w := agentWire(t, nil)
	s := w.session(a)
	var late atomic.Bool
	turn := s.Prompt(t.Context(), acp.Text("x"))
	w.want(`"session/prompt"`)
	chunk := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`
	w.send(fmt.Sprintf(chunk, "in time"), `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`, fmt.Sprintf(chunk, "late"))
	var got []string
	for u := range turn.Updates() {
		got = append(got, textOf(u))
		late.Store(late.Load() || textOf(u) == "late")
	}
	if _, err := turn.Result(); err != nil || late.Load() || fmt.Sprint(got) != "[in time]" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnyHandlerMayAskItsPeerAndWait(t *testing.T) {
	type none struct{}
	asked := make(chan error, 4)
	ctxKeyed := &acp.ClientOptions{}
	ctxKeyed.Permission = acp.PermissionFunc(func(ctx context.Context, _ acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		a, _ := acp.AgentFrom(ctx)
		asked <- a.CallExtension(ctx, "_pong", none{}, nil)
		return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
	})
	ctxKeyed.Updates = func(ctx context.Context, n acp.SessionNotification) {
		a, _ := acp.AgentFrom(ctx)
		_, err := a.ListSessions(ctx, acp.ListSessionsRequest{})
		asked <- err
	}
	ctxKeyed.Extensions = map[string]acp.Extension{
		"_pong": acp.ExtensionRequest(func(context.Context, none) (none, error) { return none{}, nil }),
		"_note": acp.ExtensionNotification(func(ctx context.Context, _ none) {
			a, _ := acp.AgentFrom(ctx)
			asked <- a.CallExtension(ctx, "_pong", none{}, nil)
		}),
	}
	agent := &full{}
	agent.prompt = func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		_, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"}})
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, errors.Join(err, acp.ClientFrom(ctx).CallExtension(ctx, "_pong", none{}, nil))
	}
	noted := make(chan error, 1)
	remote, client := both(t, agent, &acp.AgentOptions{Extensions: map[string]acp.Extension{
		"_pong": acp.ExtensionRequest(func(ctx context.Context, _ none) (none, error) {
			return none{}, acp.ClientFrom(ctx).CallExtension(ctx, "_pong", none{}, nil) // and back again
		}),
		"_note": acp.ExtensionNotification(func(ctx context.Context, _ none) {
			noted <- acp.ClientFrom(ctx).CallExtension(ctx, "_pong", none{}, nil)
		}),
	}}, ctxKeyed)
	s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil {
		t.Error(err)
	}
	if err := client.Update(t.Context(), s.ID(), acp.CurrentModeUpdate{CurrentModeID: "m"}); err != nil {
		t.Error(err)
	}
	if err := client.NotifyExtension(t.Context(), "_note", none{}); err != nil {
		t.Error(err)
	}
	if err := remote.NotifyExtension(t.Context(), "_note", none{}); err != nil {
		t.Error(err)
	}
	for range 3 {
		if err := <-asked; err != nil {
			t.Error(err)
		}
	}
	if err := <-noted; err != nil {
		t.Error(err)
	}
}

func TestEightSessionsPromptedAtOnceKeepTheirTextsApart(t *testing.T) {
	const sessions, chunks = 8, 300
	remote, _ := both(t, &scripted{
		newSession: func(_ context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
			return acp.NewSessionResponse{SessionID: acp.SessionID(req.Cwd)}, nil
		},
		prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
			for i := range chunks {
				if err := say(ctx, req.SessionID, fmt.Sprint(req.SessionID, " ", i)); err != nil {
					return acp.PromptResponse{}, err
				}
			}
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
		},
	}, nil, nil)
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			cwd := fmt.Sprint("/folder", i)
			s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: cwd})
			if err != nil || string(s.ID()) != cwd {
				t.Errorf("session %v, %v", s, err)
				return
			}
			turn := s.Prompt(t.Context(), acp.Text("x"))
			n := 0
			for u := range turn.Updates() {
				if got := textOf(u); got != fmt.Sprint(cwd, " ", n) {
					t.Errorf("update %d of %s is %q", n, cwd, got)
				}
				n++
			}
			if _, err := turn.Result(); err != nil || n != chunks {
				t.Errorf("%d updates, %v", n, err)
			}
		})
	}
	all.Wait()
}

func TestMessagesOfEverySizePassBothWays(t *testing.T) {
	s := opened(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, req.SessionID, acp.PlainText(req.Prompt...))
	}}, nil)
	for _, size := range []int{0, 1, 4095, 64<<10 - 200, 64<<10 - 1, 64 << 10, 64<<10 + 1, 1 << 20, 5 << 20} {
		text := strings.Repeat("é", size/2) + strings.Repeat("x", size%2)
		turn := s.Prompt(t.Context(), acp.Text(text))
		var got string
		for u := range turn.Updates() {
			got += textOf(u)
		}
		if _, err := turn.Result(); err != nil || got != text {
			t.Errorf("%d bytes came back as %d, %v", size, len(got), err)
		}
	}
}

func TestUpdatesThatWereKeptForATurnReachTheirHandlerWithTheContextOfTheConnection(t *testing.T) {
	type key struct{}
	mine, theirs := transport.Pipe()
	client, err := acp.Accept(context.Background(), theirs, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, req.SessionID, "x")
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got := make(chan bool, 1)
	a, err := acp.Connect(context.WithValue(context.Background(), key{}, "v"), mine, &acp.ClientOptions{Updates: func(ctx context.Context, _ acp.SessionNotification) {
		_, ok := acp.AgentFrom(ctx)
		got <- ok && ctx.Value(key{}) == "v"
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	<-turn.Done() // nobody reads the updates until now
	if _, err := turn.Result(); err != nil {
		t.Fatal(err)
	}
	if !<-got {
		t.Error("the handler does not know its agent")
	}
}
