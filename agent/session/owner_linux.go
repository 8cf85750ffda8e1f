package session

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
)

// processPlace names this start of this machine and this process namespace: containers share neither.
func processPlace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + " " + namespace
}

// processStart gives the start time of a process in clock ticks since the machine started.
func processStart(pid int) (int64, processState) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		// Processes of others may be hidden in /proc; the kernel knows.
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return 0, processGone
		}
		return 0, processUnknown
	}
	// pid (name) state ppid … ; the name may hold anything, so count from its end. The start time is field 22.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const stateField, startField = 0, 19 // counted from field 3
	if len(fields) <= startField {
		return 0, processUnknown
	}
	switch string(fields[stateField]) {
	case "Z", "X", "x": // dead, only not yet reaped by its parent
		return 0, processGone
	}
	started, err := strconv.ParseInt(string(fields[startField]), 10, 64)
	if err != nil {
		return 0, processUnknown
	}
	return started, processAlive
}
