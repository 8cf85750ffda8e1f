//go:build unix

package interop

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// acpx runs one prompt with the acpx command, and gives what it printed and its exit status.
func acpx(t *testing.T, dir, prompt string, flags ...string) (stdout string, status int) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "wire.jsonl")
	agent := strings.Join([]string{installed.self, teeCommand, log, installed.wherry, "acp"}, " ")
	args := append([]string{filepath.Join(installed.modules, "acpx", "dist", "cli.js"), "--agent", agent, "--cwd", dir, "--timeout", "30"}, flags...)
	out, errOut, err := tryProgram(t, dir, agentEnv(t.TempDir()), "", "node", append(args, "exec", prompt)...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("acpx: %v\nstdout: %s\nstderr: %s", err, out, errOut)
	}
	if exit != nil {
		status = exit.ExitCode()
		t.Logf("acpx ended with status %d: %s", status, errOut)
	}
	for _, problem := range officialSchema(t).check(readWire(t, log)) {
		t.Errorf("against the official schema: %s", problem)
	}
	return string(out), status
}

func TestAcpxThatApprovesAllGetsTheFileMadeAndTheCommandRun(t *testing.T) {
	for _, flags := range [][]string{{}, {"--no-fs", "--no-terminal"}} {
		t.Run(strings.Join(append([]string{"exec"}, flags...), " "), func(t *testing.T) {
			dir := folder(t, nil)
			flags := append([]string{"--approve-all", "--format", "quiet"}, flags...)
			if _, status := acpx(t, dir, "create made.txt: by acpx", flags...); status != 0 {
				t.Errorf("the edit ended with status %d", status)
			}
			if got, _ := onDisk(t, filepath.Join(dir, "made.txt")); strings.TrimSpace(got) != "by acpx" {
				t.Errorf("made.txt holds %q", got)
			}
			if _, status := acpx(t, dir, "run echo out > ran.txt", flags...); status != 0 {
				t.Errorf("the command ended with status %d", status)
			}
			if got, _ := onDisk(t, filepath.Join(dir, "ran.txt")); got != "out\n" {
				t.Errorf("ran.txt holds %q", got)
			}
		})
	}
}

func TestAcpxThatDeniesAllGetsNothingDoneAndSaysSo(t *testing.T) {
	dir := folder(t, nil)
	// 5 is acpx's status for a permission that was denied.
	if _, status := acpx(t, dir, "create made.txt: by acpx", "--deny-all"); status != 5 {
		t.Errorf("the edit ended with status %d, expected 5", status)
	}
	if _, there := onDisk(t, filepath.Join(dir, "made.txt")); there {
		t.Error("made.txt was written")
	}
	if _, status := acpx(t, dir, "run echo out > ran.txt", "--deny-all"); status != 5 {
		t.Errorf("the command ended with status %d, expected 5", status)
	}
	if _, there := onDisk(t, filepath.Join(dir, "ran.txt")); there {
		t.Error("the command ran")
	}
}

func TestAcpxReadsWithoutBeingAsked(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "plain to see\n"})
	out, status := acpx(t, dir, "read a.txt", "--approve-reads", "--format", "quiet")
	if status != 0 || !strings.Contains(out, "plain to see") {
		t.Errorf("status %d, printed %q", status, out)
	}
}
