//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A Group is a child process and everything that it has started: a process group on
// Unix, a job object on Windows. The zero value is ready for Prepare.
type Group struct{ id int }

// Prepare makes cmd start as the leader of the group, without a controlling terminal.
func (g *Group) Prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true // a session has a process group of its own
}

// Started takes cmd in after it has been started.
func (g *Group) Started(cmd *exec.Cmd) error {
	g.id = cmd.Process.Pid
	return nil
}

// Terminate asks every process of the group to end.
func (g *Group) Terminate() { _ = syscall.Kill(-g.id, syscall.SIGTERM) }

// Kill ends every process of the group.
func (g *Group) Kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// alive reports whether any process of the group exists.
func (g *Group) alive() bool { return syscall.Kill(-g.id, 0) == nil }

// Wait waits until the group is empty, at most d.
func (g *Group) Wait(d time.Duration) {
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

// Close gives up what the group holds in this process.
func (g *Group) Close() {}

// Signal returns the name of the signal that ended a process, "" if none did.
func Signal(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
