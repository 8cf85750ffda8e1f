package acp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
	"github.com/wherry-acp/wherry/acp/transport"
)

func TestTenThousandChunksOfATurnArriveInOrderAndBeforeItsResult(t *testing.T) {
	const n = 10_000
	s := opened(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		for i := range n {
			if err := say(ctx, req.SessionID, fmt.Sprint(i)); err != nil {
				return acp.PromptResponse{}, err
			}
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, nil)
	turn := s.Prompt(t.Context(), acp.Text("go"))
	i := 0
	for u := range turn.Updates() {
		if textOf(u) != fmt.Sprint(i) {
			t.Fatalf("chunk %d is %q", i, textOf(u))
		}
		i++
	}
	r, err := turn.Result()
	if i != n || err != nil || r.StopReason != acp.StopEndTurn {
		t.Errorf("%d chunks, %v, %v", i, r.StopReason, err)
	}
}

func TestUpdatesOutsideATurnGoToTheDefaultHandler(t *testing.T) {
	got := make(chan string, 10)
	co := &acp.ClientOptions{Updates: func(_ context.Context, n acp.SessionNotification) { got <- textOf(n.Update) }}
	s := opened(t, &scripted{newSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		acp.AfterResponse(ctx, func(ctx context.Context) { _ = say(ctx, "s", "welcome") })
		return acp.NewSessionResponse{SessionID: "s"}, nil
	}, prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		acp.AfterResponse(ctx, func(ctx context.Context) { _ = say(ctx, "s", "late") })
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, "s", "in time")
	}}, co)
	if u := <-got; u != "welcome" {
		t.Errorf("got %q", u)
	}
	var in []string
	turn := s.Prompt(t.Context(), acp.Text("x"))
	for u := range turn.Updates() {
		in = append(in, textOf(u))
	}
	if fmt.Sprint(in) != "[in time]" {
		t.Errorf("turn got %q", in)
	}
	if u := <-got; u != "late" {
		t.Errorf("got %q", u)
	}
	// Nobody reads the updates of this one: they are not lost.
	if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil {
		t.Error(err)
	}
	if u := <-got; u != "in time" {
		t.Errorf("got %q", u)
	}
}

func TestTheUpdatesOfALoadArriveOnItsOwnStream(t *testing.T) {
	remote, _ := both(t, &full{load: func(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
		if req.SessionID == "gone" {
			return acp.LoadSessionResponse{}, acp.SessionNotFound(req.SessionID)
		}
		for i := range 300 {
			_ = say(ctx, req.SessionID, fmt.Sprint(i))
		}
		return acp.LoadSessionResponse{Modes: &acp.SessionModeState{CurrentModeID: "ask"}}, nil
	}}, nil, nil)
	load := remote.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: "s", Cwd: "/w"})
	i := 0
	for u := range load.Updates() {
		if textOf(u) != fmt.Sprint(i) {
			t.Fatalf("update %d is %q", i, textOf(u))
		}
		i++
	}
	s, err := load.Result()
	if err != nil || i != 300 || s.ID() != "s" || s.State().Modes().CurrentModeID != "ask" {
		t.Fatalf("%d updates, %v, %v", i, s, err)
	}
	if _, err := remote.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: "gone", Cwd: "/w"}).Result(); !errors.Is(err, &acp.RequestError{Code: acp.CodeResourceNotFound}) {
		t.Errorf("load of an unknown session: %v", err)
	}
	if remote.Session("gone") != nil || remote.Session("s") == nil {
		t.Error("the wrong sessions are known")
	}
}

// talker sends chunks until it is cancelled, then a last one.
func talker(started chan<- struct{}) *scripted {
	return &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		if acp.PlainText(req.Prompt...) == "short" {
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, say(ctx, req.SessionID, "short")
		}
		if started != nil {
			started <- struct{}{}
		}
		for ctx.Err() == nil {
			_ = say(ctx, req.SessionID, "chunk")
		}
		return acp.PromptResponse{}, ctx.Err()
	}}
}

