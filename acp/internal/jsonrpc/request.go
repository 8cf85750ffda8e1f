package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/go-json-experiment/json/jsontext"
)

// A Request is an incoming request.
type Request struct {
	ID     ID
	Method string
	Params jsontext.Value // nil if absent or null; the request's own
	Value  any            // free for the upper layer, set in Begin

	conn   *Conn
	twice  error // a name in its params is there twice
	key    string
	cost   int
	ctx    context.Context
	cancel context.CancelCauseFunc

	holds bool
	open  string
	after []func(context.Context)
	done  func(failed bool)
}

// Hold, called from Begin, holds back notifications whose key the peer cannot know yet:
// until this request is answered, a notification sent with a key that is not open waits.
// The answer opens the key given to Open; when no request holds any more everything goes.
func (r *Request) Hold() {
	if !r.holds {
		r.holds = true
		r.conn.out.hold()
	}
}

// Open names the key that the answer announces to the peer. It is called by the handler
// before it returns.
func (r *Request) Open(key string) { r.open = key }

// After adds a function that runs, in the handler's goroutine, when the answer is queued:
// what it sends is written after the answer. It does not run if the answer is an error.
// It is called by the handler before it returns.
func (r *Request) After(f func(context.Context)) { r.after = append(r.after, f) }

// Done sets the function that runs, in the handler's goroutine, when the answer is queued
// or can not be; failed says that it is an error. It is called from Begin.
func (r *Request) Done(f func(failed bool)) { r.done = f }

// Cancel ends the handler's context.
func (r *Request) Cancel(cause error) { r.cancel(cause) }

// request handles an incoming request, on the reader.
func (c *Conn) request(e *envelope) bool {
	id, _ := NewID(e.id.Clone())
	r := &Request{ID: id, Method: string(e.method), Params: e.params.Clone(), conn: c, twice: e.twice, cost: len(e.params) + itemOverhead}
	if !id.IsNull() {
		r.key = id.key()
	}
	if !c.in.wait(r.cost) {
		return false
	}
	c.mu.Lock()
	refusal := c.refusal(r)
	if refusal == nil {
		if r.key != "" {
			c.requests[r.key] = r
		}
		// Still under the lock: a request is either refused or counted by Drain.
		r.ctx, r.cancel = context.WithCancelCause(context.WithValue(c.reqCtx, insideKey{}, requestHandler))
	}
	c.mu.Unlock()
	if refusal != nil {
		c.in.free(r.cost)
		c.answerNow(id, refusal)
		return true
	}
	c.guard("begin "+r.Method, func() { r.ctx = c.h.Begin(r.ctx, r) })
	c.workers.Add(1)
	if c.in.start(r) {
		go c.serve(r)
	}
	return true
}

func (c *Conn) refusal(r *Request) *Error {
	if c.draining {
		return &Error{Code: CodeInternalError, Message: "Internal error: " + errDraining.Error()}
	}
	if r.key != "" && c.requests[r.key] != nil {
		return &Error{Code: CodeInvalidRequest, Message: "Invalid request: id is in use by a request in flight"}
	}
	return nil
}

// serve runs a request's handler, and then those that waited for it to end.
func (c *Conn) serve(r *Request) {
	for r != nil {
		c.handle(r)
		next := c.in.done(r)
		c.workers.Done()
		r = next
	}
}

// handle calls the handler and sends exactly one answer, also after a panic or
// runtime.Goexit.
func (c *Conn) handle(r *Request) {
	var result any
	err := errors.New("handler did not return")
	returned := false
	func() {
		defer func() {
			if returned {
				return
			}
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
				c.log.Error("request handler panicked", "method", r.Method, "panic", p, "stack", string(debug.Stack()))
				return
			}
			// runtime.Goexit: nothing after this function runs.
			c.answer(r, nil, err)
			next := c.in.done(r)
			c.workers.Done()
			if next != nil {
				go c.serve(next)
			}
		}()
		if cause := context.Cause(r.ctx); errors.Is(cause, ErrCancelled) {
			err = cause // cancelled before it started
		} else if r.twice != nil {
			err = &Error{Code: CodeInvalidParams, Message: "Invalid params: " + r.twice.Error()}
		} else {
			result, err = c.h.Request(r.ctx, r)
		}
		returned = true
	}()
	c.answer(r, result, err)
}

// answer queues the one answer of a request.
func (c *Conn) answer(r *Request, result any, err error) {
	f := c.frames.get()
	if err == nil {
		if err = f.result(r.ID, result); err != nil {
			c.log.Error("encode answer", "method", r.Method, "error", err)
		}
	}
	failed := err != nil
	if failed {
		f.failure(r.ID, c.errorAnswer(r, err))
	} else {
		f.open = r.open
	}
	f.release = r.holds
	// From here on the peer may use the id again.
	if r.key != "" {
		c.mu.Lock()
		delete(c.requests, r.key)
		c.mu.Unlock()
	}
	sendErr := c.out.send(c.ioCtx, f, "", nil)
	r.cancel(nil)
	if r.done != nil {
		c.guard("done "+r.Method, func() { r.done(failed) })
	}
	if sendErr != nil {
		c.log.Debug("answer not sent", "method", r.Method, "error", sendErr)
		return
	}
	if failed || len(r.after) == 0 {
		return
	}
	ctx := context.WithValue(context.WithoutCancel(r.ctx), insideKey{}, requestHandler)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.reqCtx, func() { cancel(context.Cause(c.reqCtx)) })
	for _, after := range r.after {
		c.guard("after "+r.Method, func() { after(ctx) })
	}
	stop()
	cancel(nil)
}

// errorAnswer is what the peer may see of err.
func (c *Conn) errorAnswer(r *Request, err error) *Error {
	if rpc, ok := errors.AsType[*Error](err); ok {
		return rpc
	}
	if errors.Is(context.Cause(r.ctx), ErrCancelled) && (errors.Is(err, context.Canceled) || errors.Is(err, ErrCancelled)) {
		return &Error{Code: CodeCancelled, Message: "Request cancelled"}
	}
	level := slog.LevelError
	if errors.Is(context.Cause(r.ctx), ErrClosed) {
		level = slog.LevelDebug // the peer is gone: nothing went wrong here
	}
	c.log.Log(r.ctx, level, "request failed", "method", r.Method, "error", err)
	return &Error{Code: CodeInternalError, Message: "Internal error"}
}

// answerNow sends an error without waiting for room: for the reader, which must not wait.
func (c *Conn) answerNow(id ID, e *Error) {
	f := c.frames.get()
	f.failure(id, e)
	c.out.urgent(f, false)
}

// cancelRequest handles $/cancel_request, on the reader.
func (c *Conn) cancelRequest(params jsontext.Value) {
	raw := member1(params, "requestId")
	id, ok := NewID(raw)
	if !ok || id.IsNull() {
		return
	}
	c.mu.Lock()
	r := c.requests[id.key()]
	c.mu.Unlock()
	if r != nil {
		r.cancel(ErrCancelled)
	}
}

// guard runs f and logs its panic.
func (c *Conn) guard(what string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(what, p)
		}
	}()
	f()
}

func (c *Conn) panicked(what string, p any) {
	c.log.Error("handler panicked", "in", what, "panic", p, "stack", string(debug.Stack()))
}
