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
)

// nodeProgram is a program in JavaScript that answers each line with a number.
type nodeProgram struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func startNode(ctx context.Context, node string, args ...string) (*nodeProgram, error) {
	p := &nodeProgram{cmd: exec.CommandContext(ctx, node, args...)}
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.stdout = bufio.NewReader(stdout)
	return p, p.cmd.Start()
}

func (p *nodeProgram) close() {
	_ = p.stdin.Close()
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// ask sends the words as a line and reads the number.
func (p *nodeProgram) ask(words ...any) (float64, error) {
	if _, err := fmt.Fprintln(p.stdin, words...); err != nil {
		return 0, err
	}
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, p.stderr.String())
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}