func TestLeavingTheLoopCancelsTheTurnAndTheNextOneIsClean(t *testing.T) {
	s := opened(t, talker(nil), nil)
	for range 20 {
		turn := s.Prompt(t.Context(), acp.Text("long"))
		for range turn.Updates() {
			break
		}
		if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
			t.Fatalf("result %v, %v", r.StopReason, err)
		}
		next := s.Prompt(t.Context(), acp.Text("short"))
		var got []string
		for u := range next.Updates() {
			got = append(got, textOf(u))
		}
		if r, err := next.Result(); err != nil || r.StopReason != acp.StopEndTurn || fmt.Sprint(got) != "[short]" {
			t.Fatalf("next turn: %v, %v, %q", r.StopReason, err, got)
		}
	}
}

func TestTheEndOfTheContextCancelsTheTurn(t *testing.T) {
	started := make(chan struct{})
	s := opened(t, talker(started), nil)
	ctx, cancel := context.WithCancel(t.Context())
	turn := s.Prompt(ctx, acp.Text("long"))
	<-started
	cancel()
	// The next prompt waits for the end of the cancelled one.
	next := s.Prompt(t.Context(), acp.Text("short"))
	for range turn.Updates() {
	}
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
		t.Errorf("result %v, %v", r.StopReason, err)
	}
	if r, err := next.Result(); err != nil || r.StopReason != acp.StopEndTurn {
		t.Errorf("next: %v, %v", r.StopReason, err)
	}
}

func TestASecondPromptOnABusySessionIsRefusedAndHarmsNothing(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{}, 1)
	s := opened(t, &scripted{prompt: func(context.Context, acp.PromptRequest) (acp.PromptResponse, error) {
		started <- struct{}{}
		<-release
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, nil)
	first := s.Prompt(t.Context(), acp.Text("x"))
	<-started
	if _, err := s.Prompt(t.Context(), acp.Text("y")).Result(); !errors.Is(err, acp.ErrTurnInProgress) {
		t.Errorf("second prompt: %v", err)
	}
	close(release)
	if _, err := first.Result(); err != nil {
		t.Error(err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("z")).Result(); err != nil {
		t.Error(err)
	}
}

func TestPermissionsPendingAtCancelAreAnsweredThoughTheirHandlerBlocks(t *testing.T) {
	release := make(chan struct{})
	asked := make(chan struct{})
	outcome := make(chan acp.RequestPermissionResponse, 1)
	s := opened(t, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		// A client of another kind: it hears of the cancel only by the outcome.
		<-req0(ctx, req.SessionID, outcome)
		<-ctx.Done()
		return acp.PromptResponse{}, ctx.Err()
	}}, &acp.ClientOptions{Permission: acp.PermissionFunc(func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		close(asked)
		<-release // does not look at its context
		return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: "yes"}}, nil
	})})
	defer close(release)
	turn := s.Prompt(t.Context(), acp.Text("x"))
	<-asked
	turn.Cancel()
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
		t.Errorf("result %v, %v", r.StopReason, err)
	}
	if r := <-outcome; r.Outcome != nil {
		if _, ok := r.Outcome.(acp.CancelledPermissionOutcome); !ok {
			t.Errorf("outcome %#v", r.Outcome)
		}
	}
}

// req0 asks for permission in the background and closes the result when it has an answer.
func req0(ctx context.Context, id acp.SessionID, outcome chan<- acp.RequestPermissionResponse) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, _ := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: id, ToolCall: acp.ToolCallUpdate{ToolCallID: "t"}})
		outcome <- r
	}()
	return done
}

// agentWire is an agent that the test plays line by line.
func agentWire(t *testing.T, co *acp.ClientOptions) (*acp.RemoteAgent, *wire) {
	t.Helper()
	mine, theirs := transport.Pipe()
	w := &wire{t, theirs}
	type result struct {
		a   *acp.RemoteAgent
		err error
	}
	got := make(chan result, 1)
	go func() {
		a, err := acp.Connect(context.Background(), mine, co)
		got <- result{a, err}
	}()
	w.want(`"initialize"`)
	w.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}`)
	r := <-got
	if r.err != nil {
		t.Fatal(r.err)
	}
	t.Cleanup(func() { _ = r.a.Close() })
	return r.a, w
}

// session opens a session on a played agent.
func (w *wire) session(a *acp.RemoteAgent) *acp.Session {
	w.t.Helper()
	got := make(chan *acp.Session, 1)
	go func() {
		s, err := a.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			w.t.Error(err)
		}
		got <- s
	}()
	w.want(`"id":2,"method":"session/new"`)
	w.send(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`)
	return <-got
}

