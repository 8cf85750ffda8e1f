package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	coder "github.com/coder/acp-go-sdk"
)

// turnUpdates is how many updates the measured turn has.
const turnUpdates = 20_000

const chunkText = "a few words of an answer, "

// pipes are two operating system pipes, as between an editor and its agent.
type pipes struct {
	agentIn, clientIn   *os.File // what each side reads
	agentOut, clientOut *os.File // what each side writes
}

func newPipes() (p pipes, err error) {
	if p.agentIn, p.clientOut, err = os.Pipe(); err != nil {
		return p, err
	}
	p.clientIn, p.agentOut, err = os.Pipe()
	return p, err
}

func (p pipes) close() {
	for _, f := range []*os.File{p.clientOut, p.agentOut, p.agentIn, p.clientIn} {
		_ = f.Close()
	}
}

// coder's client closes a connection on which 1,024 updates wait for its handler. To measure a whole turn, its agent is held
// back: it sends a batch only when the client has handled all but the last one, as if the two shared a process.
const coderBatch = 400

// coderAgent sends a turn of updates. The methods that a turn does not need are those of the nil interface.
type coderAgent struct {
	coder.Agent
	conn    *coder.AgentSideConnection
	handled <-chan struct{} // a value a handled batch; nil to send without being held back
}

func (a *coderAgent) Initialize(context.Context, coder.InitializeRequest) (coder.InitializeResponse, error) {
	return coder.InitializeResponse{ProtocolVersion: coder.ProtocolVersionNumber}, nil
}

func (a *coderAgent) NewSession(context.Context, coder.NewSessionRequest) (coder.NewSessionResponse, error) {
	return coder.NewSessionResponse{SessionId: "s"}, nil
}

func (a *coderAgent) Prompt(ctx context.Context, req coder.PromptRequest) (coder.PromptResponse, error) {
	for i := range turnUpdates {
		if a.handled != nil && i%coderBatch == 0 && i >= 2*coderBatch {
			<-a.handled
		}
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
	seen    atomic.Int64
	handled chan struct{}
}

func (c *coderClient) SessionUpdate(_ context.Context, n coder.SessionNotification) error {
	if n.Update.AgentMessageChunk == nil || n.Update.AgentMessageChunk.Content.Text == nil {
		return errors.New("not a chunk of text")
	}
	if c.seen.Add(1)%coderBatch == 0 {
		c.handled <- struct{}{}
	}
	return nil
}

// coderTurn plays a turn between an agent and a client of coder's SDK, and gives how long it took from the prompt until the
// client had its answer and all updates. Held back tells whether the agent waits for the client, see coderBatch.
func coderTurn(ctx context.Context, heldBack bool) (time.Duration, error) {
	p, err := newPipes()
	if err != nil {
		return 0, err
	}
	defer p.close()
	agent, client := &coderAgent{}, &coderClient{handled: make(chan struct{}, turnUpdates/coderBatch)}
	if heldBack {
		agent.handled = client.handled
	}
	agent.conn = coder.NewAgentSideConnection(agent, p.agentOut, p.agentIn)
	agent.conn.SetLogger(slog.New(slog.DiscardHandler))
	conn := coder.NewClientSideConnection(client, p.clientOut, p.clientIn)
	conn.SetLogger(slog.New(slog.DiscardHandler))
	if _, err := conn.Initialize(ctx, coder.InitializeRequest{ProtocolVersion: coder.ProtocolVersionNumber}); err != nil {
		return 0, fmt.Errorf("initialize: %w", err)
	}
	session, err := conn.NewSession(ctx, coder.NewSessionRequest{Cwd: "/", McpServers: []coder.McpServer{}})
	if err != nil {
		return 0, fmt.Errorf("session/new: %w", err)
	}
	begin := time.Now()
	if _, err := conn.Prompt(ctx, coder.PromptRequest{SessionId: session.SessionId, Prompt: []coder.ContentBlock{coder.TextBlock("go")}}); err != nil {
		return 0, fmt.Errorf("session/prompt: %w", err)
	}
	took := time.Since(begin)
	if seen := client.seen.Load(); seen != turnUpdates {
		return 0, fmt.Errorf("the client has %d of %d updates when the prompt is answered", seen, turnUpdates)
	}
	return took, nil
}

// plainCopy passes the bytes of such a turn through the same kind of pipe, with nothing done to them: the most that a
// pipe can carry.
func plainCopy(ctx context.Context) (time.Duration, error) {
	p, err := newPipes()
	if err != nil {
		return 0, err
	}
	defer p.close()
	line := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + chunkText + `"}}}}` + "\n")
	failed := make(chan error, 1)
	begin := time.Now()
	go func() {
		defer p.agentOut.Close()
		for range turnUpdates {
			if _, err := p.agentOut.Write(line); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	n, err := io.Copy(io.Discard, struct{ io.Reader }{p.clientIn})
	took := time.Since(begin)
	if err = errors.Join(err, <-failed); err == nil && n != int64(turnUpdates*len(line)) {
		err = fmt.Errorf("%d bytes came through", n)
	}
	return took, err
}

// streamTable plays the turns, taking turns.
func streamTable(ctx context.Context, runs int) (table, error) {
	ways := []struct {
		name string
		turn func(context.Context) (time.Duration, error)
	}{
		{"wherry agent to wherry client", wherryTurn},
		{"coder agent to coder client, held back (*)", func(ctx context.Context) (time.Duration, error) { return coderTurn(ctx, true) }},
		{"the bytes alone, a write each", plainCopy},
	}
	t := table{
		title: fmt.Sprintf("A turn of %d message chunks over a pipe, medians of %d runs taking turns", turnUpdates, runs),
		head:  []string{"", "turn", "updates/s", "× wherry"},
		unit:  []string{"", "ms", "", ""},
	}
	times := make([][]float64, len(ways))
	var lost int // turns that coder's pair did not live through when it was not held back
	for run := range runs + 1 {
		for i, way := range ways {
			took, err := way.turn(ctx)
			if err != nil {
				return table{}, fmt.Errorf("a turn of %s: %w", way.name, err)
			}
			if run > 0 {
				times[i] = append(times[i], took.Seconds())
			}
		}
		if _, err := coderTurn(ctx, false); err != nil && run > 0 {
			lost++
		}
	}
	for i, way := range ways {
		took := median(times[i])
		t.rows = append(t.rows, []string{
			way.name, fmt.Sprintf("%.0f", took*1e3), fmt.Sprintf("%.0f", turnUpdates/took), ratio(took, median(times[0])),
		})
	}
	t.note = fmt.Sprintf("(*) its client closes a connection on which 1,024 updates wait. Not held back, %d of %d turns ended so.", lost, runs)
	return t, nil
}
