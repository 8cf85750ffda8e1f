package clienthost

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/acp/process"
)

// Limits of terminals.
const (
	DefaultOutputBytes = 1 << 20
	MaxOutputBytes     = 8 << 20
	DefaultKillGrace   = 2 * time.Second
	lastOutput         = 200 * time.Millisecond // for output that is in the pipe when a command exits
)

// Terminals runs commands, each in a process group of its own, without a controlling
// terminal and without input. It implements acp.TerminalHandler. A command without
// arguments that names no program is run by the shell. Its methods may be called
// concurrently. The zero value is ready to use; Close ends what still runs.
type Terminals struct {
	// Dir is the folder of commands that name none; "" is this program's.
	Dir string

	// Env is the environment of every command, before what the request adds; nil means
	// process.Environment(), without keys and tokens.
	Env []string

	// KillGrace is how long a command may take to end before it is killed; 0 means 2
	// seconds.
	KillGrace time.Duration

	mu     sync.Mutex
	closed bool
	next   int
	open   map[acp.TerminalID]*terminal
}

var _ acp.TerminalHandler = (*Terminals)(nil)

// terminal is one command.
type terminal struct {
	session acp.SessionID
	out     output
	group   process.Group
	exited  chan struct{}
	drained chan struct{}
	read    *os.File
	state   *os.ProcessState // set when exited is closed
	end     sync.Once
}

// CreateTerminal starts a command (terminal/create).
func (h *Terminals) CreateTerminal(_ context.Context, req acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	var none acp.CreateTerminalResponse
	if req.Cwd != "" && !filepath.IsAbs(req.Cwd) {
		return none, acp.InvalidParams("cwd: expected an absolute path, got %q", req.Cwd)
	}
	cmd := command(req)
	cmd.Dir = req.Cwd
	if cmd.Dir == "" {
		cmd.Dir = h.Dir
	}
	cmd.Env = h.Env
	if cmd.Env == nil {
		cmd.Env = process.Environment()
	}
	cmd.Env = append([]string(nil), cmd.Env...)
	for _, v := range req.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	limit := req.OutputByteLimit.Or(DefaultOutputBytes)
	t := &terminal{session: req.SessionID, exited: make(chan struct{}), drained: make(chan struct{})}
	t.out.limit = int(min(limit, MaxOutputBytes))
	if err := t.start(cmd); err != nil {
		return none, acp.InvalidParams("command: %v", err)
	}
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		t.stop(0)
		return none, acp.InternalError("the client is shutting down")
	}
	h.next++
	id := acp.TerminalID(fmt.Sprint("term-", h.next))
	if h.open == nil {
		h.open = make(map[acp.TerminalID]*terminal)
	}
	h.open[id] = t
	h.mu.Unlock()
	return acp.CreateTerminalResponse{TerminalID: id}, nil
}

// command makes the command of a request. Some agents send a whole shell line as the
// command.
func command(req acp.CreateTerminalRequest) *exec.Cmd {
	if len(req.Args) == 0 && strings.ContainsAny(req.Command, " \t\n|&;<>()$`\"'*?~=") {
		if _, err := exec.LookPath(req.Command); err != nil {
			if runtime.GOOS == "windows" {
				return exec.Command("cmd.exe", "/d", "/s", "/c", req.Command)
			}
			return exec.Command("/bin/sh", "-c", req.Command)
		}
	}
	return exec.Command(req.Command, req.Args...)
}

func (t *terminal) start(cmd *exec.Cmd) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	// One pipe for both, so that their order is kept; nil input is the null device.
	cmd.Stdout, cmd.Stderr = w, w
	t.group.Prepare(cmd)
	err = cmd.Start()
	_ = w.Close()
	if err == nil {
		if err = t.group.Started(cmd); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	if err != nil {
		_ = r.Close()
		return err
	}
	t.read = r
	go func() { // ends with the last writer, or with stop
		defer close(t.drained)
		_, _ = t.out.readFrom(r)
	}()
	go func() { // ends with the command
		_ = cmd.Wait() // the state says it all
		select {
		case <-t.drained:
		case <-time.After(lastOutput):
		}
		t.state = cmd.ProcessState
		close(t.exited)
	}()
	return nil
}

