package acp

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/wherry-acp/wherry/acp/process"
	"github.com/wherry-acp/wherry/acp/transport"
)

// An ExitError says how an agent's process ended, with the end of its standard error.
type ExitError = process.ExitError

// Spawn starts the agent that cmd describes and connects to it. The process, and
// everything that it has started, ends with Close or with ctx. StartTimeout bounds the
// start and the handshake; if the process ends meanwhile, the error says how. cmd's
// standard streams must not be set. Its environment is the caller's choice: nil passes on
// only what [process.Environment] returns, without keys and tokens.
func Spawn(ctx context.Context, cmd *exec.Cmd, opts *ClientOptions) (*RemoteAgent, error) {
	if opts == nil {
		opts = &ClientOptions{}
	}
	p, err := process.Start(cmd, &opts.Process)
	if err != nil {
		return nil, err
	}
	stop := p.CloseWhen(ctx)
	line := transport.NewLine(p.Stdout(), p.Stdin(), &transport.LineOptions{MaxMessageBytes: opts.MaxMessageBytes})
	explain := func(err error) error {
		if !errors.Is(err, ErrConnectionClosed) {
			return startError(cmd, p, err)
		}
		// The end of the output is noticed before the end of the process is.
		t := time.NewTimer(exitNotice)
		defer t.Stop()
		select {
		case <-p.Exited():
		case <-t.C:
		}
		if exit := p.Err(err); exit != nil {
			return exit
		}
		return err
	}
	a, err := connect(ctx, line, opts, func() error {
		stop()
		return p.Close()
	}, explain)
	if err != nil {
		stop()
		_ = p.Close()
		return nil, fmt.Errorf("start agent %s: %w", cmd.Path, err)
	}
	return a, nil
}

// startError adds to what is wrong with a handshake what the process has to say.
func startError(cmd *exec.Cmd, p *process.Process, err error) error {
	if exit := p.Err(err); exit != nil {
		return exit
	}
	if tail := p.LastWords(); tail != "" {
		return fmt.Errorf("%w; %s still runs and wrote to standard error: %s", err, cmd.Path, tail)
	}
	return fmt.Errorf("%w; %s still runs and wrote nothing to standard error", err, cmd.Path)
}

// exitNotice is how long the end of a connection waits for the end of its process.
const exitNotice = 75 * time.Millisecond
