package acp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/internal/jsonrpc"
)

// Errors of a connection. They are matched with errors.Is.
var (
	// ErrConnectionClosed matches every error that is returned because the connection
	// has ended. Such an error also wraps the cause, for example io.EOF.
	ErrConnectionClosed = jsonrpc.ErrClosed

	// ErrNotSent matches a failed call of which nothing has reached the peer: it is safe
	// to repeat.
	ErrNotSent = jsonrpc.ErrNotSent

	// ErrMaybeSent matches a failed call that the peer may have received and acted on.
	ErrMaybeSent = jsonrpc.ErrMaybeSent

	// ErrInvalidResponse matches a call whose answer could not be understood.
	ErrInvalidResponse = jsonrpc.ErrInvalidResponse

	// ErrRequestCancelled is the cause of a handler's context after the peer's
	// $/cancel_request. A handler that returns the context's error is answered -32800.
	ErrRequestCancelled = jsonrpc.ErrCancelled

	// ErrSessionCancelled is the cause of a handler's context after session/cancel. A
	// prompt handler that returns an error then is answered with stop reason "cancelled".
	ErrSessionCancelled = errors.New("session cancelled by the client")

	// ErrTurnInProgress refuses a prompt on a session whose turn is still running. It matches ErrNotSent.
	ErrTurnInProgress = fmt.Errorf("a turn is in progress on this session: %w", ErrNotSent)

	// ErrCancelTimeout is the result of a turn whose agent did not answer within
	// ClientOptions.CancelGrace after it was cancelled.
	ErrCancelTimeout = errors.New("the agent did not end the turn after it was cancelled")

	// ErrProtocolVersion matches a connection that ended because the agent speaks no
	// version that this package speaks.
	ErrProtocolVersion = errors.New("no common protocol version")
)

// An Outcome says how far a call has come.
type Outcome uint8

// The outcomes.
const (
	// NotSent means that nothing has reached the peer: the call may be repeated.
	NotSent Outcome = iota
	// MaybeSent means that the peer may have received the call and acted on it, and nobody knows.
	MaybeSent
	// Answered means that the peer has answered, with a result or an error.
	Answered
)

// String returns "not sent", "maybe sent" or "answered".
func (o Outcome) String() string {
	switch o {
	case NotSent:
		return "not sent"
	case Answered:
		return "answered"
	default:
		return "maybe sent"
	}
}

// OutcomeOf tells from the error of a call how far it has come; nil is Answered. An error that no call of this package
// returns is MaybeSent, which promises nothing.
func OutcomeOf(err error) Outcome {
	_, answered := errors.AsType[*RequestError](err)
	switch {
	case err == nil, answered, errors.Is(err, ErrInvalidResponse):
		return Answered
	case errors.Is(err, ErrNotSent):
		return NotSent
	}
	return MaybeSent
}

// A CallError says what is known about a call that got no valid answer: it matches
// ErrNotSent or ErrMaybeSent, and its cause.
type CallError = jsonrpc.CallError

// A RequestError is the error answer to a request: received from the peer, or returned
// by a handler, whose peer then sees exactly this. Every other error that a handler
// returns shows the peer "Internal error" only.
type RequestError struct {
	Code    ErrorCode
	Message string
	Data    jsontext.Value // nil if there is none
}

