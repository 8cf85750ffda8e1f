package bridge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp"
	"github.com/wherry-acp/wherry/agent/host"
)

// editor is the client's side of files and terminals; what the client does not offer is nil.
type editor struct {
	read     func(ctx context.Context, path string) (string, error)
	write    func(ctx context.Context, path, content string) error
	terminal func(ctx context.Context, req acp.CreateTerminalRequest) (terminal, error)
	// answered tells whether an error is the client's answer, so that nothing has happened.
	answered func(error) bool
}

// terminal is a terminal of the client.
type terminal interface {
	ID() acp.TerminalID
	Output(ctx context.Context) (acp.TerminalOutputResponse, error)
	Wait(ctx context.Context) (acp.WaitForTerminalExitResponse, error)
	Kill(ctx context.Context) error
	Release(ctx context.Context) error
}

// editorHost is the local host with the editor in front: its buffers are what is read, it is who writes, and commands run
// in its terminals. It falls back to this machine only while nothing has happened: a read the editor declines is read from
// the disk, a write never is written to it, a command is not run here once its terminal is open.
type editorHost struct {
	*host.Local
	editor editor
}

var _ host.Host = (*editorHost)(nil)

// Read implements [host.Host].
func (h *editorHost) Read(ctx context.Context, path string) (host.Text, error) {
	onDisk, err := h.Local.Read(ctx, path)
	absent := errors.Is(err, fs.ErrNotExist)
	if h.editor.read == nil || err != nil && !absent {
		return onDisk, err // what is outside, not text or too large is not asked for
	}
	p, resolveErr := h.Resolve(path)
	if resolveErr != nil {
		return host.Text{}, resolveErr
	}
	content, readErr := h.editor.read(ctx, p.Abs)
	switch {
	case ctx.Err() != nil:
		return host.Text{}, context.Cause(ctx)
	case readErr != nil:
		return onDisk, err
	case absent && content == "":
		return host.Text{}, err // editors differ in how they say that there is no such file
	}
	return host.DecodeString(content, host.FromEditor), nil
}

// Write implements [host.Host].
func (h *editorHost) Write(ctx context.Context, path string, text host.Text, base host.Version) (host.Version, error) {
	p, err := h.Resolve(path)
	if err != nil {
		return host.Version{}, err
	}
	if err := h.unchanged(ctx, path, base); err != nil {
		return host.Version{}, err
	}
	if h.editor.write == nil {
		return h.writeDisk(ctx, path, text, base)
	}
	content := text.EncodeString()
	if err := h.editor.write(ctx, p.Abs, content); err != nil {
		if ctx.Err() != nil {
			return host.Version{}, context.Cause(ctx)
		}
		return host.Version{}, fmt.Errorf("%s: the editor did not take the new content: %w", path, err)
	}
	source := host.FromEditor
	if h.editor.read == nil {
		source = host.FromDisk // where it will be read next time
	}
	return host.Version{Source: source, Digest: host.Digest(content)}, nil
}

// unchanged tells whether what is there now, for the editor and on the disk, is what base says.
func (h *editorHost) unchanged(ctx context.Context, path string, base host.Version) error {
	if h.editor.read == nil {
		return h.unchangedOnDisk(ctx, path, base)
	}
	now, err := h.readEditor(ctx, path)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case base == host.Absent:
		if err == nil && now.Content != "" {
			return fmt.Errorf("%s: %w", path, host.ErrChanged)
		}
		return h.unchangedOnDisk(ctx, path, base)
	case err != nil:
		return fmt.Errorf("%s: the editor does not give its content now, so nothing was written", path)
	case now.Version.Digest == base.Digest:
		return nil
	case base.Source == host.FromDisk:
		return fmt.Errorf("%s: was read from the disk because the editor did not answer, and the editor now has another "+
			"text: view it again before changing it", path)
	}
	return fmt.Errorf("%s: %w", path, host.ErrChanged)
}

