package acptest_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/acptest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestAConversationIsComparedWithItsGoldenFile(t *testing.T) {
	dir := t.TempDir()
	agent := &acptest.Agent{OnPrompt: func(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
		call, err := acp.SessionFrom(ctx).StartToolCall(ctx, acp.ToolCall{ToolCallID: acp.ToolCallID(time.Now().String()), Title: "Read " + dir + "/f" + " for " + string(req.SessionID)})
		if err != nil {
			return acp.PromptResponse{}, err
		}
		if _, err := acp.ClientFrom(ctx).RequestPermission(ctx, acp.RequestPermissionRequest{SessionID: req.SessionID, ToolCall: acp.ToolCallUpdate{ToolCallID: call.ID()}, Options: []acp.PermissionOption{{OptionID: "no", Name: "No", Kind: acp.PermissionRejectOnce}}}); err != nil {
			return acp.PromptResponse{}, err
		}
		return acp.PromptResponse{StopReason: acp.StopEndTurn}, call.Fail(ctx)
	}}
	var talk acptest.Transcript
	talk.Replace(dir, "<dir>")
	talk.Replace(filepath.Dir(dir), "<parent>")
	info := &acp.Implementation{Name: "test", Version: "1"}
	a, end, err := acptest.Connect(context.Background(), agent, &acp.AgentOptions{Info: info}, &acp.ClientOptions{Info: info, Options: acp.Options{Tap: talk.Tap}})
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for range 2 {
		s, err := a.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prompt(t.Context(), acp.Text("hi")).Result(); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.CallExtension(t.Context(), "_none", map[string]string{"in": filepath.Dir(dir)}, nil); err == nil {
		t.Error("an unknown extension was answered")
	}
	talk.Compare(t, "testdata/conversation.txt")
}

func TestWhatDiffersFromTheGoldenFileIsShown(t *testing.T) {
	if *update {
		t.Skip("files are written, not compared")
	}
	var talk acptest.Transcript
	for _, line := range []string{`{"jsonrpc":"2.0","method":"a"}`, `{"jsonrpc":"2.0","method":"b","params":{"x":2}}`, `npm WARN`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"r"}}`} {
		talk.Tap(acp.Incoming, time.Now(), []byte(line))
	}
	want := "← a (nothing)\n← b {\"x\":2}\n← garbage \"npm WARN\"\n← $/cancel_request {\"requestId\":\"#1\"}\n"
	if got := talk.Text(); got != want {
		t.Fatalf("got\n%s\nwant\n%s", got, want)
	}
	file := filepath.Join(t.TempDir(), "golden.txt")
	f := failures{t, make(chan string, 1)}
	talk.Compare(f, file)
	if got := <-f.text; !strings.Contains(got, "-update writes it") {
		t.Error(got)
	}
	if err := os.WriteFile(file, []byte("← a (nothing)\r\n← b {\"x\":1}\n← garbage \"npm WARN\"\n← gone {}\n← $/cancel_request {\"requestId\":\"#1\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	talk.Compare(f, file)
	if got := <-f.text; !strings.HasSuffix(got, "\n  1: ← a (nothing)\n- ← b {\"x\":1}\n+ ← b {\"x\":2}\n  3: ← garbage \"npm WARN\"\n- ← gone {}\n") {
		t.Error(got)
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	talk.Compare(f, file)
	select {
	case got := <-f.text:
		t.Error(got)
	default:
	}
}
