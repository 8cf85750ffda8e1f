// Package jsonrpc is the state machine of one JSON-RPC 2.0 connection. It knows nothing
// of the messages it carries: an upper layer says which key (a session) a message
// belongs to, which notifications are urgent, and what to do with the rest.
//
// # Order
//
// Messages are written in the order in which they were sent. Notifications of one key
// are handled one after another, in the order received; keys do not wait for each other.
// Requests run side by side. An answer reaches its caller after the notifications of the
// call's key that were received before it have been handled, unless the call was made
// from inside a notification handler, which would otherwise wait for itself.
// $/cancel_request and urgent notifications take effect at once, whatever is queued.
//
// # Text
//
// A message that is not one JSON value in valid UTF-8 goes no further. Of params and
// results the upper layer sees those alone in which no object has a name twice.
//
// # Goroutines
//
// One goroutine reads, one writes, one supervises the end; every request handler has its
// own, and every key with work has one. All are gone when Wait returns nil.
package jsonrpc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/wherry-acp/wherry/acp/transport"
)

// Defaults of Options.
const (
	DefaultMaxRequests   = 1024
	DefaultInboundBytes  = 64 << 20
	DefaultOutboundBytes = 4 << 20
	DefaultHeldBytes     = 16 << 20
	DefaultEndGrace      = 750 * time.Millisecond
)

// Bounds of an orderly end.
const (
	answerGrace = time.Second            // for handlers to answer after their context has ended
	flushGrace  = time.Second            // for the writer to write what is queued
	ioGrace     = 500 * time.Millisecond // for Read and Write to return after Close
	lastRead    = 50 * time.Millisecond  // for the reader to find the end after a failed write
)

// A Handler is the upper layer of a connection.
type Handler interface {
	// Key returns the key that a message belongs to, "" for the connection itself. It
	// is called on the reader: it must be quick, and may return part of params.
	Key(method string, params jsontext.Value) []byte

	// Begin is called on the reader for each request, in the order received and before
	// its handler starts. It returns the handler's context, derived from ctx. It must
	// not block.
	Begin(ctx context.Context, r *Request) context.Context

	// Request answers a request, in its own goroutine. The result encodes itself, is a
	// jsontext.Value, or is encoded by reflection; nil stands for {}. An *Error is sent as
	// it is; every other error becomes "Internal error" (or "Request cancelled"), and
	// goes to the log.
	Request(ctx context.Context, r *Request) (any, error)

	// Urgent is called on the reader for each notification, also if a name in its params
	// is there twice. It returns true if it has dealt with it; otherwise the notification
	// is queued. It must not block.
	Urgent(method string, params jsontext.Value) bool

	// Notification handles a queued notification. params is valid until it returns.
	Notification(ctx context.Context, method string, params jsontext.Value)
}

// A Direction says which way a message went.
type Direction uint8

// The directions.
const (
	Incoming Direction = iota
	Outgoing
)

