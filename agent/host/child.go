package host

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// Child is a program that runs beside the agent for longer than one call: a server that tools speak to. It has a session
// and a process group of its own, so that ending it ends all that it has started. Its methods may be called concurrently.
type Child struct {
	cmd    *exec.Cmd
	group  *group
	exited chan struct{} // closed when the program itself has ended; it is not reaped before Stop

	stop   sync.Once
	code   int
	signal string
}

// StartChild starts cmd. Its Stdin, Stdout and Stderr must be nil or files, and are the caller's to close. The caller must
// call [Child.Stop].
func StartChild(cmd *exec.Cmd) (*Child, error) {
	if cmd.Env == nil {
		cmd.Env = cmd.Environ()
	}
	mark(cmd)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	group, err := newGroup(cmd)
	if err != nil {
		_ = cmd.Process.Kill()
		return nil, errors.Join(fmt.Errorf("start %s: %w", cmd.Path, err), cmd.Wait())
	}
	c := &Child{cmd: cmd, group: group, exited: make(chan struct{})}
	go func() { // ends with the program, which Stop ends
		group.waitExit(cmd)
		close(c.exited)
	}()
	return c, nil
}

// Exited is closed when the program has ended. What it started may still run, until Stop.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Stop waits as long as patience for the program to end by itself, then asks its process group to end, and soon after
// kills it, together with whatever it left running. It gives the exit code, or -1 and the name of the signal that ended
// the program. It takes no longer than patience and three seconds; calling it again gives the same.
func (c *Child) Stop(patience time.Duration) (code int, signal string) {
	c.stop.Do(func() {
		gone := await(c.exited, patience, nil)
		if !gone {
			c.group.term()
			gone = await(c.exited, grace, nil)
		}
		c.group.kill() // while the program is not reaped, no other process can have its number
		c.group.killEscaped()
		gone = gone || await(c.exited, reapLimit, nil)
		c.code, c.signal = -1, "SIGKILL"
		if gone {
			_ = c.cmd.Wait() // what matters of it is in ProcessState
			c.code, c.signal = status(c.cmd.ProcessState)
		} else {
			_ = c.cmd.Process.Release()
		}
		c.group.close()
	})
	return c.code, c.signal
}
