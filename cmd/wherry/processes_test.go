package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/model/modeltest"
)

// wherry runs the program in a folder, as a person would, and gives what it printed.
func wherry(t *testing.T, home, server, folder string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	program, err := exec.LookPath("wherry") // what TestMain put there
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = folder
	cmd.Env = append(environOf(home, server), "PWD="+folder)
	var out, aside bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &aside
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), aside.String(), cmd.ProcessState.ExitCode()
}

func TestANewSessionIsThereAfterAKill(t *testing.T) {
	server := modeltest.NewServer()
	defer server.Close()
	home, folder := t.TempDir(), t.TempDir()
	e := startServed(t, home, server.URL)
	s, err := e.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder})
	if err != nil {
		t.Fatal(err)
	}
	e.kill()
	e = startServed(t, home, server.URL)
	loaded, err := e.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: folder}).Result()
	if err != nil {
		t.Fatal(err)
	}
	if n := loaded.State().Len(); n != 0 {
		t.Errorf("it holds %d entries", n)
	}
	page, err := e.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: folder})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].SessionID != s.ID() {
		t.Errorf("listed %+v, %v", page.Sessions, err)
	}
}

func TestWhoeverWantsASessionInUseIsToldWhoHasIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the command is for a Unix shell")
	}
	server := modeltest.NewServer()
	defer server.Close()
	home, folder := t.TempDir(), t.TempDir()
	first := startServed(t, home, server.URL)
	s, err := first.NewSession(t.Context(), acp.NewSessionRequest{Cwd: folder})
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{})
	turn := s.Prompt(t.Context(), acp.Text(`[[call: run {"command":"sleep 60"}]]`))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for u := range turn.Updates() {
			if c, ok := u.(acp.ToolCallUpdate); ok && c.Status == acp.ToolCallInProgress {
				close(running)
			}
		}
	}()
	<-running
	holder := fmt.Sprintf("wherry acp, process %d", first.cmd.Process.Pid)

	second := startServed(t, home, server.URL)
	loaded, err := second.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: s.ID(), Cwd: folder}).Result()
	if err != nil {
		t.Fatalf("it cannot even be read: %v", err)
	}
	if _, err = loaded.Prompt(t.Context(), acp.Text("me, too")).Result(); err == nil || !strings.Contains(err.Error(), holder) {
		t.Errorf("a prompt of the second: %v", err)
	}
	if _, stderr, code := wherry(t, home, server.URL, folder, "run", "--session", string(s.ID()), "me, too"); code != exitError || !strings.Contains(stderr, holder) {
		t.Errorf("wherry run: %d, %s", code, stderr)
	}
	if _, stderr, code := wherry(t, home, server.URL, folder, "sessions", "delete", "--yes", string(s.ID())); code != exitError || !strings.Contains(stderr, holder) {
		t.Errorf("wherry sessions delete: %d, %s", code, stderr)
	}

	if err := s.Cancel(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if resp, err := turn.Result(); err != nil || resp.StopReason != acp.StopCancelled {
		t.Errorf("the first turn ended with %q, %v", resp.StopReason, err)
	}
	if _, err = loaded.Prompt(t.Context(), acp.Text("[[anew]] [[text: now I can]]")).Result(); err != nil {
		t.Errorf("afterwards the second cannot go on: %v", err)
	}
	stdout, stderr, code := wherry(t, home, server.URL, folder, "sessions", "delete", "--yes", string(s.ID()))
	if code != exitOK || !strings.Contains(stdout, "Deleted "+string(s.ID())) {
		t.Errorf("wherry sessions delete: %d, %s%s", code, stdout, stderr)
	}
}

func TestAConversationOfTheTerminalGoesOnInTheEditorAndBack(t *testing.T) {
	server := modeltest.NewServer()
	defer server.Close()
	home := t.TempDir()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := wherry(t, home, server.URL, folder, "run", "--model", "openai/fake", "in the terminal [[text: first]]"); code != exitOK {
		t.Fatalf("wherry run: %d, %s%s", code, stdout, stderr)
	}
	e := startServed(t, home, server.URL)
	page, err := e.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: folder})
	if err != nil || len(page.Sessions) != 1 {
		t.Fatalf("listed %+v, %v", page.Sessions, err)
	}
	s, err := e.LoadSession(t.Context(), acp.LoadSessionRequest{SessionID: page.Sessions[0].SessionID, Cwd: folder}).Result()
	if err != nil {
		t.Fatal(err)
	}
	if n := s.State().Len(); n != 2 {
		t.Errorf("%d entries are loaded", n)
	}
	if _, err := s.Prompt(t.Context(), acp.Text("in the editor [[text: second]]")).Result(); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := wherry(t, home, server.URL, folder, "run", "--session", "last", "in the terminal again [[text: third]]"); code != exitOK || !strings.Contains(stdout, "third") {
		t.Fatalf("wherry run --session: %d, %s%s", code, stdout, stderr)
	}
	var said []string
	for _, item := range server.Last().Items {
		text, _, _ := strings.Cut(item.Text, " [[")
		said = append(said, text)
	}
	if got := strings.Join(said, "; "); got != "in the terminal; first; in the editor; second; in the terminal again" {
		t.Errorf("the model got %s", got)
	}
	// The editor, which still has it open, goes on with all of it.
	if _, err := s.Prompt(t.Context(), acp.Text("in the editor again [[text: fourth]]")).Result(); err != nil {
		t.Fatal(err)
	}
	if n := len(server.Last().Items); n != 7 {
		t.Errorf("the model got %d items", n)
	}
}

// environOf is the environment of the program in these tests.
func environOf(home, server string) []string {
	return append(os.Environ(), "HOME="+home, "WHERRY_STATE="+filepath.Join(home, "state"), "WHERRY_CONFIG="+filepath.Join(home, "config.toml"),
		"WHERRY_KEYRING=off", "WHERRY_TITLES=prompt", "OPENAI_BASE_URL="+server+"/v1", "OPENAI_API_KEY=sk-canary-key")
}
