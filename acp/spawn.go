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
// only what [process.Environment] returns, without keys and tokens. opts may be nil: nothing is
// offered then, and every permission is refused.
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
		if exit := exitOf(p, exitNotice, err); exit != nil {
			return exit
		}
		return err
	}
	a, err := connect(ctx, line, opts, func() error {
		stop()
		return p.Close()
	}, explain)
	if err != nil {
		if _, told := errors.AsType[*ExitError](err); !told && errors.Is(err, ErrConnectionClosed) {
			// The handshake's error can wait longer for the status than a call's.
			if exit := exitOf(p, startNotice, err); exit != nil {
				err = exit
			}
		}
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

// exitOf returns how a process ended whose connection has: that is noticed first. It waits
// for it at most d, and returns nil if the process still runs then.
func exitOf(p *process.Process, d time.Duration, cause error) *ExitError {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.Exited():
	case <-t.C:
	}
	return p.Err(cause)
}

// How long the end of a connection waits for the end of its process: in a call, which must
// not hang, and in the handshake.
const (
	exitNotice  = 100 * time.Millisecond
	startNotice = 400 * time.Millisecond
)