func (h *editorHost) readEditor(ctx context.Context, path string) (host.Text, error) {
	p, err := h.Resolve(path)
	if err != nil {
		return host.Text{}, err
	}
	content, err := h.editor.read(ctx, p.Abs)
	if err != nil {
		return host.Text{}, err
	}
	return host.DecodeString(content, host.FromEditor), nil
}

func (h *editorHost) unchangedOnDisk(ctx context.Context, path string, base host.Version) error {
	now, err := h.Local.Read(ctx, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if base == host.Absent {
			return nil
		}
		return fmt.Errorf("%s: %w", path, host.ErrChanged)
	case err != nil:
		return err
	case now.Version.Digest != base.Digest:
		return fmt.Errorf("%s: %w", path, host.ErrChanged)
	}
	return nil
}

// writeDisk writes for an editor that shows its buffers and does not take writes: only when the buffer is saved, since the
// disk is written and the buffer would lose.
func (h *editorHost) writeDisk(
	ctx context.Context, path string, text host.Text, base host.Version,
) (host.Version, error) {
	if base == host.Absent || base.Source == host.FromDisk {
		return h.Local.Write(ctx, path, text, base)
	}
	onDisk, err := h.Local.Read(ctx, path)
	if err != nil {
		return host.Version{}, err
	}
	now, err := h.readEditor(ctx, path)
	if err != nil || now.Content != onDisk.Content || now.Version.Digest != base.Digest {
		return host.Version{}, fmt.Errorf(
			"%s: has unsaved changes in the editor, which does not take writes: save the file first", path)
	}
	text.Format = onDisk.Format
	return h.Local.Write(ctx, path, text, onDisk.Version)
}

// Run implements [host.Host].
func (h *editorHost) Run(ctx context.Context, cmd host.Command) (host.Process, error) {
	if h.editor.terminal == nil {
		return h.Local.Run(ctx, cmd)
	}
	dir := cmd.Dir
	if dir == "" {
		dir = h.Roots()[0]
	}
	info, err := h.Stat(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("the command was not run: %w", err)
	}
	if !info.Dir {
		return nil, fmt.Errorf("the command was not run: %s: is a file, not a folder", dir)
	}
	keep := cmd.KeepBytes
	if keep <= 0 {
		keep = host.DefaultKeep
	}
	program, args, environ := h.TerminalCommand(cmd.Line)
	req := acp.CreateTerminalRequest{
		Command: program, Args: args, Cwd: info.Path.Abs, OutputByteLimit: acp.Some(uint64(keep)),
	}
	for _, entry := range append(environ, cmd.Env...) {
		name, value, _ := strings.Cut(entry, "=")
		req.Env = append(req.Env, acp.EnvVariable{Name: name, Value: value})
	}
	t, err := h.editor.terminal(ctx, req)
	if err != nil {
		if ctx.Err() == nil && h.editor.answered(err) {
			return h.Local.Run(ctx, cmd) // declined: nothing has been started
		}
		return nil, fmt.Errorf("the editor's terminal could not be opened: %w", err)
	}
	return &terminalProcess{terminal: t, timeout: cmd.Timeout, quiet: cmd.Quiet, started: time.Now()}, nil
}

// Bounds on what a terminal of the client may take when its command is ended.
const (
	killWait    = 300 * time.Millisecond
	outputWait  = 300 * time.Millisecond
	releaseWait = 300 * time.Millisecond
)

// What ends the wait for a command before its end: its time is over, or it was silent for too long.
var (
	errTimeout = errors.New("time-out")
	errQuiet   = errors.New("no output")
)

// terminalProcess is a command in a terminal of the client.
type terminalProcess struct {
	terminal terminal
	timeout  time.Duration
	quiet    time.Duration
	started  time.Time
	release  sync.Once
	err      error
}

// Terminal implements [host.Process].
func (p *terminalProcess) Terminal() string { return string(p.terminal.ID()) }

