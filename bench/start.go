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
	args []string
}

const initializeLine = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}}}` + "\n"

// restAfter is how long an agent is left alone after it has answered, before its memory is looked at.
const restAfter = 300 * time.Millisecond

// start runs the agent once: the time from before its start until its answer to initialize was read, and its resident
// memory, in MB of a million bytes, some time after that.
func start(ctx context.Context, a agentProgram) (ms, mb float64, err error) {
	home, err := os.MkdirTemp("", "bench-*")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(home)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
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
