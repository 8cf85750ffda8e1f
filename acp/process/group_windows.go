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

// group is a job object that ends its processes when it is closed.
type group struct{ job syscall.Handle }

func procedure(name string) *syscall.LazyProc {
	return syscall.NewLazyDLL("kernel32.dll").NewProc(name)
}

func (g *group) prepare(cmd *exec.Cmd) {
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

func (g *group) started(cmd *exec.Cmd) error {
	job, _, err := procedure("CreateJobObjectW").Call(0, 0)
	if job == 0 {
		return fmt.Errorf("create job object: %w", err)
	}
	g.job = syscall.Handle(job)
	limits := extendedLimits{flags: jobKillOnClose}
	if ok, _, err := procedure("SetInformationJobObject").Call(job, jobExtendedLimits, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits)); ok == 0 {
		g.close()
		return fmt.Errorf("limit job object: %w", err)
	}
	child, err := syscall.OpenProcess(processSetQuota|processTerminate, false, uint32(cmd.Process.Pid))
	if err != nil {
		g.close()
		return fmt.Errorf("open process: %w", err)
	}
	defer syscall.CloseHandle(child)
	if ok, _, err := procedure("AssignProcessToJobObject").Call(job, uintptr(child)); ok == 0 {
		g.close()
		return fmt.Errorf("assign process to job object: %w", err)
	}
	return nil
}

// terminate does nothing: Windows has no polite request that reaches a console program
// of another group; the closed input was it.
func (g *group) terminate() {}

func (g *group) kill() {
	if g.job != 0 {
		_, _, _ = procedure("TerminateJobObject").Call(uintptr(g.job), 1)
	}
}

func (g *group) wait(time.Duration) {}

func (g *group) close() {
	if g.job != 0 {
		_ = syscall.CloseHandle(g.job)
		g.job = 0
	}
}

func signalOf(*os.ProcessState) string { return "" }
