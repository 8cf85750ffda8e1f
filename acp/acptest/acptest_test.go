package acptest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

// TestMain runs the tests, or, in a child process, the script of script_test.go.
func TestMain(m *testing.M) {
	if os.Getenv("ACPTEST_SCRIPT") != "" {
		if err := childScript.ServeStdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func chatty(n int) *acptest.Agent {
	return &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		for i := range n {
			if err := acp.ClientFrom(ctx).Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text(fmt.Sprint("é漢😀", i))}); err != nil {
				return acp.PromptResponse{}, err
			}
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}
}

func TestATurnSurvivesAnySplittingOfTheStream(t *testing.T) {
	for _, chunk := range []int{1, 2, 3, 7, 64} {
		p := acptest.NewPipe(acptest.Faults{Chunk: chunk}, acptest.Faults{Chunk: chunk})
		client, err := acp.Accept(context.Background(), p.B, chatty(50), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := acp.Connect(context.Background(), p.A, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		turn := s.Prompt(t.Context(), acp.Text("x"))
		for u := range turn.Updates() {
			if got := acp.PlainText(u.(acp.AgentMessageChunk).Content); got != fmt.Sprint("é漢😀", n) {
				t.Fatalf("chunk of %d bytes: update %d is %q", chunk, n, got)
			}
			n++
		}
		if _, err := turn.Result(); err != nil || n != 50 {
			t.Errorf("chunk of %d bytes: %d updates, %v", chunk, n, err)
		}
		_ = a.Close()
		_ = client.Wait()
	}
}

func TestBothSidesEndWhereverTheStreamIsCut(t *testing.T) {
	for cut := 0; cut < 3000; cut += 97 {
		p := acptest.NewPipe(acptest.Faults{}, acptest.Faults{CutAfter: cut, CutAtStart: cut == 0})
		client, err := acp.Accept(context.Background(), p.B, chatty(20), nil)
		if err != nil {
			t.Fatal(err)
		}
		err = converse(p)
		if err == nil || !errors.Is(err, acp.ErrConnectionClosed) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
		_ = client.Wait()
	}
}

// converse holds turns until something fails.
func converse(p *acptest.Pipe) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	a, err := acp.Connect(ctx, p.A, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	s, err := a.NewSession(ctx, acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		return err
	}
	for {
		turn := s.Prompt(ctx, acp.Text("x"))
		for range turn.Updates() {
		}
		if _, err := turn.Result(); err != nil {
			return err
		}
	}
}

func TestAStalledReaderHoldsTheSenderUpAndLosesNothing(t *testing.T) {
	p := acptest.NewPipe(acptest.Faults{}, acptest.Faults{Stall: 5000})
	client, err := acp.Accept(context.Background(), p.B, chatty(5000), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := acp.Connect(context.Background(), p.A, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text("x"))
	n := 0
	for range turn.Updates() {
		if n++; n == 10 {
			p.Resume()
		}
	}
	if _, err := turn.Result(); err != nil || n != 5000 {
		t.Errorf("%d updates, %v", n, err)
	}
	_ = a.Close()
	_ = client.Wait()
}

func TestUpdatesOutsideOfTurnsAreCollected(t *testing.T) {
	var got acptest.Updates
	told := make(chan struct{})
	agent := &acptest.Agent{OnNewSession: func(ctx context.Context, _ acp.NewSessionRequest) (acp.NewSessionResponse, error) {
		acp.AfterResponse(ctx, func(ctx context.Context) {
			_ = acp.ClientFrom(ctx).Update(ctx, "s", acp.CurrentModeUpdate{CurrentModeID: "m"})
			close(told)
		})
		return acp.NewSessionResponse{SessionID: "s"}, nil
	}, OnPrompt: func(context.Context, acp.PromptRequest) (acp.PromptResponse, error) {
		<-told
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}
	a, end, err := acptest.Connect(context.Background(), agent, nil, &acp.ClientOptions{Updates: got.Handle})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("x")).Result(); err != nil { // the update came before this answer
		t.Fatal(err)
	}
	if all := got.All(); len(all) != 1 || s.State().Modes().CurrentModeID != "m" {
		t.Errorf("updates %+v", all)
	}
}

func TestInjectedGarbageIsAnsweredAndHarmsNothing(t *testing.T) {
	p := acptest.NewPipe(acptest.Faults{}, acptest.Faults{})
	client, err := acp.Accept(context.Background(), p.B, &acptest.Agent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	peer := acptest.Peer{Transport: p.A}
	if err := p.Inject("half a line, "); err != nil {
		t.Fatal(err)
	}
	if err := p.Inject("and the rest\n"); err != nil {
		t.Fatal(err)
	}
	got, err := peer.Receive(t.Context())
	if err != nil || got != `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}` {
		t.Errorf("%s, %v", got, err)
	}
	if err := peer.Send(t.Context(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`); err != nil {
		t.Fatal(err)
	}
	if got, err := peer.Receive(t.Context()); err != nil || len(got) < 20 {
		t.Errorf("%s, %v", got, err)
	}
	p.Cut()
	if err := client.Wait(); err != nil {
		t.Error(err)
	}
}
