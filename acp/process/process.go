// Package process starts, watches and ends the child process of an agent.
//
// The child gets a process group of its own (a job object on Windows), so that ending it
// ends everything that it has started. What it writes to standard error is kept, bounded,
// and tells why it died.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Defaults of Options.
const (
	DefaultStderrBytes = 16 << 10
	DefaultEndGrace    = 2 * time.Second
	DefaultTermGrace   = 2 * time.Second
)

// Options of a process; the zero value is ready to use.
type Options struct {
	// StderrBytes is how much of the end of standard error is kept; 0 means 16 KiB.
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
	cmd    *exec.Cmd
	opts   Options
	stdin  *os.File
	stdout *os.File
	errs   *tail
	group  Group

	exited chan struct{}
	status error // of Wait; set when exited is closed
	once   sync.Once
	gone   chan struct{} // closed when Close has done its work
}

// An ExitError says how a process ended.
type ExitError struct {
	Command string // the program that was started
	Code    int    // exit status; -1 if a signal ended it
	Signal  string // the signal that ended it, or ""
	Stderr  string // the end of what it wrote to standard error
	Err     error  // what was noticed first, for example the end of the connection
}

func (e *ExitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s ended", e.Command)
	if e.Signal != "" {
		fmt.Fprintf(&b, " by signal %s", e.Signal)
	} else {
		fmt.Fprintf(&b, " with status %d", e.Code)
	}
	if e.Stderr != "" {
		fmt.Fprintf(&b, "; its last words were: %s", lastLines(e.Stderr, 8))
	}
	return b.String()
}

// Unwrap returns what was noticed first.
func (e *ExitError) Unwrap() error { return e.Err }

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Start starts cmd, whose standard streams must not be set, in a group of its own. The
// environment and the folder are cmd's. A nil environment is [Environment], not all of
// this program's: to pass that on, set cmd.Env to os.Environ().
func Start(cmd *exec.Cmd, opts *Options) (*Process, error) {
	if cmd.Stdin != nil || cmd.Stdout != nil || cmd.Stderr != nil {
		return nil, fmt.Errorf("start %s: its standard streams belong to the connection", cmd.Path)
	}
	p := &Process{cmd: cmd, exited: make(chan struct{}), gone: make(chan struct{})}
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
	p.stdin, p.stdout = inW, outR
	stderrDone := make(chan struct{})
	go func() { // ends with the last writer of standard error, or when Close closes it
		defer close(stderrDone)
		_, _ = io.Copy(p.errs, errR)
	}()
	go func() { // ends with the process
		err := cmd.Wait()
		select { // its last words are usually in the pipe already
		case <-stderrDone:
		case <-time.After(100 * time.Millisecond):
		}
		p.status = err
		close(p.exited)
		<-p.gone
		_ = errR.Close()
		<-stderrDone
	}()
	return p, nil
}

// Stdin is the process's standard input.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the process's standard output.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// Stderr returns the end of what the process has written to standard error.
func (p *Process) Stderr() string { return p.errs.String() }

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
// process is gone. It may be called more than once.
func (p *Process) Close() error {
	p.once.Do(func() {
		defer close(p.gone)
		_ = p.stdin.Close()
		if !p.wait(p.opts.EndGrace) {
			p.group.Terminate()
			p.wait(p.opts.TermGrace)
		} else {
			p.group.Terminate() // descendants that have outlived it
			p.group.Wait(p.opts.TermGrace)
		}
		p.group.Kill()
		p.wait(p.opts.TermGrace)
		_ = p.stdout.Close()
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

// tail keeps the last bytes written to it.
type tail struct {
	limit int
	also  io.Writer

	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
	t.mu.Unlock()
	if t.also != nil {
		_, _ = t.also.Write(p)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.ToValidUTF8(string(t.buf), "\uFFFD")
	if t.cut {
		return "…" + s
	}
	return s
}
