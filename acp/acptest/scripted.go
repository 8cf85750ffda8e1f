package acptest

import (
	"context"
	"sync"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// An Agent is an acp.Agent made of functions. A nil function has the plainest behaviour:
// a new session with a fresh id, a turn that ends at once.
type Agent struct {
	OnNewSession func(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error)
	OnPrompt     func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error)
}

// NewSession implements acp.Agent.
func (a *Agent) NewSession(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if a.OnNewSession != nil {
		return a.OnNewSession(ctx, req)
	}
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

// Prompt implements acp.Agent.
func (a *Agent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	if a.OnPrompt != nil {
		return a.OnPrompt(ctx, req)
	}
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
}

// Connect serves an agent in memory and connects a client to it. The returned function
// ends both sides and waits for them; it may be called more than once. Options may be nil.
func Connect(ctx context.Context, agent acp.Agent, ao *acp.AgentOptions, co *acp.ClientOptions) (*acp.RemoteAgent, func(), error) {
	mine, theirs := transport.Pipe()
	client, err := acp.Accept(ctx, theirs, agent, ao)
	if err != nil {
		return nil, nil, err
	}
	remote, err := acp.Connect(ctx, mine, co)
	if err != nil {
		_ = client.Close()
		_ = client.Wait()
		return nil, nil, err
	}
	return remote, func() {
		_ = remote.Close()
		_ = client.Close()
		_ = client.Wait()
	}, nil
}

// An Updates collects the updates that reach a client outside of turns; its Handle is
// for acp.ClientOptions.Updates. The zero value is ready to use.
type Updates struct {
	mu  sync.Mutex
	all []acp.SessionNotification
}

// Handle takes an update in.
func (u *Updates) Handle(_ context.Context, n acp.SessionNotification) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.all = append(u.all, n)
}

// All returns what has arrived so far.
func (u *Updates) All() []acp.SessionNotification {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]acp.SessionNotification(nil), u.all...)
}
