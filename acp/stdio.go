package acp

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/wherry-acp/wherry/acp/transport"
)

// ServeStdio serves the client that started this program, over standard input and
// output, until the input ends or ctx does. While it runs the real standard output
// belongs to the protocol: os.Stdout, and file descriptor 1 where the system allows it,
// lead to standard error, so that a stray print cannot reach the client. It must not run
// twice at a time. opts may be nil.
func ServeStdio(ctx context.Context, agent Agent, opts *AgentOptions) error {
	if isTerminal(os.Stdin) {
		fmt.Fprintln(os.Stderr, "Waiting for an Agent Client Protocol client on standard input. This program is meant to be started by an editor; end it with Ctrl-C.")
	}
	in, restoreIn := claimStdin()
	defer restoreIn()
	out, restoreOut, err := claimStdout()
	if err != nil {
		return fmt.Errorf("keep standard output for the protocol: %w", err)
	}
	defer restoreOut()
	limit := 0
	if opts != nil {
		limit = opts.MaxMessageBytes
	}
	return Serve(ctx, transport.NewLine(in, out, &transport.LineOptions{MaxMessageBytes: limit}), agent, opts)
}

// isTerminal reports whether f is a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// keepOpen hides Close, for files that this package did not open.
type keepOpen struct{ io.Reader }
