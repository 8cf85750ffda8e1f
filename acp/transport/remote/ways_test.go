package remote_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport/remote"
)

// everyWay runs a test over each transport.
func everyWay(t *testing.T, test func(t *testing.T, w way)) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

// heard is the text of a turn's updates.
func heard(turn *acp.Turn) string {
	var b strings.Builder
	for u := range turn.Updates() {
		if chunk, ok := u.(acp.AgentMessageChunk); ok {
			b.WriteString(acp.PlainText(chunk.Content))
		}
	}
	return b.String()
}

func TestAWholeConversationRunsOverEveryTransport(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s := startOn(t, serveTiny, nil, w.begin)
		agent := connect(t, w.dial(t, s, nil), &acp.ClientOptions{
			Permission: acp.PermissionFunc(func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
				return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: req.Options[0].OptionID}}, nil
			}),
		})
		session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := heard(session.Prompt(t.Context(), acp.Text("say 100"))); got != counted(100) {
			t.Errorf("100 updates came as %q", got)
		}
		if got := heard(session.Prompt(t.Context(), acp.Text("ask"))); got != "yes" {
			t.Errorf("the permission was answered %q", got)
		}
		turn := session.Prompt(t.Context(), acp.Text("wait"))
		for range turn.Updates() {
			if err := session.Cancel(); err != nil {
				t.Error(err)
			}
		}
		if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
			t.Errorf("cancelled: %v, %v", r.StopReason, err)
		}
		load := agent.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: "old", Cwd: "/"})
		var replayed strings.Builder
		for u := range load.Updates() {
			if chunk, ok := u.(acp.AgentMessageChunk); ok {
				replayed.WriteString(acp.PlainText(chunk.Content))
			}
		}
		if _, err := load.Result(); err != nil || replayed.String() != counted(100) {
			t.Errorf("replayed %q, %v", replayed.String(), err)
		}
		load = agent.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: "unknown", Cwd: "/"})
		if _, err := load.Result(); !isRequestError(err, acp.CodeInvalidParams) {
			t.Errorf("loading an unknown session: %v", err)
		}
	})
}

func isRequestError(err error, code acp.ErrorCode) bool {
	re, is := errors.AsType[*acp.RequestError](err)
	return is && re.Code == code
}

func TestABurstOf2048UpdatesArrivesWholeAndInOrder(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s := startOn(t, serveTiny, nil, w.begin)
		agent := connect(t, w.dial(t, s, nil), nil)
		session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := heard(session.Prompt(t.Context(), acp.Text("say 2048"))); got != counted(2048) {
			t.Errorf("%d bytes of %d came", len(got), len(counted(2048)))
		}
	})
}

func TestSessionsOfOneConnectionRunSideBySide(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s := startOn(t, serveTiny, nil, w.begin)
		agent := connect(t, w.dial(t, s, nil), nil)
		waiting, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		turn := waiting.Prompt(t.Context(), acp.Text("wait"))
		for i := range 4 {
			session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
			if err != nil {
				t.Fatal(err)
			}
			if got := heard(session.Prompt(t.Context(), acp.Text("say 50"))); got != counted(50) {
				t.Errorf("session %d: %q", i, got)
			}
		}
		_ = waiting.Cancel()
		if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
			t.Errorf("%v, %v", r.StopReason, err)
		}
	})
}

func TestTheServerLearnsThatTheClientIsGoneAndTheClientThatTheServerIs(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		served := make(chan error, 4)
		s := startOn(t, func(ctx context.Context, conn *remote.Conn) { served <- acp.Serve(ctx, conn, tiny{}, nil) }, nil, w.begin)
		agent := connect(t, w.dial(t, s, nil), nil)
		_ = agent.Close()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("serving ended with %v", err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("the server did not learn of the end")
		}

		agent = connect(t, w.dial(t, s, nil), nil)
		s.Close()
		within(t, 10*time.Second, "learning of the server's end", agent.Done())
		if !errors.Is(agent.Err(), acp.ErrConnectionClosed) {
			t.Errorf("ended with %v", agent.Err())
		}
		if n := s.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
}

func TestAShutdownLetsTheRunningTurnEndAndRefusesNewOnes(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s := startOn(t, serveTiny, nil, w.begin)
		agent := connect(t, w.dial(t, s, nil), nil)
		running, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		other, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		turn := running.Prompt(t.Context(), acp.Text("wait"))
		first := make(chan struct{})
		go func() {
			once := first
			for range turn.Updates() {
				if once != nil {
					close(once)
					once = nil
				}
			}
		}()
		within(t, 10*time.Second, "the turn's first update", first)
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(context.Background()) }()
		for { // until the shutdown has begun, a prompt is taken
			r, err := other.Prompt(t.Context(), acp.Text("say 1")).Result()
			if err != nil {
				break
			}
			if r.StopReason != acp.StopEndTurn {
				t.Fatal(r.StopReason)
			}
		}
		select {
		case err := <-down:
			t.Fatalf("the shutdown did not wait for the turn: %v", err)
		default:
		}
		_ = running.Cancel()
		if r, err := turn.Result(); err != nil || r.StopReason != acp.StopCancelled {
			t.Errorf("the running turn: %v, %v", r.StopReason, err)
		}
		if err := <-down; err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

func TestAShutdownThatTakesTooLongEndsWhatRuns(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		s := startOn(t, serveTiny, nil, w.begin)
		agent := connect(t, w.dial(t, s, nil), nil)
		session, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		turn := session.Prompt(t.Context(), acp.Text("wait"))
		for range turn.Updates() {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("shutdown: %v", err)
			}
			cancel()
		}
		if _, err := turn.Result(); err == nil {
			t.Error("the turn ended as if nothing had happened")
		}
	})
}