// Wait implements [host.Process].
func (p *terminalProcess) Wait(ctx context.Context) (host.Exit, error) {
	waitCtx := ctx
	if p.timeout > 0 {
		var cancel context.CancelFunc
		waitCtx, cancel = context.WithTimeoutCause(ctx, p.timeout-time.Since(p.started), errTimeout)
		defer cancel()
	}
	exit := host.Exit{Code: -1}
	ended, waitErr := p.waitSpeaking(waitCtx)
	if quieted := errors.Is(waitErr, errQuiet); quieted || waitCtx.Err() != nil {
		exit.Quieted = quieted && ctx.Err() == nil
		exit.TimedOut = !quieted && ctx.Err() == nil
		ended, waitErr = p.kill(ctx)
	}
	exit.Duration = time.Since(p.started)
	known := func(code acp.Opt[uint32], signal string) bool {
		if n, ok := code.Get(); ok {
			exit.Code = int(n)
		}
		exit.Signal = signal
		return code.IsSet() || signal != ""
	}
	told := waitErr == nil && known(ended.ExitCode, ended.Signal)
	outCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(outputWait, graceFor(ctx)))
	defer cancel()
	if out, err := p.terminal.Output(outCtx); err == nil {
		exit.Output, exit.Total = strings.ToValidUTF8(out.Output, "\uFFFD"), int64(len(out.Output))
		if out.Truncated {
			exit.Output = "… earlier output left out …\n" + exit.Output
		}
		if s := out.ExitStatus; !told && s != nil {
			told = known(s.ExitCode, s.Signal)
		}
	} else if waitErr == nil {
		waitErr = fmt.Errorf("the editor does not give the command's output: %w", err)
	}
	switch {
	case ctx.Err() != nil:
		return exit, context.Cause(ctx)
	case exit.TimedOut, exit.Quieted:
		return exit, nil
	case waitErr != nil:
		return exit, fmt.Errorf("it is not known how the command in the editor's terminal ended: %w", waitErr)
	case !told:
		return exit, errors.New("it is not known how the command ended: the editor gives neither exit code nor signal; " +
			"the person may have stopped it there")
	}
	return exit, nil
}

// waitSpeaking waits for the command's end, until ctx ends or it has written nothing for too long (errQuiet).
func (p *terminalProcess) waitSpeaking(ctx context.Context) (acp.WaitForTerminalExitResponse, error) {
	if p.quiet <= 0 {
		return p.terminal.Wait(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		if p.silent(ctx) {
			cancel(errQuiet)
		}
	})
	ended, err := p.terminal.Wait(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errQuiet) {
		return ended, errQuiet
	}
	return ended, err
}

// silent watches the output until ctx ends, and tells when it has not changed for too long.
func (p *terminalProcess) silent(ctx context.Context) bool {
	tick := time.NewTicker(max(p.quiet/4, time.Millisecond))
	defer tick.Stop()
	last, since := "", p.started
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		out, err := p.terminal.Output(ctx)
		switch {
		case err != nil: // the editor is asked again
		case out.Output != last:
			last, since = out.Output, time.Now()
		case time.Since(since) >= p.quiet:
			return ctx.Err() == nil
		}
	}
}

// graceFor is how long a client that nobody is in a hurry with may take.
func graceFor(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return 10 * time.Second
}

// kill ends the command and awaits its end for a moment.
func (p *terminalProcess) kill(ctx context.Context) (acp.WaitForTerminalExitResponse, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	if err := p.terminal.Kill(ctx); err != nil {
		return acp.WaitForTerminalExitResponse{}, err
	}
	return p.terminal.Wait(ctx)
}

// Close implements [host.Process].
func (p *terminalProcess) Close() error {
	p.release.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), releaseWait)
		defer cancel()
		p.err = p.terminal.Release(ctx)
	})
	return p.err
}
