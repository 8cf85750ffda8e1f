//go:build unix

package host

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// userShell is the user's own shell where it speaks POSIX shell and exists, else /bin/sh.
func userShell(environ []string) string {
	if shell := lookup(environ, "SHELL"); posixShell(shell) {
		if info, err := os.Stat(shell); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return shell
		}
	}
	return "/bin/sh"
}

func shellCommand(shell, line string) *exec.Cmd { return exec.Command(shell, "-c", line) }

// detach gives the command a session and a process group of its own, so that it has no controlling terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// group is the process group of a command, and where the system can tell, its whole session.
type group struct {
	leader int
	mark   string // see [mark]
}

func newGroup(cmd *exec.Cmd) (*group, error) {
	return &group{leader: cmd.Process.Pid, mark: lookup(cmd.Env, markVar)}, nil
}

func (g *group) term()  { g.signal(syscall.SIGTERM) }
func (g *group) kill()  { g.signal(syscall.SIGKILL) }
func (g *group) close() {}

func (g *group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.leader, sig) // ESRCH: nothing is left
	for _, member := range sessionGroups(g.leader) {
		_ = syscall.Kill(-member, sig)
	}
}

// status gives the exit code, or -1 and the name of the signal that ended it.
func status(state *os.ProcessState) (int, string) {
	if state == nil {
		return -1, ""
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		name := unix.SignalName(ws.Signal())
		if name == "" {
			name = ws.Signal().String()
		}
		return -1, name
	}
	return state.ExitCode(), ""
}
