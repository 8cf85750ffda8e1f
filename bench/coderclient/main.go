// Command coderclient plays prompts to an agent with another Go SDK's client side (coder's), for the tests in interop: this
// module is the one that pins that SDK.
//
//	coderclient allow_once|reject_once FOLDER AGENT ARGS… < PROMPTS
//
// PROMPTS is a JSON array of texts; a text that begins with "cancel: " is cancelled as soon as a tool call of it runs. It
// prints what came of each: its stop reason, its updates and the permissions that were asked for.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	coder "github.com/coder/acp-go-sdk"
)

// turn is what came of a prompt.
type turn struct {
	StopReason coder.StopReason                 `json:"stopReason"`
	Updates    []coder.SessionUpdate            `json:"updates"`
	Asked      []coder.RequestPermissionRequest `json:"asked"`
}

// client answers every permission in one way. The methods that are not offered are those of the nil interface.
type client struct {
	coder.Client
	answer coder.PermissionOptionKind

	mu      sync.Mutex
	turn    turn
	running func() // called when a tool call runs; nil for nothing
}

func (c *client) RequestPermission(_ context.Context, req coder.RequestPermissionRequest) (coder.RequestPermissionResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn.Asked = append(c.turn.Asked, req)
	for _, o := range req.Options {
		if o.Kind == c.answer {
			return coder.RequestPermissionResponse{Outcome: coder.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return coder.RequestPermissionResponse{}, errors.New("the answer is not offered")
}

func (c *client) SessionUpdate(_ context.Context, n coder.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn.Updates = append(c.turn.Updates, n.Update)
	if u := n.Update.ToolCallUpdate; u != nil && u.Status != nil && *u.Status == coder.ToolCallStatusInProgress && c.running != nil {
		c.running()
		c.running = nil
	}
	return nil
}

// begin begins a turn.
func (c *client) begin(running func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn, c.running = turn{}, running
}

func (c *client) end(reason coder.StopReason) turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn.StopReason = reason
	return c.turn
}

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: coderclient allow_once|reject_once FOLDER AGENT ARGS…")
		os.Exit(2)
	}
	if err := play(coder.PermissionOptionKind(os.Args[1]), os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "coderclient:", err)
		os.Exit(1)
	}
}

func play(answer coder.PermissionOptionKind, folder string, agent []string) error {
	var prompts []string
	if err := json.NewDecoder(os.Stdin).Decode(&prompts); err != nil {
		return fmt.Errorf("read the prompts: %w", err)
	}
	cmd := exec.Command(agent[0], agent[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	c := &client{answer: answer}
	turns, err := c.converse(coder.NewClientSideConnection(c, stdin, stdout), folder, prompts)
	if err != nil {
		_ = cmd.Process.Kill()
		return errors.Join(err, cmd.Wait())
	}
	if err := stdin.Close(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("the agent's end: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(turns)
}

func (c *client) converse(conn *coder.ClientSideConnection, folder string, prompts []string) ([]turn, error) {
	ctx := context.Background()
	if _, err := conn.Initialize(ctx, coder.InitializeRequest{ProtocolVersion: coder.ProtocolVersionNumber}); err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	session, err := conn.NewSession(ctx, coder.NewSessionRequest{Cwd: folder, McpServers: []coder.McpServer{}})
	if err != nil {
		return nil, fmt.Errorf("session/new: %w", err)
	}
	var turns []turn
	for _, text := range prompts {
		text, cancelled := strings.CutPrefix(text, "cancel: ")
		var cancelErr error
		running := func() {}
		if cancelled {
			running = func() { cancelErr = conn.Cancel(ctx, coder.CancelNotification{SessionId: session.SessionId}) }
		}
		c.begin(running)
		resp, err := conn.Prompt(ctx, coder.PromptRequest{SessionId: session.SessionId, Prompt: []coder.ContentBlock{coder.TextBlock(text)}})
		if err != nil {
			return nil, fmt.Errorf("session/prompt %q: %w", text, err)
		}
		turns = append(turns, c.end(resp.StopReason))
		if cancelErr != nil {
			return nil, fmt.Errorf("session/cancel: %w", cancelErr)
		}
	}
	return turns, nil
}
