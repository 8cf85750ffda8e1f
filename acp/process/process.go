// Package process starts, watches and ends the child process of an agent.
//
// The child gets a process group of its own (a job object on Windows), so that ending it
// ends everything that it has started. What it writes to standard error is kept, bounded,
// and tells why it died. The agent is the process that was started: a wrapper must wait
// for what it wraps, because the output ends with the process, whoever else holds it open.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultStderrBytes = 64 << 10
	DefaultEndGrace    = 2 * time.Second
	DefaultTermGrace   = 2 * time.Second
)

// Options of a process; the zero value is ready to use.
type Options struct {
	// StderrBytes is how much of the end of standard error is kept; 0 means 64 KiB.
	StderrBytes int

	// Stderr also gets what the process writes to standard error, if not nil.
	Stderr io.Writer

	// EndGrace is how long the process may take to exit by itself after its input has
	// been closed; 0 means 2 seconds.
	EndGrace time.Duration

	// TermGrace is how long the group may take to exit after the request to terminate;
	// then it is killed. 0 means 2 seconds.
	TermGrace time.Duration
}

// A Process is a running child. Its methods may be called concurrently.
type Process struct {
	cmd   *exec.Cmd
	opts  Options
	stdin *os.File
	out   *output
	errs  *tail
	group Group

	exited  chan struct{}
	status  error         // of Wait; set when exited is closed
	errsEnd chan struct{} // closed at the end of standard error
	once    sync.Once
	gone    chan struct{} // closed when Close has done its work
}

// killGrace bounds the wait for a process that was killed: one that waits for a disk ends
// only after that.
const killGrace = 5 * time.Second

// lastWords is how long what a process that has ended wrote to standard error may take
// to arrive: it is in the pipe, but a descendant may hold that open.
const lastWords = 50 * time.Millisecond

// Start starts cmd, whose standard streams must not be set, in a group of its own. The
// environment and the folder are cmd's. A nil environment is [Environment], not all of
// this program's: to pass that on, set cmd.Env to os.Environ(). opts may be nil.
func Start(cmd *exec.Cmd, opts *Options) (*Process, error) {
	if cmd.Stdin != nil || cmd.Stdout != nil || cmd.Stderr != nil {
		return nil, fmt.Errorf("start %s: its standard streams belong to the connection", cmd.Path)
	}
	p := &Process{cmd: cmd, exited: make(chan struct{}), errsEnd: make(chan struct{}), gone: make(chan struct{})}
	if opts != nil {
		p.opts = *opts
	}
	if p.opts.StderrBytes <= 0 {
		p.opts.StderrBytes = DefaultStderrBytes
	}
	if p.opts.EndGrace <= 0 {
		p.opts.EndGrace = DefaultEndGrace
	}
	if p.opts.TermGrace <= 0 {
		p.opts.TermGrace = DefaultTermGrace
	}
	p.errs = &tail{limit: p.opts.StderrBytes, also: p.opts.Stderr}

	// Own pipes rather than cmd's: Wait must not wait for descendants that keep them open.
	var files []*os.File
	pipe := func() (r, w *os.File, err error) {
		r, w, err = os.Pipe()
		if err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	fail := func(err error) (*Process, error) {
		for _, f := range files {
			_ = f.Close()
		}
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	inR, inW, err := pipe()
	if err != nil {
		return fail(err)
	}
	outR, outW, err := pipe()
	if err != nil {
		return fail(err)
	}
	errR, errW, err := pipe()
	if err != nil {
		return fail(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	if cmd.Env == nil {
		cmd.Env = Environment()
	}
	p.group.Prepare(cmd)
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	if err := p.group.Started(cmd); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fail(err)
	}
	for _, f := range []*os.File{inR, outW, errW} {
		_ = f.Close()
	}
	p.stdin = inW
	p.out = &output{f: outR, exited: p.exited}
	go func() { // ends with the last writer of standard error, or when Close closes it
		defer close(p.errsEnd)
		_, _ = io.Copy(p.errs, errR)
	}()
	go func() { // ends with Close
		p.status = cmd.Wait()
		close(p.exited)
		p.out.wake()
		<-p.gone
		_ = errR.Close()
		<-p.errsEnd
	}()
	return p, nil
}

// Stdin is the process's standard input.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the process's standard output. It ends with the process, after what that has
// written, also if a descendant keeps it open.
func (p *Process) Stdout() io.ReadCloser { return p.out }

// Stderr returns the end of what the process has written to standard error.
func (p *Process) Stderr() string { return p.errs.String() }

// LastWords returns the last few lines of Stderr, for a message to a person.
func (p *Process) LastWords() string { return lastLines(p.Stderr()) }

// Exited is closed when the process itself has ended; descendants may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err returns how the process ended, nil while it runs. cause is what was noticed first,
// or nil.
func (p *Process) Err(cause error) *ExitError {
	select {
	case <-p.exited:
	default:
		return nil
	}
	t := time.NewTimer(lastWords)
	defer t.Stop()
	select {
	case <-p.errsEnd:
	case <-t.C:
	}
	e := &ExitError{Command: p.cmd.Path, Stderr: p.Stderr(), Err: cause}
	if state := p.cmd.ProcessState; state != nil {
		e.Code = state.ExitCode()
		e.Signal = Signal(state)
	}
	if exit := (*exec.ExitError)(nil); p.status != nil && !errors.As(p.status, &exit) {
		e.Err = errors.Join(cause, p.status)
	}
	return e
}

// Close ends the process and all its descendants: it closes the input, waits EndGrace,
// asks the group to terminate, waits TermGrace, and kills the group. It returns when the
// process is gone. It may be called more than once and concurrently: every call returns
// when the work is done.
func (p *Process) Close() error {
	p.once.Do(func() {
		defer close(p.gone)
		_ = p.stdin.Close()
		p.wait(p.opts.EndGrace)
		p.group.Terminate() // all of it, or the descendants that have outlived the process
		end := time.Now().Add(p.opts.TermGrace)
		if p.wait(p.opts.TermGrace) {
			p.group.Wait(time.Until(end))
		}
		p.group.Kill()
		p.wait(killGrace)
		_ = p.out.Close()
		p.group.Close()
	})
	<-p.gone
	return nil
}

// wait waits for the process, at most d.
func (p *Process) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// CloseWhen closes the process when ctx ends. The returned function stops that.
func (p *Process) CloseWhen(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = p.Close() })
}
