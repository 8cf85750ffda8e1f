// Command agent is the smallest agent that package acp makes, for its start to be measured.
package main

import (
	"context"
	"log"

	"github.com/wherry-acp/wherry/acp"
)

type agent struct{}

func (agent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (agent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	err := acp.ClientFrom(ctx).Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text("Hello")})
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, err
}

func main() {
	if err := acp.ServeStdio(context.Background(), agent{}, nil); err != nil {
		log.Fatal(err)
	}
}
