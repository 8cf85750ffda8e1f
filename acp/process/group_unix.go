//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// group is a process group, led by the child.
type group struct{ id int }

func (g *group) prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
}

func (g *group) started(cmd *exec.Cmd) error {
	g.id = cmd.Process.Pid
	return nil
}

func (g *group) terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }

func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// alive reports whether any process of the group exists.
func (g *group) alive() bool { return syscall.Kill(-g.id, 0) == nil }

// wait waits until the group is empty, at most d.
func (g *group) wait(d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for g.alive() {
		select {
		case <-tick.C:
		case <-end.C:
			return
		}
	}
}

func (g *group) close() {}

func signalOf(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
