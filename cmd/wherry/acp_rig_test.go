package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/wherry-acp/wherry/acp"
)

// world is where the real program is run: a home and a folder of its own, no keys, and further variables.
type world struct {
	home, folder string
	more         []string
}

func newWorld(t *testing.T, more ...string) *world {
	t.Helper()
	return &world{home: t.TempDir(), folder: t.TempDir(), more: more}
}

// command is the program with these arguments.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command("wherry", args...)
	cmd.Dir = w.folder
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "USERPROFILE=" + w.home, "APPDATA=" + filepath.Join(w.home, "appdata"),
		"LOCALAPPDATA=" + filepath.Join(w.home, "local"), "SystemRoot=" + os.Getenv("SystemRoot"), "TMP=" + os.TempDir(), "WHERRY_KEYRING=off",
		"WHERRY_STATE=" + filepath.Join(w.home, "state"),
	}, w.more...)
	return cmd
}

// spawn starts "wherry acp" and connects to it.
func (w *world) spawn(t *testing.T, opts acp.ClientOptions) *acp.RemoteAgent {
	t.Helper()
	agent, err := acp.Spawn(t.Context(), w.command("acp"), &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { agent.Close() })
	return agent
}

func (w *world) open(t *testing.T, agent *acp.RemoteAgent) *acp.Session {
	t.Helper()
	s, err := agent.NewSession(t.Context(), acp.NewSessionRequest{Cwd: w.folder})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
