package host

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"

	"golang.org/x/sys/unix"
)

// waitExit waits for the command's end and leaves it unreaped, so that its number is not given to another process while
// its group is still signalled.
func (g *group) waitExit(*exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, g.leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// sessionGroups gives the other process groups of the session that leader began: those of background jobs of a shell
// with job control.
func sessionGroups(leader int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var groups []int
	for _, entry := range entries {
		if c := entry.Name()[0]; c < '0' || c > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp session …; the name may have spaces and brackets
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 4 {
			continue
		}
		pgrp, _ := strconv.Atoi(string(fields[2]))
		session, _ := strconv.Atoi(string(fields[3]))
		if session == leader && pgrp != leader && pgrp > 1 {
			groups = append(groups, pgrp)
		}
	}
	return groups
}