func TestThePermissionIsAnsweredOnTheWireWhenTheTurnIsCancelled(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	a, w := agentWire(t, &acp.ClientOptions{Permission: acp.PermissionFunc(func(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		<-release
		return acp.RequestPermissionResponse{}, nil
	})})
	turn := w.session(a).Prompt(t.Context(), acp.Text("x"))
	w.want(`"id":3,"method":"session/prompt"`)
	ask := `{"jsonrpc":"2.0","id":"p%d","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}`
	w.send(fmt.Sprintf(ask, 1), `garbage to wait for`)
	w.want(`-32700`)
	turn.Cancel()
	w.want(`"method":"session/cancel","params":{"sessionId":"s"}`)
	w.want(`"id":"p1","result":{"outcome":{"outcome":"cancelled"}}`)
	w.send(fmt.Sprintf(ask, 2)) // races with the cancel: not asked any more
	w.want(`"id":"p2","result":{"outcome":{"outcome":"cancelled"}}`)
	w.send(`{"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"Request cancelled"}}`)
	if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
		t.Errorf("result %v, %v", r.StopReason, err)
	}
}

func TestAPermissionThatTheAgentTakesBackIsAnsweredCancelled(t *testing.T) {
	a, w := agentWire(t, &acp.ClientOptions{Permission: acp.PermissionFunc(func(ctx context.Context, _ acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
		<-ctx.Done()
		return acp.RequestPermissionResponse{}, ctx.Err()
	})})
	w.session(a)
	w.send(`{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}`, `garbage to wait for`)
	w.want(`-32700`)
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"p"}}`)
	got := w.recv()
	if !strings.Contains(got, `"outcome":"cancelled"`) && !strings.Contains(got, `-32800`) {
		t.Errorf("answer %s", got)
	}
}

func TestWithoutAPermissionHandlerNothingIsAllowed(t *testing.T) {
	ask := `{"sessionId":"$s","toolCall":{"toolCallId":"t"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}%s]}`
	agent := acptest.Script{Steps: []acptest.Step{
		acptest.Handshake(nil),
		acptest.Expect("_start").With(`"$s"`),
		acptest.Call("session/request_permission", fmt.Sprintf(ask, `,{"optionId":"n","name":"No","kind":"reject_once"}`)).With(`{"outcome":{"outcome":"selected","optionId":"n"}}`),
		acptest.Call("session/request_permission", fmt.Sprintf(ask, "")).With(`{"outcome":{"outcome":"cancelled"}}`),
		acptest.Call("fs/read_text_file", `{"sessionId":"$s","path":"/etc/passwd"}`).Fails(acp.CodeMethodNotFound),
		acptest.Call("terminal/create", `{"sessionId":"$s","command":"ls"}`).Fails(acp.CodeMethodNotFound),
		acptest.Reply("_start", nil),
	}}.Agent(t, nil)
	if err := agent.CallExtension(t.Context(), "_start", "s", nil); err != nil {
		t.Error(err)
	}
}

func TestATurnThatTheAgentDoesNotEndAfterCancelFailsAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, theirs := transport.Pipe()
		block := make(chan struct{})
		client, err := acp.Accept(context.Background(), theirs, &scripted{prompt: func(context.Context, acp.PromptRequest) (acp.PromptResponse, error) {
			<-block
			return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := acp.Connect(context.Background(), mine, &acp.ClientOptions{CancelGrace: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		turn := s.Prompt(context.Background(), acp.Text("x"))
		synctest.Wait()
		start := time.Now()
		turn.Cancel()
		_, err = turn.Result()
		if d := time.Since(start); d != 3*time.Second || !errors.Is(err, acp.ErrCancelTimeout) {
			t.Errorf("result after %v: %v", d, err)
		}
		close(block)
		_ = a.Close()
		_ = client.Wait()
	})
}

func TestTheUpdatesReceivedBeforeTheConnectionBreaksAreStillRead(t *testing.T) {
	a, w := agentWire(t, nil)
	turn := w.session(a).Prompt(t.Context(), acp.Text("x"))
	w.want(`"session/prompt"`)
	const n = 1000
	for i := range n {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}}}`, i))
	}
	_ = w.tr.Close()
	<-a.Done()
	i := 0
	for u := range turn.Updates() {
		if textOf(u) != fmt.Sprint(i) {
			t.Fatalf("update %d is %q", i, textOf(u))
		}
		i++
	}
	_, err := turn.Result()
	if i != n || !errors.Is(err, acp.ErrConnectionClosed) || !errors.Is(err, io.EOF) || !errors.Is(err, acp.ErrMaybeSent) {
		t.Errorf("%d updates, then %v", i, err)
	}
	if _, err := a.ListSessions(t.Context(), acp.ListSessionsRequest{}); err == nil {
		t.Error("a call on a closed connection succeeded")
	}
}

