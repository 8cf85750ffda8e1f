package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	coalesce  = 100 * time.Millisecond // output is held back at most so long, so that it comes in few pieces
	pieceSize = 32 << 10               // bytes; a piece this large is delivered at once
	grace     = 250 * time.Millisecond // between asking a process group to end and killing it
	drain     = 500 * time.Millisecond // how long background children may go on writing once the command has ended
	reapLimit = 2 * time.Second        // how long a killed command is awaited
)

// Run starts a command; see [Host]. ctx governs the start only: Wait's ctx and Close end the command. The command runs
// without a terminal in a session of its own, and reads from nothing. Its folder must be below a root and exist: it never
// runs elsewhere.
//
// A command that is ended before it has ended by itself takes all that it started with it: its process group, and on Linux
// also its session and what has left that (as daemons do), which is told by the variable WHERRY_RUN of its environment. A
// program that leaves the group elsewhere, or the session and takes the variable out of its environment, is not found.
//
// [Process].Wait returns the context's cause together with the exit when its ctx ended.
func (l *Local) Run(ctx context.Context, cmd Command) (Process, error) {
	if err := l.need(CanRun, "commands"); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run the command: %w", context.Cause(ctx))
	}
	dir := cmd.Dir
	if dir == "" {
		dir = l.roots[0]
	}
	info, err := l.Stat(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("the command was not run: %w", err)
	}
	if !info.Dir {
		return nil, fmt.Errorf("the command was not run: %s: is a file, not a folder", dir)
	}
	child := shellCommand(l.shell, cmd.Line)
	child.Dir = info.Path.Abs
	child.Env = append(append(l.environ[:len(l.environ):len(l.environ)], "PWD="+info.Path.Abs), cmd.Env...)
	mark(child)
	detach(child)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("the command was not run: %w", err)
	}
	child.Stdout, child.Stderr = write, write
	p := &process{cmd: child, started: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	if err := child.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("the command was not run: %w", err), write.Close(), read.Close())
	}
	_ = write.Close() // the child has its own
	p.group, err = newGroup(child)
	if err != nil {
		_ = child.Process.Kill()
		_ = child.Wait()
		return nil, errors.Join(fmt.Errorf("the command was not run: %w", err), read.Close())
	}
	go p.supervise(read, cmd)
	return p, nil
}

// process is a command that runs here. One goroutine, supervise, owns it from the start to the end: it ends the others and
// closes done.
type process struct {
	cmd     *exec.Cmd
	group   *group
	started time.Time

	stopOnce sync.Once
	stop     chan struct{} // closed to have the command ended
	done     chan struct{} // closed when exit is set and nothing is left
	exit     Exit
}

// Terminal is empty: the command runs here.
func (p *process) Terminal() string { return "" }

// Wait waits for the end; see [Process].
func (p *process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
	}
	p.end()
	<-p.done
	return p.exit, fmt.Errorf("the command was stopped: %w", context.Cause(ctx))
}

// Close ends what is left; see [Process].
func (p *process) Close() error {
	p.end()
	<-p.done
	return nil
}

func (p *process) end() { p.stopOnce.Do(func() { close(p.stop) }) }

// supervise waits for the command's end, ends it when it must, collects the output and removes what it left behind.
func (p *process) supervise(pipe *os.File, cmd Command) {
	defer close(p.done)
	defer p.group.close()
	exited := make(chan struct{})
	go func() { // ends with the command
		p.group.waitExit(p.cmd)
		close(exited)
	}()
	c := collect(pipe, NewRing(cmd.KeepBytes), cmd.Output) // ends with the pipe, which is closed below

	why := p.wait(cmd, exited, c.heard)
	gone := true
	if why != endedItself {
		gone = p.terminate(exited)
	}
	duration := time.Since(p.started)
	close(c.release)
	await(c.read, drain, p.stop)
	left := why == endedItself && p.group.alive()
	p.group.kill() // background children; while the command is not reaped, no other process can have its number
	if why != endedItself {
		p.group.killEscaped()
	}
	await(c.read, grace, nil)
	_ = pipe.Close() // a process that left the group may hold the other end
	<-c.read
	p.deliver(c, why == endedLate || why == endedQuiet)

	p.exit = Exit{Code: -1, TimedOut: why == endedLate, Quieted: why == endedQuiet, Duration: duration, Output: c.ring.String(), Total: c.ring.Total(), Left: left}
	if gone {
		_ = p.cmd.Wait() // what matters of it is in ProcessState
		p.exit.Code, p.exit.Signal = status(p.cmd.ProcessState)
	} else {
		p.exit.Signal = "SIGKILL"
		_ = p.cmd.Process.Release()
	}
}

// ending tells why a command ends.
type ending int

const (
	endedItself ending = iota
	endedLate          // over its time
	endedQuiet         // without output for too long
	endedStopped
)

// wait waits until the command has ended, or must be ended.
func (p *process) wait(cmd Command, exited, heard <-chan struct{}) ending {
	var expired, silent <-chan time.Time
	if cmd.Timeout > 0 {
		timer := time.NewTimer(cmd.Timeout)
		defer timer.Stop()
		expired = timer.C
	}
	var quiet *time.Timer
	if cmd.Quiet > 0 {
		quiet = time.NewTimer(cmd.Quiet)
		defer quiet.Stop()
		silent = quiet.C
	}
	for {
		select {
		case <-exited:
			return endedItself
		case <-expired:
			return endedLate
		case <-p.stop:
			return endedStopped
		case <-heard:
			if quiet != nil {
				quiet.Reset(cmd.Quiet)
			}
		case <-silent:
			return endedQuiet
		}
	}
}

// deliver waits until the receiver has all of the output. When the command had to be ended, a receiver that does not
// return cannot hold that up: it is left behind.
func (p *process) deliver(c *collector, ended bool) {
	if !ended {
		select {
		case <-c.done:
			return
		case <-p.stop:
		}
	}
	await(c.done, drain, nil)
}

// terminate asks the group to end and kills it soon after. It tells whether the command is gone: one that the kernel holds
// fast cannot be waited for.
func (p *process) terminate(exited <-chan struct{}) bool {
	p.group.term()
	if !await(exited, grace, nil) {
		p.group.kill()
		return await(exited, reapLimit, nil)
	}
	return true
}

// await waits for c, but no longer than limit and not once stop is closed. It tells whether c was closed.
func await(c <-chan struct{}, limit time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
	case <-stop:
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}
