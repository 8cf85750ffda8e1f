//go:build unix

package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

func TestAcpxCancelsACommandAndItsSessionGoesOn(t *testing.T) {
	dir, home := folder(t, map[string]string{"a.txt": "plain to see\n"}), t.TempDir()
	started := filepath.Join(dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	agent := strings.Join([]string{installed.wherry, "acp"}, " ")
	run := func(args ...string) (string, error) {
		all := append([]string{filepath.Join(installed.modules, "acpx", "dist", "cli.js"), "--agent", agent, "--cwd", dir, "--timeout", "30", "--approve-all", "--format", "quiet"}, args...)
		out, errOut, err := tryProgram(t, dir, agentEnv(home), "", "node", all...)
		if err != nil {
			err = fmt.Errorf("acpx %v: %w: %s", args, err, errOut)
		}
		return string(out), err
	}
	if _, err := run("sessions", "new"); err != nil {
		t.Fatal(err)
	}
	defer func() { // acpx keeps the agent for a while
		if _, err := run("sessions", "close"); err != nil {
			t.Error(err)
		}
	}()
	sleep := uniqueSleep()
	ended := make(chan error, 1)
	go func() {
		_, err := run("prompt", "run echo up > started; "+sleep)
		ended <- err
	}()
	up := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(started) // until the command has opened it and written
		up <- err
	}()
	select {
	case err := <-up:
		if err != nil {
			t.Fatal(err)
		}
	case err := <-ended:
		if f, openErr := os.OpenFile(started, os.O_WRONLY|syscall.O_NONBLOCK, 0); openErr == nil { // lets the reader go
			f.Close()
		}
		t.Fatalf("the prompt ended before its command began: %v", err)
	}
	if _, err := run("cancel"); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left := processes(t, sleep); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
	if out, err := run("prompt", "read a.txt"); err != nil || !strings.Contains(out, "plain to see") {
		t.Errorf("the session went on with %q, %v", out, err)
	}
}