func TestASessionCallInsideTheUpdateLoopDoesNotWaitForTheLoop(t *testing.T) {
	remote, _ := both(t, &moder{scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		for range 2000 {
			_ = say(ctx, req.SessionID, "x")
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}}, nil, nil)
	s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	n := 0
	for range turn.Updates() {
		if n++; n == 3 {
			if err := s.SetMode(t.Context(), "code"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 2000 || s.State().Modes().CurrentModeID != "code" {
		t.Errorf("%d updates, mode %v", n, s.State().Modes())
	}
}

type moder struct{ scripted }

func (*moder) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, nil
}

func TestUpdatesOfASessionThatIsBeingMadeWaitUntilItIsKnown(t *testing.T) {
	var mu sync.Mutex
	var got []string
	seen := make(chan struct{}, 10)
	a, w := agentWire(t, &acp.ClientOptions{Updates: func(_ context.Context, n acp.SessionNotification) {
		mu.Lock()
		got = append(got, string(n.SessionID)+":"+textOf(n.Update))
		mu.Unlock()
		seen <- struct{}{}
	}})
	line := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%d"}}}}`
	w.send(fmt.Sprintf(line, "stranger", 0))
	<-seen
	made := make(chan *acp.Session, 1)
	go func() {
		s, _ := a.NewSession(context.Background(), acp.NewSessionRequest{Cwd: "/w"})
		made <- s
	}()
	w.want(`session/new`)
	w.send(fmt.Sprintf(line, "s", 1), fmt.Sprintf(line, "s", 2), `garbage to wait for`)
	w.want(`-32700`)
	mu.Lock()
	early := len(got)
	mu.Unlock()
	w.send(`{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}`)
	if s := <-made; s == nil || s.ID() != "s" {
		t.Fatal("no session")
	}
	<-seen
	<-seen
	if early != 1 || fmt.Sprint(got) != "[stranger:0 s:1 s:2]" {
		t.Errorf("%d early; %q", early, got)
	}
}

func TestAnAgentOfAnotherVersionIsAClearError(t *testing.T) {
	mine, theirs := transport.Pipe()
	played := make(chan error, 1)
	go func() {
		played <- acptest.Script{Steps: []acptest.Step{
			acptest.Expect("initialize").With(`{"protocolVersion":1}`).Reply(`{"protocolVersion":7}`),
			acptest.ExpectEnd(),
		}}.Serve(context.Background(), theirs)
	}()
	if _, err := acp.Connect(t.Context(), mine, nil); !errors.Is(err, acp.ErrProtocolVersion) || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("connect: %v", err)
	}
	if err := <-played; err != nil {
		t.Error(err)
	}
}

func TestAnAgentThatDoesNotAnswerIsGivenUpAfterTheStartTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, _ := transport.Pipe()
		start := time.Now()
		_, err := acp.Connect(context.Background(), mine, &acp.ClientOptions{StartTimeout: 7 * time.Second})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) < 7*time.Second || time.Since(start) > 10*time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestCallsThatTheAgentDidNotAdvertiseFailWithNothingOnTheWire(t *testing.T) {
	a, w := agentWire(t, nil)
	s := w.session(a)
	for name, f := range map[string]func() error{
		"load":   func() error { _, err := a.LoadSession(t.Context(), acp.LoadSessionRequest{}).Result(); return err },
		"list":   func() error { _, err := a.ListSessions(t.Context(), acp.ListSessionsRequest{}); return err },
		"resume": func() error { _, err := a.ResumeSession(t.Context(), acp.ResumeSessionRequest{}); return err },
		"close":  func() error { return s.Close(t.Context()) },
		"delete": func() error { return a.DeleteSession(t.Context(), "s") },
		"logout": func() error { return a.Logout(t.Context()) },
		"auth":   func() error { return a.Authenticate(t.Context(), "x") },
		"fork": func() error {
			_, err := a.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{})
			return err
		},
		"image": func() error { _, err := s.Prompt(t.Context(), acp.Image("image/png", nil)).Result(); return err },
		"http": func() error {
			_, err := a.NewSession(t.Context(), acp.NewSessionRequest{MCPServers: []acp.MCPServer{acp.MCPServerHTTP{}}})
			return err
		},
		"folders": func() error {
			_, err := a.NewSession(t.Context(), acp.NewSessionRequest{AdditionalDirectories: []string{"/x"}})
			return err
		},
	} {
		if _, ok := errors.AsType[*acp.CapabilityError](f()); !ok {
			t.Errorf("%s: %v", name, f())
		}
	}
	go func() { _ = s.SetMode(t.Context(), "m") }()
	w.want(`session/set_mode`)
}