func (o *output) readFrom(r *os.File) (int64, error) {
	var total int64
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		_, _ = o.Write(buf[:n])
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

// kill ends the command and everything it has started.
func (t *terminal) kill(grace time.Duration) {
	t.group.Terminate()
	if grace > 0 {
		timer := time.NewTimer(grace)
		select {
		case <-t.exited:
		case <-timer.C:
		}
		timer.Stop()
	}
	t.group.Kill()
	<-t.exited
}

// stop is kill, and gives everything up.
func (t *terminal) stop(grace time.Duration) {
	t.end.Do(func() {
		t.kill(grace)
		_ = t.read.Close()
		<-t.drained
		t.group.Close()
	})
}

func (h *Terminals) grace() time.Duration {
	if h.KillGrace > 0 {
		return h.KillGrace
	}
	return DefaultKillGrace
}

// find returns a session's terminal.
func (h *Terminals) find(session acp.SessionID, id acp.TerminalID) (*terminal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.open[id]
	if t == nil || t.session != session {
		return nil, &acp.RequestError{Code: acp.CodeResourceNotFound, Message: "Terminal not found: " + string(id)}
	}
	return t, nil
}

// TerminalOutput returns what is kept of the output, and how the command ended if it has
// (terminal/output).
func (h *Terminals) TerminalOutput(_ context.Context, req acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	t, err := h.find(req.SessionID, req.TerminalID)
	if err != nil {
		return acp.TerminalOutputResponse{}, err
	}
	var r acp.TerminalOutputResponse
	select {
	case <-t.exited:
		code, signal := status(t.state)
		r.ExitStatus = &acp.TerminalExitStatus{ExitCode: code, Signal: signal}
	default:
	}
	r.Output, r.Truncated = t.out.text(r.ExitStatus != nil)
	return r, nil
}

// WaitForTerminalExit waits for the command to end (terminal/wait_for_exit).
func (h *Terminals) WaitForTerminalExit(ctx context.Context, req acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	t, err := h.find(req.SessionID, req.TerminalID)
	if err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	select {
	case <-t.exited:
		code, signal := status(t.state)
		return acp.WaitForTerminalExitResponse{ExitCode: code, Signal: signal}, nil
	case <-ctx.Done():
		return acp.WaitForTerminalExitResponse{}, ctx.Err()
	}
}

// status is the exit status, or the signal that ended the command.
func status(state *os.ProcessState) (acp.Opt[uint32], string) {
	if name := process.Signal(state); name != "" {
		return acp.Opt[uint32]{}, name
	}
	return acp.Some(uint32(state.ExitCode())), ""
}

// KillTerminal ends the command and keeps the terminal (terminal/kill).
func (h *Terminals) KillTerminal(_ context.Context, req acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	t, err := h.find(req.SessionID, req.TerminalID)
	if err != nil {
		return acp.KillTerminalResponse{}, err
	}
	t.kill(h.grace())
	return acp.KillTerminalResponse{}, nil
}

// ReleaseTerminal ends the command if it runs and forgets the terminal
// (terminal/release).
func (h *Terminals) ReleaseTerminal(_ context.Context, req acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	t, err := h.find(req.SessionID, req.TerminalID)
	if err != nil {
		return acp.ReleaseTerminalResponse{}, err
	}
	h.mu.Lock()
	delete(h.open, req.TerminalID)
	h.mu.Unlock()
	t.stop(h.grace())
	return acp.ReleaseTerminalResponse{}, nil
}

// Close ends every command that still runs.
func (h *Terminals) Close() error {
	h.mu.Lock()
	h.closed = true
	open := h.open
	h.open = nil
	h.mu.Unlock()
	var all sync.WaitGroup
	for _, t := range open {
		all.Go(func() { t.stop(h.grace()) })
	}
	all.Wait()
	return nil
}
