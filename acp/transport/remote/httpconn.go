package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/wherry-acp/wherry/acp/transport"
)

// errGone is given to a request whose connection ended meanwhile.
var errGone = errors.New("the connection has ended")

// errDetached and the following are why a handler ends a connection by itself.
var (
	errDetached = errors.New("no stream was open and no request came for too long")
	errDeleted  = errors.New("the client ended the connection")
	errStalled  = errors.New("the client took no output for too long")
	errStreams  = errors.New("too many sessions have messages that nobody reads")
	errLongID   = errors.New("the id is too long")
)

// An httpConn is a connection over streamable HTTP: POST requests put messages in, event streams take them out.
type httpConn struct {
	h         *Handler
	id        string
	principal string
	in        chan []byte // to Read, with nothing in between
	inEnd     chan struct{}
	gone      context.Context // ends when nothing more is delivered
	leave     context.CancelCauseFunc

	mu       sync.Mutex
	streams  map[string]*stream // by session; "" is the connection's
	buffered int                // bytes in all streams
	unread   int                // session streams without a reader
	routes   map[string]string  // session ("" for none) by id of a client's request
	asked    map[string]string  // session by id of an agent's request
	loads    map[string]string  // session by id of a load
	progress chan struct{}      // closed and replaced when something left a stream or a request was answered
	finished bool               // the agent sends nothing more
	inClosed bool
	using    int // requests and readers in progress
	reaper   *time.Timer
	opening  string      // the key of the initialize request while it waits
	opened   chan []byte // its answer
}

// A stream holds messages until they are written to the client.
type stream struct {
	session string
	queue   []outgoing
	sent    uint64 // messages written
	queued  uint64 // messages ever queued
	reader  bool
	wake    chan struct{} // to the reader; one slot
}

// outgoing is a message of a stream. It waits until the messages of another stream that were there before it have
// been written, while somebody reads that one.
type outgoing struct {
	msg   []byte
	after *stream
	mark  uint64
}

func newHTTPConn(h *Handler, id, principal, opening string) *httpConn {
	c := &httpConn{
		h: h, id: id, principal: principal, opening: opening,
		in: make(chan []byte), inEnd: make(chan struct{}), opened: make(chan []byte, 1),
		streams: make(map[string]*stream), routes: make(map[string]string),
		asked: make(map[string]string), loads: make(map[string]string), progress: make(chan struct{}),
	}
	c.gone, c.leave = context.WithCancelCause(context.Background())
	c.streams[""] = newStream("")
	c.reaper = time.AfterFunc(h.opts.DetachTimeout, func() {
		c.mu.Lock()
		idle := c.using == 0
		c.mu.Unlock()
		if idle {
			c.abandon(errDetached)
		}
	})
	return c
}

func newStream(session string) *stream {
	return &stream{session: session, wake: make(chan struct{}, 1)}
}