func TestOfferingWithoutAHandlerFailsBeforeTheHandshake(t *testing.T) {
	mine, theirs := transport.Pipe()
	_, err := acp.Connect(t.Context(), mine, &acp.ClientOptions{Capabilities: func(c *acp.ClientCapabilities) { c.Terminal = true }})
	if err == nil || !strings.Contains(err.Error(), "clientCapabilities.terminal") {
		t.Errorf("connect: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := theirs.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("something was sent: %v", err)
	}
}

func TestListCloseAndResumeReachTheAgent(t *testing.T) {
	remote, _ := both(t, &full{}, nil, nil)
	if l, err := remote.ListSessions(t.Context(), acp.ListSessionsRequest{}); err != nil || len(l.Sessions) != 1 {
		t.Errorf("list %+v, %v", l, err)
	}
	for _, id := range []acp.SessionID{"s1", "gone"} {
		s, err := remote.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionID: id, Cwd: "/w"})
		if err != nil || s.ID() != id {
			t.Fatalf("resume %v, %v", s, err)
		}
		if err := s.Close(t.Context()); err != nil { // "gone" is unknown to the agent: closed
			t.Errorf("close: %v", err)
		}
		if remote.Session(id) != nil {
			t.Error("a closed session is still known")
		}
	}
}

func TestAnUnknownUpdateAndABadOneDoNotEndTheTurn(t *testing.T) {
	a, w := agentWire(t, nil)
	turn := w.session(a).Prompt(t.Context(), acp.Text("x"))
	w.want(`"session/prompt"`)
	head := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`
	w.send(head+`{"sessionUpdate":"brand_new","x":1}}}`, head+`{"sessionUpdate":"usage_update","used":"many","size":1}}}`, head+`{}}}`,
		head+`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"ok"}}}}`, `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}`)
	var got []string
	for u := range turn.Updates() {
		if unknown, ok := u.(acp.UnknownSessionUpdate); ok {
			got = append(got, unknown.Tag)
		} else {
			got = append(got, textOf(u))
		}
	}
	if fmt.Sprint(got) != "[brand_new usage_update ok]" {
		t.Errorf("updates %q", got)
	}
}
