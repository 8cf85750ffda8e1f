package session

import (
	"errors"
	"syscall"
)

// processPlace names this start of this machine.
func processPlace() string {
	boot, err := syscall.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return boot
}

// processStart tells whether the process exists. Its start time is not looked up, so a process that has taken the
// number of a dead one makes it look alive until the lease expires.
func processStart(pid int) (int64, processState) {
	switch err := syscall.Kill(pid, 0); {
	case err == nil:
		return 0, processAlive
	case errors.Is(err, syscall.ESRCH):
		return 0, processGone
	}
	return 0, processUnknown
}
