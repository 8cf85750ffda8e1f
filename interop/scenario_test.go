//go:build unix

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// scenario is what ts/client.mjs and py/client.py play.
type scenario struct {
	Agent     []string          `json:"agent"` // the command, set by play
	Files     bool              `json:"files"` // offer fs/*
	Terminals bool              `json:"terminals"`
	Buffers   map[string]string `json:"buffers,omitempty"`  // open buffers by path, with their unsaved text
	Sessions  map[string]string `json:"sessions,omitempty"` // names of sessions that exist already
	Steps     []step            `json:"steps"`
}

// sdkClients are the commands of the clients that other SDKs made. They play the file that follows.
func sdkClients() map[string][]string {
	return map[string][]string{"TypeScript": typeScript(), "Python": python()}
}

func typeScript() []string { return []string{"node", filepath.Join(installed.ts, "client.mjs")} }

func python() []string { return []string{installed.python, filepath.Join(installed.py, "client.py")} }

// step is one thing the client does.
type step struct {
	Do       string   `json:"do"` // initialize, new, prompt, converse, load, request, together
	Session  string   `json:"session,omitempty"`
	Cwd      string   `json:"cwd,omitempty"`
	Text     string   `json:"text,omitempty"`
	Answers  []string `json:"answers,omitempty"`  // to permission requests: kinds of options, in order
	CancelAt string   `json:"cancelAt,omitempty"` // cancel when a tool call has this status
	Steps    []step   `json:"steps,omitempty"`    // of together: at the same time

	Method string         `json:"method,omitempty"` // of request
	Params map[string]any `json:"params,omitempty"` // of request; the session's id is added

	Fails int `json:"-"` // the code of the error that is expected, 0 for none
}

// played is what came of a scenario.
type played struct {
	Steps     []stepResult      `json:"steps"`
	Exit      exitStatus        `json:"exit"`
	Files     []fileCall        `json:"files"`
	Terminals []terminalCall    `json:"terminals"`
	Sessions  map[string]string `json:"sessions"`

	wire []wireLine
}

type stepResult struct {
	Response    json.RawMessage `json:"response"`
	Updates     []update        `json:"updates"`
	Permissions []permission    `json:"permissions"`
	CancelMS    *int64          `json:"cancelMs"` // from the cancel to the answer
	Error       *rpcError       `json:"error"`
	Steps       []stepResult    `json:"steps"`
}

func (r stepResult) stopReason() string {
	var response struct {
		StopReason string `json:"stopReason"`
	}
	if r.Response != nil && json.Unmarshal(r.Response, &response) != nil {
		return ""
	}
	return response.StopReason
}

type permission struct {
	Request permissionRequest  `json:"request"`
	Answer  string             `json:"answer"`
	Disk    map[string]*string `json:"disk"` // what the files of the diff held on disk while the client was asked
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

type exitStatus struct {
	Status *int    `json:"status"`
	Signal *string `json:"signal"`
}

type fileCall struct {
	Method  string `json:"method"` // read, write
	Path    string `json:"path"`
	Content string `json:"content"`
}

type terminalCall struct {
	Method  string   `json:"method"`
	ID      string   `json:"id"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Cwd     string   `json:"cwd"`
}

// playTimeout is how long a program of someone else may take before the test gives up on it.
const playTimeout = 60 * time.Second

// agentEnv is the environment of an agent under test: no home, no keys, no state but this test's.
func agentEnv(home string) []string {
	env := []string{"HOME=" + home, "WHERRY_STATE=" + filepath.Join(home, "state"), "NO_COLOR=1", "WHERRY_TITLES=prompt", "SHELL=/bin/sh"}
	for _, name := range []string{"PATH", "TMPDIR", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// play is playBy with the TypeScript SDK.
func play(t *testing.T, home string, s scenario, agent ...string) played {
	t.Helper()
	return playBy(t, typeScript(), home, s, agent...)
}

// playBy has a client play the scenario against the agent, and checks that every message of the agent is as the
// official schema says and that it left when it was told to.
func playBy(t *testing.T, client []string, home string, s scenario, agent ...string) played {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "wire.jsonl")
	s.Agent = append([]string{installed.self, teeCommand, log}, agent...)
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("write the scenario: %v", err)
	}
	file := filepath.Join(dir, "scenario.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatalf("write the scenario: %v", err)
	}
	out := runProgram(t, "", agentEnv(home), "", client[0], append(slices.Clone(client[1:]), file)...)
	var p played
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("read what the client printed: %v\n%s", err, out)
	}
	if len(p.Steps) != len(s.Steps) {
		t.Fatalf("the client played %d of %d steps", len(p.Steps), len(s.Steps))
	}
	for i, r := range p.Steps {
		if want := s.Steps[i].Fails; want != 0 {
			if r.Error == nil || r.Error.Code != want {
				t.Errorf("step %d (%s) was expected to fail with %d: %+v", i, s.Steps[i].Do, want, r.Error)
			}
		} else if r.Error != nil {
			t.Errorf("step %d (%s %s) failed: %d %s %s", i, s.Steps[i].Do, s.Steps[i].Text, r.Error.Code, r.Error.Message, r.Error.Data)
		}
	}
	if p.Exit.Status == nil || *p.Exit.Status != 0 {
		t.Errorf("the agent did not end with status 0 when its input ended: %+v", p.Exit)
	}
	p.wire = readWire(t, log)
	for _, problem := range officialSchema(t).check(p.wire) {
		t.Errorf("against the official schema: %s", problem)
	}
	return p
}

// runProgram runs a program to its end and gives its standard output. The program gets a process group, which is killed
// when it takes too long. A failure shows what it printed.
func runProgram(t *testing.T, dir string, env []string, stdin, name string, args ...string) []byte {
	t.Helper()
	out, errOut, err := tryProgram(t, dir, env, stdin, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\nstdout: %s\nstderr: %s", filepath.Base(name), strings.Join(args, " "), err, out, errOut)
	}
	return out
}

func tryProgram(t *testing.T, dir string, env []string, stdin, name string, args ...string) (stdout, stderr []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), playTimeout, errors.New("took longer than "+playTimeout.String()+" and was killed"))
	defer cancel()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whoever of the group is left
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.Bytes(), errOut.Bytes(), err
}

// folder makes a folder with files in it, its path free of symbolic links.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// onDisk gives a file's text, and whether there is a file.
func onDisk(t *testing.T, path string) (string, bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", false
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data), true
}
