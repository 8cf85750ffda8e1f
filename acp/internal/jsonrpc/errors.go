package jsonrpc

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Codes that the connection itself answers with.
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
	CodeCancelled      = -32800
)

// An Error is an error answer: received from the peer, or to be sent as it is.
type Error struct {
	Code    int64
	Message string
	Data    jsontext.Value // nil if absent
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

var (
	// ErrClosed matches every error that a call or a send returns because the
	// connection has ended. Such an error also wraps the cause.
	ErrClosed = errors.New("connection closed")

	// ErrLocalClose is the cause after Close.
	ErrLocalClose = errors.New("closed by this side")

	// ErrNotSent matches a failed call of which nothing has reached the peer.
	ErrNotSent = errors.New("request not sent")

	// ErrMaybeSent matches a failed call that the peer may have received and acted on.
	ErrMaybeSent = errors.New("request may have been sent, outcome unknown")

	// ErrInvalidResponse matches a call whose answer is no valid response.
	ErrInvalidResponse = errors.New("invalid response")

	// ErrCancelled is the cause of a handler's context after the peer's $/cancel_request.
	ErrCancelled = errors.New("request cancelled by the peer")

	// ErrHeaderFraming ends a connection whose peer frames messages with
	// Content-Length headers.
	ErrHeaderFraming = errors.New("the peer sends Content-Length headers, expected newline-delimited JSON")

	// ErrWriteStalled ends a connection whose write time-out has passed without progress.
	ErrWriteStalled = errors.New("the peer does not read: write time-out")

	// ErrHeldTooMuch refuses a notification that is held until its key is open when too
	// much is held already.
	ErrHeldTooMuch = errors.New("too much is held back until the key is announced")
)

// A CallError says what is known about a call that got no valid answer. It matches
// ErrNotSent or ErrMaybeSent, and its cause.
type CallError struct {
	Method string
	Sent   bool // the request may have reached the peer
	Err    error
}

func (e *CallError) Error() string {
	state := "not sent"
	if e.Sent {
		state = "may have been sent"
	}
	return fmt.Sprintf("%s: request %s: %v", e.Method, state, e.Err)
}

// Unwrap returns the outcome and the cause.
func (e *CallError) Unwrap() []error {
	if e.Sent {
		return []error{ErrMaybeSent, e.Err}
	}
	return []error{ErrNotSent, e.Err}
}

// closedError wraps the cause of a connection's end.
type closedError struct{ cause error }

func (e *closedError) Error() string { return ErrClosed.Error() + ": " + e.cause.Error() }

func (e *closedError) Unwrap() []error { return []error{ErrClosed, e.cause} }
