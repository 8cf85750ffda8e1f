package acp_test

import (
	"context"
	"log"

	"github.com/wherry-acp/wherry/acp"
)

type hello struct{}

func (hello) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (hello) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	err := acp.SessionFrom(ctx).SendText(ctx, "Hello from Go!")
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, err
}

// An agent in 25 lines.
func Example_agent() {
	if err := acp.ServeStdio(context.Background(), hello{}, nil); err != nil {
		log.Fatal(err)
	}
}
