//go:build unix

package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// editor is the other half of a raw client: the buffers, the terminals and the person of an editor. Its fields may be
// changed before the agent starts, and in the hooks, which are called with the lock held.
type editor struct {
	t *testing.T

	mu        sync.Mutex
	buffers   map[string]string
	writes    []fileCall
	asked     []permissionRequest
	onAsk     func(e *editor, r permissionRequest) (kind string) // the person; nil allows once
	onRead    func(e *editor, path string, n int) (failed bool)  // n counts from 1
	reads     int                                                // so far
	terminals map[string]*terminal
	released  []string
	killed    []string
}

type terminal struct {
	cmd    *exec.Cmd
	output lockedBuffer
	done   chan struct{}
	exit   map[string]any
}

// files gives the handlers of a client that offers its buffers.
func (e *editor) files() map[string]handler {
	return map[string]handler{
		"session/request_permission": e.permission,
		"fs/read_text_file":          e.read,
		"fs/write_text_file":         e.writeFile,
	}
}

// commands gives the handlers of a client that offers terminals.
func (e *editor) commands() map[string]handler {
	return map[string]handler{
		"session/request_permission": e.permission,
		"terminal/create":            e.createTerminal,
		"terminal/output":            e.terminalOutput,
		"terminal/wait_for_exit":     e.waitTerminal,
		"terminal/kill":              e.killTerminal,
		"terminal/release":           e.releaseTerminal,
	}
}

// nothing gives the handlers of a client that only answers for its person.
func (e *editor) nothing() map[string]handler {
	return map[string]handler{"session/request_permission": e.permission}
}

func (e *editor) permission(params json.RawMessage) (any, *rpcError) {
	var r permissionRequest
	if failure := decode(params, &r); failure != nil {
		return nil, failure
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = append(e.asked, r)
	kind := "allow_once"
	if e.onAsk != nil {
		kind = e.onAsk(e, r)
	}
	for _, o := range r.Options {
		if o.Kind == kind {
			return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": o.OptionID}}, nil
		}
	}
	e.t.Errorf("no option of kind %s was offered: %+v", kind, r.Options)
	return map[string]any{"outcome": map[string]string{"outcome": "cancelled"}}, nil
}

func (e *editor) read(params json.RawMessage) (any, *rpcError) {
	var p struct {
		Path        string
		Line, Limit *int
	}
	if failure := decode(params, &p); failure != nil {
		return nil, failure
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reads++
	text, open := e.buffers[p.Path]
	switch {
	case e.onRead != nil && e.onRead(e, p.Path, e.reads):
		return nil, &rpcError{Code: -32603, Message: "Internal error"}
	case !open:
		return nil, &rpcError{Code: -32002, Message: "Resource not found"}
	case p.Line != nil || p.Limit != nil:
		e.t.Errorf("a part of %s was read; the tests know whole files only", p.Path)
	}
	return map[string]string{"content": text}, nil
}

func (e *editor) writeFile(params json.RawMessage) (any, *rpcError) {
	var p fileCall
	if failure := decode(params, &p); failure != nil {
		return nil, failure
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes = append(e.writes, p)
	e.buffers[p.Path] = p.Content
	return map[string]any{}, nil
}

func (e *editor) createTerminal(params json.RawMessage) (any, *rpcError) {
	var p struct {
		Command string
		Args    []string
		Cwd     string
	}
	if failure := decode(params, &p); failure != nil {
		return nil, failure
	}
	term := &terminal{done: make(chan struct{})}
	term.cmd = exec.Command(p.Command, p.Args...)
	if len(p.Args) == 0 {
		term.cmd = exec.Command("/bin/sh", "-c", p.Command)
	}
	term.cmd.Dir = p.Cwd
	term.cmd.Stdout, term.cmd.Stderr = &term.output, &term.output
	term.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := term.cmd.Start(); err != nil {
		return nil, &rpcError{Code: -32603, Message: err.Error()}
	}
	go func() {
		defer close(term.done)
		err := term.cmd.Wait()
		var exit *exec.ExitError
		switch {
		case err == nil:
			term.exit = map[string]any{"exitCode": 0, "signal": nil}
		case errors.As(err, &exit) && exit.ExitCode() >= 0:
			term.exit = map[string]any{"exitCode": exit.ExitCode(), "signal": nil}
		default:
			term.exit = map[string]any{"exitCode": nil, "signal": "SIGKILL"}
		}
	}()
	e.t.Cleanup(term.kill)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.terminals == nil {
		e.terminals = map[string]*terminal{}
	}
	id := fmt.Sprintf("terminal-%d", len(e.terminals)+1)
	e.terminals[id] = term
	return map[string]string{"terminalId": id}, nil
}

func (t *terminal) kill() {
	select {
	case <-t.done:
	default:
		_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL)
		<-t.done
	}
}

func (e *editor) find(params json.RawMessage) (string, *terminal, *rpcError) {
	var p struct {
		TerminalID string `json:"terminalId"`
	}
	if failure := decode(params, &p); failure != nil {
		return "", nil, failure
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	term := e.terminals[p.TerminalID]
	if term == nil {
		return "", nil, &rpcError{Code: -32002, Message: "Resource not found"}
	}
	return p.TerminalID, term, nil
}

func (e *editor) terminalOutput(params json.RawMessage) (any, *rpcError) {
	_, term, failure := e.find(params)
	if failure != nil {
		return nil, failure
	}
	result := map[string]any{"output": term.output.String(), "truncated": false}
	select {
	case <-term.done:
		result["exitStatus"] = term.exit
	default:
	}
	return result, nil
}

func (e *editor) waitTerminal(params json.RawMessage) (any, *rpcError) {
	_, term, failure := e.find(params)
	if failure != nil {
		return nil, failure
	}
	<-term.done
	return term.exit, nil
}

func (e *editor) killTerminal(params json.RawMessage) (any, *rpcError) {
	id, term, failure := e.find(params)
	if failure != nil {
		return nil, failure
	}
	term.kill()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.killed = append(e.killed, id)
	return map[string]any{}, nil
}

func (e *editor) releaseTerminal(params json.RawMessage) (any, *rpcError) {
	id, term, failure := e.find(params)
	if failure != nil {
		return nil, failure
	}
	term.kill()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.released = append(e.released, id)
	return map[string]any{}, nil
}

// decode reads params; names are those of the protocol.
func decode(params json.RawMessage, into any) *rpcError {
	if err := json.NewDecoder(bytes.NewReader(params)).Decode(into); err != nil {
		return &rpcError{Code: -32602, Message: "Invalid params: " + err.Error()}
	}
	return nil
}
