//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A Group is a child process and everything that it has started: a process group on
// Unix, a job object on Windows. The zero value is ready for Prepare. Its methods may be
// called concurrently once Started has returned. It must not be copied.
type Group struct {
	mu sync.Mutex
	id int // 0 when the group is empty
}

// Prepare makes cmd start as the leader of the group, without a controlling terminal.
func (g *Group) Prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true // a session has a process group of its own
}

// Started takes cmd in after it has been started.
func (g *Group) Started(cmd *exec.Cmd) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.id = cmd.Process.Pid
	return nil
}

// Terminate asks every process of the group to end.
func (g *Group) Terminate() { g.signal(syscall.SIGTERM) }

// Kill ends every process of the group.
func (g *Group) Kill() { g.signal(syscall.SIGKILL) }

// signal sends s to the group and reports whether there is any process in it. A group
// that was found empty is never signalled again: its number may be another's by now.
func (g *Group) signal(s syscall.Signal) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id == 0 {
		return false
	}
	if errors.Is(syscall.Kill(-g.id, s), syscall.ESRCH) {
		g.id = 0
	}
	return g.id != 0
}

// alive reports whether any process of the group exists.
func (g *Group) alive() bool { return g.signal(0) }

// Wait waits until the group is empty, at most d.
func (g *Group) Wait(d time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n := 1; g.alive(); n++ {
		if n%16 == 0 && g.dead() {
			return
		}
		select {
		case <-tick.C:
		case <-end.C:
			return
		}
	}
}

// dead reports whether nothing in the group runs, although its ended processes have not
// all been waited for: whoever has inherited them may never do it, as in many containers.
func (g *Group) dead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.id == 0 || allEnded(g.id)
}

// Close gives up what the group holds in this process.
func (g *Group) Close() {}

// Signal returns the name of the signal that ended a process, for example "SIGKILL", ""
// if none did.
func Signal(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return signalName(ws.Signal())
	}
	return ""
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGABRT:
		return "SIGABRT"
	case syscall.SIGALRM:
		return "SIGALRM"
	case syscall.SIGBUS:
		return "SIGBUS"
	case syscall.SIGFPE:
		return "SIGFPE"
	case syscall.SIGHUP:
		return "SIGHUP"
	case syscall.SIGILL:
		return "SIGILL"
	case syscall.SIGINT:
		return "SIGINT"
	case syscall.SIGKILL:
		return "SIGKILL"
	case syscall.SIGPIPE:
		return "SIGPIPE"
	case syscall.SIGPROF:
		return "SIGPROF"
	case syscall.SIGQUIT:
		return "SIGQUIT"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGSYS:
		return "SIGSYS"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGTRAP:
		return "SIGTRAP"
	case syscall.SIGUSR1:
		return "SIGUSR1"
	case syscall.SIGUSR2:
		return "SIGUSR2"
	case syscall.SIGVTALRM:
		return "SIGVTALRM"
	case syscall.SIGXCPU:
		return "SIGXCPU"
	case syscall.SIGXFSZ:
		return "SIGXFSZ"
	}
	return "SIG" + strconv.Itoa(int(s))
}
