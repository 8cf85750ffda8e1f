//go:build unix && !linux

package host

import (
	"os/exec"
	"syscall"
)

// waitExit waits for the command's end.
func (g *group) waitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// sessionGroups is not known here.
func sessionGroups(int) []int { return nil }

// alive tells whether a process of the command still runs. The command itself has been waited for.
func (g *group) alive() bool { return syscall.Kill(-g.leader, 0) == nil }

// killEscaped does nothing: what has left the process group is not found here.
func (g *group) killEscaped() {}
