package host

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// userShell is the command interpreter of Windows.
func userShell(environ []string) string {
	if shell := lookup(environ, "ComSpec"); shell != "" {
		return shell
	}
	return `C:\Windows\System32\cmd.exe`
}

func shellCommand(shell, line string) *exec.Cmd {
	if posixShell(shell) {
		return exec.Command(shell, "-c", line)
	}
	cmd := exec.Command(shell)
	// cmd takes the rest of its command line as it is; quoting by os/exec would change it.
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `"` + shell + `" /d /s /c "` + line + `"`}
	return cmd
}

// detach gives the command no console and a process group of its own.
func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.CreationFlags = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW
}

// group is a job object: every process that the command starts belongs to it.
type group struct{ job windows.Handle }

func newGroup(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("make a job object: %w", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var process windows.Handle
		process, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
		if err == nil {
			err = windows.AssignProcessToJobObject(job, process)
			_ = windows.CloseHandle(process)
		}
	}
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("put the command into a job object: %w", err)
	}
	return &group{job: job}, nil
}

// term does nothing: a process without a console cannot be asked to end.
func (g *group) term()        {}
func (g *group) kill()        { _ = windows.TerminateJobObject(g.job, 1) }
func (g *group) killEscaped() {} // none can leave a job object
func (g *group) close()       { _ = windows.CloseHandle(g.job) }

// alive is not asked for here.
func (g *group) alive() bool { return false }

// waitExit waits for the command's end.
func (g *group) waitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// status gives the exit code.
func status(state *os.ProcessState) (int, string) {
	if state == nil {
		return -1, ""
	}
	return state.ExitCode(), ""
}
