package jsonrpc

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Call is a request to the peer. The exported fields are set by the caller.
type Call struct {
	// Key names what the call is about: its answer is delivered after the
	// notifications of this key that were received before it.
	Key string
	// OnResult, if set, sees a successful result on the reader before anything that the
	// peer sent after it is looked at. It must not block. The result is its own.
	OnResult func(result jsontext.Value)

	// OnDeliver, if set, runs when the answer is delivered, before any later notification
	// of the key is handled. It must not block.
	OnDeliver func()
	// Direct delivers the answer without waiting for notifications.
	Direct bool

	method string
	queued atomic.Bool
	place  place // guarded by the outbox: of the request while it is pending

	once   sync.Once
	done   chan struct{}
	result jsontext.Value
	err    error

	// The answer while it waits for the queue.
	answer    jsontext.Value
	answerErr error
}

func (c *Call) finish(result jsontext.Value, err error) {
	c.once.Do(func() {
		c.result, c.err = result, err
		close(c.done)
	})
}

// Queued reports whether the request has its place among the outgoing messages: what is
// sent now is written after it.
func (c *Call) Queued() bool { return c.queued.Load() }

// Method returns the name of the method that was called.
func (c *Call) Method() string { return c.method }

func (c *Call) deliver() {
	if c.OnDeliver != nil {
		c.OnDeliver()
	}
	c.finish(c.answer, c.answerErr)
}

// Call sends a request and waits for its answer. Errors: *Error is the peer's;
// ErrInvalidResponse an answer that is none; *CallError says that there was no answer
// and whether the request may have been sent. When ctx ends first, the peer is sent
// $/cancel_request, the call returns at once, and a later answer is dropped.
// opts may be nil.
func (c *Conn) Call(ctx context.Context, method string, params any, opts *Call) (jsontext.Value, error) {
	call := opts
	if call == nil {
		call = &Call{}
	}
	call.method = method
	call.done = make(chan struct{})
	if err := context.Cause(ctx); err != nil {
		return nil, &CallError{method, false, err}
	}
	if in := insideOf(ctx); in != outside {
		call.Direct = call.Direct || in == notifyHandler
		c.in.calling(in == notifyHandler, 1)
		defer c.in.calling(in == notifyHandler, -1)
	}

	id := c.lastID.Add(1)
	f := c.frames.get()
	if err := f.request(id, method, params); err != nil {
		c.frames.put(f)
		return nil, &CallError{method, false, err}
	}
	f.call = call

	c.mu.Lock()
	if c.failed {
		err := c.err
		c.mu.Unlock()
		return nil, &CallError{method, false, err}
	}
	c.calls[id] = call
	c.mu.Unlock()

	if err := c.out.send(ctx, f, "", c.done); err != nil {
		c.forget(id)
		if err == ErrClosed {
			err = c.Err()
		}
		return nil, &CallError{method, false, err}
	}
	select {
	case <-call.done:
		return call.result, call.err
	case <-ctx.Done():
	}
	select {
	case <-call.done:
		return call.result, call.err
	default:
	}
	if c.out.drop(call) {
		c.forget(id)
		return nil, &CallError{method, false, context.Cause(ctx)}
	}
	if c.forget(id) {
		f := c.frames.get()
		if err := f.request(0, "$/cancel_request", cancelParams{id}); err == nil {
			c.out.urgent(f, false)
		}
	}
	return nil, &CallError{method, true, context.Cause(ctx)}
}

// forget removes a call and reports whether its answer was still to come.
func (c *Conn) forget(id int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.calls[id]
	delete(c.calls, id)
	return ok
}

type cancelParams struct{ id int64 }

// AppendJSON implements Appender.
func (p cancelParams) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, `{"requestId":`...)
	return append(strconv.AppendInt(dst, p.id, 10), '}'), nil
}

// response handles an incoming answer, on the reader.
func (c *Conn) response(e *envelope, line []byte) {
	id, ok := ours(e.id)
	var call *Call
	if ok {
		c.mu.Lock()
		call = c.calls[id]
		delete(c.calls, id)
		c.mu.Unlock()
	}
	if call == nil {
		if ok && id > 0 && id <= c.lastID.Load() {
			c.log.Debug("late answer dropped", "id", id)
			return
		}
		if e.err != nil && e.id.Kind() == 'n' {
			rpc, _ := parseError(e.err)
			c.log.Warn("the peer could not read a message", "error", rpc)
			return
		}
		c.garbage(line, "answer to a request that was never sent")
		return
	}
	call.answer, call.answerErr = e.outcome(call.method)
	if call.answerErr == nil && call.OnResult != nil {
		c.guard("result of "+call.method, func() { call.OnResult(call.answer) })
	}
	if call.Direct || !c.in.barrier(call.Key, call) {
		call.deliver()
	}
}

// outcome turns a response into what its caller gets.
func (e *envelope) outcome(method string) (jsontext.Value, error) {
	if e.problem != "" {
		return nil, fmt.Errorf("%s: %w: %s", method, ErrInvalidResponse, e.problem)
	}
	if e.err != nil && e.err.Kind() != 'n' {
		rpc, err := parseError(e.err)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: malformed error: %w", method, ErrInvalidResponse, err)
		}
		return nil, rpc
	}
	if e.result == nil {
		return nil, fmt.Errorf("%s: %w: neither result nor error", method, ErrInvalidResponse)
	}
	if e.twice != nil {
		return nil, fmt.Errorf("%s: %w: %w", method, ErrInvalidResponse, e.twice)
	}
	return bytes.Clone(e.result), nil
}

func parseError(raw jsontext.Value) (*Error, error) {
	var body struct {
		Code    *int64         `json:"code"`
		Message *string        `json:"message"`
		Data    jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	if body.Code == nil || body.Message == nil {
		return nil, fmt.Errorf("code or message is missing")
	}
	return &Error{Code: *body.Code, Message: *body.Message, Data: body.Data}, nil
}
