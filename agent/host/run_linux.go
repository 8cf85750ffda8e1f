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
	var groups []int
	eachProcess(func(p processStat) {
		if p.session == leader && p.group != leader && p.group > 1 {
			groups = append(groups, p.group)
		}
	})
	return groups
}

// alive tells whether a process of the command still runs, other than its first.
func (g *group) alive() bool {
	alive := false
	eachProcess(func(p processStat) {
		alive = alive || p.pid != g.leader && p.state != 'Z' && (p.group == g.leader || p.session == g.leader)
	})
	return alive
}

// escapedTries is how often what escaped is looked for: it may have started more meanwhile.
const escapedTries = 3

// killEscaped kills the processes that have left the command's session. They are told by the mark in the environment that
// they began with.
func (g *group) killEscaped() {
	for range escapedTries {
		found := false
		eachProcess(func(p processStat) {
			if p.pid != g.leader && p.state != 'Z' && p.session != g.leader {
				found = g.killMarked(p.pid) || found
			}
		})
		if !found {
			return
		}
	}
}

// killMarked kills a process when it has the mark, and tells whether it did. The number cannot pass to another process
// between the two.
func (g *group) killMarked(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || g.mark == "" {
		return false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		value, ok := bytes.CutPrefix(entry, []byte(markVar+"="))
		if ok && (string(value) == g.mark || bytes.HasPrefix(value, []byte(g.mark+"/"))) {
			return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
		}
	}
	return false
}

// processStat is what the system tells of a process.
type processStat struct {
	pid, group, session int
	state               byte
}

func eachProcess(visit func(processStat)) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
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
		p := processStat{pid: pid, state: fields[0][0]}
		p.group, _ = strconv.Atoi(string(fields[2]))
		p.session, _ = strconv.Atoi(string(fields[3]))
		visit(p)
	}
}