// Error is the message and the code. Many agents say only "Internal error" there and the reason in the data: a
// text in it that is meant for people follows, up to a length.
func (e *RequestError) Error() string {
	if reason := e.reason(); reason != "" {
		return fmt.Sprintf("%s: %s (code %d)", e.Message, reason, e.Code)
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// maxReason bounds the part of an error's data that its text shows, in bytes.
const maxReason = 300

// reason is the data if it is a string, or its member details, message, reason or error.
func (e *RequestError) reason() string {
	text := ""
	if e.Data.Kind() == '"' {
		_ = json.Unmarshal(e.Data, &text) // what is no string says nothing
	} else if e.Data.Kind() == '{' {
		var said map[string]jsontext.Value
		_ = json.Unmarshal(e.Data, &said, jsontext.AllowDuplicateNames(true))
		for _, name := range []string{"details", "message", "reason", "error"} {
			if v := said[name]; v.Kind() == '"' && json.Unmarshal(v, &text) == nil && text != "" {
				break
			}
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if strings.Contains(e.Message, text) {
		return ""
	}
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "…"
	}
	return text
}

// Is reports whether target is a *RequestError with the same code and either no message
// or the same one.
func (e *RequestError) Is(target error) bool {
	t, ok := target.(*RequestError)
	return ok && t.Code == e.Code && (t.Message == "" || t.Message == e.Message)
}

// ParseError returns the error for a message that is not JSON (-32700).
func ParseError() *RequestError { return &RequestError{Code: CodeParseError, Message: "Parse error"} }

// InvalidRequest returns the error for a request that may not be sent now or in this
// form (-32600).
func InvalidRequest(format string, args ...any) *RequestError {
	return &RequestError{Code: CodeInvalidRequest, Message: "Invalid request: " + fmt.Sprintf(format, args...)}
}

// MethodNotFound returns the error for a method that is not offered (-32601).
func MethodNotFound(method string) *RequestError {
	return &RequestError{Code: CodeMethodNotFound, Message: "Method not found: " + method, Data: object("method", method)}
}

// InvalidParams returns the error for params that cannot be accepted (-32602).
func InvalidParams(format string, args ...any) *RequestError {
	return &RequestError{Code: CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

// InternalError returns an error whose text the peer may see (-32603).
func InternalError(format string, args ...any) *RequestError {
	return &RequestError{Code: CodeInternalError, Message: "Internal error: " + fmt.Sprintf(format, args...)}
}

// RequestCancelled returns the error for a request that was cancelled (-32800).
func RequestCancelled() *RequestError {
	return &RequestError{Code: CodeRequestCancelled, Message: "Request cancelled"}
}

// AuthRequired returns the error for a request that needs authentication first (-32000).
func AuthRequired() *RequestError {
	return &RequestError{Code: CodeAuthRequired, Message: "Authentication required"}
}

// ResourceNotFound returns the error for a file or other resource that does not exist
// (-32002).
func ResourceNotFound(uri string) *RequestError {
	return &RequestError{Code: CodeResourceNotFound, Message: "Resource not found: " + uri, Data: object("uri", uri)}
}

// SessionNotFound returns the error for a session that is unknown or not active (-32002).
func SessionNotFound(id SessionID) *RequestError {
	return &RequestError{Code: CodeResourceNotFound, Message: "Session not found: " + string(id), Data: object("sessionId", string(id))}
}

// object returns a JSON object of strings, given as names and values in turn.
func object(members ...string) jsontext.Value {
	b := []byte{'{'}
	for i, s := range members {
		switch {
		case i%2 == 1:
			b = append(b, ':')
		case i > 0:
			b = append(b, ',')
		}
		b, _ = jsontext.AppendQuote(b, s) // an error means that invalid UTF-8 was replaced
	}
	return append(b, '}')
}

// A CapabilityError refuses, before anything is sent, a call that the peer did not offer.
type CapabilityError struct {
	Method     string // the method, or what is wanted of it
	Capability string // the path of the missing capability
}

// Is reports that the call was not sent.
func (e *CapabilityError) Is(target error) bool { return target == ErrNotSent }

// Error names the method and the capability that is missing.
func (e *CapabilityError) Error() string {
	return fmt.Sprintf("%s: not offered by the peer: %s is missing", e.Method, e.Capability)
}

// paramsError turns what is wrong with a request's params into the error answer.
func paramsError(err error) error {
	if d, ok := errors.AsType[*DecodeError](err); ok {
		e := &RequestError{Code: CodeInvalidParams, Message: "Invalid params: " + d.Error()}
		e.Data = object("path", d.Path, "expected", d.Expected)
		if d.Expected == "" {
			e.Data = object("path", d.Path, "expected", "a value")
		}
		return e
	}
	return &RequestError{Code: CodeInvalidParams, Message: "Invalid params: " + err.Error()}
}

// fromWire makes the error answer of a call public.
func fromWire(err error) error {
	if rpc, ok := err.(*jsonrpc.Error); ok {
		return &RequestError{Code: ErrorCode(clamp32(rpc.Code)), Message: rpc.Message, Data: rpc.Data}
	}
	return err
}

func clamp32(n int64) int32 {
	if n != int64(int32(n)) {
		return int32(CodeInternalError)
	}
	return int32(n)
}

// toWire is the error answer for what a handler returned. expose may be nil.
func toWire(ctx context.Context, err error, expose func(error) *RequestError) error {
	if e, ok := errors.AsType[*RequestError](err); ok {
		return &jsonrpc.Error{Code: int64(e.Code), Message: e.Message, Data: e.Data}
	}
	if errors.Is(context.Cause(ctx), ErrRequestCancelled) && errors.Is(err, context.Canceled) {
		return err
	}
	if expose != nil {
		if e := expose(err); e != nil {
			return &jsonrpc.Error{Code: int64(e.Code), Message: e.Message, Data: e.Data}
		}
	}
	return err
}
