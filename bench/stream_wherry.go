package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// wherryAgent sends a turn of updates.
type wherryAgent struct{}

func (wherryAgent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (wherryAgent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	client := acp.ClientFrom(ctx)
	for range turnUpdates {
		if err := client.Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text(chunkText)}); err != nil {
			return acp.PromptResponse{}, err
		}
	}
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
}

// wherryTurn plays a turn between an agent and a client of package acp, and gives how long it took from the prompt until the
// client had its answer and all updates.
func wherryTurn(ctx context.Context) (time.Duration, error) {
	p, err := newPipes()
	if err != nil {
		return 0, err
	}
	defer p.close()
	if _, err := acp.Accept(ctx, transport.NewLine(p.agentIn, p.agentOut, nil), wherryAgent{}, nil); err != nil {
		return 0, fmt.Errorf("serve: %w", err)
	}
	agent, err := acp.Connect(ctx, transport.NewLine(p.clientIn, p.clientOut, nil), nil)
	if err != nil {
		return 0, fmt.Errorf("connect: %w", err)
	}
	defer agent.Close()
	session, err := agent.NewSession(ctx, acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		return 0, fmt.Errorf("session/new: %w", err)
	}
	begin := time.Now()
	turn := session.Prompt(ctx, acp.Text("go"))
	seen := 0
	for update := range turn.Updates() {
		chunk, ok := update.(acp.AgentMessageChunk)
		if !ok || acp.PlainText(chunk.Content) != chunkText {
			return 0, errors.New("not the chunk that was sent")
		}
		seen++
	}
	if _, err := turn.Result(); err != nil {
		return 0, fmt.Errorf("session/prompt: %w", err)
	}
	took := time.Since(begin)
	if seen != turnUpdates {
		return 0, fmt.Errorf("the client has %d of %d updates when the prompt is answered", seen, turnUpdates)
	}
	return took, nil
}
