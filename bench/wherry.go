package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// wherryAgent answers a prompt, which is a number, with so many updates.
type wherryAgent struct{}

func (wherryAgent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (wherryAgent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	updates, err := strconv.Atoi(acp.PlainText(req.Prompt[0]))
	if err != nil {
		return acp.PromptResponse{}, err
	}
	client := acp.ClientFrom(ctx)
	for range updates {
		if err := client.Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text(chunkText)}); err != nil {
			return acp.PromptResponse{}, err
		}
	}
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
}

func (wherryAgent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, nil
}

// wherryPair is a pair of package acp.
type wherryPair struct {
	client *acp.Client
	agent  *acp.RemoteAgent
	end    func()
}

func newWherryPair(ctx context.Context) (pair, error) {
	p, err := newPipes()
	if err != nil {
		return nil, err
	}
	w, err := connectWherry(ctx, transport.NewLine(p.clientIn, p.clientOut, nil), transport.NewLine(p.agentIn, p.agentOut, nil))
	if err != nil {
		p.close()
		return nil, err
	}
	w.end = p.close
	return w, nil
}

func connectWherry(ctx context.Context, mine, theirs acp.Transport) (*wherryPair, error) {
	client, err := acp.Accept(ctx, theirs, wherryAgent{}, nil)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	agent, err := acp.Connect(ctx, mine, nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &wherryPair{client: client, agent: agent, end: func() {}}, nil
}

func (w *wherryPair) close() {
	_ = w.agent.Close()
	_ = w.agent.Wait()
	_ = w.client.Wait()
	w.end()
}

func (w *wherryPair) turns(ctx context.Context, sessions, updates int) (time.Duration, error) {
	open := make([]*acp.Session, sessions)
	for i := range open {
		var err error
		if open[i], err = w.agent.NewSession(ctx, acp.NewSessionRequest{Cwd: "/"}); err != nil {
			return 0, err
		}
	}
	text := strconv.Itoa(updates)
	begin := time.Now()
	err := together(sessions, sessions, func(i int) error {
		turn := open[i].Prompt(ctx, acp.Text(text))
		seen := 0
		for update := range turn.Updates() {
			chunk, ok := update.(acp.AgentMessageChunk)
			if !ok || acp.PlainText(chunk.Content) != chunkText {
				return errors.New("not the chunk that was sent")
			}
			seen++
		}
		if _, err := turn.Result(); err != nil || seen != updates {
			return fmt.Errorf("the turn has %d of %d updates: %w", seen, updates, err)
		}
		return nil
	})
	return time.Since(begin), err
}

func (w *wherryPair) trips(ctx context.Context, requests, inFlight int) (time.Duration, error) {
	session, err := w.agent.NewSession(ctx, acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	err = together(requests, inFlight, func(int) error { return session.SetMode(ctx, "code") })
	return time.Since(begin), err
}

// openWherry connects two peers through memory, and leaves them alone.
func openWherry(ctx context.Context) (close func(), err error) {
	mine, theirs := transport.Pipe()
	w, err := connectWherry(ctx, mine, theirs)
	if err != nil {
		return nil, err
	}
	return w.close, nil
}
