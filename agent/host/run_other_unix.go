//go:build unix && !linux

package host

import "os/exec"

// waitExit waits for the command's end.
func (g *group) waitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// sessionGroups is not known here.
func sessionGroups(int) []int { return nil }
