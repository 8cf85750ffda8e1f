package main

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

func TestWithoutAPATHOnlyWhatIsMissingFailsByItsName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of this test are for a Unix shell")
	}
	server := modeltest.NewServer()
	defer server.Close()
	w := newWorld(t, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY=sk-ant-key", "WHERRY_MODEL=anthropic/x", "WHERRY_TITLES=prompt", "WHERRY_MODE=auto")
	cmd := w.command("acp")
	cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") })
	agent, err := acp.Spawn(t.Context(), cmd, &acp.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: w.folder, MCPServers: []acp.MCPServer{acp.MCPServerStdio{Name: "tides", Command: "no-such-npx"}}})
	if err != nil {
		t.Fatal(err)
	}
	turn := s.Prompt(t.Context(), acp.Text(`[[call: create {"path":"a.txt","content":"needle\n"}]] [[call: search {"pattern":"needle"}]] `+
		`[[call: run {"command":"echo it runs"}]] [[call: run {"command":"no-such-compiler x"}]] [[text: done]]`))
	var said strings.Builder
	for u := range turn.Updates() {
		if c, ok := u.(acp.AgentMessageChunk); ok {
			said.WriteString(acp.PlainText(c.Content))
		}
	}
	if resp, err := turn.Result(); err != nil || resp.StopReason != acp.StopEndTurn {
		t.Fatalf("%+v, %v", resp, err)
	}
	if text := said.String(); !strings.Contains(text, "tides") || !strings.Contains(text, "no-such-npx") || !strings.HasSuffix(text, "done") {
		t.Errorf("told was %q", text)
	}
	var ends []string
	for _, e := range s.State().Entries(0) {
		if c, ok := e.(acp.ToolCallEntry); ok {
			ends = append(ends, string(c.Call.Status))
		}
	}
	if got := strings.Join(ends, " "); got != "completed completed completed completed" {
		t.Errorf("the calls ended as %s", got)
	}
	if body := string(server.Last().Body); !strings.Contains(body, "it runs") || !strings.Contains(body, "no-such-compiler: ") || !strings.Contains(body, "not found") {
		t.Errorf("the model got %s", body)
	}
}
