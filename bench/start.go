package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// agentProgram is an agent that is started and measured from outside.
type agentProgram struct {
	name string
	args []string
	env  func(home string) ([]string, error) // beyond PATH and HOME; may write files into home
}

const initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}` + "\n"

// restAfter is how long an agent is left alone after it has answered, before its memory is looked at.
const restAfter = 300 * time.Millisecond

// startTable starts every agent as often as runs says, taking turns, each time with a fresh home.
func startTable(ctx context.Context, agents []agentProgram, runs int) (table, error) {
	t := table{
		title: fmt.Sprintf("Start of an agent, medians of %d runs taking turns (fresh home each time)", runs),
		head:  []string{"", "initialize answered", "× wherry", "memory at rest", "× wherry"},
		unit:  []string{"", "ms", "", "MB", ""},
	}
	times, sizes := map[string][]float64{}, map[string][]float64{}
	for run := range runs + 1 {
		for _, a := range agents {
			ms, mb, err := start(ctx, a)
			if err != nil {
				return table{}, fmt.Errorf("start %s: %w", a.name, err)
			}
			if run > 0 { // the first one warms the disk's cache
				times[a.name], sizes[a.name] = append(times[a.name], ms), append(sizes[a.name], mb)
			}
		}
	}
	first := agents[0].name
	for _, a := range agents {
		ms, mb := median(times[a.name]), median(sizes[a.name])
		t.rows = append(t.rows, []string{
			a.name, fmt.Sprintf("%.1f", ms), ratio(ms, median(times[first])), fmt.Sprintf("%.1f", mb), ratio(mb, median(sizes[first])),
		})
	}
	return t, nil
}

// start runs the agent once: the time from before its start until its answer to initialize was read, and its resident
// memory, in MB of a million bytes, some time after that.
func start(ctx context.Context, a agentProgram) (ms, mb float64, err error) {
	home, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(home)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if a.env != nil {
		more, err := a.env(home)
		if err != nil {
			return 0, 0, err
		}
		env = append(env, more...)
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, a.args[0], a.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = home, env, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() { // some agents stay when their input ends
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	}()
	if _, err := stdin.Write([]byte(initializeLine)); err != nil {
		return 0, 0, fmt.Errorf("send initialize: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	took := time.Since(begin)
	if err != nil {
		return 0, 0, fmt.Errorf("read the answer to initialize: %w\n%s", err, stderr.String())
	}
	var answer struct {
		Result struct {
			ProtocolVersion int `json:"protocolVersion"`
		} `json:"result"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Result.ProtocolVersion != 1 {
		return 0, 0, fmt.Errorf("the answer to initialize is %q", line)
	}
	time.Sleep(restAfter)
	bytes, err := resident(cmd.Process.Pid)
	return float64(took.Microseconds()) / 1e3, float64(bytes) / 1e6, err
}

// resident gives the resident memory of a process in bytes.
func resident(pid int) (int64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("read the memory of the agent (Linux only): %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in the status of process %d", pid)
}

// codexConfig points codex-acp at a model server that is never asked.
const codexConfig = `model = "fake"
model_provider = "fake"

[model_providers.fake]
name = "fake"
base_url = "http://127.0.0.1:9/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
`

func codexEnv(home string) ([]string, error) {
	dir := filepath.Join(home, ".codex")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "config.toml"), []byte(codexConfig), 0o600); err != nil {
		return nil, err
	}
	return []string{"CODEX_HOME=" + dir, "FAKE_KEY=x"}, nil
}
