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
)

// Terminals runs commands, each in a process group of its own, without a controlling
// terminal and without input. It implements acp.TerminalHandler. A command without
// arguments that names no program is run by the shell. A terminal belongs to its session
// and to the connection that it was created through: with that it ends. Its methods may be
// called concurrently. The zero value is ready to use; Close ends what still runs.
type Terminals struct {
	// Dir is the folder of commands that name none; "" is this program's.
	Dir string

	// Env is the environment of every command, before what the request adds; nil means
	// process.Environment(), without keys and tokens.
	Env []string

	// KillGrace is how long a command, and what it has started, may take to end before it
	// is killed; 0 means 2 seconds.
	KillGrace time.Duration

	mu     sync.Mutex
	closed bool
	next   int
	open   map[acp.TerminalID]*terminal
	work   sync.WaitGroup // what ends terminals; added to with mu held and closed not set
}

var _ acp.TerminalHandler = (*Terminals)(nil)

// CreateTerminal starts a command (terminal/create). A command that cannot be started is
// the error -32602 of this request.
func (h *Terminals) CreateTerminal(ctx context.Context, req acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
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
	t := newTerminal(req.SessionID, int(min(req.OutputByteLimit.Or(DefaultOutputBytes), MaxOutputBytes)))
	t.agent, _ = acp.AgentFrom(ctx)
	if err := t.start(cmd); err != nil {
		return none, acp.InvalidParams("command: %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		t.stop(0)
		return none, acp.InternalError("the client is shutting down")
	}
	h.next++
	id := acp.TerminalID(fmt.Sprint("term-", h.next))
	if h.open == nil {
		h.open = make(map[acp.TerminalID]*terminal)
	}
	h.open[id] = t
	if t.agent != nil {
		h.work.Go(func() {
			select {
			case <-t.agent.Done(): // nobody can release it any more
				h.forget(id)
				t.stop(h.grace())
			case <-t.gone:
			}
		})
	}
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

func (h *Terminals) grace() time.Duration {
	if h.KillGrace > 0 {
		return h.KillGrace
	}
	return DefaultKillGrace
}

// find returns a terminal. Only its session sees it, and no other connection does; a
// context that belongs to none is the client's own.
func (h *Terminals) find(ctx context.Context, session acp.SessionID, id acp.TerminalID) (*terminal, error) {
	agent, asked := acp.AgentFrom(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.open[id]
	if t == nil || t.session != session || asked && t.agent != agent {
		return nil, &acp.RequestError{Code: acp.CodeResourceNotFound, Message: "Terminal not found: " + string(id)}
	}
	return t, nil
}

func (h *Terminals) forget(id acp.TerminalID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.open, id)
}

// end ends a terminal in the background, with all that its command has started.
func (h *Terminals) end(t *terminal, how func(grace time.Duration)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed { // otherwise Close ends it
		h.work.Go(func() { how(h.grace()) })
	}
}

// TerminalOutput returns what is kept of the output, and how the command ended if it has
// (terminal/output).
func (h *Terminals) TerminalOutput(ctx context.Context, req acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	t, err := h.find(ctx, req.SessionID, req.TerminalID)
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
	t, err := h.find(ctx, req.SessionID, req.TerminalID)
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

// KillTerminal asks the command, and everything that it has started, to end, and kills
// what has not after KillGrace (terminal/kill). It does not wait for that;
// terminal/wait_for_exit does. The terminal stays.
func (h *Terminals) KillTerminal(ctx context.Context, req acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	t, err := h.find(ctx, req.SessionID, req.TerminalID)
	if err != nil {
		return acp.KillTerminalResponse{}, err
	}
	h.end(t, t.kill)
	return acp.KillTerminalResponse{}, nil
}

// ReleaseTerminal forgets the terminal, ends the command, if it runs, and what it has
// started, also if the command itself has ended (terminal/release). It returns when that
// is done, or when ctx ends and it goes on.
func (h *Terminals) ReleaseTerminal(ctx context.Context, req acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	t, err := h.find(ctx, req.SessionID, req.TerminalID)
	if err != nil {
		return acp.ReleaseTerminalResponse{}, err
	}
	h.end(t, t.stop)
	h.forget(req.TerminalID)
	select {
	case <-t.gone:
	case <-ctx.Done():
	}
	return acp.ReleaseTerminalResponse{}, nil
}

// Close ends every command that still runs and waits for that.
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
	h.work.Wait()
	return nil
}
