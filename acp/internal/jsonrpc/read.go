package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/transport"
)

// maxNames bounds the method names that a reader remembers to avoid allocating them.
const maxNames = 256

// reader is the state of the reader goroutine.
type reader struct {
	scan  scanner
	names map[string]string
	lines int
}

// read is the reader goroutine.
func (c *Conn) read() {
	defer close(c.readEnd)
	r := reader{names: make(map[string]string)}
	for {
		line, err := c.t.Read(c.ioCtx)
		if err != nil {
			if large, ok := errors.AsType[*transport.MessageTooLargeError](err); ok {
				c.tooLarge(large)
				continue
			}
			c.fail(err, errors.Is(err, io.EOF))
			return
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if c.opts.Tap != nil {
			c.opts.Tap(Incoming, c.opts.Now(), line)
		}
		r.lines++
		if !c.dispatch(&r, line) {
			return
		}
	}
}

// dispatch deals with one message. It returns false when the reader shall stop.
func (c *Conn) dispatch(r *reader, line []byte) bool {
	e, err := r.scan.scan(line)
	if err != nil {
		if r.lines == 1 && isHeader(line) {
			c.log.Error("newline-delimited JSON expected, got a Content-Length header")
			c.answerNow(ID{}, &Error{Code: CodeParseError, Message: "Parse error: newline-delimited JSON expected, got a Content-Length header"})
			c.fail(ErrHeaderFraming, false)
			return false
		}
		if jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
			c.garbage(line, errNotUnicode.Error())
			c.unread(line, &Error{Code: CodeParseError, Message: "Parse error: " + errNotUnicode.Error()}, errNotUnicode)
			return true
		}
		c.garbage(line, "not JSON")
		c.complain(&Error{Code: CodeParseError, Message: "Parse error"})
		return true
	}
	switch e.kind {
	case kindRequest:
		return c.request(&e)
	case kindNotification:
		return c.notification(r, &e)
	case kindResponse:
		c.response(&e, line)
	default:
		c.garbage(line, e.problem)
		c.complain(&Error{Code: CodeInvalidRequest, Message: "Invalid request: " + e.problem})
	}
	return true
}

func isHeader(line []byte) bool {
	const name = "content-length:"
	return len(line) >= len(name) && bytes.EqualFold(line[:len(name)], []byte(name))
}

func (c *Conn) notification(r *reader, e *envelope) bool {
	method, known := r.names[string(e.method)]
	if !known {
		method = string(e.method)
		if len(r.names) < maxNames && len(method) <= 128 {
			r.names[method] = method
		}
	}
	if method == "$/cancel_request" {
		c.cancelRequest(e.params)
		return true
	}
	urgent := false
	c.guard(method, func() { urgent = c.h.Urgent(method, e.params) })
	if urgent {
		return true
	}
	if e.twice != nil {
		c.log.Warn("notification not understood", "method", method, "error", e.twice)
		return true
	}
	var key []byte
	c.guard(method, func() { key = c.h.Key(method, e.params) })
	q, name, ok := c.in.push(key, method, e.params)
	if q != nil {
		c.workers.Add(1)
		go c.work(name, q)
	}
	return ok
}

// work handles the notifications of one key until there are none.
func (c *Conn) work(name string, q *queue) {
	defer c.workers.Done()
	freeAt := c.opts.InboundBytes / 32 // not one by one, and not too late
	done := 0
	var p *parcel
	for {
		if p = c.in.next(name, q, p, done); p == nil {
			return
		}
		done = 0
		for i := range p.items {
			it := &p.items[i]
			if it.call != nil {
				it.call.deliver()
				continue
			}
			params := p.params(i)
			if c.notifyCtx.Err() == nil {
				c.notify(it.method, params)
			}
			it.own = nil
			if done += cost(params); done >= freeAt {
				c.in.free(done)
				done = 0
			}
		}
	}
}

func (c *Conn) notify(method string, params []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(method, p)
		}
	}()
	c.h.Notification(c.notifyCtx, method, params)
}

// errNotUnicode is what is wrong with a message that is JSON but for a character, such as the half of one that is left where
// a program cut a text in the middle.
var errNotUnicode = errors.New("a string in it is not valid Unicode (a byte that is not UTF-8, or half of a surrogate pair)")

// tooLarge deals with a message that the transport has skipped.
func (c *Conn) tooLarge(large *transport.MessageTooLargeError) {
	c.garbage(large.Head, large.Error())
	c.unread(large.Head, &Error{
		Code:    CodeInvalidRequest,
		Message: "Invalid request: " + large.Error(),
		Data:    jsontext.Value(fmt.Sprintf(`{"size":%d,"limit":%d}`, large.Size, large.Limit)),
	}, large)
}

// unread deals with a message that cannot be taken in although its head tells what it is for: a request is answered with e,
// and the call that an answer is for ends with cause.
func (c *Conn) unread(head []byte, e *Error, cause error) {
	raw, response, ok := headOf(head)
	if !ok {
		c.complain(e)
		return
	}
	if response {
		if id, ok := ours(raw); ok {
			c.mu.Lock()
			call := c.calls[id]
			delete(c.calls, id)
			c.mu.Unlock()
			if call != nil {
				call.answerErr = fmt.Errorf("%s: %w: %w", call.method, ErrInvalidResponse, cause)
				if call.Direct || !c.in.barrier(call.Key, call) {
					call.deliver()
				}
			}
		}
		return
	}
	if id, ok := NewID(raw); ok {
		c.answerNow(id, e)
		return
	}
	c.complain(e)
}

// complain answers a message that has no id, unless the peer is too slow to be told.
func (c *Conn) complain(e *Error) {
	f := c.frames.get()
	f.failure(ID{}, e)
	c.out.urgent(f, true)
}

// garbage tells of a message that cannot be used. The log has its size, not its text.
func (c *Conn) garbage(message []byte, problem string) {
	c.log.Warn("unusable message", "problem", problem, "bytes", len(message))
	if c.opts.Garbage != nil {
		c.guard("garbage hook", func() { c.opts.Garbage(message, problem) })
	}
}

// member1 returns the value of one member of a JSON object, nil if there is none.
func member1(object jsontext.Value, name string) jsontext.Value {
	if object.Kind() != '{' {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil
	}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		found := string(unquote(key)) == name
		value, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		if found {
			return value.Clone()
		}
	}
	return nil
}
