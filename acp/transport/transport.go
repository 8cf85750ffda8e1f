// Package transport carries whole JSON-RPC messages between two peers.
//
// A [Transport] moves bytes and keeps message borders; what is in a message is the
// connection's business. [NewLine] is the protocol's stdio transport (newline-delimited
// JSON) over any reader and writer, [Pipe] connects two peers of one process.
package transport

import (
	"context"
	"errors"
	"fmt"
)

// DefaultMaxMessageBytes is the size limit of one incoming message, in bytes, when
// none is set: 32 MiB, the limit of the protocol's reference implementation.
const DefaultMaxMessageBytes = 32 << 20

// ErrClosed is returned by Read and Write after Close.
var ErrClosed = errors.New("transport closed")

// A Transport carries messages in both directions, in order.
//
// One goroutine may call Read while another calls Write; neither is called
// concurrently with itself. Close may be called at any time, more than once, from any
// goroutine.
type Transport interface {
	// Read returns the next message without its framing. The slice is valid until the
	// next Read. At the peer's orderly end the error is io.EOF. An error that matches
	// *MessageTooLargeError concerns one message only: the next Read goes on behind it.
	// Every other error is final. An empty message is skipped by the caller.
	Read(ctx context.Context) ([]byte, error)

	// Write sends the messages in order. It does not keep the slices. Every error is
	// final.
	Write(ctx context.Context, msgs ...[]byte) error

	// Close ends both directions and, where the underlying stream allows it, unblocks
	// a Read and a Write in progress.
	Close() error
}

// MessageTooLargeError reports an incoming message above the limit. The message was
// skipped; the transport lives.
type MessageTooLargeError struct {
	Size  int64  // raw bytes of the message
	Limit int64  // the limit it broke, in bytes
	Head  []byte // the first bytes of the message, at most 4 KiB; valid until the next Read
}

// Error has the size and the limit.
func (e *MessageTooLargeError) Error() string {
	return fmt.Sprintf("message of %d bytes is larger than the limit of %d bytes", e.Size, e.Limit)
}