// Options of a connection; the zero value is ready to use.
type Options struct {
	Logger        *slog.Logger  // nil discards
	MaxRequests   int           // request handlers running at a time
	InboundBytes  int           // received and not yet handled
	OutboundBytes int           // sent and not yet written
	HeldBytes     int           // held back until their key is open
	WriteTimeout  time.Duration // for one write without progress; 0 means none
	EndGrace      time.Duration // for handlers to finish by themselves at the peer's orderly end
	Now           func() time.Time

	// Tap sees every message, on the reader and on the writer. message is valid during
	// the call.
	Tap func(dir Direction, at time.Time, message []byte)

	// Garbage sees every incoming message that cannot be used and why. message is
	// valid during the call; of a message over the size limit it is only the head.
	Garbage func(message []byte, problem string)
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxRequests <= 0 {
		o.MaxRequests = DefaultMaxRequests
	}
	if o.InboundBytes <= 0 {
		o.InboundBytes = DefaultInboundBytes
	}
	if o.OutboundBytes <= 0 {
		o.OutboundBytes = DefaultOutboundBytes
	}
	if o.HeldBytes <= 0 {
		o.HeldBytes = DefaultHeldBytes
	}
	if o.EndGrace <= 0 {
		o.EndGrace = DefaultEndGrace
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// A Conn is one connection. All methods may be called concurrently and from handlers.
type Conn struct {
	t    transport.Transport
	h    Handler
	opts Options
	log  *slog.Logger

	frames framePool
	out    outbox
	in     inbox

	ioCtx     context.Context // ends when the transport is closed
	ioEnd     context.CancelFunc
	reqCtx    context.Context // parent of request handlers
	reqEnd    context.CancelCauseFunc
	notifyCtx context.Context // of notification handlers
	notifyEnd context.CancelCauseFunc

	mu       sync.Mutex
	calls    map[int64]*Call
	requests map[string]*Request // by id, null excepted
	draining bool
	failed   bool
	orderly  bool // the reader ended with io.EOF
	err      error
	done     chan struct{} // closed with failed

	lastID   atomic.Int64
	closing  chan struct{} // closed by Close
	once     sync.Once
	closed   chan struct{} // closed when the transport is closed
	readEnd  chan struct{}
	writeEnd chan struct{}
	workers  sync.WaitGroup // handlers and queue workers
}

// New returns a connection that has not started. Start must be called once.
func New(t transport.Transport, h Handler, opts *Options) *Conn {
	if opts == nil {
		opts = &Options{}
	}
	c := &Conn{
		t: t, h: h, opts: opts.withDefaults(),
		calls:    make(map[int64]*Call),
		requests: make(map[string]*Request),
		done:     make(chan struct{}),
		closing:  make(chan struct{}),
		closed:   make(chan struct{}),
		readEnd:  make(chan struct{}),
		writeEnd: make(chan struct{}),
	}
	c.log = c.opts.Logger
	c.out.init(c.opts.OutboundBytes, c.opts.HeldBytes, &c.frames)
	c.in.init(c.opts.InboundBytes, c.opts.MaxRequests)
	return c
}

// Start begins to read and write. The values of ctx reach every handler, and its end
// closes the connection.
func (c *Conn) Start(ctx context.Context) {
	values := context.WithoutCancel(ctx)
	c.ioCtx, c.ioEnd = context.WithCancel(values)
	c.reqCtx, c.reqEnd = context.WithCancelCause(values)
	c.notifyCtx, c.notifyEnd = context.WithCancelCause(context.WithValue(values, insideKey{}, notifyHandler))
	go c.read()
	go c.write()
	go c.supervise(ctx)
}

// Done is closed when the connection has ended: no call can be answered any more.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns nil until Done is closed, then an error that matches ErrClosed and the
// cause: io.EOF after the peer's orderly end, ErrLocalClose after Close.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection: calls fail, handlers' contexts end, queued notifications are
// dropped, and what has been sent is still written, within about two seconds. It does not
// wait for handlers; Wait does. It may be called more than once.
func (c *Conn) Close() error {
	c.once.Do(func() { close(c.closing) })
	<-c.closed
	return nil
}

// Wait waits until the connection has ended and no handler runs any more, or until ctx ends.
func (c *Conn) Wait(ctx context.Context) error {
	all := make(chan struct{})
	go func() { // ends with the last handler
		<-c.closed
		c.workers.Wait()
		close(all)
	}()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Closed is closed when the transport has been closed and nothing is sent any more.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Drain answers new requests with an error and waits until those in flight are
// answered, queued notifications are handled and everything is written, or until ctx
// or the connection ends. It does not close the connection.
func (c *Conn) Drain(ctx context.Context) error {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	select {
	case <-c.in.quiet(true):
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return c.Err()
	}
	select {
	case <-c.out.flushed():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return c.Err()
	}
}

// fail ends the connection for callers. The first cause stays.
func (c *Conn) fail(cause error, orderly bool) {
	c.mu.Lock()
	if c.failed {
		c.mu.Unlock()
		return
	}
	c.failed, c.orderly = true, orderly
	c.err = &closedError{cause}
	calls := c.calls
	c.calls = nil
	close(c.done)
	c.mu.Unlock()
	for _, call := range calls {
		call.finish(nil, &CallError{call.method, !c.out.unsent(call), c.Err()})
	}
}

// supervise carries a connection to its end.
func (c *Conn) supervise(ctx context.Context) {
	defer close(c.closed)
	local := true
	select {
	case <-c.done:
		local = false
	case <-c.closing:
		c.fail(ErrLocalClose, false)
	case <-ctx.Done():
		c.fail(context.Cause(ctx), false)
	}
	cause := c.Err()
	if local || !c.orderlyEnd() {
		c.reqEnd(cause)
	}
	if !local {
		// The peer may have closed only its sending side and still wait for answers.
		if c.orderlyEnd() {
			c.pause(c.in.quiet(false), c.opts.EndGrace)
			c.reqEnd(cause)
		}
		c.pause(c.in.quiet(false), answerGrace)
	}
	c.out.finish()
	c.pause(c.writeEnd, flushGrace)
	c.out.fail(cause)
	c.ioEnd()
	if err := c.t.Close(); err != nil {
		c.log.Debug("close transport", "error", err)
	}
	if local {
		c.abandonQueues(cause)
	}
	stop, cancel := context.WithTimeout(context.Background(), ioGrace)
	defer cancel()
	for _, end := range []chan struct{}{c.writeEnd, c.readEnd} {
		select {
		case <-end:
		case <-stop.Done():
			c.log.Warn("transport does not return after close; its goroutine is left behind")
		}
	}
	if !local {
		// Notifications received before the end are still handled, but not beyond Close.
		c.workers.Add(1)
		go func() {
			defer c.workers.Done()
			select {
			case <-c.in.quiet(true):
			case <-c.closing:
			case <-ctx.Done():
			}
			c.abandonQueues(cause)
		}()
	}
}

func (c *Conn) orderlyEnd() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orderly
}

// pause waits for ch, at most d, or until Close.
func (c *Conn) pause(ch <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ch:
	case <-t.C:
	case <-c.closing:
		if ch == c.writeEnd { // Close still writes what was sent
			select {
			case <-ch:
			case <-t.C:
			}
		}
	}
}

// abandonQueues ends notification handlers and delivers the answers that waited for them.
func (c *Conn) abandonQueues(cause error) {
	c.notifyEnd(cause)
	for _, call := range c.in.discard() {
		call.deliver()
	}
}

// write is the writer goroutine.
func (c *Conn) write() {
	defer close(c.writeEnd)
	var msgs [][]byte
	for {
		chunk, ok := c.out.take()
		if !ok {
			return
		}
		msgs = chunk.messages(msgs[:0])
		if c.opts.Tap != nil {
			for _, msg := range msgs {
				c.opts.Tap(Outgoing, c.opts.Now(), msg)
			}
		}
		if err := c.writeOnce(msgs); err != nil {
			c.out.fail(&closedError{err})
			// The peer's last words may still be unread.
			c.pause(c.readEnd, lastRead)
			c.fail(err, false)
			return
		}
		clear(msgs)
		c.out.wrote(chunk)
	}
}

func (c *Conn) writeOnce(msgs [][]byte) error {
	if len(msgs) == 0 { // all dropped
		return nil
	}
	if c.opts.WriteTimeout <= 0 {
		return c.t.Write(c.ioCtx, msgs...)
	}
	watch := time.AfterFunc(c.opts.WriteTimeout, func() { c.fail(ErrWriteStalled, false) })
	defer watch.Stop()
	return c.t.Write(c.ioCtx, msgs...)
}

// Notify sends a notification. It waits, within ctx, for room in the queue, not for
// the writing. key, if not "", names what the notification is about: see Request.Hold.
func (c *Conn) Notify(ctx context.Context, key, method string, params any) error {
	if ctx.Err() != nil {
		return &CallError{method, false, context.Cause(ctx)}
	}
	f := c.frames.get()
	if err := f.request(0, method, params); err != nil {
		c.frames.put(f)
		return &CallError{method, false, err}
	}
	if err := c.out.send(ctx, f, key, nil); err != nil {
		return &CallError{method, false, err}
	}
	return nil
}

// NotifyNow is Notify without waiting for room in the queue.
func (c *Conn) NotifyNow(method string, params any) error {
	f := c.frames.get()
	if err := f.request(0, method, params); err != nil {
		c.frames.put(f)
		return &CallError{method, false, err}
	}
	if !c.out.urgent(f, false) {
		return &CallError{method, false, c.Err()}
	}
	return nil
}

// Handled returns a channel that is closed when the notifications of key that have been
// received by now are handled, or dropped by Close.
func (c *Conn) Handled(key string) <-chan struct{} {
	mark := &Call{done: make(chan struct{})}
	if !c.in.barrier(key, mark) {
		mark.deliver()
	}
	return mark.done
}

// OpenKey tells that the peer knows key; see Request.Hold. It reports whether that is new.
func (c *Conn) OpenKey(key string) bool { return c.out.openKey(key) }

// CloseKey takes OpenKey back.
func (c *Conn) CloseKey(key string) { c.out.closeKey(key) }

// insideKey marks contexts of handlers.
type insideKey struct{}

type inside uint8

const (
	outside inside = iota
	notifyHandler
	requestHandler
)

func insideOf(ctx context.Context) inside {
	in, _ := ctx.Value(insideKey{}).(inside)
	return in
}

var errDraining = errors.New("shutting down")
