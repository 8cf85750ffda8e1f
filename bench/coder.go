package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	coder "github.com/coder/acp-go-sdk"
)

// coder's client closes a connection on which 1,024 updates wait for its handler. To measure whole turns, its agent is held
// back: no more than this many updates are on their way at a time, as if agent and client shared a process.
const coderOnTheWay = 900

// coderAgent answers a prompt, which is a number, with so many updates. The methods that are not needed are those of the
// nil interface.
type coderAgent struct {
	coder.Agent
	conn     *coder.AgentSideConnection
	sessions atomic.Int64
	onTheWay chan<- struct{}
}

func (a *coderAgent) Initialize(context.Context, coder.InitializeRequest) (coder.InitializeResponse, error) {
	return coder.InitializeResponse{ProtocolVersion: coder.ProtocolVersionNumber}, nil
}

func (a *coderAgent) NewSession(context.Context, coder.NewSessionRequest) (coder.NewSessionResponse, error) {
	return coder.NewSessionResponse{SessionId: coder.SessionId(fmt.Sprintf("sess_%020d", a.sessions.Add(1)))}, nil
}

func (a *coderAgent) SetSessionMode(context.Context, coder.SetSessionModeRequest) (coder.SetSessionModeResponse, error) {
	return coder.SetSessionModeResponse{}, nil
}

func (a *coderAgent) Prompt(ctx context.Context, req coder.PromptRequest) (coder.PromptResponse, error) {
	updates, err := strconv.Atoi(req.Prompt[0].Text.Text)
	if err != nil {
		return coder.PromptResponse{}, err
	}
	for range updates {
		a.onTheWay <- struct{}{}
		n := coder.SessionNotification{SessionId: req.SessionId, Update: coder.UpdateAgentMessageText(chunkText)}
		if err := a.conn.SessionUpdate(ctx, n); err != nil {
			return coder.PromptResponse{}, err
		}
	}
	return coder.PromptResponse{StopReason: coder.StopReasonEndTurn}, nil
}

// coderClient counts the updates.
type coderClient struct {
	coder.Client
	seen     atomic.Int64
	onTheWay <-chan struct{}
}

func (c *coderClient) SessionUpdate(_ context.Context, n coder.SessionNotification) error {
	if n.Update.AgentMessageChunk == nil || n.Update.AgentMessageChunk.Content.Text == nil {
		return errors.New("not a chunk of text")
	}
	c.seen.Add(1)
	<-c.onTheWay
	return nil
}

// coderPair is a pair of coder's SDK.
type coderPair struct {
	client *coderClient
	conn   *coder.ClientSideConnection
	end    func()
}

func newCoderPair(ctx context.Context) (pair, error) {
	p, err := newPipes()
	if err != nil {
		return nil, err
	}
	c, err := connectCoder(ctx, p.agentIn, p.agentOut, p.clientIn, p.clientOut)
	if err != nil {
		p.close()
		return nil, err
	}
	c.end = p.close
	return c, nil
}

func connectCoder(ctx context.Context, agentIn io.Reader, agentOut io.Writer, clientIn io.Reader, clientOut io.Writer) (*coderPair, error) {
	onTheWay := make(chan struct{}, coderOnTheWay)
	agent, client := &coderAgent{onTheWay: onTheWay}, &coderClient{onTheWay: onTheWay}
	agent.conn = coder.NewAgentSideConnection(agent, agentOut, agentIn)
	agent.conn.SetLogger(slog.New(slog.DiscardHandler))
	conn := coder.NewClientSideConnection(client, clientOut, clientIn)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	if _, err := conn.Initialize(ctx, coder.InitializeRequest{ProtocolVersion: coder.ProtocolVersionNumber}); err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	return &coderPair{client: client, conn: conn, end: func() {}}, nil
}

func (c *coderPair) close() { c.end() }

func (c *coderPair) newSession(ctx context.Context) (coder.SessionId, error) {
	r, err := c.conn.NewSession(ctx, coder.NewSessionRequest{Cwd: "/", McpServers: []coder.McpServer{}})
	return r.SessionId, err
}

func (c *coderPair) turns(ctx context.Context, sessions, updates int) (time.Duration, error) {
	open := make([]coder.SessionId, sessions)
	for i := range open {
		var err error
		if open[i], err = c.newSession(ctx); err != nil {
			return 0, err
		}
	}
	c.client.seen.Store(0)
	text := strconv.Itoa(updates)
	begin := time.Now()
	err := together(sessions, sessions, func(i int) error {
		_, err := c.conn.Prompt(ctx, coder.PromptRequest{SessionId: open[i], Prompt: []coder.ContentBlock{coder.TextBlock(text)}})
		return err
	})
	took := time.Since(begin)
	if seen := c.client.seen.Load(); err == nil && seen != int64(sessions*updates) {
		err = fmt.Errorf("the client has %d of %d updates when the prompts are answered", seen, sessions*updates)
	}
	return took, err
}

func (c *coderPair) trips(ctx context.Context, requests, inFlight int) (time.Duration, error) {
	session, err := c.newSession(ctx)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	err = together(requests, inFlight, func(int) error {
		_, err := c.conn.SetSessionMode(ctx, coder.SetSessionModeRequest{SessionId: session, ModeId: "code"})
		return err
	})
	return time.Since(begin), err
}

// openCoder connects two peers through memory, and leaves them alone.
func openCoder(ctx context.Context) (close func(), err error) {
	agentIn, clientOut := io.Pipe()
	clientIn, agentOut := io.Pipe()
	if _, err := connectCoder(ctx, agentIn, agentOut, clientIn, clientOut); err != nil {
		return nil, err
	}
	return func() {
		for _, end := range []io.Closer{clientOut, agentOut, clientIn, agentIn} {
			_ = end.Close()
		}
	}, nil
}
