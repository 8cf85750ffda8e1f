//go:build unix

package interop

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/clienthost"
)

// spawn starts an agent of someone else with our client, which answers every permission with the first option of the
// kind.
func spawn(t *testing.T, kind acp.PermissionOptionKind, name string, args ...string) *acp.RemoteAgent {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = agentEnv(t.TempDir())
	terminals := &clienthost.Terminals{}
	t.Cleanup(func() { _ = terminals.Close() })
	agent, err := acp.Spawn(t.Context(), cmd, &acp.ClientOptions{
		Files: diskFiles{}, Terminals: terminals,
		Extensions: map[string]acp.Extension{
			"_interop/client": acp.ExtensionRequest(func(_ context.Context, params map[string]int) (map[string]int, error) {
				return map[string]int{"got": params["x"]}, nil
			}),
		},
		Permission: acp.PermissionFunc(func(_ context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
			i := slices.IndexFunc(req.Options, func(o acp.PermissionOption) bool { return o.Kind == kind })
			if i < 0 {
				return acp.RequestPermissionResponse{Outcome: acp.CancelledPermissionOutcome{}}, nil
			}
			return acp.RequestPermissionResponse{Outcome: acp.SelectedPermissionOutcome{OptionID: req.Options[i].OptionID}}, nil
		}),
	})
	if err != nil {
		t.Fatalf("spawn %s: %v", filepath.Base(name), err)
	}
	t.Cleanup(func() { _ = agent.Close() })
	return agent
}

// diskFiles lets an agent read and write files.
type diskFiles struct{}

func (diskFiles) ReadTextFile(_ context.Context, req acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	data, err := os.ReadFile(req.Path)
	return acp.ReadTextFileResponse{Content: string(data)}, err
}

func (diskFiles) WriteTextFile(_ context.Context, req acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	return acp.WriteTextFileResponse{}, os.WriteFile(req.Path, []byte(req.Content), 0o644)
}

// turn plays a prompt to its end.
func turn(t *testing.T, s *acp.Session, text string) (said string, ends map[acp.ToolCallID]acp.ToolCallStatus, stop acp.StopReason) {
	t.Helper()
	ends = map[acp.ToolCallID]acp.ToolCallStatus{}
	prompt := s.Prompt(t.Context(), acp.Text(text))
	for u := range prompt.Updates() {
		switch u := u.(type) {
		case acp.AgentMessageChunk:
			said += acp.PlainText(u.Content)
		case acp.ToolCall:
			ends[u.ToolCallID] = u.Status
		case acp.ToolCallUpdate:
			if u.Status != "" {
				ends[u.ToolCallID] = u.Status
			}
		}
	}
	result, err := prompt.Result()
	if err != nil {
		t.Fatalf("prompt %q: %v", text, err)
	}
	return said, ends, result.StopReason
}

func TestOurClientDrivesTheExampleAgentOfAnotherGoSDK(t *testing.T) {
	for kind, end := range map[acp.PermissionOptionKind]string{
		acp.PermissionAllowOnce:  "I've successfully updated the configuration",
		acp.PermissionRejectOnce: "I'll skip the configuration update",
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel() // the agent's turn is mostly pauses
			agent := spawn(t, kind, installed.coderAgent)
			s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder(t, nil)})
			if err != nil {
				t.Fatal(err)
			}
			said, ends, stop := turn(t, s, "hello")
			if stop != acp.StopEndTurn || !strings.Contains(said, end) {
				t.Errorf("the turn ended with %s and said %q", stop, said)
			}
			if ends["call_1"] != acp.ToolCallCompleted {
				t.Errorf("the first tool call ended as %s", ends["call_1"])
			}
		})
	}
}

func TestOurClientCancelsTheExampleAgentOfAnotherGoSDK(t *testing.T) {
	agent := spawn(t, acp.PermissionAllowOnce, installed.coderAgent)
	s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	prompt := s.Prompt(t.Context(), acp.Text("hello"))
	for range prompt.Updates() {
		break // leaving the loop cancels
	}
	if result, err := prompt.Result(); err != nil || result.StopReason != acp.StopCancelled {
		t.Errorf("the turn ended with %q, %v, expected cancelled", result.StopReason, err)
	}
}

func TestOurClientDrivesWherry(t *testing.T) {
	dir := folder(t, nil)
	agent := spawn(t, acp.PermissionRejectOnce, installed.wherry, "acp")
	s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, ends, stop := turn(t, s, "create x.txt: hello")
	if stop != acp.StopEndTurn || len(ends) != 1 {
		t.Errorf("the turn ended with %s and the calls %v", stop, ends)
	}
	for id, status := range ends {
		if status != acp.ToolCallFailed {
			t.Errorf("the refused call %s ended as %s", id, status)
		}
	}
	if _, there := onDisk(t, filepath.Join(dir, "x.txt")); there {
		t.Error("the refused file was written")
	}
}
