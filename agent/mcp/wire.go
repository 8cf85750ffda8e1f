package mcp

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is one conversation with a process. A second one may follow on the same process when the first was refused: closing
// a wire leaves the process alone.
type wire struct {
	process *process
	once    sync.Once
	closed  chan struct{}
}

var (
	_ sdk.Transport  = (*wire)(nil)
	_ sdk.Connection = (*wire)(nil)
)

func newWire(p *process) *wire { return &wire{process: p, closed: make(chan struct{})} }

// Connect implements [sdk.Transport].
func (w *wire) Connect(context.Context) (sdk.Connection, error) { return w, nil }

// SessionID implements [sdk.Connection]; there is none over standard streams.
func (w *wire) SessionID() string { return "" }

// Read implements [sdk.Connection].
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-w.process.incoming:
		return m, nil
	case <-w.process.silent:
		return nil, io.EOF
	case <-w.process.stopping:
		return nil, io.EOF
	case <-w.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements [sdk.Connection]. A server that does not read its input holds up no caller whose ctx ends.
func (w *wire) Write(ctx context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case w.process.outgoing <- append(line, '\n'):
		return nil
	case <-w.process.deaf:
		return io.ErrClosedPipe
	case <-w.process.stopping:
		return io.ErrClosedPipe
	case <-w.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close implements [sdk.Connection].
func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}
