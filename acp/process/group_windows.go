package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

const (
	createNoWindow   = 0x08000000
	newProcessGroup  = 0x00000200
	processSetQuota  = 0x0100
	processTerminate = 0x0001

	jobExtendedLimits = 9
	jobKillOnClose    = 0x2000
)

// A Group is a child process and everything that it has started: a process group on
// Unix, a job object on Windows. The zero value is ready for Prepare.
type Group struct{ job syscall.Handle }

func procedure(name string) *syscall.LazyProc {
	return syscall.NewLazyDLL("kernel32.dll").NewProc(name)
}

// Prepare makes cmd start as the leader of the group.
func (g *Group) Prepare(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags |= createNoWindow | newProcessGroup
}

// extendedLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type extendedLimits struct {
	perProcessTime, perJobTime       int64
	flags                            uint32
	minWorkingSet, maxWorkingSet     uintptr
	activeProcesses                  uint32
	affinity                         uintptr
	priority, scheduling             uint32
	ioCounters                       [6]uint64
	processMemory, jobMemory         uintptr
	peakProcessMemory, peakJobMemory uintptr
}

// Started takes cmd in after it has been started.
func (g *Group) Started(cmd *exec.Cmd) error {
	job, _, err := procedure("CreateJobObjectW").Call(0, 0)
	if job == 0 {
		return fmt.Errorf("create job object: %w", err)
	}
	g.job = syscall.Handle(job)
	limits := extendedLimits{flags: jobKillOnClose}
	if ok, _, err := procedure("SetInformationJobObject").Call(job, jobExtendedLimits, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits)); ok == 0 {
		g.Close()
		return fmt.Errorf("limit job object: %w", err)
	}
	child, err := syscall.OpenProcess(processSetQuota|processTerminate, false, uint32(cmd.Process.Pid))
	if err != nil {
		g.Close()
		return fmt.Errorf("open process: %w", err)
	}
	defer syscall.CloseHandle(child)
	if ok, _, err := procedure("AssignProcessToJobObject").Call(job, uintptr(child)); ok == 0 {
		g.Close()
		return fmt.Errorf("assign process to job object: %w", err)
	}
	return nil
}

// Terminate does nothing: Windows has no polite request that reaches a console program
// of another group.
func (g *Group) Terminate() {}

// Kill ends every process of the group.
func (g *Group) Kill() {
	if g.job != 0 {
		_, _, _ = procedure("TerminateJobObject").Call(uintptr(g.job), 1)
	}
}

// Wait waits until the group is empty, at most d.
func (g *Group) Wait(time.Duration) {}

// Close gives up what the group holds in this process.
func (g *Group) Close() {
	if g.job != 0 {
		_ = syscall.CloseHandle(g.job)
		g.job = 0
	}
}

// Signal returns the name of the signal that ended a process, "" if none did.
func Signal(*os.ProcessState) string { return "" }