func (s *stream) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Read returns the next message of the client.
func (c *httpConn) Read(ctx context.Context) ([]byte, error) {
	select {
	case <-c.inEnd:
		return nil, c.end()
	default:
	}
	select {
	case msg := <-c.in:
		return msg, nil
	case <-c.inEnd:
		return nil, c.end()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// end is the error of Read when nothing more comes.
func (c *httpConn) end() error {
	switch cause := context.Cause(c.gone); {
	case cause == nil, errors.Is(cause, errDeleted), errors.Is(cause, errShutdown), errors.Is(cause, errDetached):
		return io.EOF
	case errors.Is(cause, transport.ErrClosed):
		return transport.ErrClosed
	default:
		return cause
	}
}

// Write puts messages into their streams. It waits while more is buffered than allowed.
func (c *httpConn) Write(ctx context.Context, msgs ...[]byte) error {
	for _, msg := range msgs {
		e, err := peek(msg)
		if err != nil {
			return fmt.Errorf("send message: %w", err)
		}
		if err := c.room(ctx); err != nil {
			return err
		}
		if err := c.route(&e, bytes.Clone(msg)); err != nil {
			c.abandon(err)
			return fmt.Errorf("send message: %w", err)
		}
	}
	return nil
}

// room waits until less is buffered than allowed. A client that takes nothing for too long loses the connection.
func (c *httpConn) room(ctx context.Context) error {
	var stall *time.Timer
	for {
		c.mu.Lock()
		finished, full, progress := c.finished, c.buffered >= c.h.opts.MaxBufferedBytes, c.progress
		c.mu.Unlock()
		if c.gone.Err() != nil || finished {
			return transport.ErrClosed
		}
		if !full {
			return nil
		}
		if stall == nil {
			stall = time.NewTimer(c.h.opts.StallTimeout)
			defer stall.Stop()
		} else {
			stall.Reset(c.h.opts.StallTimeout)
		}
		select {
		case <-progress:
		case <-c.gone.Done():
		case <-ctx.Done():
			return ctx.Err()
		case <-stall.C:
			c.abandon(errStalled)
			return errStalled
		}
	}
}

// route puts a message of the agent into the stream that it belongs to.
func (c *httpConn) route(e *envelope, msg []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return transport.ErrClosed
	}
	out := outgoing{msg: msg}
	session := e.session
	if e.response() {
		if units(e.resultSession) > c.h.opts.MaxIDLength {
			return errLongID
		}
		if c.opening != "" && e.id == c.opening {
			c.opening = ""
			c.opened <- msg
			c.advanced()
			return nil
		}
		session = c.routes[e.id]
		delete(c.routes, e.id)
		c.advanced()
		if loaded, is := c.loads[e.id]; is {
			delete(c.loads, e.id)
			if s := c.streams[loaded]; s != nil {
				out.after, out.mark = s, s.queued
			}
		}
	} else if e.request() && e.id != "" {
		c.asked[e.id] = session
	}
	s := c.streams[session]
	if s == nil {
		if units(session) > c.h.opts.MaxIDLength {
			return errLongID
		}
		if c.unread >= c.h.opts.MaxBufferedStreams {
			return errStreams
		}
		s = newStream(session)
		c.streams[session] = s
		c.unread++
	}
	s.queue = append(s.queue, out)
	s.queued++
	c.buffered += len(msg)
	s.poke()
	return nil
}

// advanced tells those who wait that something moved. The caller holds mu.
func (c *httpConn) advanced() {
	close(c.progress)
	c.progress = make(chan struct{})
}

// Close ends the agent's side: what it sent is still delivered to the streams that are read.
func (c *httpConn) Close() error {
	c.h.remove(c.id)
	c.mu.Lock()
	c.finished = true
	c.closeIn()
	readers := false
	for _, s := range c.streams {
		readers = readers || s.reader
		s.poke()
	}
	c.advanced()
	c.mu.Unlock()
	c.reaper.Stop()
	if !readers {
		c.leave(transport.ErrClosed)
	}
	return nil
}

// closeIn ends Read. The caller holds mu.
func (c *httpConn) closeIn() {
	if !c.inClosed {
		c.inClosed = true
		close(c.inEnd)
	}
}

// abandon ends the connection at once, undelivered messages included.
func (c *httpConn) abandon(reason error) {
	if c.h.remove(c.id) {
		c.h.log.Info("connection ended", "connection", short(c.id), "reason", reason)
	}
	c.leave(reason)
	c.reaper.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeIn()
	c.advanced()
}

// drain waits until every request is answered and every stream that is read is empty.
func (c *httpConn) drain(ctx context.Context) {
	for {
		c.mu.Lock()
		busy, progress := len(c.routes) > 0 || c.opening != "", c.progress
		for _, s := range c.streams {
			busy = busy || s.reader && s.sent < s.queued
		}
		c.mu.Unlock()
		if !busy {
			return
		}
		select {
		case <-progress:
		case <-c.gone.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// use says that a request is in progress, which keeps the connection alive, until the function that it returns is
// called.
func (c *httpConn) use() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.using++
	c.reaper.Stop()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.using--; c.using == 0 && !c.finished && c.gone.Err() == nil {
			c.reaper.Reset(c.h.opts.DetachTimeout)
		}
	}
}

// deliver hands a message to the agent; it returns once the agent has taken it.
func (c *httpConn) deliver(ctx context.Context, msg []byte) error {
	select {
	case <-c.inEnd:
		return errGone
	default:
	}
	select {
	case c.in <- msg:
		return nil
	case <-c.inEnd:
		return errGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

// expect remembers where the answer of a client's request goes; the function that it returns forgets it.
func (c *httpConn) expect(e *envelope, session string) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.method == methodLoad {
		c.loads[e.id] = session
		session = ""
	}
	c.routes[e.id] = session
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.routes, e.id)
		delete(c.loads, e.id)
		c.advanced()
	}
}

// attach makes the caller the reader of a stream, which is made if need be; nil means that it has one.
func (c *httpConn) attach(session string) (*stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone.Err() != nil || c.finished {
		return nil, errGone
	}
	s := c.streams[session]
	switch {
	case s == nil:
		s = newStream(session)
		c.streams[session] = s
	case s.reader:
		return nil, nil
	case session != "":
		c.unread--
	}
	s.reader = true
	return s, nil
}

// detach ends reading. What was not written stays for the next reader; an empty stream of a session is freed.
func (c *httpConn) detach(s *stream) {
	c.mu.Lock()
	s.reader = false
	full := false
	if s.session != "" {
		if len(s.queue) == 0 {
			delete(c.streams, s.session)
		} else {
			c.unread++
			full = c.unread > c.h.opts.MaxBufferedStreams
		}
	}
	readers := false
	for _, other := range c.streams {
		readers = readers || other.reader
	}
	finished := c.finished
	c.streams[""].poke() // what waits for this stream waits no longer
	c.advanced()
	c.mu.Unlock()
	if finished && !readers {
		c.leave(transport.ErrClosed)
	}
	if full && !finished {
		c.abandon(errStreams)
	}
}

// peekBatch returns the messages that may be written next. They stay in the stream until wrote is called.
func (c *httpConn) peekBatch(s *stream, batch [][]byte) (_ [][]byte, finished bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for _, out := range s.queue {
		if out.after != nil && out.after.reader && out.after.sent < out.mark {
			break
		}
		if size += len(out.msg); size > batchBytes && len(batch) > 0 {
			break
		}
		batch = append(batch, out.msg)
	}
	return batch, c.finished && len(s.queue) == 0
}

// wrote takes the first n messages out of a stream.
func (c *httpConn) wrote(s *stream, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range n {
		c.buffered -= len(s.queue[i].msg)
		s.queue[i] = outgoing{}
	}
	s.queue = s.queue[n:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	s.sent += uint64(n)
	if s.session != "" {
		c.streams[""].poke()
	}
	c.advanced()
}
