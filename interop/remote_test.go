//go:build unix

package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/transport/remote"
)

// The agents at the end of a network, ours and that of ts/remote-server.mjs, do the same. By the prompt: "say N" is
// answered with N updates, "ask" with the option that the client chose, "wait" with an update and then nothing until the
// turn is cancelled. A loaded session replays 100 updates; the session "unknown" cannot be loaded.

type networkAgent struct{}

func (networkAgent) NewSession(context.Context, acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	return acp.NewSessionResponse{SessionID: acp.NewSessionID()}, nil
}

func (networkAgent) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	if req.SessionID == "unknown" {
		return acp.LoadSessionResponse{}, acp.InvalidParams("no such session")
	}
	return acp.LoadSessionResponse{}, sayNumbers(ctx, req.SessionID, 100)
}

func (networkAgent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	end := acp.PromptResponse{StopReason: acp.StopEndTurn}
	say := func(text string) error {
		return acp.ClientFrom(ctx).Update(ctx, req.SessionID, acp.AgentMessageChunk{Content: acp.Text(text)})
	}
	text := acp.PlainText(req.Prompt...)
	switch text {
	case "ask":
		answer, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{
			SessionID: req.SessionID,
			ToolCall:  acp.ToolCallUpdate{ToolCallID: "call"},
			Options:   []acp.PermissionOption{{OptionID: "yes", Name: "Yes", Kind: acp.PermissionAllowOnce}},
		})
		if err != nil {
			return end, err
		}
		chosen, _ := answer.Outcome.(acp.SelectedPermissionOutcome)
		return end, say(string(chosen.OptionID))
	case "wait":
		if err := say("waiting"); err != nil {
			return end, err
		}
		<-ctx.Done()
		return end, ctx.Err()
	}
	var n int
	if _, err := fmt.Sscanf(text, "say %d", &n); err != nil {
		return end, acp.InvalidParams("no such prompt")
	}
	return end, sayNumbers(ctx, req.SessionID, n)
}

func sayNumbers(ctx context.Context, session acp.SessionID, n int) error {
	for i := range n {
		if err := acp.ClientFrom(ctx).Update(ctx, session, acp.AgentMessageChunk{Content: acp.Text(fmt.Sprint(" ", i))}); err != nil {
			return err
		}
	}
	return nil
}

func numbers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprint(&b, " ", i)
	}
	return b.String()
}

func TestTheTypeScriptClientsReachOurServerOverTheNetwork(t *testing.T) {
	for _, kind := range []string{"http", "websocket"} {
		t.Run(kind, func(t *testing.T) {
			handler := remote.NewHandler(func(ctx context.Context, conn *remote.Conn) { _ = acp.Serve(ctx, conn, networkAgent{}, nil) }, nil)
			server := httptest.NewServer(handler)
			defer server.Close()
			defer handler.Close()
			url := server.URL + "/acp"
			node := []string{filepath.Join(installed.ts, "remote-client.mjs"), kind, url}
			if kind == "websocket" { // the node of the long-term release has it behind a flag
				node = append([]string{"--experimental-websocket"}, node...)
			}
			type result struct {
				StopReason, Said string
				Error            int
			}
			var got map[string]result
			out := runProgram(t, "", agentEnv(t.TempDir()), "", "node", node...)
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("read what the client printed: %v\n%s", err, out)
			}
			for name, want := range map[string]result{
				"many":    {"end_turn", numbers(100), 0},
				"ask":     {"end_turn", "yes", 0},
				"wait":    {"cancelled", "waiting", 0},
				"load":    {"", numbers(100), 0},
				"unknown": {"", "", int(acp.CodeInvalidParams)},
			} {
				if got[name] != want {
					t.Errorf("%s: %+v, expected %+v", name, got[name], want)
				}
			}
		})
	}
}

// typeScriptServer starts ts/remote-server.mjs and gives its URL.
func typeScriptServer(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("node", filepath.Join(installed.ts, "remote-server.mjs"))
	cmd.Env = agentEnv(t.TempDir())
	var errOut strings.Builder
	cmd.Stderr = &errOut
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the server ended with %v\n%s", err, errOut.String())
		}
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server printed no URL: %v", err)
	}
	return strings.TrimSpace(url)
}

func TestOurClientsReachTheTypeScriptServerOverTheNetwork(t *testing.T) {
	url := typeScriptServer(t)
	for _, kind := range []string{"http", "websocket"} {
		t.Run(kind, func(t *testing.T) {
			var tr acp.Transport
			var err error
			if kind == "http" {
				tr, err = remote.DialHTTP(url, nil)
			} else {
				tr, err = remote.DialWebSocket(t.Context(), url, nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			agent, err := acp.Connect(ctx, tr, &acp.ClientOptions{
				Permission: acp.PermissionFunc(func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
					return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: req.Options[0].OptionID}}, nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer agent.Close()
			session, err := agent.NewSession(ctx, acp.NewSessionRequest{Cwd: "/"})
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct {
				prompt, said string
				stop         acp.StopReason
			}{
				{"say 100", numbers(100), acp.StopEndTurn},
				{"ask", "yes", acp.StopEndTurn},
				{"wait", "waiting", acp.StopCancelled},
				{"say 2", numbers(2), acp.StopEndTurn},
			} {
				turn := session.Prompt(ctx, acp.Text(tt.prompt))
				var said strings.Builder
				for u := range turn.Updates() {
					chunk, _ := u.(acp.AgentMessageChunk)
					said.WriteString(acp.PlainText(chunk.Content))
					if tt.stop == acp.StopCancelled {
						_ = session.Cancel()
					}
				}
				if r, err := turn.Result(); err != nil || r.StopReason != tt.stop || said.String() != tt.said {
					t.Errorf("%s: %q, %s, %v", tt.prompt, said.String(), r.StopReason, err)
				}
			}
			load := agent.LoadSession(ctx, acp.LoadSessionRequest{SessionID: "old", Cwd: "/"})
			var replayed strings.Builder
			for u := range load.Updates() {
				chunk, _ := u.(acp.AgentMessageChunk)
				replayed.WriteString(acp.PlainText(chunk.Content))
			}
			if _, err := load.Result(); err != nil || replayed.String() != numbers(100) {
				t.Errorf("load: %q, %v", replayed.String(), err)
			}
			if _, err := agent.LoadSession(ctx, acp.LoadSessionRequest{SessionID: "unknown", Cwd: "/"}).Result(); err == nil {
				t.Error("an unknown session was loaded")
			}
		})
	}
}
