package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// typeScriptPair is a pair of the official TypeScript SDK, two processes; ts/client.mjs does the measuring.
type typeScriptPair struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *bytes.Buffer
}

func newTypeScriptPair(node, folder string) func(ctx context.Context) (pair, error) {
	return func(ctx context.Context) (pair, error) {
		t := &typeScriptPair{cmd: exec.CommandContext(ctx, node, folder+"/client.mjs"), stderr: new(bytes.Buffer)}
		t.cmd.Stderr = t.stderr
		t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		t.cmd.Cancel = func() error { return syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL) }
		var err error
		if t.stdin, err = t.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		stdout, err := t.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		t.stdout = bufio.NewReader(stdout)
		return t, t.cmd.Start()
	}
}

func (t *typeScriptPair) close() {
	_ = t.stdin.Close()
	_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
	_ = t.cmd.Wait()
}

func (t *typeScriptPair) turns(_ context.Context, sessions, updates int) (time.Duration, error) {
	return t.command("turns", sessions, updates)
}

func (t *typeScriptPair) trips(_ context.Context, requests, inFlight int) (time.Duration, error) {
	return t.command("trips", requests, inFlight)
}

func (t *typeScriptPair) command(name string, a, b int) (time.Duration, error) {
	if _, err := fmt.Fprintln(t.stdin, name, a, b); err != nil {
		return 0, err
	}
	line, err := t.stdout.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, t.stderr.String())
	}
	ms, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	return time.Duration(ms * float64(time.Millisecond)), err
}
