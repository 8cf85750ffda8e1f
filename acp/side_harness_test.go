package acp_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport"
)

// TestMain runs the tests, or, in a child process, one of the agents of spawn_test.go.
func TestMain(m *testing.M) {
	if kind := os.Getenv("ACP_TEST_AGENT"); kind != "" {
		playAgent(kind)
		return
	}
	goleak.VerifyTestMain(m)
}

// scripted is an agent made of functions; a nil one has a plain behaviour.
type scripted struct {
	newSession func(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error)
	prompt     func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error)
}

func (a *scripted) NewSession(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if a.newSession != nil {
		return a.newSession(ctx, req)
	}
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (a *scripted) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	if a.prompt != nil {
		return a.prompt(ctx, req)
	}
	return acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
}

// full also loads, lists, closes and resumes.
type full struct {
	scripted
	load func(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error)
}

func (a *full) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	if a.load != nil {
		return a.load(ctx, req)
	}
	return acp.LoadSessionResponse{}, nil
}

func (a *full) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{Sessions: []acp.SessionInfo{{SessionID: "s1", Cwd: "/w"}}}, nil
}

func (a *full) CloseSession(_ context.Context, req acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	if req.SessionID == "gone" {
		return acp.CloseSessionResponse{}, acp.SessionNotFound(req.SessionID)
	}
	return acp.CloseSessionResponse{}, nil
}

func (a *full) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, nil
}

// stopped waits, bounded, for the end of a served connection.
func stopped(t *testing.T, c *acp.Client) {
	t.Helper()
	_ = c.Close()
	if err := c.Wait(); err != nil {
		t.Errorf("agent's side ended with %v", err)
	}
}

// both connects a client to an agent through memory.
func both(t *testing.T, agent acp.Agent, ao *acp.AgentOptions, co *acp.ClientOptions) (*acp.RemoteAgent, *acp.Client) {
	t.Helper()
	mine, theirs := transport.Pipe()
	client, err := acp.Accept(context.Background(), theirs, agent, ao)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, client) })
	remote, err := acp.Connect(context.Background(), mine, co)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remote.Close() })
	return remote, client
}

// opened is both with a session.
func opened(t *testing.T, agent acp.Agent, co *acp.ClientOptions) *acp.Session {
	t.Helper()
	remote, _ := both(t, agent, nil, co)
	s, err := remote.NewSession(t.Context(), acp.NewSessionRequest{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A wire is the raw other end of a connection under test.
type wire struct {
	t  *testing.T
	tr transport.Transport
}

// served is an agent whose client is the test itself, before the handshake.
func served(t *testing.T, agent acp.Agent, ao *acp.AgentOptions) *wire {
	t.Helper()
	mine, theirs := transport.Pipe()
	client, err := acp.Accept(context.Background(), theirs, agent, ao)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, client) })
	return &wire{t, mine}
}

const helloLine = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":1}}`

// greeted is served after the handshake.
func greeted(t *testing.T, agent acp.Agent, ao *acp.AgentOptions) *wire {
	t.Helper()
	w := served(t, agent, ao)
	w.send(helloLine)
	w.want(`"id":"hello","result"`)
	return w
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	msgs := make([][]byte, len(lines))
	for i, line := range lines {
		msgs[i] = []byte(line)
	}
	if err := w.tr.Write(w.t.Context(), msgs...); err != nil {
		w.t.Fatalf("write: %v", err)
	}
}

func (w *wire) recv() string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
	defer cancel()
	line, err := w.tr.Read(ctx)
	if err != nil {
		w.t.Fatalf("read: %v", err)
	}
	return string(line)
}

func (w *wire) want(parts ...string) string {
	w.t.Helper()
	got := w.recv()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			w.t.Fatalf("got  %s\nwant %s", got, part)
		}
	}
	return got
}

func say(ctx context.Context, id acp.SessionID, text string) error {
	return acp.ClientFrom(ctx).Update(ctx, id, acp.AgentMessageChunk{Content: acp.Text(text)})
}

func textOf(u acp.SessionUpdate) string {
	if c, ok := u.(acp.AgentMessageChunk); ok {
		return acp.PlainText(c.Content)
	}
	return ""
}
