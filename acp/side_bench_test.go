package acp_test

import (
	"context"
	"os"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// BenchmarkTurnUpdates measures one small update from an agent's handler to the client's
// loop, typed at both ends, through memory and through pipes of the system.
func BenchmarkTurnUpdates(b *testing.B) {
	b.Run("memory", func(b *testing.B) {
		mine, theirs := transport.Pipe()
		turnUpdates(b, mine, theirs)
	})
	b.Run("pipe", func(b *testing.B) {
		agentIn, clientOut, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		clientIn, agentOut, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		turnUpdates(b, transport.NewLine(clientIn, clientOut, nil), transport.NewLine(agentIn, agentOut, nil))
	})
}

func turnUpdates(b *testing.B, mine, theirs transport.Transport) {
	client, err := acp.Accept(context.Background(), theirs, &scripted{prompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		for range b.N {
			if err := say(ctx, req.SessionID, "Hello, world"); err != nil {
				return acp.PromptResponse{}, err
			}
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}}, nil)
	if err != nil {
		b.Fatal(err)
	}
	a, err := acp.Connect(context.Background(), mine, nil)
	if err != nil {
		b.Fatal(err)
	}
	s, err := a.NewSession(b.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	turn := s.Prompt(b.Context(), acp.Text("go"))
	n := 0
	for range turn.Updates() {
		n++
	}
	if _, err := turn.Result(); err != nil || n != b.N {
		b.Fatalf("%d of %d updates, %v", n, b.N, err)
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
	_ = a.Close()
	_ = client.Wait()
}

// BenchmarkUpdatesOut measures the agent's side alone: small updates to a peer that only
// reads.
func BenchmarkUpdatesOut(b *testing.B) {
	mine, theirs := transport.Pipe()
	done := make(chan struct{})
	client, err := acp.Accept(context.Background(), theirs, &scripted{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		defer close(done)
		for range b.N {
			if _, err := mine.Read(context.Background()); err != nil {
				return
			}
		}
	}()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if err := client.Update(b.Context(), "sess_0123456789abcdef", acp.AgentMessageChunk{Content: acp.Text("Hello, world")}); err != nil {
			b.Fatal(err)
		}
	}
	<-done
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "updates/s")
	_ = client.Close()
	_ = client.Wait()
}
